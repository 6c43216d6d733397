//! The events of blkparse, blktrace and ftrace.

use std::fmt;
use std::str::FromStr;

/// Which event of blkparse, blktrace or ftrace stands for the request; in order, that which does so most closely first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlkparseEvent {
    /// D: the request goes to the drive.
    Issued,
    /// Q: the request enters the queue.
    Queued,
    /// C: the drive has done the request. Times are those of the completions.
    Completed,
}

impl BlkparseEvent {
    /// Every event, from the one that stands for a request most closely on.
    pub(crate) const ALL: [BlkparseEvent; 3] = [BlkparseEvent::Issued, BlkparseEvent::Queued, BlkparseEvent::Completed];

    pub(crate) fn letter(self) -> &'static str {
        match self {
            BlkparseEvent::Issued => "D",
            BlkparseEvent::Queued => "Q",
            BlkparseEvent::Completed => "C",
        }
    }
}

/// Which events a sample holds.
#[derive(Default)]
pub(crate) struct Seen([bool; BlkparseEvent::ALL.len()]);

impl Seen {
    /// Looks at one more event: `is` says which it is.
    pub(crate) fn look(&mut self, is: impl Fn(BlkparseEvent) -> bool) {
        for (seen, event) in self.0.iter_mut().zip(BlkparseEvent::ALL) {
            *seen |= is(event);
        }
    }

    /// The event that stands for a request most closely; none if there was none.
    pub(crate) fn best(&self) -> Option<BlkparseEvent> {
        BlkparseEvent::ALL.into_iter().zip(self.0).find(|(_, seen)| *seen).map(|(event, _)| event)
    }
}

impl FromStr for BlkparseEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|event| event.to_string() == text || event.letter() == text);
        found.ok_or_else(|| format!("'{text}' is no event of a request; issued, queued or completed would be right"))
    }
}

impl fmt::Display for BlkparseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlkparseEvent::Issued => "issued",
            BlkparseEvent::Queued => "queued",
            BlkparseEvent::Completed => "completed",
        })
    }
}
