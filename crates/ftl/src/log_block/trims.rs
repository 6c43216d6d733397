//! Trims that no merge has carried out yet: for each of a bounded number of logical blocks a bitmap of its trimmed pages
//! and a version.
//!
//! All of them stand on one page among the map pages, which a flush writes if there is anything new. A bit is cleared when
//! its page is written again, so a page whose bit is set is trimmed whatever older versions of it stand in log blocks and in
//! the data block; a version orders the entry among the log blocks' pages for a recovery. A merge carries an entry out and
//! drops it: then the merge version is not lower than the entry's, and what flash says of it is void. When the table is
//! full the oldest entry's logical block is merged.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Geometry;

/// Bytes of an entry besides its bitmap: logical block (u32), version (48 bits), little-endian.
const HEAD_BYTES: usize = 10;
/// An entry that is not in use.
const UNUSED: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct TrimEntry {
    pub(super) logical_block: u32,
    /// Pages in log blocks whose bit is set are trimmed if they have this version or a lower one.
    pub(super) version: u64,
    bits: Vec<u8>,
}

impl TrimEntry {
    pub(super) fn has(&self, offset: u32) -> bool {
        self.bits.get(offset as usize / 8).is_some_and(|byte| byte >> (offset % 8) & 1 == 1)
    }
}

#[derive(Clone, Debug)]
pub(super) struct TrimTable {
    entries: Vec<Option<TrimEntry>>,
    /// By logical block: whether it has an entry.
    has: Vec<u8>,
    bitmap_bytes: usize,
    /// Something was trimmed that no page on flash says.
    pending: bool,
}

impl TrimTable {
    pub(super) fn new(geometry: &Geometry, logical_blocks: u32) -> Self {
        Self {
            entries: vec![None; entries(geometry) as usize],
            has: vec![0; (logical_blocks as usize).div_ceil(8)],
            bitmap_bytes: bitmap_bytes(geometry),
            pending: false,
        }
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
        self.entries.iter().flatten().find(|entry| entry.logical_block == logical_block)
    }

    #[inline]
    pub(super) fn is_trimmed(&self, logical_block: u32, offset: u32) -> bool {
        self.has(logical_block) && self.entry(logical_block).is_some_and(|entry| entry.has(offset))
    }

    /// The logical block to merge before another one can have an entry.
    pub(super) fn in_the_way_of(&self, logical_block: u32) -> Option<u32> {
        if self.has(logical_block) || self.entries.iter().any(Option::is_none) {
            return None;
        }
        let oldest = self.entries.iter().flatten().min_by_key(|entry| entry.version);
        oldest.map(|entry| entry.logical_block)
    }

    /// Pages of a logical block are trimmed as of `version`.
    pub(super) fn set(&mut self, logical_block: u32, offsets: impl Iterator<Item = u32>, version: u64) {
        let bitmap_bytes = self.bitmap_bytes;
        let known = self.entries.iter().position(|e| e.as_ref().is_some_and(|e| e.logical_block == logical_block));
        let Some(slot) = known.or_else(|| self.entries.iter().position(Option::is_none)) else {
            debug_assert!(false, "no room for a trim");
            return;
        };
        let new = TrimEntry { logical_block, version, bits: vec![0; bitmap_bytes] };
        let entry = self.entries[slot].get_or_insert(new);
        entry.version = version;
        for offset in offsets {
            entry.bits[offset as usize / 8] |= 1 << (offset % 8);
        }
        self.has[logical_block as usize / 8] |= 1 << (logical_block % 8);
        self.pending = true;
    }

    /// A page has been written again.
    #[inline]
    pub(super) fn clear(&mut self, logical_block: u32, offset: u32) {
        if self.has(logical_block) {
            self.clear_bit(logical_block, offset);
        }
    }

    fn clear_bit(&mut self, logical_block: u32, offset: u32) {
        for entry in self.entries.iter_mut().flatten().filter(|entry| entry.logical_block == logical_block) {
            entry.bits[offset as usize / 8] &= !(1 << (offset % 8));
        }
    }

