//! What is odd about requests that were read all the same, counted: a reader says what it took for what.

use std::fmt;

use serde::Serialize;

/// How a request was taken where the file could mean something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// A flag over 1 in a format whose flag bit 0 is set for a read: an odd one is taken for a read, an even
    /// one for a write. DiskSim's higher bits qualify; some forks of MQSim mean a trim by 2.
    FlagOverOne,
    /// A request of which the trace has the completion alone. Its time is that of the completion.
    Completion,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Note::FlagOverOne => "requests with a flag over 1, odd ones taken for reads, even ones for writes",
            Note::Completion => "requests known by their completions, whose times they have",
        })
    }
}

/// The notes of a reader that took so many completions for requests.
pub(crate) fn completions(count: u64) -> Vec<(Note, u64)> {
    if count == 0 { Vec::new() } else { vec![(Note::Completion, count)] }
}
