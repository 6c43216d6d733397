//! Dropping every connection at once, as clients see it when the drive's power fails.
//!
//! nbdkit 1.32 offers a plugin no way to do that (`nbdkit_disconnect`, of later versions, ends the one connection that a
//! request came on). So this looks through the process's descriptors for sockets that are connected and whose own
//! address is the one that clients connect to, and shuts them down. nbdkit finds them closed by the client and ends
//! their threads as usual; a descriptor is never closed here.

#![allow(unsafe_code)]

use rustix::net::{Shutdown, SocketAddrAny, getpeername, getsockname, shutdown};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Where clients connect to.
pub(crate) enum Address<'a> {
    /// A socket of the machine.
    Unix(&'a Path),
    /// A TCP port.
    Port(u16),
}

/// Shuts down every connection to `address`.
pub(crate) fn drop_all(address: &Address<'_>) {
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return };
    for entry in descriptors.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // SAFETY: the descriptor may be closed meanwhile, or be another one by now. It is only asked what it is, and
        // shut down if it is a connection of a client; nothing else that this process has fits that.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        if getpeername(descriptor).is_ok() && getsockname(descriptor).is_ok_and(|own| is(&own, address)) {
            let _ = shutdown(descriptor, Shutdown::Both);
        }
    }
}

fn is(own: &SocketAddrAny, address: &Address<'_>) -> bool {
    match address {
        Address::Unix(path) => {
            let own = rustix::net::SocketAddrUnix::try_from(own.clone());
            own.is_ok_and(|own| own.path_bytes() == Some(path.as_os_str().as_encoded_bytes()))
        }
        Address::Port(port) => std::net::SocketAddr::try_from(own.clone()).is_ok_and(|own| own.port() == *port),
    }
}
