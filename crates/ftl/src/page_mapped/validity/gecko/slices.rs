//! Merges under way, done in slices while the buffer fills ("merged in the background", section 3).
//!
//! ```text
//! entries in the buffer  0 ────┬────────┬────────┬──────── full: flush
//! slices of merges             1        2        3 …
//! ```
//!
//! The paper is silent on when. Here a merge has a deadline in flushes, long before newer runs have grown into its
//! level. Of the merges under way the one with the earliest deadline goes on. Between two flushes there are as many
//! slices as all deadlines together require. So a write waits for a slice, whatever the size of the drive.

use super::merge::{Merge, READS_A_SLICE};
use super::page::GeckoPageBuilder;
use super::run::Run;
use alloc::vec::Vec;
use core::ops::Range;

/// Merges of so many pages are done at once, in the flush.
pub(super) const MERGED_AT_ONCE: usize = 8;

/// Newer runs have grown to a merge's level after so many flushes as that has pages. The merge is done in this part of
/// the time. Its inputs take up flash until then, and queries search all of them.
pub(super) const HASTE: u64 = 4;

/// A merge under way.
#[derive(Clone)]
pub(super) struct Slice {
    pub(super) merge: Merge,
    /// The flush by which it is to be done.
    deadline: u64,
}

impl Slice {
    /// The places of its inputs among the runs.
    pub(super) fn inputs(&self, runs: &[Run]) -> Range<usize> {
        let (first, last) = self.merge.header.flushes;
        let from = runs.partition_point(|run| run.header.flushes.1 > last);
        let until = runs.partition_point(|run| run.header.flushes.1 >= first);
        from..until
    }
}

/// The merges under way.
#[derive(Clone)]
pub(super) struct Slices {
    /// In any order: their inputs are different runs.
    under_way: Vec<Slice>,
    /// The page that is filled for one of them.
    pub(super) page: GeckoPageBuilder,
    /// Whose page that is: the last flush that its inputs cover.
    filled_for: Option<u64>,
    /// Slices until the next flush.
    left: usize,
    /// Entries in the buffer between two of them.
    stride: usize,
}

impl Slices {
    pub(super) fn new(page: GeckoPageBuilder) -> Self {
        Self { under_way: Vec::new(), page, filled_for: None, left: 0, stride: usize::MAX }
    }

    pub(super) fn under_way(&self) -> &[Slice] {
        &self.under_way
    }

    pub(super) fn under_way_mut(&mut self) -> &mut [Slice] {
        &mut self.under_way
    }

    /// Whether a run is being merged.
    pub(super) fn has(&self, run: &Run) -> bool {
        let covers = |(first, last): (u64, u64)| first <= run.header.flushes.0 && run.header.flushes.1 <= last;
        self.under_way.iter().any(|slice| covers(slice.merge.header.flushes))
    }

    /// A merge begins at a flush. Newer runs grow to its level in so many flushes.
    pub(super) fn begin(&mut self, merge: Merge, flush: u64, grows_in: u64) {
        self.under_way.push(Slice { merge, deadline: flush + (grows_in / HASTE).max(1) });
    }

    /// The merge that goes on next, out of the list: the one whose page is being filled, or that which is due first.
    pub(super) fn take_next(&mut self) -> Option<Slice> {
        let last = |slice: &Slice| slice.merge.header.flushes.1;
        let filled_for = self.filled_for.filter(|_| self.page.last_key().is_some());
        let in_hand = self.under_way.iter().position(|slice| filled_for == Some(last(slice)));
        let due = || (0..self.under_way.len()).min_by_key(|&index| self.under_way[index].deadline);
        let slice = self.under_way.swap_remove(in_hand.or_else(due)?);
        self.filled_for = Some(last(&slice));
        Some(slice)
    }

    /// It is not done yet.
    pub(super) fn put_back(&mut self, slice: Slice) {
        self.under_way.push(slice);
    }

    /// Nothing is in the page any more.
    pub(super) fn give_up_page(&mut self) {
        self.page.clear();
        self.filled_for = None;
    }

    /// Plans the slices from a flush to the next, for a buffer of so many entries.
    pub(super) fn plan(&mut self, runs: &[Run], flush: u64, buffer_entries: usize) {
        let of = |slice: &Slice| {
            let pages = slice.merge.pages_left(&runs[slice.inputs(runs)]);
            // A page may be packed more loosely than its inputs were, and the last one is there in any case.
            let slices = pages + pages / 8 + pages / READS_A_SLICE as usize + 2;
            slices.div_ceil(slice.deadline.saturating_sub(flush).max(1) as usize)
        };
        self.left = self.under_way.iter().map(of).sum();
        self.stride = buffer_entries / (self.left + 1);
    }

    /// Whether slices are left until the next flush. One of them is taken.
    pub(super) fn take_planned(&mut self) -> bool {
        let any = self.left > 0 && !self.under_way.is_empty();
        self.left = self.left.saturating_sub(1);
        any
    }

    /// With how many entries in the buffer the next is due, where it has so many now.
    pub(super) fn due_after(&self, entries: usize) -> usize {
        if self.left == 0 || self.under_way.is_empty() { usize::MAX } else { entries + self.stride.max(1) }
    }
}
