//! Merges under way, done in slices while the buffer fills ("merged in the background", section 3).
//!
//! ```text
//! entries in the buffer  0 ──┬──┬──┬──┬──┬──┬──┬──┬──── full: flush
//! slices of merges           1  2  3  4  5  6  7  8 …
//! ```
//!
//! The paper is silent on when. Here a slice follows every few entries as long as there is a merge, the newest merge
//! first. So a write waits for a slice, whatever the size of the drive. And a merge is over long before newer runs have
//! grown into its level. Until then its inputs take up flash, and queries search all of them.

use super::builder::RunPageBuilder;
use super::merge::RunMerge;
use super::run::Run;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;

/// Merges of so many pages are done at once, in the flush.
pub(crate) const MERGED_AT_ONCE: usize = 8;

/// The places of a merge's inputs among the runs.
pub(crate) fn inputs_of(merge: &RunMerge, runs: &[Run]) -> Range<usize> {
    let (first, last) = merge.header.flushes;
    let from = runs.partition_point(|run| run.header.flushes.1 > last);
    let until = runs.partition_point(|run| run.header.flushes.1 >= first);
    from..until
}

/// The merges under way.
#[derive(Clone, Preserve)]
pub(crate) struct Slices {
    /// Their inputs are different runs.
    under_way: Vec<RunMerge>,
    /// The page that is filled for one of them.
    pub(crate) page: RunPageBuilder,
    /// Whose page that is: the last flush that its inputs cover.
    filled_for: Option<u64>,
    /// Since the last flush.
    done: usize,
    pub(crate) pace: Pace,
}

/// How fast merges go on.
#[derive(Clone, Copy, Preserve)]
pub(crate) struct Pace {
    /// A slice follows so many entries in the buffer.
    pub(crate) entries_a_slice: usize,
    /// From one flush to the next there are so many slices at least.
    pub(crate) slices_a_flush: usize,
}

/// All levels together need some three pages a flush for each of them.
const PACE: Pace = Pace { entries_a_slice: 2, slices_a_flush: 48 };

impl Slices {
    pub(crate) fn new(page: RunPageBuilder) -> Self {
        Self { under_way: Vec::new(), page, filled_for: None, done: 0, pace: PACE }
    }

    pub(crate) fn under_way(&self) -> &[RunMerge] {
        &self.under_way
    }

    pub(crate) fn under_way_mut(&mut self) -> &mut [RunMerge] {
        &mut self.under_way
    }

    /// Whether a run is being merged.
    pub(crate) fn has(&self, run: &Run) -> bool {
        self.under_way.iter().any(|merge| merge.is_of(&run.header))
    }

    /// A merge begins, or goes on after a slice.
    pub(crate) fn put(&mut self, merge: RunMerge) {
        self.under_way.push(merge);
    }

    /// The merge that goes on next, out of the list: the one whose page is being filled, or the newest.
    pub(crate) fn take_next(&mut self) -> Option<RunMerge> {
        let last = |merge: &RunMerge| merge.header.flushes.1;
        let filled_for = self.filled_for.filter(|_| self.page.last_key().is_some());
        let in_hand = self.under_way.iter().position(|merge| filled_for == Some(last(merge)));
        let newest = || (0..self.under_way.len()).max_by_key(|&index| last(&self.under_way[index]));
        let merge = self.under_way.swap_remove(in_hand.or_else(newest)?);
        self.filled_for = Some(last(&merge));
        self.done += 1;
        Some(merge)
    }

    /// Nothing is in the page any more.
    pub(crate) fn give_up_page(&mut self) {
        self.page.clear();
        self.filled_for = None;
    }

    /// Whether a flush is to do another slice: the buffer is too small for as many as it takes.
    pub(crate) fn are_due_at_flush(&self) -> bool {
        self.done < self.pace.slices_a_flush && !self.under_way.is_empty()
    }

    /// The buffer was flushed.
    pub(crate) fn flushed(&mut self) {
        self.done = 0;
    }

    /// With how many entries in the buffer the next slice is due, where it has so many now.
    pub(crate) fn due_after(&self, entries: usize) -> usize {
        if self.under_way.is_empty() { usize::MAX } else { entries + self.pace.entries_a_slice }
    }
}
