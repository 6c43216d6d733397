//! Trims that no merge has carried out yet: bitmaps of trimmed pages for a bounded number of logical blocks.
//!
//! Each entry is a logical block's bitmap and a version. The entries stand on pages among the map pages, one or more for
//! each channel, and a logical block's entry is on the page of its number. On one page, small trims all over a large drive
//! would push each other out. A flush writes the pages that have anything new; each stands for itself. A bit is cleared
//! when its page is written again. So a page whose bit is set is trimmed, whatever older versions of it stand in log
//! blocks and in the data block. For a recovery a version orders the entry among the log blocks' pages. A merge carries
//! an entry out and drops it. Then the merge version is not lower than the entry's, and the entry on flash is void.
//! Until then it must stay lower than that of the entry's first trim, so the entry keeps it
//! ([`merge_versions`](super::merge_versions)).
//! When an entry finds no room on its page, the logical block of the oldest entry there is merged.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// Bytes of an entry besides its bitmap: logical block (u32), version (48 bits), little-endian.
const HEAD_BYTES: usize = 10;
/// An entry that is not in use.
const UNUSED: u32 = u32::MAX;

#[derive(Clone, Debug, Preserve)]
pub(super) struct TrimEntry {
    pub(super) logical_block: u32,
    /// Pages in log blocks whose bit is set are trimmed if they have this version or a lower one.
    pub(super) version: u64,
    /// The logical block's merge version, or a bound that does as well. The entry on flash does not have it.
    pub(super) merged: u64,
    bits: Vec<u8>,
}

impl TrimEntry {
    pub(super) fn has(&self, offset: u32) -> bool {
        self.bits.get(offset as usize / 8).is_some_and(|byte| byte >> (offset % 8) & 1 == 1)
    }
}

#[derive(Clone, Debug, Preserve)]
pub(super) struct TrimTable {
    /// Page after page.
    entries: Vec<Option<TrimEntry>>,
    /// By logical block: whether it has an entry.
    has: Vec<u8>,
    bitmap_bytes: usize,
    per_page: usize,
    /// By page: something was trimmed that flash does not say.
    pending: Vec<bool>,
}

impl TrimTable {
    /// On so many pages.
    pub(super) fn new(geometry: &Geometry, pages: u32, logical_blocks: u32) -> Self {
        let (pages, per_page) = (pages as usize, entries(geometry) as usize);
        Self {
            entries: vec![None; pages * per_page],
            has: vec![0; (logical_blocks as usize).div_ceil(8)],
            bitmap_bytes: bitmap_bytes(geometry),
            per_page,
            pending: vec![false; pages],
        }
    }

    /// The page that a logical block's entry stands on.
    fn page_of(&self, logical_block: u32) -> usize {
        logical_block as usize % self.pending.len()
    }

    /// The entries that stand on a page.
    fn on_page(&self, page: usize) -> Range<usize> {
        page * self.per_page..(page + 1) * self.per_page
    }

    /// Those among which a logical block's is.
    fn around(&self, logical_block: u32) -> Range<usize> {
        self.on_page(self.page_of(logical_block))
    }

    /// Whether any page of a logical block is trimmed here.
    #[inline]
    pub(super) fn has(&self, logical_block: u32) -> bool {
        self.has.get(logical_block as usize / 8).is_some_and(|byte| byte >> (logical_block % 8) & 1 == 1)
    }

    pub(super) fn entry(&self, logical_block: u32) -> Option<&TrimEntry> {
        if !self.has(logical_block) {
            return None;
        }
        self.entries[self.around(logical_block)].iter().flatten().find(|entry| entry.logical_block == logical_block)
    }

    #[inline]
    pub(super) fn is_trimmed(&self, logical_block: u32, offset: u32) -> bool {
        self.has(logical_block) && self.entry(logical_block).is_some_and(|entry| entry.has(offset))
    }

    /// The logical block to merge before another one can have an entry.
    pub(super) fn in_the_way_of(&self, logical_block: u32) -> Option<u32> {
        let around = &self.entries[self.around(logical_block)];
        if self.has(logical_block) || around.iter().any(Option::is_none) {
            return None;
        }
        around.iter().flatten().min_by_key(|entry| entry.version).map(|entry| entry.logical_block)
    }

