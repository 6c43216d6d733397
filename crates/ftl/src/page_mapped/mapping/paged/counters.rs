//! What the mapping counts.

use super::PagedMapping;
use crate::Counter;
use alloc::vec::Vec;

impl PagedMapping {
    pub(super) fn list_counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("cache_hits", self.tally.hits),
            Counter::sum("cache_misses", self.tally.misses),
            Counter::level("cache_entries", u64::from(self.cache.entries())),
            Counter::level("dirty_entries", u64::from(self.cache.dirty_count())),
            Counter::sum("synchronizations", self.tally.synchronizations),
            Counter::sum("entries_synchronized", self.tally.entries_synchronized),
            Counter::sum("translation_pages_unreadable", self.tally.translation_pages_unreadable),
            Counter::sum("checkpoint_synchronizations", self.tally.checkpoint_synchronizations),
        ]);
        if self.fetches_for_placement.is_some() {
            out.push(Counter::sum("entries_fetched_for_placement", self.tally.fetched_for_placement));
        }
        if let Some(prefetch) = &self.prefetch {
            out.push(Counter::sum("entries_prefetched", prefetch.entered()));
        }
        if let Some(condensed) = &self.condensed {
            condensed.counters(out);
        }
        self.table.counters(out);
        if let Some(log) = &self.log {
            log.counters(out);
        }
        if self.queue.is_some() {
            out.extend([
                Counter::sum("limit_synchronizations", self.tally.limit_synchronizations),
                Counter::sum("block_synchronizations", self.tally.block_synchronizations),
            ]);
        }
    }
}
