//! Live pages of a sample of the blocks, where RAM has no room for a counter of each block.
//!
//! This is GeckoFTL section 5.3: "only storing a sample of BVC in integrated RAM". The paper says no more about it.
//!
//! - **The sample is an array of slots.** Slot s stands for the blocks s, s + m, s + 2 m and so on, and holds one of
//!   them. So finding a block takes no search and no links. A member is its counter and its row, two bytes each.
//! - **A slot keeps the emptiest block that was offered to it.** Every block is offered when it is closed, because the
//!   live pages of an open block are counted. So is each block for which validity was queried.
//! - **A slot is sure** while none of its collectable blocks is emptier than its member. It stops being sure when a
//!   page goes stale in a block that is not in the sample.
//! - **Others are counted besides**, in a sorted list: open blocks, the victim, and all metadata blocks. That a
//!   metadata block is empty must be noticed in the moment that it becomes so, and no validity store could answer for
//!   it.

use super::{GroupMinima, counters::NO_CANDIDATE};
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// A slot without a member: larger than any number of live pages.
const EMPTY: u16 = NO_CANDIDATE;

/// Counters of some blocks.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Sample {
    /// Blocks of the drive.
    blocks: u32,
    /// By slot: the live pages of its member.
    keys: Vec<u16>,
    /// By slot: which of its blocks is the member.
    rows: Vec<u16>,
    /// A bit for each slot that is sure.
    sure: Vec<u64>,
    minima: GroupMinima,
    /// Blocks counted besides, by number, with their live pages, and the bit of those that are no candidates.
    besides: Vec<(Block, u16)>,
    /// Live pages of the whole drive.
    total: u64,
    /// The block to be queried next.
    hand: u32,
}

impl Sample {
    /// An empty sample of so many of a drive's blocks, of all if there are no more. It has at least so many that two
    /// bytes can number the rows of each.
    pub(crate) fn new(blocks: u32, slots: u32) -> Self {
        let slots = slots.max(blocks.div_ceil(1 << 16)).clamp(1, blocks.max(1)) as usize;
        Self {
            blocks,
            keys: vec![EMPTY; slots],
            rows: vec![0; slots],
            sure: vec![u64::MAX; slots.div_ceil(64)],
            minima: GroupMinima::new(slots),
            besides: Vec::new(),
            total: 0,
            hand: 0,
        }
    }

    fn slots(&self) -> u32 {
        self.keys.len() as u32
    }

    /// The slot of a block, and its row there.
    #[inline]
    fn place_of(&self, block: Block) -> (usize, u16) {
        ((block.0 % self.slots()) as usize, (block.0 / self.slots()) as u16)
    }

    #[inline]
    fn is_member(&self, block: Block) -> bool {
        let (slot, row) = self.place_of(block);
        self.rows[slot] == row && self.keys[slot] != EMPTY
    }

    fn member(&self, slot: usize) -> Block {
        Block(u32::from(self.rows[slot]) * self.slots() + slot as u32)
    }

    fn find_besides(&self, block: Block) -> Result<usize, usize> {
        self.besides.binary_search_by_key(&block, |(b, _)| *b)
    }

    fn set_sure(&mut self, slot: usize, sure: bool) {
        let (word, bit) = (&mut self.sure[slot / 64], 1 << (slot % 64));
        *word = *word & !bit | if sure { bit } else { 0 };
    }

