//! Free blocks, by die.
//!
//! **A block in the pool is safe to erase** from a moment on: whatever replaced its pages is on flash by then. The pool
//! is a queue, so by the time a block is erased that moment has long come, unless next to nothing is free.
//!
//! **The queue of a die is short, and what it has no room for is in a bitmap.** While a drive serves, its free blocks
//! are about those of its reserve: all of them are queued. A new drive has every block free, and a queue of all would
//! take 32 times as much. A hand goes round the bitmap and refills the queue. So a block there waits for less than a
//! round.

use crate::RamLedger;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Time};

/// Blocks that queues have room for, of all dies together.
const QUEUED: u32 = 1024;
/// The same of a die at the least. Wear levelling looks at no more than the first 32 of a queue.
const QUEUED_OF_DIE: u32 = 64;

const BITS: u32 = u64::BITS;

/// Free blocks of a die.
#[derive(Clone, Debug, Preserve)]
struct OfDie {
    /// Those that have been free for longest first.
    queue: VecDeque<Block>,
    /// The others: a bit for each block of the die. There are some only where the queue is full.
    others: Vec<u64>,
    others_len: u32,
    /// The word of the bitmap that the hand is at.
    hand: u32,
}

impl OfDie {
    fn new(blocks: u32, queued: u32) -> Self {
        let others = if blocks > queued { blocks.div_ceil(BITS) } else { 0 };
        Self {
            queue: VecDeque::with_capacity(queued as usize),
            others: vec![0; others as usize],
            others_len: 0,
            hand: 0,
        }
    }

    /// The next of those that are not queued, by its number on the die: free no longer.
    fn take_other(&mut self) -> Option<u32> {
        if self.others_len == 0 {
            return None;
        }
        loop {
            let word = self.others.get_mut(self.hand as usize)?;
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                self.others_len -= 1;
                return Some(self.hand * BITS + bit);
            }
            self.hand = (self.hand + 1) % self.others.len() as u32;
        }
    }
}

/// Blocks that wait for their next use.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct FreePool {
    geometry: Geometry,
    dies: Vec<OfDie>,
    /// Blocks that a queue has room for.
    queued: u32,
    len: u32,
    safe: Time,
}

