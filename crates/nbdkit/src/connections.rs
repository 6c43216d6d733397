//! Dropping every connection at once, as clients see it when the drive's power fails.
//!
//! nbdkit 1.32 offers a plugin no way to do that. (`nbdkit_disconnect`, of later versions, ends the one connection that
//! a request came on.) So this looks through the process's descriptors for connected sockets whose own address is the
//! one that clients connect to. It takes the client's end away from them.
//!
//! To shut such a socket down is not enough where several threads answer on a connection (`--realtime`). One may meet
//! the error while another waits for its turn to answer. Then an assertion ends the server (`raw_send_socket`, `sock >=
//! 0`). So the descriptor becomes another socket, whose peer sends nothing more and takes whatever is sent. nbdkit
//! finds that its client has gone, and no further answer is an error. It closes the descriptor as usual. An answer that
//! is being sent meanwhile goes to its client, to the end: the client has a right to it.

#![allow(unsafe_code)]

use rustix::io::dup2;
use rustix::net::{Shutdown, SocketAddrAny, getpeername, getsockname, shutdown};
use std::io::Read;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::Builder;

/// Where clients connect to.
pub(crate) enum Address<'a> {
    /// A socket of the machine.
    Unix(&'a Path),
    /// A TCP port.
    Port(u16),
}

/// Drops every connection to `address`.
pub(crate) fn drop_all(address: &Address<'_>) {
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return };
    for entry in descriptors.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()) else { continue };
        // SAFETY: the descriptor is nbdkit's, and is never closed here. It may be closed meanwhile: then the queries
        // about it fail. Were it another one by now, opened in the moment since the query, that one would be dropped.
        // It could be that of a client who has just come, or one of the control socket; the drive's own files are open
        // throughout.
        let mut descriptor = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        if getpeername(&*descriptor).is_ok() && getsockname(&*descriptor).is_ok_and(|own| is(&own, address)) {
            drop_one(&mut descriptor);
        }
    }
}

/// Takes the client away from a connection.
fn drop_one(descriptor: &mut OwnedFd) {
    let replaced = descriptor.try_clone().and_then(|client| {
        let nobody = nobody()?;
        dup2(&nobody, descriptor)?;
        Ok(client)
    });
    match replaced {
        // Threads that wait for requests wake up; the connection ends when the last of its descriptors is closed.
        Ok(client) => drop(shutdown(&client, Shutdown::Read)),
        // Without a descriptor or a thread to spare.
        Err(_) => drop(shutdown(&*descriptor, Shutdown::Both)),
    }
}

/// A socket whose other end sends nothing, and takes everything until it is closed.
fn nobody() -> std::io::Result<UnixStream> {
    let (nobody, mut other) = UnixStream::pair()?;
    other.shutdown(std::net::Shutdown::Write)?;
    Builder::new().name("nobody".into()).spawn(move || {
        let mut buf = vec![0; 64 << 10];
        while other.read(&mut buf).is_ok_and(|bytes| bytes > 0) {}
    })?;
    Ok(nobody)
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
