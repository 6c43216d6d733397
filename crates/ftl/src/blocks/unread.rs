//! First pages that a mount has not read, though policies go by when blocks were written.
//!
//! A mount by the block log reads the first spare areas of few blocks. The drive reads those of the others while it
//! serves: one with each page that the host writes. Until then such a block has the largest age there is.

use crate::RamLedger;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

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
    /// These, of a drive of so many blocks.
    pub(super) fn of(blocks: u32, unread: impl Iterator<Item = Block>) -> Self {
        let mut bits = alloc::vec![0; blocks.div_ceil(64) as usize];
        let mut left = 0;
        for block in unread {
            bits[block.index() / 64] |= 1 << (block.0 % 64);
            left += 1;
        }
        if left == 0 { Self::default() } else { Self { bits, left, hand: 0 } }
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
    pub(super) fn take(&mut self) -> Option<Block> {
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
