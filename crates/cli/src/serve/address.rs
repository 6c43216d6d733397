//! Where clients connect to.

use crate::errors::{Failure, Outcome};
use crate::output;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The longest path of a socket, in bytes (`sun_path`, without the zero at its end).
const SOCKET_PATH_MAX: usize = 107;

/// Where clients connect to.
pub(super) enum Address {
    /// A socket of this machine; the path is absolute.
    Socket(PathBuf),
    /// A TCP port.
    Tcp {
        /// Of this address.
        address: IpAddr,
        /// The port.
        port: u16,
    },
}

impl Address {
    /// A port of this machine alone, unless an address was given.
    pub(super) fn tcp(address: Option<IpAddr>, port: u16) -> Self {
        Self::Tcp { address: address.unwrap_or(Ipv4Addr::LOCALHOST.into()), port }
    }

    pub(super) fn socket(&self) -> Option<&Path> {
        match self {
            Self::Socket(path) => Some(path),
            Self::Tcp { .. } => None,
        }
    }

    /// Removes a socket to which nobody listens any more, and warns where others can connect.
    pub(super) fn prepare(&self) -> Outcome {
        match self {
            Self::Socket(path) => free(path),
            Self::Tcp { address, .. } => {
                warn_of_others(
                    *address,
                    "read and write this drive; use -- --tls=require and certificates (nbdkit-tls(1)) to restrict this",
                );
                Ok(())
            }
        }
    }

    /// What nbdkit is told.
    pub(super) fn options(&self) -> Vec<OsString> {
        match self {
            Self::Socket(path) => vec!["--unix".into(), path.into()],
            Self::Tcp { address, port } => {
                vec![format!("--ipaddr={address}").into(), format!("--port={port}").into()]
            }
        }
    }

    /// What clients are told; `nbdkit` may be told to have TLS.
    pub(super) fn uri(&self, nbdkit: &[OsString]) -> String {
        let tls = nbdkit.iter().any(|word| word == "--tls=require");
        let s = if tls { "s" } else { "" };
        match self {
            Self::Socket(path) => format!("nbd{s}+unix:///?socket={}", escaped(path)),
            Self::Tcp { address: IpAddr::V6(address), port } => format!("nbd{s}://[{address}]:{port}"),
            Self::Tcp { address, port } => format!("nbd{s}://{address}:{port}"),
        }
    }
}

/// Where the page is: a port of this machine alone, unless an address is in front of it.
pub(super) fn http(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse::<u16>().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    port.or_else(|_| text.parse()).map_err(|_| {
        format!(
            "'{}' is not an address; use PORT, ADDRESS:PORT or [ADDRESS]:PORT; port 0 is any free port",
            text.escape_debug()
        )
    })
}

/// Warns where others can connect to the page.
pub(super) fn prepare_http(address: SocketAddr) {
    warn_of_others(address.ip(), "see this drive at work, because the page has no password");
}

/// The rule for every address: this machine alone is served without a word.
fn warn_of_others(address: IpAddr, what_they_can: &str) {
    if !address.is_loopback() {
        output::remark(&format!("warning: every host that reaches {address} can {what_they_can}"));
    }
}

/// A path within a URI.
fn escaped(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().map(|b| if plain(b) { char::from(*b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// A path at which a socket can be made.
fn free(path: &Path) -> Outcome {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    if path.as_os_str().len() > SOCKET_PATH_MAX {
        return Err(wrong(format!("the path is too long for a socket; use at most {SOCKET_PATH_MAX} bytes")));
    }
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(wrong(error.to_string())),
        Ok(meta) if !meta.file_type().is_socket() => {
            Err(wrong("the file exists and is not a socket; use another path".into()))
        }
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => Err(wrong("another server uses this socket; use another path".into())),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(|error| wrong(error.to_string()))
            }
            Err(error) => Err(wrong(error.to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_for_this_machine_unless_an_address_is_given() {
        let read = |text| http(text).map(|address| address.to_string());
        assert_eq!(read("8080").unwrap(), "127.0.0.1:8080");
        assert_eq!(read("0").unwrap(), "127.0.0.1:0");
        assert_eq!(read("0.0.0.0:80").unwrap(), "0.0.0.0:80");
        assert_eq!(read("[::1]:80").unwrap(), "[::1]:80");
        for wrong in ["", "x", ":80", "localhost:80", "127.0.0.1", "65536", "1.2.3.4:65536"] {
            assert!(read(wrong).unwrap_err().contains("ADDRESS:PORT"), "{wrong}");
        }
    }

    #[test]
    fn clients_are_told_an_address_that_they_can_read() {
        let socket = Address::Socket("/a b/c.nbd".into());
        assert_eq!(socket.uri(&[]), "nbd+unix:///?socket=/a%20b/c.nbd");
        assert_eq!(Address::tcp(None, 10809).uri(&["--tls=require".into()]), "nbds://127.0.0.1:10809");
        assert_eq!(Address::tcp(Some("::1".parse().unwrap()), 1).uri(&[]), "nbd://[::1]:1");
    }
}
