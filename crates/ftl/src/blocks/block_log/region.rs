//! The region of the block log: the blocks right behind the drive's description, bad or not.

use super::{pages_of_table, reserved_max};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Nand};

/// Blocks of a region at the least.
const REGION_MIN: u32 = 4;

/// Blocks that a page reserves where next to nothing is free: with so many a block of the region is erased about as
/// often as any other.
const RESERVED_USUALLY: u32 = 64;

/// Good blocks that the log needs: one that is erased, those with the whole table, and one that a power cut has left
/// part-filled.
pub(super) fn good_min(geometry: &Geometry) -> u32 {
    1 + pages_of_table(geometry).div_ceil(geometry.pages_per_block()).max(1)
}

/// How many blocks the region has on a drive of this shape.
pub(crate) fn region_blocks(geometry: &Geometry) -> u32 {
    let reserved = RESERVED_USUALLY.min(reserved_max(geometry));
    let worn_alike = geometry.blocks() / (reserved * geometry.pages_per_block());
    worn_alike.max(good_min(geometry) + 2).max(REGION_MIN)
}

/// The blocks of the log.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Preserve)]
pub(crate) struct Region {
    first: u32,
    blocks: u32,
}

impl Region {
    /// So many blocks behind those of the description.
    pub(crate) fn behind(geometry: &Geometry, anchors: &[Block], blocks: u32) -> Self {
        let first = anchors.iter().map(|block| block.0 + 1).max().unwrap_or(0);
        Self { first, blocks: blocks.min(geometry.blocks().saturating_sub(first)) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    pub(crate) fn contains(&self, block: Block) -> bool {
        block.0.wrapping_sub(self.first) < self.blocks
    }

    /// The last block of the ring.
    pub(crate) fn last(&self) -> Block {
        Block(self.first + self.blocks - 1)
    }

    /// All blocks of the ring once, from the one behind `block` on, up to it.
    pub(crate) fn behind_in_ring(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + use<> {
        debug_assert!(self.contains(block), "{block} is not in the region");
        let (first, blocks, at) = (self.first, self.blocks, block.0 - self.first);
        (1..=blocks).map(move |n| Block(first + (at + n) % blocks))
    }

    /// Those of them that can be used.
    pub(crate) fn good<N: Nand>(&self, nand: &N) -> impl Iterator<Item = Block> {
        (self.first..self.first + self.blocks).map(Block).filter(|block| !nand.is_bad(*block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_ring_is_gone_round_once() {
        let geometry = Geometry::new(4096, 32, 40, 1, 1).unwrap();
        let region = Region::behind(&geometry, &[Block(0), Block(3)], 4);
        assert_eq!(region.behind_in_ring(Block(5)).collect::<Vec<_>>(), [Block(6), Block(7), Block(4), Block(5)]);
        assert!(region.contains(Block(4)) && region.contains(Block(7)));
        assert!(!region.contains(Block(3)) && !region.contains(Block(8)));
        assert!(!Region::default().contains(Block(0)));
    }

    #[test]
    fn the_table_and_more_fits_the_region() {
        for (page_bytes, pages_per_block, blocks) in
            [(512, 4, 64), (512, 32, 120), (4096, 128, 16_384), (4096, 128, 4_194_304), (16_384, 256, 1_000_000)]
        {
            let geometry = Geometry::new(page_bytes, pages_per_block, blocks, 1, 1).unwrap();
            let region = region_blocks(&geometry);
            assert!((region - 2) * pages_per_block >= pages_of_table(&geometry), "{geometry:?}: {region} blocks");
            assert!(u64::from(region) * 15 <= blocks, "{geometry:?}: {region} blocks");
        }
        assert_eq!(region_blocks(&Geometry::new(4096, 128, 4_194_304, 1, 1).unwrap()), 512);
    }
}
