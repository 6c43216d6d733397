//! How long a written page lives, measured in page writes: figure 3 of Dual Greedy's paper (section III-B).

use std::ops::Range;

use serde::Serialize;

use crate::histogram::LogHistogram;

/// How many pages the host wrote from a write of a page up to the write that replaced it (1: the very
/// next page written was the same page) or the trim that ended it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Lifetimes {
    /// Lives that ended before so many pages were written are in neither the histogram nor the quantiles.
    pub warmup_pages: u64,
    /// Entry k counts lives of 2^k to 2^(k+1) - 1 page writes.
    pub histogram_log2: Vec<u64>,
    /// Of these, lives that a trim ended.
    pub ended_by_trims: u64,
    /// Page versions that are left in place; their lives have no end and are neither in the histogram nor in the
    /// quantiles.
    pub live_at_end: u64,
    /// Half of the lives are at most this long, to the end of a histogram entry; 0 without any.
    pub p50_at_most: u64,
    /// Likewise 90 %.
    pub p90_at_most: u64,
    /// Likewise 99 %.
    pub p99_at_most: u64,
}

#[derive(Default)]
pub(super) struct Counter {
    histogram: LogHistogram,
    warmup_pages: u64,
    ended_by_trims: u64,
}

impl Counter {
    pub(super) fn after(warmup_pages: u64) -> Self {
        Counter { warmup_pages, ..Self::default() }
    }

    /// Counts a life from a moment to another, in page writes.
    pub(super) fn add(&mut self, from: u64, until: u64, by_trim: bool) {
        if until >= self.warmup_pages {
            self.histogram.add(until - from);
            self.ended_by_trims += u64::from(by_trim);
        }
    }

    /// Counts lives of one length that writes ended at these moments.
    pub(super) fn add_alike(&mut self, life: u64, until: Range<u64>) {
        let counted = until.end.saturating_sub(until.start.max(self.warmup_pages));
        self.histogram.add_many(life, counted);
    }

    /// Counts lives from each of these moments to one, where a trim ended them.
    pub(super) fn add_trimmed(&mut self, from: Range<u64>, until: u64) {
        if until >= self.warmup_pages && !from.is_empty() {
            self.histogram.add_each(until - (from.end - 1)..=until - from.start);
            self.ended_by_trims += from.end - from.start;
        }
    }

    pub(super) fn summary(&self, live_at_end: u64) -> Lifetimes {
        Lifetimes {
            warmup_pages: self.warmup_pages,
            histogram_log2: self.histogram.entries(),
            ended_by_trims: self.ended_by_trims,
            live_at_end,
            p50_at_most: self.histogram.at_most(50),
            p90_at_most: self.histogram.at_most(90),
            p99_at_most: self.histogram.at_most(99),
        }
    }
}
