//! Which blocks are those of an SLC cache.

use super::slc::Slc;
use super::{BlockUse, Blocks};
use phelsuma_nand::Block;

impl Blocks {
    /// With an SLC cache from now on.
    pub(crate) fn set_slc(&mut self, slc: Slc) {
        self.open.slc = Some(slc);
    }

    /// The SLC cache, if there is one.
    pub(crate) fn slc(&self) -> Option<&Slc> {
        self.open.slc.as_ref()
    }

    /// Whether a page may be written to the cache: to an open block, or to one more.
    pub(crate) fn slc_has_room(&self) -> bool {
        let Some(slc) = &self.open.slc else { return false };
        let (open, is_next_open) = self.open.of_stream(slc.stream, self.geometry.dies());
        is_next_open || slc.full() + open < slc.most && self.free() > slc.keeps
    }

    /// Pages that a block has room for, which a stream has begun.
    #[inline]
    pub(super) fn end_of(&self, block: Block) -> u32 {
        match &self.open.slc {
            Some(slc) if self.streams[block.index()] == slc.stream => slc.pages,
            _ => self.geometry.pages_per_block(),
        }
    }

    /// The block of the cache to be folded next.
    pub(crate) fn slc_oldest(&self) -> Option<Block> {
        self.open.slc.as_ref()?.full.first().copied()
    }

    /// The emptiest of its full blocks.
    pub(crate) fn slc_emptiest(&self) -> Option<Block> {
        let full = self.open.slc.iter().flat_map(|slc| &slc.full);
        full.copied().min_by_key(|block| (self.counters.live(*block), block.0))
    }

    /// Whether a block is one of the cache that waits to be folded.
    pub(crate) fn slc_waits(&self, block: Block) -> bool {
        self.open.slc.as_ref().is_some_and(|slc| slc.full.contains(&block))
    }

    /// A block is full, or was found to be: a mount knows each block's stream. Whether it waits to be folded.
    pub(super) fn slc_closed(&mut self, block: Block, stream: u8) -> bool {
        let Some(slc) = self.open.slc.as_mut().filter(|slc| slc.stream == stream) else { return false };
        slc.full.push(block);
        true
    }

    /// A block is none of the cache any more.
    pub(super) fn slc_left(&mut self, block: Block) {
        if let Some(slc) = &mut self.open.slc
            && let Some(at) = slc.full.iter().position(|other| *other == block)
        {
            slc.full.remove(at);
        }
    }

    /// A mount has come to its end: what it found is all that there is.
    pub(super) fn slc_mounted(&mut self) {
        let Some(slc) = &mut self.open.slc else { return };
        slc.full.clear();
        let is_full = |n: &usize| self.uses[*n] == BlockUse::Closed && self.streams[*n] == slc.stream;
        slc.full.extend((0..self.uses.len()).filter(is_full).map(|n| Block(n as u32)));
    }
}
