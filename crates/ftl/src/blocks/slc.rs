//! The blocks of an SLC cache: the host's writes go to blocks in one-bit mode first, which are fast and have less room.
//!
//! These blocks belong to a stream of their own. The oldest one that is full is folded: its live pages move to the other
//! blocks as those of any victim do. There are so many of them at the most. The capacity of the drive does without them,
//! or they are blocks that are free anyway, and are folded where space is needed.
//! After a mount their stream, which is in spare areas, says which blocks they are.

use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The cache.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Slc {
    pub(super) stream: u8,
    /// Pages of a block that are used.
    pub(super) pages: u32,
    /// Blocks at the most.
    pub(super) most: u32,
    /// Free blocks that it leaves.
    pub(super) keeps: u32,
    /// Those that are full, the oldest first; after a mount by their numbers.
    pub(super) full: Vec<Block>,
}

impl Slc {
    pub(crate) fn new(stream: u8, pages: u32, (most, keeps): (u32, u32)) -> Self {
        Self { stream, pages, most, keeps, full: Vec::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        (self.most as usize).max(self.full.capacity()) * size_of::<Block>()
    }

    /// Blocks at the most.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// Blocks that are full.
    pub(crate) fn full(&self) -> u32 {
        self.full.len() as u32
    }
}
