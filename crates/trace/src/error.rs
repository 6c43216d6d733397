//! Errors of a trace: one clear line each, with the error, its place, and what would be right.

use std::io;
use std::sync::Arc;

use crate::workload::WorkloadError;

/// An error of reading, folding, summarising or writing a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read at all.
    #[error("{file}: {what}: {source}")]
    Io {
        /// The file's name as it was given.
        file: Arc<str>,
        /// The operation, with the place where one is known.
        what: String,
        /// The error of the operating system or the decompressor.
        source: io::Error,
    },
    /// Something about the file as a whole: empty, a directory, no known format, over a limit.
    #[error("{file}: {what}")]
    File {
        /// The file's name as it was given.
        file: Arc<str>,
        /// The error and what would be right.
        what: String,
    },
    /// A line of a text format that can neither be read nor be skipped safely.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The file's name as it was given.
        file: Arc<str>,
        /// Line number, from 1.
        line: u64,
        /// The error and what would be right.
        what: String,
    },
    /// A record of a binary format that can neither be read nor be skipped safely.
    #[error("{file}: record {record} at byte {byte}: {what}")]
    Record {
        /// The file's name as it was given.
        file: Arc<str>,
        /// Record number, from 1.
        record: u64,
        /// Offset of the record in the decompressed file, in bytes.
        byte: u64,
        /// The error and what would be right.
        what: String,
    },
    /// An option that cannot be: an unknown format name, an impossible page size.
    #[error("{0}")]
    Option(String),
    /// A request that the output format cannot express.
    #[error("request {request}: {what}")]
    Unwritable {
        /// Request number in the output, from 1.
        request: u64,
        /// The error and what would be right.
        what: String,
    },
    /// A request earlier than what was written as the begin of a trace.
    #[error(
        "request {request} is {:.6} s earlier than the first: a file, which is read twice, or --sort would be right",
        *by_ns as f64 / 1e9
    )]
    BeforeBegin {
        /// Request number, from 1.
        request: u64,
        /// By how many nanoseconds.
        by_ns: u64,
    },
    /// The output cannot be written.
    #[error("writing the trace failed: {0}")]
    Write(#[source] io::Error),
    /// A workload that cannot run on this drive.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl TraceError {
    pub(crate) fn file(file: &Arc<str>, what: impl Into<String>) -> Self {
        TraceError::File { file: Arc::clone(file), what: what.into() }
    }

    /// Says of a limit which file reached it.
    pub(crate) fn about(self, file: &str) -> Self {
        match self {
            TraceError::Option(what) => TraceError::File { file: file.into(), what },
            other => other,
        }
    }

    pub(crate) fn line(file: &Arc<str>, line: u64, what: impl Into<String>) -> Self {
        TraceError::Line { file: Arc::clone(file), line, what: what.into() }
    }

    pub(crate) fn io(file: &Arc<str>, what: impl Into<String>, source: io::Error) -> Self {
        TraceError::Io { file: Arc::clone(file), what: what.into(), source }
    }
}

/// A short, printable excerpt of input bytes for an error message: at most 60 characters. Control characters and bytes
/// that are no UTF-8 are escaped. Quotes and backslashes stay as they are.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const CHARS_MAX: usize = 60;
    let (mut text, mut length) = (String::new(), 0);
    let mut push = |piece: &str| {
        length += piece.chars().count();
        let fits = length <= CHARS_MAX;
        text.push_str(if fits { piece } else { "…" });
        fits
    };
    for chunk in bytes.utf8_chunks() {
        let printed = chunk.valid().chars().all(|character| match character {
            '"' | '\'' | '\\' => push(&character.to_string()),
            other => push(&other.escape_debug().to_string()),
        });
        if !printed || !chunk.invalid().iter().all(|byte| push(&byte.escape_ascii().to_string())) {
            break;
        }
    }
    text
}
