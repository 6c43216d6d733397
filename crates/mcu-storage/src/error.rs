//! Errors, and the kinds that the traits have for them.

use core::fmt::{Display, Formatter, Result};
use embedded_storage::nor_flash::{NorFlashError, NorFlashErrorKind};

/// Why something was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The drive did not do it.
    Drive(phelsuma_mcu::Error),
    /// The range ends behind the disk.
    OutOfRange,
    /// The range is not aligned as the trait demands.
    NotAligned,
    /// The lent buffer is shorter than a host page.
    Buffer {
        /// Bytes of a host page.
        needed: usize,
    },
    /// The sizes that the adapter is to have do not fit the drive.
    Shape,
    /// The disk is in use further up the stack.
    Busy,
}

impl From<phelsuma_mcu::Error> for Error {
    fn from(error: phelsuma_mcu::Error) -> Self {
        match error {
            phelsuma_mcu::Error::OutOfRange => Self::OutOfRange,
            error => Self::Drive(error),
        }
    }
}

impl From<NorFlashErrorKind> for Error {
    fn from(kind: NorFlashErrorKind) -> Self {
        match kind {
            NorFlashErrorKind::NotAligned => Self::NotAligned,
            // The checks that are used here have only one other kind.
            _ => Self::OutOfRange,
        }
    }
}

impl NorFlashError for Error {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::OutOfRange => NorFlashErrorKind::OutOfBounds,
            Self::NotAligned => NorFlashErrorKind::NotAligned,
            _ => NorFlashErrorKind::Other,
        }
    }
}

impl Display for Error {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::Drive(error) => write!(out, "the drive refused: {error:?}"),
            Self::OutOfRange => out.write_str("the range ends behind the disk"),
            Self::NotAligned => out.write_str("the range is not aligned"),
            Self::Buffer { needed } => write!(out, "the buffer needs {needed} bytes"),
            Self::Shape => out.write_str("the adapter's sizes do not fit the drive"),
            Self::Busy => out.write_str("the disk is in use"),
        }
    }
}

impl core::error::Error for Error {}
