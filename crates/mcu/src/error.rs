//! Errors.

use crate::config::ConfigError;

/// Why something was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The configuration cannot be.
    Config(ConfigError),
    /// The memory is too small.
    Memory {
        /// Bytes that the drive needs.
        needed: usize,
    },
    /// There is no drive on the chip: format it.
    NotFormatted,
    /// The chip was formatted with another chip's shape, or another number of logical pages.
    OtherDrive,
    /// The host page is not on the drive.
    OutOfRange,
    /// The data are not as long as a host page.
    Length,
    /// The page cannot be read: its data are lost until it is written again.
    Unreadable,
    /// Too many blocks are bad: the drive can only be read.
    Full,
}
