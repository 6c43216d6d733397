//! Errors of a drive image.

use phelsuma_nand::GeometryError;
use std::io;
use thiserror::Error;

/// Why an image cannot be made, opened or used any longer. One line each; the caller has the file's name.
#[derive(Debug, Error)]
pub enum ImageError {
    /// The operating system refused.
    #[error("{doing}: {source}")]
    Io {
        /// The operation.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// An image was to be made where there is a file.
    #[error("the file exists already; use a new name")]
    Exists,
    /// Another process has it open.
    #[error("the image is in use by another process; end that process first")]
    Locked,
    /// It does not begin as an image does.
    #[error("this is not a drive image; `phelsuma create` makes one")]
    NotAnImage,
    /// It was written by another version of the format.
    #[error("the image has format {found}; this program reads only format {expected}")]
    OtherVersion {
        /// The version found.
        found: u32,
        /// The version that can be read.
        expected: u32,
    },
    /// Neither copy of the header can be read.
    #[error("neither copy of the image's header can be read")]
    Header,
    /// The header says something that cannot be.
    #[error("the image's header is not valid: {0}")]
    Absurd(String),
    /// The file has another length than its header says.
    #[error("the image is {found} bytes long and should be {expected}: {}", why(*found, *expected))]
    Length {
        /// Bytes of the file.
        found: u64,
        /// Bytes that the header requires.
        expected: u64,
    },
    /// Content that was checked when it was closed does not fit any more.
    #[error("the image is damaged: {0}")]
    Damaged(String),
    /// The description of the FTL is too long for the header.
    #[error("the FTL's name and parameters take {0} bytes, which is more than the header has room for")]
    TooLong(usize),
}

/// Why a file may have another length than it should.
fn why(found: u64, expected: u64) -> &'static str {
    if found < expected { "it was truncated, or not copied in full" } else { "data were appended to it" }
}

impl ImageError {
    /// For `map_err`.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

impl From<GeometryError> for ImageError {
    fn from(error: GeometryError) -> Self {
        Self::Absurd(error.to_string())
    }
}
