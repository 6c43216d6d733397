//! Moments in logical time, at four bytes each, or at two.
//!
//! Logical time is what Dual Greedy (section III-B) calls the total number of host write requests arrived. Here it is
//! the number of pages that the host has written. (A request of several pages is several writes to flash, one after
//! another.)
//!
//! **After 2^32 page writes** (16 TiB of 4 KiB pages) the clock of four bytes starts over. Ages are differences, so
//! those below 2^32 stay right. An older moment would look young again. A hand prevents that: it goes round the
//! moments, and moves up those further back than 2^31 to that. On the largest possible drive it passes each moment at
//! least once in 2^31 page writes. So an age below 2^31 is shown exactly, and an older one as at least 2^31.
//!
//! **A policy that weighs ages against each other needs no exact ones.** Its moments have two bytes, which count in
//! units of some [`UNITS_A_DRIVE`]th of the drive. An age is at most a unit too low or too high then, and right on average,
//! up to 2^15 units. One below a unit counts as half a unit: no age is nothing.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The largest age that a moment of four bytes is kept at: half of what they hold.
const AGE_KEPT: u32 = 1 << 31;
/// The same of one of two bytes, in units.
const UNITS_KEPT: u16 = 1 << 15;
/// Units in which as many pages are written as the drive has, at least. Two bytes hold 16 to 32 times that. Ages are kept
/// up to half of it.
const UNITS_A_DRIVE: u64 = 1 << 11;

/// Moments, by number.
#[derive(Clone, Debug, Preserve)]
pub(crate) enum Moments {
    /// Page writes.
    Exact(Vec<u32>),
    /// Units of two to the power of `shift` page writes.
    Coarse { shift: u32, moments: Vec<u16> },
}

impl Moments {
    /// All of them at the beginning of time.
    pub(crate) fn new(len: usize) -> Self {
        Self::Exact(vec![0; len])
    }

    /// The same in units, for a drive of so many pages.
    fn coarse(len: usize, pages: u64) -> Self {
        Self::Coarse { shift: (pages / UNITS_A_DRIVE).max(1).ilog2(), moments: vec![0; len] }
    }

    /// All of them at the largest age.
    pub(crate) fn forget(&mut self, now: u64) {
        match self {
            Self::Exact(moments) => moments.fill((now as u32).wrapping_sub(AGE_KEPT)),
            Self::Coarse { shift, moments } => moments.fill(((now >> *shift) as u16).wrapping_sub(UNITS_KEPT)),
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, index: usize, now: u64) {
        match self {
            Self::Exact(moments) => moments[index] = now as u32,
            Self::Coarse { shift, moments } => moments[index] = (now >> *shift) as u16,
        }
    }

    /// How long ago that was; 0 of one that there is not.
    #[inline]
    pub(crate) fn age(&self, index: usize, now: u64) -> u32 {
        match self {
            Self::Exact(moments) => moments.get(index).map_or(0, |moment| (now as u32).wrapping_sub(*moment)),
            Self::Coarse { shift, moments } => {
                let Some(moment) = moments.get(index) else { return 0 };
                let units = ((now >> shift) as u16).wrapping_sub(*moment);
                let age = (u64::from(units) << shift).max((1 << shift) / 2);
                age.min(AGE_KEPT.into()) as u32
            }
        }
    }

    /// [`age`](Self::age) of consecutive ones from `first` on, as many as `ages` has room for.
    fn ages(&self, first: usize, now: u64, ages: &mut [u32]) {
        match self {
            // The same in a form that the compiler computes several of at a time.
            Self::Exact(moments) => {
                let moments = moments.get(first..).unwrap_or_default();
                ages.iter_mut().zip(moments).for_each(|(age, moment)| *age = (now as u32).wrapping_sub(*moment));
            }
            Self::Coarse { .. } => ages.iter_mut().zip(first..).for_each(|(age, index)| *age = self.age(index, now)),
        }
    }

    /// The hand has come to `index`.
    #[inline]
    pub(crate) fn visit(&mut self, index: usize, now: u64) {
        match self {
            Self::Exact(moments) => {
                let oldest = (now as u32).wrapping_sub(AGE_KEPT);
                if (now as u32).wrapping_sub(moments[index]) > AGE_KEPT {
                    moments[index] = oldest;
                }
            }
            Self::Coarse { shift, moments } => {
                let units = (now >> *shift) as u16;
                if units.wrapping_sub(moments[index]) > UNITS_KEPT {
                    moments[index] = units.wrapping_sub(UNITS_KEPT);
                }
            }
        }
    }

    /// The age that [`forget`](Self::forget) gives.
    fn age_kept(&self) -> u32 {
        match self {
            Self::Exact(_) => AGE_KEPT,
            Self::Coarse { shift, .. } => (u64::from(UNITS_KEPT) << shift).min(AGE_KEPT.into()) as u32,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Exact(moments) => moments.len(),
            Self::Coarse { moments, .. } => moments.len(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Exact(moments) => moments.len() as u64 * 4,
            Self::Coarse { moments, .. } => moments.len() as u64 * 2,
        }
    }
}

/// By block: when its first page was written, and when it last lost one (Dual Greedy, section III-C); and when it was
/// closed. The last loss is always kept, the others for those who go by them.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct BlockTimes {
    first_write: Option<Moments>,
    last_loss: Moments,
    closed: Option<Moments>,
    hand: usize,
}

impl BlockTimes {
    /// With when blocks were closed, where that is wanted.
    pub(crate) fn new(blocks: u32, closed: bool) -> Self {
        let moments = || Moments::new(blocks as usize);
        Self { first_write: Some(moments()), last_loss: moments(), closed: closed.then(moments), hand: 0 }
    }