    /// A merge has carried out what was trimmed of a logical block.
    pub(super) fn drop(&mut self, logical_block: u32) {
        if self.has(logical_block) {
            self.has[logical_block as usize / 8] &= !(1 << (logical_block % 8));
            let of_it = |entry: &Option<TrimEntry>| entry.as_ref().is_some_and(|e| e.logical_block == logical_block);
            self.entries.iter_mut().filter(|entry| of_it(entry)).for_each(|entry| *entry = None);
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.pending
    }

    /// The page's bytes, into a page of zeros: entry after entry, each with its bitmap.
    pub(super) fn encode(&self, page: &mut [u8]) {
        let entry_bytes = HEAD_BYTES + self.bitmap_bytes;
        for (entry, bytes) in self.entries.iter().zip(page.chunks_exact_mut(entry_bytes)) {
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

    /// What was pending is on flash.
    pub(super) fn written(&mut self) {
        self.pending = false;
    }

    /// Takes over a page that was read; `is_void` says of a logical block and a version whether a merge has carried the
    /// entry out since.
    pub(super) fn restore(&mut self, page: &[u8], is_void: impl Fn(u32, u64) -> bool) {
        let entry_bytes = HEAD_BYTES + self.bitmap_bytes;
        self.has.fill(0);
        for (entry, b) in self.entries.iter_mut().zip(page.chunks_exact(entry_bytes)) {
            let logical_block = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let version = u64::from_le_bytes([b[4], b[5], b[6], b[7], b[8], b[9], 0, 0]);
            let known = logical_block as usize / 8 < self.has.len() && !is_void(logical_block, version);
            *entry = known.then(|| TrimEntry { logical_block, version, bits: b[10..].to_vec() });
            if known {
                self.has[logical_block as usize / 8] |= 1 << (logical_block % 8);
            }
        }
        self.pending = false;
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let packed = self.entries.len() * (HEAD_BYTES + self.bitmap_bytes);
        ledger.structure("trims.table", packed as u64);
        let held = self.entries.capacity() * size_of::<Option<TrimEntry>>();
        ledger.index("index.trims", (held + self.has.capacity()) as u64);
    }
}

fn bitmap_bytes(geometry: &Geometry) -> usize {
    geometry.pages_per_block().div_ceil(8) as usize
}

/// Logical blocks that can have an entry: as many as a page has room for.
pub(super) fn entries(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / (HEAD_BYTES + bitmap_bytes(geometry)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_the_table_says() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 40);
        table.set(3, [0, 31].into_iter(), 7);
        table.set(39, 5..9, 1 << 40);
        table.clear(39, 6);
        assert!(table.is_pending() && table.is_trimmed(39, 5) && !table.is_trimmed(39, 6) && !table.is_trimmed(4, 0));
        let mut page = vec![0; 512];
        table.encode(&mut page);
        let mut again = TrimTable::new(&geometry, 40);
        again.restore(&page, |_, _| false);
        for (logical_block, offset) in (0..40).flat_map(|lb| (0..32).map(move |o| (lb, o))) {
            assert_eq!(again.is_trimmed(logical_block, offset), table.is_trimmed(logical_block, offset));
        }
        assert_eq!(again.entry(39).unwrap().version, 1 << 40);
        // What was merged since is void.
        again.restore(&page, |logical_block, version| logical_block == 3 && version <= 7);
        assert!(!again.has(3) && again.has(39) && !again.is_pending());
    }

    #[test]
    fn a_full_table_names_the_logical_block_to_merge() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 1000);
        let room = entries(&geometry);
        assert_eq!(room, 512 / 14);
        (0..room).for_each(|lb| table.set(lb, 0..1, u64::from(100 - lb)));
        assert_eq!(table.in_the_way_of(0), None);
        assert_eq!(table.in_the_way_of(room), Some(room - 1));
        table.drop(room - 1);
        assert_eq!(table.in_the_way_of(room), None);
        assert!(!table.has(room - 1) && !table.is_trimmed(room - 1, 0));
    }

    #[test]
    fn any_bytes_are_taken_without_panic() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut table = TrimTable::new(&geometry, 40);
        for byte in 0..=255 {
            table.restore(&[byte; 512], |_, _| false);
            table.restore(&[byte; 3], |_, _| false);
        }
    }
}