    fn is_sure(&self, slot: usize) -> bool {
        self.sure[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// The live pages of a block, if they are counted.
    #[inline]
    pub(crate) fn known(&self, block: Block) -> Option<u16> {
        if self.is_member(block) {
            return Some(self.keys[self.place_of(block).0]);
        }
        self.find_besides(block).ok().map(|at| self.besides[at].1 & !NO_CANDIDATE)
    }

    /// A page was written.
    #[inline]
    pub(crate) fn add(&mut self, block: Block) {
        let found = self.find_besides(block);
        debug_assert!(found.is_ok(), "{block} is written and not counted");
        if let Ok(at) = found {
            self.besides[at].1 += 1;
        }
        self.total += 1;
    }

    /// A page is live no longer. `may_be_low` says that it may not have been counted.
    #[inline]
    pub(crate) fn remove(&mut self, block: Block, may_be_low: bool) {
        let (slot, _) = self.place_of(block);
        let member = self.is_member(block);
        let key = if member {
            &mut self.keys[slot]
        } else if let Ok(at) = self.find_besides(block) {
            &mut self.besides[at].1
        } else {
            self.set_sure(slot, false);
            self.total = self.total.saturating_sub(1);
            return;
        };
        debug_assert!(*key & !NO_CANDIDATE > 0 || may_be_low, "{block} has no live page to lose");
        if *key & !NO_CANDIDATE > 0 {
            *key -= 1;
            self.total = self.total.saturating_sub(1);
        }
        if member {
            self.minima.lowered(slot, self.keys[slot]);
        }
    }

    /// A block that is counted besides has so many live pages.
    pub(crate) fn set(&mut self, block: Block, live: u16) {
        let found = self.find_besides(block);
        debug_assert!(found.is_ok(), "{block} is not counted");
        if let Ok(at) = found {
            let key = &mut self.besides[at].1;
            self.total = (self.total + u64::from(live)).saturating_sub(u64::from(*key & !NO_CANDIDATE));
            *key = *key & NO_CANDIDATE | live;
        }
    }

    /// A block is counted besides from now on: it is written, or was queried. Says nothing about the whole drive.
    pub(crate) fn count_besides(&mut self, block: Block, live: u16, candidate: bool) {
        debug_assert!(!self.is_member(block), "{block} is counted besides, and a member");
        let key = live | if candidate { 0 } else { NO_CANDIDATE };
        match self.find_besides(block) {
            Ok(at) => self.besides[at].1 = key,
            Err(at) => self.besides.insert(at, (block, key)),
        }
    }

    /// A block is written. Metadata stay counted; a block of user data may become the member of its slot.
    pub(crate) fn closed(&mut self, block: Block, is_metadata: bool, candidate: bool) {
        match self.find_besides(block) {
            Ok(at) if is_metadata => {
                let live = self.besides[at].1 & !NO_CANDIDATE;
                self.count_besides(block, live, candidate);
            }
            Ok(at) => {
                let (_, key) = self.besides.remove(at);
                self.offer(block, key & !NO_CANDIDATE);
            }
            Err(_) => self.not_known(block),
        }
    }

    /// A candidate, and its live pages: the member of its slot from now on, if it is emptier than the one before.
    pub(crate) fn offer(&mut self, block: Block, live: u16) {
        debug_assert!(self.find_besides(block).is_err(), "{block} is offered, and counted besides");
        let (slot, row) = self.place_of(block);
        if live < self.keys[slot] {
            (self.keys[slot], self.rows[slot]) = (live, row);
            self.minima.lowered(slot, live);
        }
    }

    /// A candidate whose live pages are not counted.
    pub(crate) fn not_known(&mut self, block: Block) {
        self.set_sure(self.place_of(block).0, false);
    }

    /// A block is no candidate any more. If it was counted, it still is.
    pub(crate) fn taken(&mut self, block: Block) {
        if self.is_member(block) {
            let (slot, _) = self.place_of(block);
            let live = core::mem::replace(&mut self.keys[slot], EMPTY);
            self.minima.raised(&self.keys, slot);
            // The emptiest is not determined now.
            self.set_sure(slot, false);
            self.count_besides(block, live, false);
        } else if let Ok(at) = self.find_besides(block) {
            self.besides[at].1 |= NO_CANDIDATE;
        }
    }

    /// A block is free.
    pub(crate) fn freed(&mut self, block: Block) {
        self.taken(block);
        if let Ok(at) = self.find_besides(block) {
            self.besides.remove(at);
        }
    }

    /// The emptiest candidate that is counted.
    pub(crate) fn least(&self) -> Option<Block> {
        let (slot, key) = self.minima.least(&self.keys);
        let member = (key != EMPTY).then(|| (key, self.member(slot)));
        let besides = self.besides.iter().map(|(block, key)| (*key, *block)).min();
        let least = member.into_iter().chain(besides.filter(|(key, _)| key & NO_CANDIDATE == 0)).min();
        least.map(|(_, block)| block)
    }

    /// At how many counters and minima [`Sample::least`] looks.
    pub(crate) fn looked_at(&self) -> u32 {
        self.minima.looked_at(self.keys.len()) + self.besides.len() as u32
    }

    /// The emptiest candidate of those counted that `wanted` takes, by looking at all of them.
    pub(crate) fn least_of(&self, wanted: impl Fn(Block, u16) -> bool) -> Option<Block> {
        let members = self.keys.iter().enumerate().map(|(slot, key)| (*key, self.member(slot)));
        let besides = self.besides.iter().map(|(block, key)| (*key, *block));
        let candidates = members.chain(besides).filter(|(key, block)| key & NO_CANDIDATE == 0 && wanted(*block, *key));
        candidates.min().map(|(_, block)| block)
    }

    /// Live pages of the whole drive.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn set_total(&mut self, total: u64) {
        self.total = total;
    }

    /// The next block that `wanted` takes and that is not counted. The search goes round the drive in the order of
    /// numbers, and visits so many at the most.
    pub(crate) fn next_to_ask(&mut self, at_most: u32, wanted: impl Fn(Block) -> bool) -> Option<Block> {
        for _ in 0..at_most.min(self.blocks) {
            let block = Block(self.hand);
            self.hand = if self.hand + 1 < self.blocks { self.hand + 1 } else { 0 };
            if wanted(block) && self.known(block).is_none() {
                return Some(block);
            }
        }
        None
    }

    /// The first block at or after `from`, in the order of slots, that `wanted` takes and that may be emptier than its
    /// slot's member. Slots that have been passed are sure. Begin with `(0, 0)`.
    pub(crate) fn next_unsure(
        &mut self,
        from: (u32, u32),
        wanted: impl Fn(Block) -> bool,
    ) -> Option<(Block, (u32, u32))> {
        let (mut slot, mut row) = from;
        while slot < self.slots() {
            if !self.is_sure(slot as usize) {
                while let Some(number) = row.checked_mul(self.slots()).and_then(|n| n.checked_add(slot))
                    && number < self.blocks
                {
                    row += 1;
                    if wanted(Block(number)) && self.known(Block(number)).is_none() {
                        return Some((Block(number), (slot, row)));
                    }
                }
                self.set_sure(slot as usize, true);
            }
            (slot, row) = (slot + 1, 0);
        }
        None
    }

    /// Whether no candidate is emptier than the emptiest that is counted.
    pub(crate) fn is_all_sure(&self) -> bool {
        (0..self.keys.len()).all(|slot| self.is_sure(slot))
    }

    /// For checks: whether this block's slot is sure, and what its member's live pages are.
    pub(crate) fn sure_of(&self, block: Block) -> Option<u16> {
        let (slot, _) = self.place_of(block);
        self.is_sure(slot).then_some(self.keys[slot])
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        let (slots, besides) = (self.keys.len() as u64, self.besides.capacity());
        // Counter, row and a bit; the total and the hand.
        ledger.structure("blocks.sample", slots * 4 + slots.div_ceil(8) + 12);
        // A number and a counter.
        ledger.structure("blocks.counters", besides as u64 * 6);
        ledger.index("index.sample_minima", self.minima.bytes());
        let padding = besides * (size_of::<(Block, u16)>() - 6) + self.sure.len() * 8;
        ledger.index("index.sample_padding", padding as u64 - slots.div_ceil(8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(sample: &mut Sample, block: u32, live: u16) {
        sample.count_besides(Block(block), live, false);
        sample.closed(Block(block), false, true);
    }

    #[test]
    fn a_slot_keeps_the_emptiest_that_is_offered() {
        let mut sample = Sample::new(16, 4);
        for (block, live) in [(1, 9), (5, 7), (9, 8), (2, 6)] {
            closed(&mut sample, block, live);
        }
        assert_eq!(sample.known(Block(5)), Some(7));
        assert_eq!([1, 9].map(|block| sample.known(Block(block))), [None, None]);
        assert_eq!(sample.least(), Some(Block(2)));
        sample.taken(Block(2));
        assert_eq!(sample.known(Block(2)), Some(6), "a victim is counted");
        assert_eq!(sample.least(), Some(Block(5)));
        sample.freed(Block(2));
        assert_eq!(sample.known(Block(2)), None);
    }

    #[test]
    fn what_was_asked_about_everywhere_stays_the_emptiest_until_others_lose_pages() {
        let mut sample = Sample::new(12, 3);
        let live = [5u16, 9, 9, 4, 8, 7, 3, 9, 9, 6, 9, 9];
        (0..12).for_each(|block| sample.not_known(Block(block)));
        let ask_all = |sample: &mut Sample| {
            let mut asked = Vec::new();
            let mut from = (0, 0);
            while let Some((block, next)) = sample.next_unsure(from, |_| true) {
                asked.push(block.0);
                sample.offer(block, live[block.index()]);
                from = next;
            }
            asked
        };
        assert_eq!(ask_all(&mut sample).len(), 12);
        assert_eq!((0..3).map(|slot| sample.member(slot).0).collect::<Vec<_>>(), [6, 4, 5]);
        assert!(ask_all(&mut sample).is_empty(), "it is known");
        sample.set_total(100);
        sample.remove(Block(3), false);
        assert_eq!(ask_all(&mut sample), [0, 3, 9]);
        sample.taken(Block(5));
        assert_eq!(ask_all(&mut sample), [2, 8, 11]);
        assert_eq!(sample.total(), 99);
    }

    #[test]
    fn metadata_are_counted_besides_and_may_be_victims() {
        let mut sample = Sample::new(64, 2);
        closed(&mut sample, 0, 5);
        sample.count_besides(Block(7), 3, false);
        sample.closed(Block(7), true, false);
        assert_eq!(sample.least(), Some(Block(0)), "what is left until it is stale is no candidate");
        sample.closed(Block(7), true, true);
        assert_eq!(sample.least(), Some(Block(7)));
        assert_eq!(sample.least_of(|block, _| block != Block(7)), Some(Block(0)));
        sample.remove(Block(7), false);
        assert_eq!(sample.known(Block(7)), Some(2));
    }

    #[test]
    fn the_hand_goes_round_and_asks_of_what_is_not_counted() {
        let mut sample = Sample::new(6, 2);
        closed(&mut sample, 2, 1);
        let asked: Vec<_> = (0..6).map(|_| sample.next_to_ask(6, |b| b != Block(4)).unwrap().0).collect();
        assert_eq!(asked, [0, 1, 3, 5, 0, 1]);
        assert_eq!(sample.next_to_ask(6, |_| false), None);
    }

    #[test]
    fn rows_are_numbered_in_two_bytes() {
        let sample = Sample::new(4_000_000, 16);
        assert_eq!(sample.slots(), 62);
        assert_eq!(sample.place_of(Block(3_999_999)), (3_999_999 % 62, (3_999_999 / 62) as u16));
        assert_eq!(Sample::new(10, 100).slots(), 10);
    }
}
