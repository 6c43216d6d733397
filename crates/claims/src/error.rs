//! Errors of a paper's files.

use std::path::PathBuf;

/// The error, where it is, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    /// No such paper.
    #[error("unknown paper '{name}'; known are {known}")]
    UnknownPaper {
        /// The request.
        name: String,
        /// What there is.
        known: String,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {why}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file with other content than it should have.
    #[error("{path}: {what}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Its error.
        what: String,
    },
    /// No such claim, and no such figure.
    #[error("unknown claim or figure '{id}'; known are {known}")]
    Unknown {
        /// The request.
        id: String,
        /// What there is.
        known: String,
    },
}

impl ClaimsError {
    pub(crate) fn file(path: impl Into<PathBuf>, error: &std::io::Error) -> Self {
        Self::File { path: path.into(), why: error.to_string() }
    }

    pub(crate) fn malformed(path: impl Into<PathBuf>, what: impl ToString) -> Self {
        Self::Malformed { path: path.into(), what: what.to_string() }
    }
}
