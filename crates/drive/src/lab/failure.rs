//! Failures that a check of a branch can find.

use serde::{Serialize, Serializer};
use std::fmt;

/// The kind of a branch's failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FailureKind {
    /// Acknowledged data are gone: an older content, zeros, or a read error in their place.
    Lost,
    /// A page reads as something that was never written there, or the FTL's structures contradict each other.
    Corrupt,
    /// The drive does not mount, or cannot be written; or a recovery is not what it says.
    Stuck,
    /// The FTL panicked.
    Panic,
}

impl FailureKind {
    /// After any fault an FTL answers, shows no data of another page, and its structures agree.
    pub(crate) fn is_never_excused(self) -> bool {
        matches!(self, Self::Corrupt | Self::Panic)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Corrupt => "corrupt",
            Self::Stuck => "stuck",
            Self::Panic => "panic",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A branch that failed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

pub(crate) type Checked<T> = Result<T, Failure>;

pub(crate) fn failure<T>(kind: FailureKind, message: String) -> Checked<T> {
    Err(Failure { kind, message })
}
