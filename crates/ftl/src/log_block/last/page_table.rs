//! The page mapping table of random log blocks, a hash table with linear probing (LAST++ sections 4.4 and 4.6.1).
//!
//! There are as many buckets as random log blocks have pages; the paper expects half of them to be in use. One more
//! stays empty, so that a search ends also where every page of the log blocks is live. A bucket is the entry: here the
//! hash table *is* the page mapping table. The paper has buckets of eight bytes that point into one (`ram` counts both
//! as the paper does).

use crate::RamLedger;
use crate::log_block::log_state::NONE;
use crate::log_block::probing::Probing;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Page;
use phelsuma_nand::state::Preserve;

/// The update counter has two bits.
pub(in super::super) const UPDATES_MAX: u8 = 3;

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct PageTable {
    /// By bucket: the logical page; [`NONE`] where the bucket is empty.
    keys: Vec<u32>,
    pages: Vec<Page>,
    /// How often the page was overwritten since it came in, at the most [`UPDATES_MAX`].
    updates: Vec<u8>,
    len: usize,
    probing: Probing,
}

impl PageTable {
    /// For so many pages.
    pub(super) fn new(pages: usize) -> Self {
        let buckets = pages + 1;
        Self {
            keys: vec![NONE; buckets],
            pages: vec![Page(0); buckets],
            updates: vec![0; buckets],
            len: 0,
            probing: Probing::new(buckets),
        }
    }

    /// Makes room for so many pages: a recovery may find more than there are otherwise.
    pub(super) fn reserve(&mut self, pages: usize) {
        if pages < self.keys.len() {
            return;
        }
        let mut larger = Self::new(pages);
        for (bucket, key) in self.keys.iter().enumerate().filter(|(_, key)| **key != NONE) {
            larger.set(*key, self.pages[bucket]);
        }
        *self = larger;
    }

    #[inline]
    fn key_in(&self, bucket: usize) -> Option<u32> {
        Some(self.keys[bucket]).filter(|key| *key != NONE)
    }

    /// The bucket of a logical page, or the empty one where it would go.
    #[inline]
    fn search(&self, key: u32) -> (usize, bool) {
        self.probing.search(key, |bucket| self.key_in(bucket))
    }

    /// Where a logical page stands, and how often it was overwritten.
    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<(Page, u8)> {
        let (bucket, found) = self.search(key);
        found.then(|| (self.pages[bucket], self.updates[bucket]))
    }

    /// A logical page stands there from now on; where it stood.
    #[inline]
    pub(super) fn set(&mut self, key: u32, page: Page) -> Option<Page> {
        let (bucket, found) = self.search(key);
        if found {
            self.updates[bucket] = (self.updates[bucket] + 1).min(UPDATES_MAX);
            return Some(core::mem::replace(&mut self.pages[bucket], page));
        }
        debug_assert!(self.len + 1 < self.keys.len(), "no bucket stays empty");
        self.keys[bucket] = key;
        self.pages[bucket] = page;
        self.updates[bucket] = 0;
        self.len += 1;
        None
    }

    /// A logical page stands in no random log block any more; where it stood.
    #[inline]
    pub(super) fn remove(&mut self, key: u32) -> Option<Page> {
        let (mut hole, found) = self.search(key);
        if !found {
            return None;
        }
        let page = self.pages[hole];
        self.len -= 1;
        // What stands behind moves up where a search would not find it any more.
        while let Some(from) = self.probing.moves_to(hole, |bucket| self.key_in(bucket)) {
            self.keys[hole] = self.keys[from];
            self.pages[hole] = self.pages[from];
            self.updates[hole] = self.updates[from];
            hole = from;
        }
        self.keys[hole] = NONE;
        Some(page)
    }

    /// Every entry, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        self.keys.iter().copied().zip(self.pages.iter().copied()).filter(|(key, _)| *key != NONE)
    }

    pub(super) fn lookups_and_probes(&self) -> (u64, u64) {
        self.probing.lookups_and_probes()
    }

    /// As table I counts it: an entry for each page with channel, block, offset and update counter, and eight bytes a
    /// bucket.
    pub(super) fn ram(&self, entry_bits: u64, ledger: &mut RamLedger) {
        let pages = self.keys.len() as u64 - 1;
        let (entries, buckets) = ((pages * entry_bits).div_ceil(8), pages * 8);
        ledger.structure("last.page_map", entries);
        ledger.structure("last.page_hash", buckets);
        let held = self.keys.capacity() * 4 + self.pages.capacity() * size_of::<Page>() + self.updates.capacity();
        ledger.index("index.last_page_table", (held as u64).saturating_sub(entries + buckets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    #[test]
    fn the_table_says_what_a_map_says_however_full_it_is() {
        for room in [1, 2, 7, 64] {
            let mut table = PageTable::new(room);
            let mut model: BTreeMap<u32, (Page, u8)> = BTreeMap::new();
            let mut random = 1u64;
            for step in 0..20_000u32 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = (random >> 40) as u32 % 97;
                if random >> 62 == 0 {
                    assert_eq!(table.remove(key), model.remove(&key).map(|(page, _)| page));
                } else if model.len() < room || model.contains_key(&key) {
                    let before = model.get(&key).copied();
                    assert_eq!(table.set(key, Page(step)), before.map(|(page, _)| page));
                    model.insert(key, (Page(step), before.map_or(0, |(_, updates)| (updates + 1).min(UPDATES_MAX))));
                }
                assert_eq!(table.find(key), model.get(&key).copied());
                assert_eq!(table.len, model.len());
            }
            let mut entries: Vec<(u32, Page)> = table.entries().collect();
            entries.sort_unstable();
            assert_eq!(entries, model.iter().map(|(key, (page, _))| (*key, *page)).collect::<Vec<_>>());
            table.reserve(200);
            assert!(model.iter().all(|(key, (page, _))| table.find(*key).is_some_and(|(found, _)| found == *page)));
        }
    }

    #[test]
    fn probes_are_counted() {
        let mut table = PageTable::new(100);
        table.set(1, Page(1));
        assert!(table.find(1).is_some());
        assert_eq!(table.lookups_and_probes(), (2, 2));
    }
}
