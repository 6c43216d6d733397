//! The block-level mapping table: for each logical block its data block, and its merge version.
//!
//! The *merge version* is the drive's version clock at the last merge of the logical block. A page of it in a log block
//! whose version is not higher is stale for ever. The papers' map blocks say where data blocks are and nothing else.
//! Then a log block that is merged and erased may leave an older version of a page in another log block. A recovery
//! takes that for the newest: old data come back. RAM keeps what it needs of merge versions
//! ([`merge_versions`](super::merge_versions)).

use super::merge_versions::MergeVersions;
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry};

/// No block.
const NOWHERE: u32 = u32::MAX;
/// Bytes of a map page's header: when the oldest log block was begun (u64), little-endian. What recovery scans is as
/// old, or younger.
const HEADER_BYTES: usize = 8;
/// Bytes of an entry of a map page: block (u32), merge version (48 bits), little-endian.
const ENTRY_BYTES: usize = 10;

/// What stands in a map page for each logical block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MapEntry {
    pub(super) block: Option<Block>,
    /// Pages in log blocks with this version or a lower one are stale.
    pub(super) version: u64,
}

#[derive(Clone, Debug, Preserve)]
pub(super) struct DataMap {
    blocks: Vec<u32>,
    /// Those that a merge or a write needs to know.
    kept: MergeVersions,
    /// While a drive is mounted all of them, as they stand on flash or as its merges have made them.
    on_flash: Vec<u64>,
    per_page: u32,
}

impl DataMap {
    /// Of so many logical blocks, of which so many may have live pages in log blocks.
    pub(super) fn new(geometry: &Geometry, logical_blocks: u32, in_log: usize) -> Self {
        Self {
            blocks: vec![NOWHERE; logical_blocks as usize],
            kept: MergeVersions::new(in_log.min(logical_blocks as usize)),
            on_flash: Vec::new(),
            per_page: per_page(geometry),
        }
    }

    /// A recovery begins: all merge versions are held.
    pub(super) fn begin_mount(&mut self) {
        self.on_flash = vec![0; self.blocks.len()];
    }

    /// The drive is mounted: of the logical blocks that `is_in_log` the merge versions are kept. The RAM that all of
    /// them took, in bytes.
    pub(super) fn end_mount(&mut self, is_in_log: impl Fn(u32) -> bool) -> u64 {
        let on_flash = core::mem::take(&mut self.on_flash);
        for (logical_block, version) in (0..).zip(&on_flash).filter(|(logical_block, _)| is_in_log(*logical_block)) {
            self.kept.set(logical_block, *version);
        }
        (on_flash.capacity() * 8) as u64
    }

    pub(super) fn logical_blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    #[inline]
    pub(super) fn block(&self, logical_block: u32) -> Option<Block> {
        match self.blocks[logical_block as usize] {
            NOWHERE => None,
            block => Some(Block(block)),
        }
    }

    /// The merge version of a logical block, or a bound that does as well: where it is known.
    #[inline]
    pub(super) fn version(&self, logical_block: u32) -> Option<u64> {
        self.on_flash.get(logical_block as usize).copied().or_else(|| self.kept.get(logical_block))
    }

    /// A logical block has live pages in log blocks from now on: this is its bound.
    pub(super) fn keep_version(&mut self, logical_block: u32, version: u64) {
        if self.on_flash.is_empty() {
            self.kept.set(logical_block, version);
        }
    }

    /// A logical block has no live page in a log block any more.
    pub(super) fn forget_version(&mut self, logical_block: u32) {
        self.kept.remove(logical_block);
    }

    pub(super) fn set(&mut self, logical_block: u32, entry: MapEntry) {
        debug_assert!(entry.version >> 48 == 0, "an entry has six bytes for version {}", entry.version);
        self.blocks[logical_block as usize] = entry.block.map_or(NOWHERE, |b| b.0);
        match self.on_flash.get_mut(logical_block as usize) {
            Some(version) => *version = entry.version,
            None if self.kept.get(logical_block).is_some() => self.kept.set(logical_block, entry.version),
            None => {}
        }
    }

    /// The map page that a logical block stands in.
    pub(super) fn part_of(&self, logical_block: u32) -> u32 {
        logical_block / self.per_page
    }

