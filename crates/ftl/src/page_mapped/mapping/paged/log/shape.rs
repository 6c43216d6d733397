//! What a mapping log is made for, and what it needs of the flash.

use crate::page_mapped::needs::Needs;
use crate::page_mapped::runs::{Tuning, with_parity};
use phelsuma_nand::Geometry;

/// What a log is made for.
#[derive(Clone, Copy)]
pub(crate) struct LogShape {
    pub(super) logical_pages: u32,
    pub(super) parts: u32,
    pub(super) entries_per_page: u32,
    /// Of the cache.
    pub(super) entries: u32,
    /// Thousandths of the table that may wait.
    pub(super) permille: u32,
}

impl LogShape {
    /// Dirty entries that are spilled at a time: those of a page, or three quarters of a smaller cache.
    pub(super) fn spill_at(&self, tuning: &Tuning) -> u32 {
        (tuning.buffer_entries() as u32).min(self.entries / 4 * 3).max(1)
    }

    /// Entries that may wait.
    pub(super) fn limit(&self) -> u64 {
        (u64::from(self.logical_pages) * u64::from(self.permille) / 1000).max(1)
    }

    /// The tuning of its runs. What was folded stays in a run until that is merged: a run has no more entries than may
    /// have waited when it was made.
    pub(super) fn tuning(&self, geometry: &Geometry) -> Tuning {
        let page = Tuning::of_words(geometry, 1).buffer_entries() as u64;
        let most = self.limit() + 4 * page + u64::from(self.entries);
        Tuning::of_words(geometry, u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// What a log needs of the flash where a collection makes so many updates.
    pub(super) fn needs(&self, geometry: &Geometry, updates: u64) -> Needs {
        let tuning = self.tuning(geometry);
        let spill_at = u64::from(self.spill_at(&tuning));
        // A set of the cache that is full of dirty entries brings about a spill as well: it has some sixteen of them.
        let spills = updates / spill_at.min(16) + 2;
        let runs = tuning.needs(spills * tuning.buffer_entries() as u64, None);
        // Each level has a run, or two that are merged. Each spill makes a run, and half as many merges reach each next
        // level.
        let levels = u64::from(tuning.longest_run().max(1).ilog2()) + 1;
        let (at_once, in_all) = (2 * levels + 2, 3 * (spills + 2) + 2 * levels);
        let entries = updates + u64::from(self.entries);
        // As many as wait with an entry are folded with it, at the least one.
        let folds = entries * u64::from(self.parts) / self.limit() + spills;
        Needs {
            live_pages: with_parity(runs.live_pages, at_once),
            programs: with_parity(runs.programs + spills, in_all) + folds,
            // Each entry that waits, or is in the cache, may name a page that is not known to be stale.
            unidentified: self.limit() + u64::from(self.entries),
            battery: 0,
        }
    }
}
