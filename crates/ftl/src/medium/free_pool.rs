//! Free blocks, by die.
//!
//! **A block in the pool is safe to erase** from a moment on: whatever replaced its pages is on flash by then. The pool
//! is a queue, so by the time a block is erased that moment has long come, unless next to nothing is free.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Time};

/// Blocks that wait for their next use.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct FreePool {
    geometry: Geometry,
    /// By die, those that have been free for longest first.
    queues: Vec<VecDeque<Block>>,
    len: u32,
    safe: Time,
}

impl FreePool {
    /// Nothing is free.
    pub(crate) fn new(geometry: Geometry) -> Self {
        Self { geometry, queues: vec![VecDeque::new(); geometry.dies() as usize], len: 0, safe: Time::ZERO }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The blocks of a die, those that have been free for longest first.
    pub(crate) fn on(&self, die: u32) -> &VecDeque<Block> {
        &self.queues[die as usize]
    }

    /// The first die that has any, from `die` on.
    pub(crate) fn die_from(&self, die: u32) -> Option<u32> {
        let dies = self.geometry.dies();
        (0..dies).map(|d| (die + d) % dies).find(|d| !self.on(*d).is_empty())
    }

    /// When every one of them may be erased.
    pub(crate) fn safe(&self) -> Time {
        self.safe
    }

    /// A block is free. It may be erased once everything that is programmed by now is on flash, at `horizon`.
    pub(crate) fn put(&mut self, block: Block, horizon: Time) {
        self.queues[self.geometry.die_of(block) as usize].push_back(block);
        self.len += 1;
        debug_assert!(self.len <= self.geometry.blocks(), "a block is free twice");
        self.safe = self.safe.max(horizon);
    }

    /// The one at this place of a die's queue is free no longer.
    pub(crate) fn take(&mut self, die: u32, place: usize) -> Option<Block> {
        let queue = &mut self.queues[die as usize];
        let block = if place == 0 { queue.pop_front() } else { queue.remove(place) };
        debug_assert!(
            block.is_none_or(|block| self.geometry.die_of(block) == die),
            "a block is in another die's queue"
        );
        self.len -= u32::from(block.is_some());
        block
    }

    /// RAM of the queues.
    pub(crate) fn bytes(&self) -> usize {
        self.queues.iter().map(VecDeque::capacity).sum::<usize>() * size_of::<Block>()
    }
}
