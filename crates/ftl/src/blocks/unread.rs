//! First pages that a mount has not read, though policies go by when blocks were written.
//!
//! A mount by the block log reads the first spare areas of few blocks. The drive reads those of the others while it
//! serves: one with each page that the host writes. Until then such a block has the largest age there is.

use super::Blocks;
use crate::RamLedger;
use crate::medium::FirstPages;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Nand, Op, Purpose, SpareRead, Time};

/// The blocks whose first page is to be read.
#[derive(Clone, Default, Debug, Preserve)]
pub(super) struct Unread {
    /// A bit for each block; empty when all were read.
    bits: Vec<u64>,
    left: u32,
    /// Those in front were read.
    hand: u32,
}

impl Unread {
    fn insert(&mut self, block: Block) {
        self.bits[block.index() / 64] |= 1 << (block.0 % 64);
        self.left += 1;
    }

    fn contains(&self, block: Block) -> bool {
        self.bits.get(block.index() / 64).is_some_and(|bits| bits >> (block.0 % 64) & 1 == 1)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// What the first page says is of no interest any more.
    pub(super) fn remove(&mut self, block: Block) {
        if self.contains(block) {
            self.bits[block.index() / 64] &= !(1 << (block.0 % 64));
            self.left -= 1;
        }
        if self.left == 0 {
            *self = Self::default();
        }
    }

    /// Takes the next one out.
    fn take(&mut self) -> Option<Block> {
        if self.is_empty() {
            return None;
        }
        let mut block = Block(self.hand);
        while !self.contains(block) {
            // A word without any is passed at once.
            let word = self.bits.get(block.index() / 64)? >> (block.0 % 64);
            block.0 += if word == 0 { 64 - block.0 % 64 } else { word.trailing_zeros() };
        }
        self.hand = block.0 + 1;
        self.remove(block);
        Some(block)
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.times_to_read", self.bits.len() as u64 * 8);
    }
}

impl Blocks {
    /// A mount has read these first pages. Those of the other blocks in use are to be read, but for blocks that the
    /// recovery has begun itself.
    pub(super) fn find_unread(&mut self, first: &FirstPages, begun: &[Block]) {
        let geometry = self.geometry;
        let mut unread = Unread { bits: alloc::vec![0; geometry.blocks().div_ceil(64) as usize], left: 0, hand: 0 };
        for block in (0..geometry.blocks()).map(Block) {
            let is_of_users = self.is_in_use(block) && !self.is_metadata(self.stream_of(block));
            if is_of_users && first.of(block).is_none() && !begun.contains(&block) {
                unread.insert(block);
            }
        }
        self.notes.unread = if unread.is_empty() { Unread::default() } else { unread };
    }

    /// Reads one of the first pages that the mount has not read. Nothing waits for it.
    #[inline]
    pub(crate) fn read_first_page<N: Nand>(&mut self, nand: &mut N, at: Time) {
        if !self.notes.unread.is_empty() {
            self.read_next_unread(nand, at);
        }
    }

    #[cold]
    fn read_next_unread<N: Nand>(&mut self, nand: &mut N, at: Time) {
        let Some(block) = self.notes.unread.take() else { return };
        let (read, _) = nand.read_spare(self.geometry.page(block, 0), Op::new(at, Purpose::Placement));
        if let SpareRead::Written(spare) = read {
            self.note_first_page(block, spare.version, spare.stream);
        }
    }
}
