//! Counters of a log-block FTL besides those of flash operations.

use crate::Counter;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Association degrees are counted by powers of two: 0, 1, 2 to 3, 4 to 7, …
const DEGREES: [&str; 9] = [
    "association_0",
    "association_1",
    "association_2_to_3",
    "association_4_to_7",
    "association_8_to_15",
    "association_16_to_31",
    "association_32_to_63",
    "association_64_to_127",
    "association_128_and_more",
];

/// Sums since the mount.
#[derive(Clone, Copy, Default, Debug, Preserve)]
pub(super) struct Tally {
    pub(super) switch_merges: u64,
    pub(super) partial_merges: u64,
    /// Logical blocks that were merged in full.
    pub(super) full_merges: u64,
    /// Log blocks given back that held nothing live.
    pub(super) dead_log_blocks: u64,
    /// Log blocks that were merged, or given back dead: and their pages that the host had written.
    pub(super) merged_log_blocks: u64,
    pub(super) merged_log_pages: u64,
    pub(super) page_copies: u64,
    /// Blocks that merges gave back to be erased.
    pub(super) freed_blocks: u64,
    /// Log blocks that full merges emptied, and how many logical blocks had live pages in them.
    pub(super) log_blocks_fully_merged: u64,
    pub(super) associated: u64,
    degrees: [u64; DEGREES.len()],
    pub(super) map_collections: u64,
    pub(super) pages_lost_moving: u64,
    pub(super) unreadable_reads: u64,
    /// Of merges and map pages; a recovery puts them into its report.
    pub(super) reads: u64,
    pub(super) programs: u64,
}

impl Tally {
    /// A log block to which the host had written so many pages is one no longer.
    pub(super) fn merged(&mut self, used: u32) {
        self.merged_log_blocks += 1;
        self.merged_log_pages += u64::from(used);
    }

    /// A full merge has emptied a log block in which so many logical blocks had live pages.
    pub(super) fn associated(&mut self, degree: u32) {
        debug_assert!(degree > 0, "a log block without live pages was merged in full");
        self.log_blocks_fully_merged += 1;
        self.associated += u64::from(degree);
        let slot = (u32::BITS - degree.leading_zeros()) as usize;
        self.degrees[slot.min(DEGREES.len() - 1)] += 1;
    }

    pub(super) fn counters(&self, counters: &mut Vec<Counter>) {
        let sums = [
            ("collections", self.merged_log_blocks),
            ("switch_merges", self.switch_merges),
            ("partial_merges", self.partial_merges),
            ("full_merges", self.full_merges),
            ("dead_log_blocks", self.dead_log_blocks),
            ("merged_log_blocks", self.merged_log_blocks),
            ("merged_log_pages", self.merged_log_pages),
            ("pages_moved", self.page_copies),
            ("merge_freed_blocks", self.freed_blocks),
            ("log_blocks_fully_merged", self.log_blocks_fully_merged),
            ("associated_logical_blocks", self.associated),
            ("map_collections", self.map_collections),
            ("pages_lost_moving", self.pages_lost_moving),
            ("unreadable_reads", self.unreadable_reads),
        ];
        counters.extend(sums.map(|(name, value)| Counter::sum(name, value)));
        counters.extend(DEGREES.iter().zip(self.degrees).map(|(name, value)| Counter::sum(name, value)));
    }
}
