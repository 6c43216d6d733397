//! The books of folding: every request read is either emitted or dropped for a reason.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Why a request of the trace reaches no drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DropReason {
    /// A trim that covers no whole page.
    TrimWithoutWholePage,
    /// A trim of pages that are never read or written (compact folding only).
    TrimOutsideFootprint,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DropReason::TrimWithoutWholePage => "trims without a whole page",
            DropReason::TrimOutsideFootprint => "trims outside the footprint",
        })
    }
}

/// What went in and what came out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoldCounts {
    /// Requests read from the trace, over all loops.
    pub read: u64,
    /// Requests of which at least one page request was emitted (a flush counts).
    pub emitted: u64,
    /// Requests of which none was, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Page requests emitted; more than `emitted` where a request was split at the end of its slice or
    /// at 2^32 - 1 pages.
    pub page_requests: u64,
    /// Pages covered only in part, over all page requests.
    pub partial_pages: u64,
}

impl FoldCounts {
    pub(crate) fn drop_one(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_insert(0) += 1;
    }

    /// Requests dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Asserts that no request was lost: read = emitted + dropped.
    ///
    /// # Panics
    /// If that does not hold, which is a defect of the folding and never of the trace.
    pub fn assert_balanced(&self) {
        assert_eq!(self.read, self.emitted + self.dropped_total(), "a request was lost in folding: {self:?}");
    }
}
