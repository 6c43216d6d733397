//! The blocks of an SLC cache: the host's writes go to blocks in one-bit mode first, which are fast and have less room.
//!
//! These blocks belong to a stream of their own. The oldest one that is full is folded: its live pages move to the other
//! blocks as those of any victim do. There are so many of them at the most, and the drive's capacity does without them.
//! After a mount their stream, which is in spare areas, says which blocks they are.

use super::{BlockUse, Blocks};
use alloc::collections::VecDeque;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The cache.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Slc {
    pub(super) stream: u8,
    /// Pages of a block that are used.
    pub(super) pages: u32,
    /// Blocks at the most.
    most: u32,
    /// Those that are full, the oldest first; after a mount by their numbers.
    full: VecDeque<Block>,
}

impl Slc {
    pub(crate) fn new(stream: u8, pages: u32, most: u32) -> Self {
        Self { stream, pages, most, full: VecDeque::new() }
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

impl Blocks {
    /// Whether a page may be written to the cache: to an open block, or to one more.
    pub(crate) fn slc_has_room(&self) -> bool {
        let Some(slc) = &self.slc else { return false };
        let (open, is_next_open) = self.open.of_stream(slc.stream, self.geometry.dies());
        is_next_open || slc.full() + open < slc.most
    }

    /// Pages that a block has room for, which a stream has begun.
    #[inline]
    pub(super) fn end_of(&self, block: Block) -> u32 {
        match &self.slc {
            Some(slc) if self.streams[block.index()] == slc.stream => slc.pages,
            _ => self.geometry.pages_per_block(),
        }
    }

    /// The block of the cache to be folded next.
    pub(crate) fn slc_oldest(&self) -> Option<Block> {
        self.slc.as_ref()?.full.front().copied()
    }

    /// A block is full, or was found to be: a mount knows each block's stream.
    pub(super) fn slc_closed(&mut self, block: Block, stream: u8) {
        if let Some(slc) = &mut self.slc
            && slc.stream == stream
        {
            slc.full.push_back(block);
        }
    }

    /// A block is none of the cache any more.
    pub(super) fn slc_left(&mut self, block: Block) {
        if let Some(slc) = &mut self.slc
            && let Some(at) = slc.full.iter().position(|other| *other == block)
        {
            slc.full.remove(at);
        }
    }

    /// A mount has come to its end: what it found is all that there is.
    pub(super) fn slc_mounted(&mut self) {
        let Some(slc) = &mut self.slc else { return };
        slc.full.clear();
        let is_full = |n: &usize| self.uses[*n] == BlockUse::Closed && self.streams[*n] == slc.stream;
        slc.full.extend((0..self.uses.len()).filter(is_full).map(|n| Block(n as u32)));
    }
}
