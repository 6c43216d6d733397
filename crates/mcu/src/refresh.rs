//! Refresh: blocks whose pages have to be corrected too often, or that were read too often, are written anew.

use crate::config::Parts;
use crate::drive::{Drive, NOWHERE, state};
use crate::layout::READS;

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// A page was read, and so many of its bits corrected.
    pub(crate) fn note_read(&mut self, page: u32, corrected: u32) {
        let config = self.config;
        if config.refresh_bits > 0 && corrected >= config.refresh_bits {
            self.state.refresh = self.block_of(page);
        }
        if config.disturb_reads == 0 {
            return;
        }
        // A fixed rhythm could miss a block that is read in it.
        self.state.chance = self.state.chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if self.state.chance >> 16 & (READS - 1) != 0 {
            return;
        }
        let (block, reads) = (self.block_of(page), self.layout.reads);
        let count = reads.get(self.memory(), block).saturating_add(1);
        reads.set(self.memory_mut(), block, count);
        if u32::from(count) * READS >= config.disturb_reads {
            self.state.refresh = block;
        }
    }

    /// An erase undoes what reads have done.
    pub(crate) fn forget_reads(&mut self, block: u32) {
        if self.config.disturb_reads > 0 {
            let reads = self.layout.reads;
            reads.set(self.memory_mut(), block, 0);
        }
        if self.state.refresh == block {
            self.state.refresh = NOWHERE;
        }
    }

    /// The block that is to be written anew, if it can be by now.
    pub(crate) fn block_to_refresh(&self) -> Option<u32> {
        let block = self.state.refresh;
        let is_closed = block != NOWHERE && self.count(block) < state::FIRST && !self.is_open(block);
        is_closed.then_some(block)
    }
}
