//! Which blocks of a drive can be used.

use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand};

fn blocks<N: Nand>(nand: &N) -> impl Iterator<Item = Block> {
    (0..nand.geometry().blocks()).map(Block)
}

/// How many blocks are bad.
pub(crate) fn bad_blocks<N: Nand>(nand: &N) -> u32 {
    blocks(nand).filter(|block| nand.is_bad(*block)).count() as u32
}

/// Every block that is neither bad nor the description's.
pub(crate) fn usable_blocks<N: Nand>(nand: &N, anchors: &[Block]) -> Vec<Block> {
    blocks(nand).filter(|block| !nand.is_bad(*block) && !anchors.contains(block)).collect()
}
