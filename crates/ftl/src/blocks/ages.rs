//! Ages of blocks at two bytes each: since they were closed, and since they lost a page last.
//!
//! A unit of time is about a thousandth of the pages of the drive. Nothing that is collected in less is worth a
//! distinction. Ages up to 2^15 units are kept, 16 to 32 times the drive. As with [`BlockTimes`](super::times::BlockTimes), a
//! hand goes round and moves up older moments, before the clock of two bytes starts over.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The largest age, in units.
const AGE_KEPT: u16 = 1 << 15;
/// Units in which as many pages are written as the drive has: this many, and less than twice as many.
const UNITS: u64 = 1024;

/// By block: its two ages.
#[derive(Clone, Debug, Preserve)]
pub(super) struct BlockAges {
    closed: Vec<u16>,
    last_loss: Vec<u16>,
    /// A unit of time is two to the power of this.
    shift: u32,
    hand: usize,
}

impl BlockAges {
    pub(super) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        let shift = (pages / UNITS).checked_ilog2().unwrap_or(0);
        let moments = || vec![0; blocks as usize];
        Self { closed: moments(), last_loss: moments(), shift, hand: 0 }
    }

    #[inline]
    fn units(&self, now: u64) -> u16 {
        (now >> self.shift) as u16
    }

    /// An age in logical time; one that four bytes do not hold is the largest that they do.
    #[inline]
    fn age(&self, moments: &[u16], index: usize, now: u64) -> u32 {
        let units = moments.get(index).map_or(0, |moment| self.units(now).wrapping_sub(*moment));
        (u64::from(units) << self.shift).min(u32::MAX.into()) as u32
    }

    /// The first page of a block is written. The hand goes on by two blocks: it is round before as much is written as the
    /// drive has.
    pub(super) fn begun(&mut self, now: u64) {
        let now = self.units(now);
        for _ in 0..2 {
            for moments in [&mut self.closed, &mut self.last_loss] {
                if now.wrapping_sub(moments[self.hand]) > AGE_KEPT {
                    moments[self.hand] = now.wrapping_sub(AGE_KEPT);
                }
            }
            self.hand = if self.hand + 1 == self.closed.len() { 0 } else { self.hand + 1 };
        }
    }

    /// There is no record of any block: all of them have the largest age.
    pub(super) fn forget(&mut self, now: u64) {
        let oldest = self.units(now).wrapping_sub(AGE_KEPT);
        self.closed.fill(oldest);
        self.last_loss.fill(oldest);
    }

    /// Flash shows that the first page of the block was written then. When it lost pages before the mount is not
    /// recorded.
    pub(super) fn found(&mut self, block: Block, at: u64, now: u64) {
        let units = self.units(now).wrapping_sub(((now - at) >> self.shift).min(AGE_KEPT.into()) as u16);
        self.closed[block.index()] = units;
        if self.units(now).wrapping_sub(self.last_loss[block.index()]) >= AGE_KEPT {
            self.last_loss[block.index()] = units;
        }
    }

    /// The block is written in full, or will not be written any further. It has lost none since.
    pub(super) fn closed(&mut self, block: Block, now: u64) {
        let now = self.units(now);
        (self.closed[block.index()], self.last_loss[block.index()]) = (now, now);
    }

    /// A page of the block is live no longer.
    #[inline]
    pub(super) fn lost_a_page(&mut self, block: Block, now: u64) {
        self.last_loss[block.index()] = self.units(now);
    }

    /// How long ago the block was closed.
    #[inline]
    pub(super) fn since_closed(&self, block: Block, now: u64) -> u32 {
        self.age(&self.closed, block.index(), now)
    }

    /// How long ago it lost a page, or was closed if it has lost none since.
    #[inline]
    pub(super) fn dormant(&self, block: Block, now: u64) -> u32 {
        self.age(&self.last_loss, block.index(), now)
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.ages", (self.closed.len() + self.last_loss.len()) as u64 * 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_units_of_a_thousandth_of_the_drive() {
        let mut ages = BlockAges::new(2_048, 128);
        assert_eq!(ages.shift, 8);
        ages.closed(Block(7), 100_000);
        assert_eq!((ages.since_closed(Block(7), 100_000), ages.dormant(Block(7), 100_000)), (0, 0));
        ages.lost_a_page(Block(7), 140_000);
        let (now, unit) = (200_000, 256);
        assert!(ages.since_closed(Block(7), now).abs_diff(100_000) <= unit);
        assert!(ages.dormant(Block(7), now).abs_diff(60_000) <= unit);
        // Of a drive of a few pages a unit is a page; there is no block beyond the last.
        assert_eq!(BlockAges::new(8, 4).shift, 0);
        assert_eq!(ages.since_closed(Block(9_999), now), 0);
    }

    #[test]
    fn of_the_largest_drive_ages_are_capped() {
        let mut ages = BlockAges { shift: BlockAges::new(1 << 20, 1 << 12).shift, ..BlockAges::new(4, 4) };
        assert_eq!(ages.shift, 22);
        ages.closed(Block(0), 0);
        assert_eq!(ages.since_closed(Block(0), 1 << 31), 1 << 31);
        assert_eq!(ages.since_closed(Block(0), 1 << 36), u32::MAX);
    }

    #[test]
    fn a_recovery_finds_when_blocks_were_begun() {
        let mut ages = BlockAges::new(2_048, 128);
        ages.forget(1 << 40);
        assert_eq!(ages.since_closed(Block(3), 1 << 40), 1 << 23);
        ages.lost_a_page(Block(4), 1 << 40);
        for block in [3, 4].map(Block) {
            ages.found(block, (1 << 40) - 512_000, 1 << 40);
        }
        assert_eq!([3, 4].map(|block| ages.since_closed(Block(block), 1 << 40)), [512_000; 2]);
        assert_eq!([3, 4].map(|block| ages.dormant(Block(block), 1 << 40)), [512_000, 0]);
        ages.found(Block(5), 0, 1 << 40);
        assert_eq!(ages.since_closed(Block(5), 1 << 40), 1 << 23);
    }

    #[test]
    fn what_is_old_stays_old() {
        let mut ages = BlockAges::new(8, 4);
        ages.closed(Block(7), 5);
        for now in 0..1_000_000 {
            if now % 4 == 0 {
                ages.begun(now);
            }
            let age = ages.since_closed(Block(7), now);
            assert!(now < 5 || u64::from(age) == now - 5 || age >= 1 << 15, "{age} at {now}");
        }
    }
}