    /// The logical blocks of a map page.
    pub(super) fn range_of(&self, part: u32) -> core::ops::Range<u32> {
        let first = part * self.per_page;
        first..(first + self.per_page).min(self.logical_blocks())
    }

    /// A map page's bytes, into a page of zeros, with merge versions as `version` has them. No page of a log block has a
    /// lower seq than `oldest_log`.
    pub(super) fn encode(&self, part: u32, oldest_log: u64, version: impl Fn(u32) -> u64, page: &mut [u8]) {
        let Some((header, entries)) = page.split_at_mut_checked(HEADER_BYTES) else { return };
        header.copy_from_slice(&oldest_log.to_le_bytes());
        debug_assert!(self.range_of(part).len() * ENTRY_BYTES <= entries.len(), "part {part} does not fit a page");
        for (logical_block, bytes) in self.range_of(part).zip(entries.chunks_exact_mut(ENTRY_BYTES)) {
            bytes[..4].copy_from_slice(&self.blocks[logical_block as usize].to_le_bytes());
            bytes[4..].copy_from_slice(&version(logical_block).to_le_bytes()[..6]);
        }
    }

    /// The entries of a map page that was read: logical blocks with what stands there. A block that the drive does not
    /// have is none.
    pub(super) fn decode<'b>(
        &self,
        geometry: &Geometry,
        part: u32,
        page: &'b [u8],
    ) -> impl Iterator<Item = (u32, MapEntry)> + 'b {
        let blocks = geometry.blocks();
        let entries = page.get(HEADER_BYTES..).unwrap_or(&[]);
        self.range_of(part).zip(entries.chunks_exact(ENTRY_BYTES)).map(move |(logical_block, b)| {
            let block = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let version = u64::from_le_bytes([b[4], b[5], b[6], b[7], b[8], b[9], 0, 0]);
            (logical_block, MapEntry { block: (block < blocks).then_some(Block(block)), version })
        })
    }

    pub(super) fn ram(&self, geometry: &Geometry, ledger: &mut RamLedger) {
        let entries = self.blocks.len() as u64;
        let block_bits = u64::from(geometry.blocks().next_power_of_two().trailing_zeros().max(1));
        let logical_bits = u64::from(u64::next_power_of_two(entries).trailing_zeros().max(1));
        let blocks = (entries * block_bits).div_ceil(8);
        ledger.structure("data.block_map", blocks);
        let more = self.kept.ram(logical_bits, ledger);
        ledger.index("index.data_map", self.blocks.capacity() as u64 * 4 - blocks + more);
    }
}

/// The oldest log block, by a map page's header.
pub(super) fn oldest_log_in(page: &[u8]) -> u64 {
    page.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Entries of a map page.
pub(super) fn per_page(geometry: &Geometry) -> u32 {
    (geometry.page_bytes() - HEADER_BYTES as u32) / ENTRY_BYTES as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_page_says_what_the_table_says() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let mut map = DataMap::new(&geometry, 70, 0);
        map.begin_mount();
        for logical_block in (0..70).step_by(3) {
            let entry = MapEntry { block: Some(Block(logical_block % 64)), version: u64::from(logical_block) << 36 };
            map.set(logical_block, entry);
        }
        for part in 0..2 {
            let mut page = vec![0; 512];
            map.encode(part, 1 << 47, |logical_block| map.version(logical_block).unwrap(), &mut page);
            assert_eq!(oldest_log_in(&page), 1 << 47);
            for (logical_block, entry) in map.decode(&geometry, part, &page) {
                let same = MapEntry { block: map.block(logical_block), version: map.version(logical_block).unwrap() };
                assert_eq!(entry, same, "{logical_block}");
            }
            assert_eq!(map.decode(&geometry, part, &page).count(), map.range_of(part).count());
        }
        assert_eq!((map.range_of(0), map.range_of(1)), (0..50, 50..70));
        // Served, it has those that matter.
        map.end_mount(|logical_block| logical_block == 3);
        assert_eq!((map.version(3), map.version(6)), (Some(3 << 36), None));
        // A page that is too short, or names blocks that are not there, counts for no more than that.
        assert_eq!(map.decode(&geometry, 0, &[9; 7]).count(), 0);
        assert!(map.decode(&geometry, 0, &[9; 512]).all(|(_, entry)| entry.block.is_none()));
    }
}
