//! The errors with which a request can end, and the error code that a client gets.

use phelsuma_ftl::FtlError;
use rustix::io::Errno;
use std::fmt;
use std::io;
use thiserror::Error;

/// Why a device answers no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Off {
    /// The power was cut on request; with a battery's error, if it failed.
    Cut(Option<String>),
    /// The FTL has panicked. Its RAM is not to be believed any more, so this is a power cut to the flash.
    Panicked(String),
    /// The storage under the flash has failed (a full disk, say). Acknowledged data are there, and nothing is done any
    /// more.
    Failed(String),
    /// It was closed cleanly.
    Closed,
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut(None) => f.write_str("the power was cut"),
            Self::Cut(Some(battery)) => write!(f, "the power was cut, and the battery did not suffice: {battery}"),
            Self::Panicked(text) => write!(f, "the FTL panicked, which is a bug in it: {text}"),
            Self::Failed(what) => f.write_str(what),
            Self::Closed => f.write_str("the drive is closed"),
        }
    }
}

/// Why a request was not done.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// Past the end of the device.
    #[error("bytes {offset} to {end} are outside of the device, which has {size_bytes} bytes")]
    OutOfRange {
        /// First requested byte.
        offset: u64,
        /// The byte after the last requested one.
        end: u64,
        /// Bytes of the device.
        size_bytes: u64,
    },
    /// The flash does not give back a page that the request touches.
    #[error("logical page {page} cannot be read; write the whole page to repair it")]
    Unreadable {
        /// The first such page.
        page: u32,
    },
    /// The FTL refuses.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// The storage under the flash (a file) could not be made safe.
    #[error("the file of the flash could not be made durable: {0}")]
    Sync(#[source] io::Error),
    /// Zeroes were to be had quickly, and these would have to be written.
    #[error("these zeroes cannot be set fast: pages would have to be written")]
    NotFast,
    /// The device is off, and stays so.
    #[error("{0}")]
    Off(Off),
}

impl DeviceError {
    /// The number that a client gets.
    pub fn errno(&self) -> i32 {
        let errno = match self {
            Self::OutOfRange { .. } => Errno::INVAL,
            Self::Unreadable { .. } => Errno::IO,
            Self::Ftl(FtlError::Full { .. }) => Errno::NOSPC,
            Self::Ftl(_) => Errno::IO,
            Self::Sync(error) => return error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
            Self::NotFast => Errno::OPNOTSUPP,
            Self::Off(_) => Errno::SHUTDOWN,
        };
        errno.raw_os_error()
    }
}