    /// When blocks of so many pages were closed, and when they lost a page last, in units.
    pub(crate) fn coarse(blocks: u32, pages_per_block: u32) -> Self {
        let moments = || Moments::coarse(blocks as usize, u64::from(blocks) * u64::from(pages_per_block));
        Self { first_write: None, last_loss: moments(), closed: Some(moments()), hand: 0 }
    }

    /// All that are kept.
    fn kept(&mut self) -> impl Iterator<Item = &mut Moments> {
        self.first_write.iter_mut().chain([&mut self.last_loss]).chain(&mut self.closed)
    }

    /// The first page of the block is written. It has lost none: nor has it been dormant.
    pub(crate) fn begun(&mut self, block: Block, now: u64) {
        if let Some(first_write) = &mut self.first_write {
            first_write.set(block.index(), now);
        }
        self.last_loss.set(block.index(), now);
        // As many blocks are begun as hold the pages that the host writes, at least. Two at a time, all are visited
        // while half the drive's pages are written, of which there are at most 2^32.
        for _ in 0..2 {
            let hand = self.hand;
            self.kept().for_each(|moments| moments.visit(hand, now));
            self.hand = if hand + 1 == self.last_loss.len() { 0 } else { hand + 1 };
        }
    }

    /// There is no record of any block: all of them have the largest age.
    pub(crate) fn forget(&mut self, now: u64) {
        self.kept().for_each(|moments| moments.forget(now));
    }

    /// Flash shows that the first page of the block was written then. When it lost pages before the mount is not
    /// recorded; a loss since stays.
    pub(crate) fn found(&mut self, block: Block, at: u64, now: u64) {
        let at = at.max(now.saturating_sub(self.last_loss.age_kept().into()));
        if let Some(first_write) = &mut self.first_write {
            first_write.set(block.index(), at);
        }
        if self.dormant(block, now) >= self.last_loss.age_kept() {
            self.last_loss.set(block.index(), at);
        }
        self.closed(block, at);
    }

    /// The block is written in full, or will not be written any further.
    pub(crate) fn closed(&mut self, block: Block, now: u64) {
        if let Some(closed) = &mut self.closed {
            closed.set(block.index(), now);
        }
    }

    /// A page of the block is live no longer.
    #[inline]
    pub(crate) fn lost_a_page(&mut self, block: Block, now: u64) {
        self.last_loss.set(block.index(), now);
    }

