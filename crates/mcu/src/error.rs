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
    /// The chip is blank: format it.
    NotFormatted,
    /// Something stands on the chip that this configuration does not read. It was formatted with another shape, other
    /// parts, another place of metadata or number of logical pages; or reads fail. A format would take it.
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
