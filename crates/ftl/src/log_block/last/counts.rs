//! Counters of LAST++ besides those of every log-block FTL.

use crate::Counter;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Sums since the mount (levels are [`Last`](super::Last)'s own).
#[derive(Clone, Copy, Default, Debug, Preserve)]
pub(super) struct LastCounts {
    /// Pages of the host's that were written to sequential log blocks, and to random ones of either partition.
    pub(super) sequential_pages: u64,
    pub(super) cold_pages: u64,
    pub(super) hot_pages: u64,
    /// Pages of sequential requests for which their sequential log block was written too far.
    pub(super) sequential_refused: u64,
    /// Sequential log blocks that did not begin with their first page.
    pub(super) sequential_begun_behind: u64,
    /// Pages that were copied to sequential log blocks because requests skipped them.
    pub(super) skipped_copies: u64,
    pub(super) summary_pages: u64,
    /// Segments of sequential log blocks that were merged.
    pub(super) segments_merged: u64,
    /// Of random log blocks: victims of either partition, and those among them that were dead.
    pub(super) cold_victims: u64,
    pub(super) hot_victims: u64,
    pub(super) dead_victims: u64,
    /// Pages that merges of random log blocks, and of segments, have copied.
    pub(super) random_copies: u64,
    pub(super) sequential_copies: u64,
    /// Log blocks that were merged while the host was idle.
    pub(super) background_merges: u64,
}

impl LastCounts {
    pub(super) fn push(&self, counters: &mut Vec<Counter>) {
        let sums = [
            ("last_sequential_pages", self.sequential_pages),
            ("last_cold_pages", self.cold_pages),
            ("last_hot_pages", self.hot_pages),
            ("last_sequential_refused", self.sequential_refused),
            ("last_sequential_begun_behind", self.sequential_begun_behind),
            ("last_skipped_copies", self.skipped_copies),
            ("last_summary_pages", self.summary_pages),
            ("last_segments_merged", self.segments_merged),
            ("last_cold_victims", self.cold_victims),
            ("last_hot_victims", self.hot_victims),
            ("last_dead_victims", self.dead_victims),
            ("last_random_copies", self.random_copies),
            ("last_sequential_copies", self.sequential_copies),
            ("last_background_merges", self.background_merges),
        ];
        counters.extend(sums.map(|(name, value)| Counter::sum(name, value)));
    }
}