    /// How long ago the block's first page was written; 0 where that is not kept.
    #[inline]
    pub(crate) fn since_first_write(&self, block: Block, now: u64) -> u32 {
        self.first_write.as_ref().map_or(0, |moments| moments.age(block.index(), now))
    }

    /// How long ago the block was closed; where that is not kept, begun.
    #[inline]
    pub(crate) fn since_closed(&self, block: Block, now: u64) -> u32 {
        self.closed.as_ref().or(self.first_write.as_ref()).map_or(0, |moments| moments.age(block.index(), now))
    }

    /// The dormant period (section IV-A): how long ago it lost a page, or was begun if it has lost none.
    #[inline]
    pub(crate) fn dormant(&self, block: Block, now: u64) -> u32 {
        self.last_loss.age(block.index(), now)
    }

    /// [`dormant`](Self::dormant) of consecutive blocks; where `closed`, [`since_closed`](Self::since_closed).
    pub(crate) fn ages(&self, closed: bool, first: Block, now: u64, ages: &mut [u32]) {
        let by_closing = self.closed.as_ref().or(self.first_write.as_ref());
        if let Some(moments) = if closed { by_closing } else { Some(&self.last_loss) } {
            moments.ages(first.index(), now, ages);
        }
    }

    /// The largest page lifetime of a block (section III-C, figure 4): from its first write to its last loss.
    #[inline]
    pub(crate) fn largest_lifetime(&self, block: Block, now: u64) -> u32 {
        if self.first_write.is_none() {
            return 0;
        }
        let (begun, dormant) = (self.since_first_write(block, now), self.dormant(block, now));
        debug_assert!(dormant <= begun, "{block} lost a page before it was begun");
        begun.saturating_sub(dormant)
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        let kept = self.first_write.iter().chain([&self.last_loss]).chain(&self.closed);
        ledger.structure("blocks.times", kept.map(Moments::bytes).sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_of_many_are_those_of_each() {
        for mut moments in [Moments::new(6), Moments::coarse(6, 1 << 13)] {
            (0..6).for_each(|index| moments.set(index, 100 << index));
            let mut ages = [7; 4];
            moments.ages(3, 5_000, &mut ages);
            let each = [3, 4, 5].map(|index| moments.age(index, 5_000));
            assert_eq!(ages[..3], each, "{moments:?}");
        }
    }

    #[test]
    fn the_papers_656_kb_at_41_gb() {
        // 41 GB of blocks of 512 KB, two moments of four bytes each.
        let blocks = (41u64 << 30) / (512 << 10);
        let mut ledger = RamLedger::default();
        BlockTimes::new(blocks as u32, false).ram(&mut ledger);
        assert_eq!(blocks, 83_968);
        assert_eq!(ledger.papers().collect::<Vec<_>>(), [("blocks.times", 656 << 10)]);
    }

    #[test]
    fn the_largest_lifetime_ends_with_the_last_loss() {
        let mut times = BlockTimes::new(2, false);
        times.begun(Block(0), 100);
        assert_eq!(times.largest_lifetime(Block(0), 150), 0);
        times.lost_a_page(Block(0), 130);
        times.lost_a_page(Block(0), 190);
        assert_eq!(times.largest_lifetime(Block(0), 1_000), 90);
        assert_eq!(times.dormant(Block(0), 1_000), 810);
        assert_eq!(times.since_first_write(Block(0), 1_000), 900);
    }

    #[test]
    fn a_block_is_closed_after_it_was_begun() {
        let mut times = BlockTimes::new(2, true);
        times.begun(Block(1), 100);
        times.closed(Block(1), 140);
        assert_eq!((times.since_closed(Block(1), 200), times.since_first_write(Block(1), 200)), (60, 100));
        // A recovery finds only when it was begun.
        times.forget(150);
        times.found(Block(1), 120, 150);
        assert_eq!((times.since_closed(Block(1), 200), times.dormant(Block(1), 200)), (80, 80));
        // A loss since the mount stays where the first page is read later.
        times.lost_a_page(Block(0), 190);
        times.found(Block(0), 110, 195);
        assert_eq!((times.since_closed(Block(0), 200), times.dormant(Block(0), 200)), (90, 10));
        // What was begun before all that four bytes hold is as old as that.
        times.forget(1 << 40);
        times.found(Block(1), 7, 1 << 40);
        assert_eq!(
            (times.since_closed(Block(1), 1 << 40), times.since_first_write(Block(1), 1 << 40)),
            (1 << 31, 1 << 31)
        );
        let mut without = BlockTimes::new(2, false);
        without.begun(Block(1), 100);
        without.closed(Block(1), 140);
        assert_eq!(without.since_closed(Block(1), 200), 100);
    }

    #[test]
    fn time_goes_on_after_four_billion_page_writes() {
        let end = 1u64 << 32;
        let mut times = BlockTimes::new(4, false);
        times.begun(Block(0), end - 50);
        times.lost_a_page(Block(0), end + 20);
        // 50 to the end, 20 from there on.
        assert_eq!(times.largest_lifetime(Block(0), end + 100), 70);
        assert_eq!(times.dormant(Block(0), end + 100), 80);
        assert_eq!(times.since_first_write(Block(0), end + 100), 150);
    }

    #[test]
    fn ages_in_units_are_never_off_by_more_than_one() {
        // 2^20 pages, in units of 512.
        let mut times = BlockTimes::coarse(1 << 13, 128);
        assert_eq!(times.last_loss.bytes(), 1 << 14);
        for (closed, now) in [(0, 0), (0, 511), (511, 512), (1_000, 90_000), ((1 << 25) - 7, (1 << 25) + 70_000)] {
            times.begun(Block(3), closed);
            times.closed(Block(3), closed);
            let age = i64::from(times.since_closed(Block(3), now));
            assert!((-512..512).contains(&(age - (now - closed) as i64)), "{age} from {closed} to {now}");
        }
        // And by nothing on average.
        let off = |n: u64| {
            let (closed, now) = (1_024 + n, 90_112 + n * 181 % 512);
            times.closed(Block(3), closed);
            i64::from(times.since_closed(Block(3), now)) - (now - closed) as i64
        };
        assert_eq!((0..512).map(off).sum::<i64>(), 0);
        // Sixteen times the drive, and no more.
        let end = 1u64 << 40;
        times.forget(end);
        assert_eq!(times.since_closed(Block(5), end), 1 << 24);
        times.found(Block(5), 12, end);
        assert_eq!(times.dormant(Block(5), end), 1 << 24);
        times.found(Block(5), end - 700, end);
        assert!([512, 1024].contains(&times.since_closed(Block(5), end)));
        assert!([512, 1024].contains(&times.dormant(Block(5), end)));
        // The hand keeps the old ones old, while others are written.
        for n in 1..100_000u64 {
            times.begun(Block(6 + (n % 5_000) as u32), end + n * 128 * 8);
            assert!(times.since_closed(Block(4), end + n * 128 * 8) >= 1 << 24, "after {n} blocks");
        }
        // The largest drive: ages have four bytes all the same.
        let mut largest = BlockTimes::coarse(1 << 22, 1 << 10);
        largest.forget(end);
        assert_eq!(largest.since_closed(Block(0), end), AGE_KEPT);
    }

    #[test]
    fn what_is_older_than_can_be_told_stays_old() {
        let mut times = BlockTimes::new(8, false);
        times.begun(Block(7), 5);
        times.lost_a_page(Block(7), 6);
        // The others are written over and over, for 6 * 2^32 page writes; 7 stays.
        let step = 1u64 << 28;
        for n in 1..96 {
            let now = n * step;
            times.begun(Block((n % 7) as u32), now);
            let age = times.since_first_write(Block(7), now);
            if now <= 1 << 31 {
                assert_eq!(u64::from(age), now - 5);
            } else {
                assert!(age >= 1 << 31, "{age} after {now}");
                assert!(times.dormant(Block(7), now) >= 1 << 31);
            }
            assert_eq!(times.since_first_write(Block((n % 7) as u32), now), 0);
        }
    }
}