    /// Pages of a logical block are trimmed as of `version`. It was `merged` before.
    pub(super) fn set(&mut self, logical_block: u32, offsets: impl Iterator<Item = u32>, version: u64, merged: u64) {
        let (page, around) = (self.page_of(logical_block), self.around(logical_block));
        let around = &mut self.entries[around];
        let known = around.iter().position(|e| e.as_ref().is_some_and(|e| e.logical_block == logical_block));
        let Some(slot) = known.or_else(|| around.iter().position(Option::is_none)) else {
            debug_assert!(false, "no room for a trim");
            return;
        };
        let new = TrimEntry { logical_block, version, merged, bits: vec![0; self.bitmap_bytes] };
        let entry = around[slot].get_or_insert(new);
        debug_assert!(entry.version <= version, "a trim of {logical_block} is older than the one before");
        entry.version = version;
        for offset in offsets {
            entry.bits[offset as usize / 8] |= 1 << (offset % 8);
        }
        self.has[logical_block as usize / 8] |= 1 << (logical_block % 8);
        self.pending[page] = true;
    }

    /// The merge version of a logical block that may have an entry is another one.
    pub(super) fn set_merged(&mut self, logical_block: u32, merged: u64) {
        if self.has(logical_block) {
            let around = self.around(logical_block);
            let entries = self.entries[around].iter_mut().flatten();
            entries.filter(|entry| entry.logical_block == logical_block).for_each(|entry| entry.merged = merged);
        }
    }

    /// The drive is mounted: the merge versions of all that have an entry.
    pub(super) fn end_mount(&mut self, merged: impl Fn(u32) -> u64) {
        self.entries.iter_mut().flatten().for_each(|entry| entry.merged = merged(entry.logical_block));
    }

    /// A page has been written again.
    #[inline]
    pub(super) fn clear(&mut self, logical_block: u32, offset: u32) {
        if self.has(logical_block) {
            self.clear_bit(logical_block, offset);
        }
    }

    fn clear_bit(&mut self, logical_block: u32, offset: u32) {
        let around = self.around(logical_block);
        for entry in self.entries[around].iter_mut().flatten().filter(|entry| entry.logical_block == logical_block) {
            entry.bits[offset as usize / 8] &= !(1 << (offset % 8));
        }
    }

    /// A merge has carried out the trims of a logical block.
    pub(super) fn drop(&mut self, logical_block: u32) {
        if self.has(logical_block) {
            self.has[logical_block as usize / 8] &= !(1 << (logical_block % 8));
            let around = self.around(logical_block);
            let of_it = |entry: &Option<TrimEntry>| entry.as_ref().is_some_and(|e| e.logical_block == logical_block);
            self.entries[around].iter_mut().filter(|entry| of_it(entry)).for_each(|entry| *entry = None);
        }
    }

    /// The pages that have anything new.
    pub(super) fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.pending).filter(|(_, pending)| **pending).map(|(page, _)| page)
    }

    /// A page's bytes, into one of zeros: entry after entry, each with its bitmap.
    pub(super) fn encode(&self, page: u32, bytes: &mut [u8]) {
        let entry_bytes = HEAD_BYTES + self.bitmap_bytes;
        let entries = &self.entries[self.on_page(page as usize)];
        for (entry, bytes) in entries.iter().zip(bytes.chunks_exact_mut(entry_bytes)) {
            match entry {
                None => bytes[..4].copy_from_slice(&UNUSED.to_le_bytes()),
                Some(entry) => {
                    bytes[..4].copy_from_slice(&entry.logical_block.to_le_bytes());
                    bytes[4..10].copy_from_slice(&entry.version.to_le_bytes()[..6]);
                    bytes[10..].copy_from_slice(&entry.bits);
                }
            }
        }
    }

    /// The pending trims of a page are on flash.
    pub(super) fn written(&mut self, page: u32) {
        self.pending[page as usize] = false;
    }

    /// Takes over a page that was read; `is_void` says of a logical block and a version whether a merge has carried the
    /// entry out since.
    pub(super) fn restore(&mut self, page: u32, bytes: &[u8], is_void: impl Fn(u32, u64) -> bool) {
        let entry_bytes = HEAD_BYTES + self.bitmap_bytes;
        let page = page as usize;
        let range = self.on_page(page);
        for entry in self.entries[range].iter_mut().filter_map(Option::take) {
            self.has[entry.logical_block as usize / 8] &= !(1 << (entry.logical_block % 8));
        }
        self.pending[page] = false;
        for b in bytes.chunks_exact(entry_bytes).take(self.per_page) {
            let logical_block = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let version = u64::from_le_bytes([b[4], b[5], b[6], b[7], b[8], b[9], 0, 0]);
            if logical_block as usize / 8 >= self.has.len()
                || is_void(logical_block, version)
                || self.has(logical_block)
            {
                continue;
            }
            // A drive of an earlier version has all of them on its first page.
            let own = self.page_of(logical_block);
            let around = self.on_page(own);
            let Some(slot) = self.entries[around].iter_mut().find(|entry| entry.is_none()) else { continue };
            *slot = Some(TrimEntry { logical_block, version, merged: 0, bits: b[10..].to_vec() });
            self.has[logical_block as usize / 8] |= 1 << (logical_block % 8);
            self.pending[own] |= own != page;
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let packed = self.entries.len() * (HEAD_BYTES + size_of::<[u8; 6]>() + self.bitmap_bytes);
        ledger.structure("trims.table", packed as u64);
        let held = self.entries.capacity() * size_of::<Option<TrimEntry>>();
        ledger.index("index.trims", (held + self.has.capacity() + self.pending.capacity()) as u64);
    }
}