impl FreePool {
    /// Nothing is free.
    pub(crate) fn new(geometry: Geometry) -> Self {
        let of_die = geometry.blocks().div_ceil(geometry.dies());
        let queued = (QUEUED / geometry.dies()).max(QUEUED_OF_DIE).min(of_die);
        Self {
            geometry,
            dies: (0..geometry.dies()).map(|_| OfDie::new(of_die, queued)).collect(),
            queued,
            len: 0,
            safe: Time::ZERO,
        }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// How many there are on a die.
    pub(crate) fn len_on(&self, die: u32) -> u32 {
        let of_die = &self.dies[die as usize];
        of_die.queue.len() as u32 + of_die.others_len
    }

    /// The first of the blocks of a die to be taken, those that have been free for longest first.
    pub(crate) fn first_on(&self, die: u32) -> &VecDeque<Block> {
        &self.dies[die as usize].queue
    }

    /// The first die that has any, from `die` on.
    pub(crate) fn die_from(&self, die: u32) -> Option<u32> {
        let dies = self.geometry.dies();
        (0..dies).map(|d| (die + d) % dies).find(|d| self.len_on(*d) > 0)
    }

    /// When every one of them may be erased.
    pub(crate) fn safe(&self) -> Time {
        self.safe
    }

    /// A block is free. It may be erased once everything that is programmed by now is on flash, at `horizon`.
    pub(crate) fn put(&mut self, block: Block, horizon: Time) {
        let of_die = &mut self.dies[self.geometry.die_of(block) as usize];
        if of_die.queue.len() < self.queued as usize {
            of_die.queue.push_back(block);
        } else {
            let number = block.0 / self.geometry.dies();
            let word = &mut of_die.others[(number / BITS) as usize];
            debug_assert!(*word >> (number % BITS) & 1 == 0, "{block} is free twice");
            *word |= 1 << (number % BITS);
            of_die.others_len += 1;
        }
        self.len += 1;
        debug_assert!(self.len <= self.geometry.blocks(), "a block is free twice");
        self.safe = self.safe.max(horizon);
    }

    /// The one at this place of a die's queue is free no longer.
    pub(crate) fn take(&mut self, die: u32, place: usize) -> Option<Block> {
        let of_die = &mut self.dies[die as usize];
        let block = if place == 0 { of_die.queue.pop_front() } else { of_die.queue.remove(place) }?;
        debug_assert_eq!(self.geometry.die_of(block), die, "a block is in another die's queue");
        self.len -= 1;
        if let Some(number) = of_die.take_other() {
            of_die.queue.push_back(Block(number * self.geometry.dies() + die));
        }
        Some(block)
    }

    /// A block becomes the next to be taken of its die, if it is free.
    pub(crate) fn bring_forward(&mut self, block: Block) {
        let dies = self.geometry.dies();
        let of_die = &mut self.dies[self.geometry.die_of(block) as usize];
        let number = block.0 / dies;
        if let Some(place) = of_die.queue.iter().position(|queued| *queued == block) {
            of_die.queue.remove(place);
        } else if of_die.others.get((number / BITS) as usize).is_some_and(|word| word >> (number % BITS) & 1 == 1) {
            of_die.others[(number / BITS) as usize] &= !(1 << (number % BITS));
            // The last of a full queue gives its place.
            match of_die.queue.pop_back() {
                Some(last) => {
                    let last = last.0 / dies;
                    of_die.others[(last / BITS) as usize] |= 1 << (last % BITS);
                }
                None => of_die.others_len -= 1,
            }
        } else {
            return;
        }
        of_die.queue.push_front(block);
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        let bitmap = u64::from(self.geometry.blocks()).div_ceil(8);
        ledger.structure("blocks.free_pool", bitmap);
        let queue = self.queued as usize * size_of::<Block>() + size_of::<OfDie>();
        let words = |of_die: &OfDie| of_die.others.len() * size_of::<u64>();
        let all = self.dies.iter().map(|of_die| queue + words(of_die)).sum::<usize>();
        ledger.index("index.free_pool_queue", (all as u64).saturating_sub(bitmap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    fn ram_of(pool: &FreePool) -> (u64, usize) {
        let mut ledger = RamLedger::default();
        pool.ram(&mut ledger);
        let room: usize = pool.dies.iter().map(|of_die| of_die.queue.capacity() + of_die.others.capacity()).sum();
        (ledger.all_total(), room)
    }

    #[test]
    fn every_block_is_free_once_and_a_queue_keeps_its_order() {
        for (channels, blocks) in [(1, 3_000), (4, 3_000), (2, 90)] {
            let geometry = Geometry::new(4096, 32, blocks, channels, 1).unwrap();
            let mut pool = FreePool::new(geometry);
            let ram = ram_of(&pool);
            (0..geometry.blocks()).for_each(|block| pool.put(Block(block), Time::ZERO));
            assert_eq!(pool.len(), geometry.blocks());
            let mut in_use = BTreeSet::new();
            // New blocks come in their order. Few of them are free then.
            for block in 0..geometry.blocks() - 20 {
                let taken = pool.take(pool.die_from(block % channels).unwrap(), 0).unwrap();
                assert!(in_use.insert(taken));
                assert_eq!(taken, Block(block));
            }
            // Each goes round, and one that is released is the last of its die to be taken.
            for n in 0..10_000 {
                let die = pool.die_from(n % channels).unwrap();
                let queued: Vec<Block> = pool.first_on(die).iter().copied().collect();
                let taken = pool.take(die, n as usize % queued.len().min(3)).unwrap();
                assert!(in_use.insert(taken) && queued.contains(&taken));
                let released = *in_use.range(Block(n * 7 % geometry.blocks())..).chain(&in_use).next().unwrap();
                in_use.remove(&released);
                pool.put(released, Time::ZERO);
                assert_eq!(pool.first_on(geometry.die_of(released)).back(), Some(&released));
            }
            // All are free again: more than there is room for in a queue.
            in_use.iter().for_each(|block| pool.put(*block, Time::ZERO));
            let all: BTreeSet<Block> = core::iter::from_fn(|| pool.take(pool.die_from(0)?, 0)).collect();
            assert_eq!((all.len() as u32, pool.len()), (geometry.blocks(), 0));
            assert_eq!(ram_of(&pool), ram);
        }
    }
}
