//! What LAST++ counts besides what every log-block FTL does.

use super::Last;
use crate::Counter;
use crate::log_block::ground::Ground;
use alloc::vec::Vec;

/// Sums since the drive came up (what levels there are says [`Last`] itself).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
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

impl Last {
    pub(in super::super) fn counters(&self, ground: &Ground, counters: &mut Vec<Counter>) {
        let counts = &self.counts;
        let sums = [
            ("last_sequential_pages", counts.sequential_pages),
            ("last_cold_pages", counts.cold_pages),
            ("last_hot_pages", counts.hot_pages),
            ("last_sequential_refused", counts.sequential_refused),
            ("last_sequential_begun_behind", counts.sequential_begun_behind),
            ("last_skipped_copies", counts.skipped_copies),
            ("last_summary_pages", counts.summary_pages),
            ("last_segments_merged", counts.segments_merged),
            ("last_cold_victims", counts.cold_victims),
            ("last_hot_victims", counts.hot_victims),
            ("last_dead_victims", counts.dead_victims),
            ("last_random_copies", counts.random_copies),
            ("last_sequential_copies", counts.sequential_copies),
            ("last_background_merges", counts.background_merges),
        ];
        counters.extend(sums.map(|(name, value)| Counter::sum(name, value)));
        if let Some(tables) = ground.log.last() {
            let (lookups, probes) = tables.pages.lookups_and_probes();
            counters.push(Counter::sum("last_page_lookups", lookups));
            counters.push(Counter::sum("last_page_probes", probes));
            let (lookups, probes) = tables.segments.lookups_and_probes();
            counters.push(Counter::sum("last_segment_lookups", lookups));
            counters.push(Counter::sum("last_segment_probes", probes));
        }
        let pages = || self.pages_on.iter().copied();
        counters.push(Counter::level("last_channel_pages_least", pages().min().unwrap_or(0)));
        counters.push(Counter::level("last_channel_pages_most", pages().max().unwrap_or(0)));
        counters.push(Counter::level("last_random_log_blocks", u64::from(self.random.iter().sum::<u32>())));
        counters.push(Counter::level("last_hot_log_blocks", u64::from(self.hot)));
    }
}