fn bitmap_bytes(geometry: &Geometry) -> usize {
    geometry.pages_per_block().div_ceil(8) as usize
}

/// Logical blocks that can have an entry on one page: as many as it has room for.
pub(super) fn entries(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / (HEAD_BYTES + bitmap_bytes(geometry)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_the_table_says() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 1, 40);
        table.set(3, [0, 31].into_iter(), 7, 0);
        table.set(39, 5..9, 1 << 40, 0);
        table.clear(39, 6);
        assert_eq!(table.pending().collect::<Vec<_>>(), [0]);
        assert!(table.is_trimmed(39, 5) && !table.is_trimmed(39, 6) && !table.is_trimmed(4, 0));
        let mut page = vec![0; 512];
        table.encode(0, &mut page);
        let mut again = TrimTable::new(&geometry, 1, 40);
        again.restore(0, &page, |_, _| false);
        for (logical_block, offset) in (0..40).flat_map(|lb| (0..32).map(move |o| (lb, o))) {
            assert_eq!(again.is_trimmed(logical_block, offset), table.is_trimmed(logical_block, offset));
        }
        assert_eq!(again.entry(39).unwrap().version, 1 << 40);
        // Trims merged since are void.
        again.restore(0, &page, |logical_block, version| logical_block == 3 && version <= 7);
        assert!(!again.has(3) && again.has(39) && again.pending().next().is_none());
    }

    #[test]
    fn a_full_table_names_the_logical_block_to_merge() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 1, 1000);
        let room = entries(&geometry);
        assert_eq!(room, 512 / 14);
        (0..room).for_each(|lb| table.set(lb, 0..1, u64::from(100 - lb), 0));
        assert_eq!(table.in_the_way_of(0), None);
        assert_eq!(table.in_the_way_of(room), Some(room - 1));
        table.drop(room - 1);
        assert_eq!(table.in_the_way_of(room), None);
        assert!(!table.has(room - 1) && !table.is_trimmed(room - 1, 0));
    }

    #[test]
    fn any_bytes_are_taken_without_panic() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 1, 40);
        for byte in 0..=255 {
            table.restore(0, &[byte; 512], |_, _| false);
            table.restore(0, &[byte; 3], |_, _| false);
        }
    }
    #[test]
    fn each_channel_has_a_page_and_only_those_with_news_are_pending() {
        let geometry = Geometry::new(512, 32, 64, 4, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 4, 1000);
        let room = entries(&geometry);
        // A page is full, the others are not.
        (0..room).for_each(|n| table.set(4 * n + 1, 0..1, u64::from(n) + 1, 0));
        assert_eq!(table.in_the_way_of(4 * room + 1), Some(1));
        assert_eq!((table.in_the_way_of(0), table.in_the_way_of(2)), (None, None));
        table.set(2, 3..4, 500, 0);
        assert_eq!(table.pending().collect::<Vec<_>>(), [1, 2]);
        let mut again = TrimTable::new(&geometry, 4, 1000);
        for page in [1, 2] {
            let mut bytes = vec![0; 512];
            table.encode(page, &mut bytes);
            table.written(page);
            again.restore(page, &bytes, |_, _| false);
        }
        assert!(table.pending().next().is_none() && again.pending().next().is_none());
        assert!((0..room).all(|n| again.is_trimmed(4 * n + 1, 0)) && again.is_trimmed(2, 3) && !again.has(0));
    }

    #[test]
    fn what_an_earlier_version_has_on_one_page_is_taken_to_where_it_belongs() {
        let one = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut before = TrimTable::new(&one, 1, 1000);
        [4, 5, 6].into_iter().for_each(|logical_block| before.set(logical_block, 1..2, 9, 0));
        let mut bytes = vec![0; 512];
        before.encode(0, &mut bytes);
        let mut table = TrimTable::new(&Geometry::new(512, 32, 64, 4, 1).unwrap(), 4, 1000);
        table.restore(0, &bytes, |_, _| false);
        assert!([4, 5, 6].into_iter().all(|logical_block| table.is_trimmed(logical_block, 1)));
        assert_eq!(table.pending().collect::<Vec<_>>(), [1, 2]);
    }
}
