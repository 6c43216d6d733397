//! Ages of blocks: since they were closed, and since they lost a page last.
//!
//! Unlike [`BlockTimes`](super::times::BlockTimes) these may be found later than at a mount.

use super::times::Moments;
use crate::RamLedger;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The largest age that moments keep.
const AGE_KEPT: u32 = 1 << 31;

/// By block: its two ages.
#[derive(Clone, Debug, Preserve)]
pub(super) struct BlockAges {
    closed: Moments,
    last_loss: Moments,
    hand: usize,
}

impl BlockAges {
    pub(super) fn new(blocks: u32) -> Self {
        let moments = || Moments::new(blocks as usize);
        Self { closed: moments(), last_loss: moments(), hand: 0 }
    }

    /// The first page of a block is written. The hand goes on by two blocks: it is round before as much is written as the
    /// drive has.
    pub(super) fn begun(&mut self, now: u64) {
        for _ in 0..2 {
            self.closed.visit(self.hand, now);
            self.last_loss.visit(self.hand, now);
            self.hand = if self.hand + 1 == self.closed.len() { 0 } else { self.hand + 1 };
        }
    }

    /// There is no record of any block: all of them have the largest age.
    pub(super) fn forget(&mut self, now: u64) {
        self.closed.forget(now);
        self.last_loss.forget(now);
    }

    /// Flash shows that the first page of the block was written then. When it lost pages before the mount is not
    /// recorded.
    pub(super) fn found(&mut self, block: Block, at: u64, now: u64) {
        let at = at.max(now.saturating_sub(AGE_KEPT.into()));
        self.closed.set(block.index(), at);
        if self.dormant(block, now) >= AGE_KEPT {
            self.last_loss.set(block.index(), at);
        }
    }

    /// The block is written in full, or will not be written any further. It has lost none since.
    pub(super) fn closed(&mut self, block: Block, now: u64) {
        self.closed.set(block.index(), now);
        self.last_loss.set(block.index(), now);
    }

    /// A page of the block is live no longer.
    #[inline]
    pub(super) fn lost_a_page(&mut self, block: Block, now: u64) {
        self.last_loss.set(block.index(), now);
    }

    /// How long ago the block was closed.
    #[inline]
    pub(super) fn since_closed(&self, block: Block, now: u64) -> u32 {
        self.closed.age(block.index(), now)
    }

    /// How long ago it lost a page, or was closed if it has lost none since.
    #[inline]
    pub(super) fn dormant(&self, block: Block, now: u64) -> u32 {
        self.last_loss.age(block.index(), now)
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.ages", self.closed.bytes() + self.last_loss.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_dormant_since_it_was_closed_or_lost_a_page() {
        let mut ages = BlockAges::new(8);
        ages.closed(Block(7), 100_000);
        assert_eq!((ages.since_closed(Block(7), 100_500), ages.dormant(Block(7), 100_500)), (500, 500));
        ages.lost_a_page(Block(7), 140_000);
        assert_eq!((ages.since_closed(Block(7), 200_000), ages.dormant(Block(7), 200_000)), (100_000, 60_000));
        // There is no block beyond the last.
        assert_eq!(ages.since_closed(Block(9_999), 200_000), 0);
    }

    #[test]
    fn a_recovery_finds_when_blocks_were_begun_and_keeps_losses_since() {
        let mut ages = BlockAges::new(8);
        ages.forget(1 << 40);
        assert_eq!(ages.since_closed(Block(3), 1 << 40), 1 << 31);
        ages.lost_a_page(Block(4), 1 << 40);
        for block in [3, 4].map(Block) {
            ages.found(block, (1 << 40) - 512_000, 1 << 40);
        }
        assert_eq!([3, 4].map(|block| ages.since_closed(Block(block), 1 << 40)), [512_000; 2]);
        assert_eq!([3, 4].map(|block| ages.dormant(Block(block), 1 << 40)), [512_000, 0]);
        ages.found(Block(5), 0, 1 << 40);
        assert_eq!(ages.since_closed(Block(5), 1 << 40), 1 << 31);
    }

    #[test]
    fn what_is_old_stays_old() {
        let mut ages = BlockAges::new(8);
        ages.closed(Block(7), 5);
        for now in (1..96).map(|n| n << 28) {
            (0..8).for_each(|_| ages.begun(now));
            let age = ages.since_closed(Block(7), now);
            assert!(u64::from(age) == now - 5 || age >= 1 << 31, "{age} at {now}");
        }
    }
}
