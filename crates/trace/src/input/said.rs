//! What a layer says of itself where it cannot be read on. The layers above it pass this on as it is.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::way::Way;
use crate::TraceError;

/// The text of such an error.
#[derive(Debug)]
struct Said {
    text: String,
    /// The file is refused for what it is, not for damage.
    refused: bool,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Said {}

/// A stream that is damaged or ends too early.
pub(super) fn wrong(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Said { text, refused: false })
}

/// A file that is not read for what it is, and what to do about it.
pub(super) fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, Said { text, refused: true })
}

/// What a build says of a kind that it was built without.
#[cfg(not(all(feature = "archives", feature = "zstd")))]
pub(super) fn not_built(kind: &str) -> io::Error {
    refused(format!("{kind} is not part of this build"))
}

fn said(error: &io::Error) -> Option<&Said> {
    error.get_ref()?.downcast_ref()
}

/// What a decompressor's error means for its stream, to which `way` leads.
pub(super) fn of_decoder(kind: &str, way: &Way, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Interrupted || said(&error).is_some() {
        return error;
    }
    // zstd has no kind for it.
    if error.kind() == io::ErrorKind::OutOfMemory || error.to_string().contains("too much memory") {
        let commands = way.commands();
        return refused(format!("the {kind} stream takes more memory than may be given to it; {commands} reads it"));
    }
    let state = if error.kind() == io::ErrorKind::UnexpectedEof { "is cut short" } else { "is damaged" };
    wrong(format!("the {kind} stream {state} ({error})"))
}

/// The error of a file that could not be opened for what is in it.
pub(super) fn at_opening(file: &Arc<str>, error: io::Error) -> TraceError {
    match said(&error) {
        Some(Said { text, refused: true }) => TraceError::file(file, text.as_str()),
        _ => TraceError::io(file, "cannot be read", error),
    }
}
