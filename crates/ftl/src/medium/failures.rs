//! Blocks that failed, and those that are bad.
//!
//! A block that failed a program is emptied before it is marked bad. A recovery does not read bad blocks, so it is
//! marked when what replaced its pages is on flash. A power cut before that forgets the failure, and the next erase or
//! program meets it again.

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Nand, Time};

/// Blocks that failed a program or an erase.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Failures {
    /// A program failed here.
    failing: Vec<Block>,
    /// Emptied after that, and to be marked bad once this moment has come.
    retiring: Vec<(Block, Time)>,
    /// How many are marked bad.
    bad: u32,
    barriers: Barriers,
}

impl Failures {
    /// Nothing has failed.
    pub(crate) fn new(barriers: Barriers) -> Self {
        Self { failing: Vec::new(), retiring: Vec::new(), bad: 0, barriers }
    }

    /// Blocks that are marked bad.
    pub(crate) fn bad(&self) -> u32 {
        self.bad
    }

    /// So many were marked bad at the mount.
    pub(crate) fn found_bad(&mut self, bad: u32) {
        self.bad = bad;
    }

    /// A program failed in a block.
    pub(crate) fn failed(&mut self, block: Block) {
        debug_assert!(self.retiring.iter().all(|(other, _)| *other != block), "{block} is written and given up");
        if !self.failing.contains(&block) {
            self.failing.push(block);
        }
    }

    /// Blocks in which a program failed, and that are not empty yet.
    pub(crate) fn failing(&self) -> &[Block] {
        &self.failing
    }

    /// Those, and the ones that are empty by now: none is marked bad yet.
    pub(crate) fn not_bad_yet(&self) -> impl Iterator<Item = Block> + '_ {
        self.failing.iter().chain(self.retiring.iter().map(|(block, _)| block)).copied()
    }

    /// A block is empty. If a program failed in it, it is marked bad when everything programmed by now is on flash, at
    /// `horizon`. Whether it is.
    pub(crate) fn emptied(&mut self, block: Block, horizon: Time) -> bool {
        let Some(at) = self.failing.iter().position(|b| *b == block) else { return false };
        self.failing.swap_remove(at);
        debug_assert!(self.retiring.iter().all(|(other, _)| *other != block), "{block} is given up twice");
        let safe = if self.barriers.keeps(Barrier::RetiredWhenSafe) { horizon } else { Time::ZERO };
        self.retiring.push((block, safe));
        true
    }

    /// A block that holds nothing of a stream's is marked bad once that moment has come.
    pub(crate) fn retire_when(&mut self, block: Block, safe: Time) {
        self.retiring.push((block, safe));
    }

    /// Marks those bad whose pages are safe elsewhere at `at`.
    #[inline]
    pub(crate) fn retire_what_is_safe<N: Nand>(&mut self, nand: &mut N, at: Time) {
        if !self.retiring.is_empty() {
            self.retire_until(nand, at);
        }
    }

    #[cold]
    fn retire_until<N: Nand>(&mut self, nand: &mut N, at: Time) {
        while let Some(n) = self.retiring.iter().position(|(_, safe)| *safe <= at) {
            let (block, _) = self.retiring.swap_remove(n);
            self.retire(nand, block);
        }
    }

    /// Marks a block bad.
    pub(crate) fn retire<N: Nand>(&mut self, nand: &mut N, block: Block) {
        nand.mark_bad(block);
        self.bad += 1;
        debug_assert!(self.bad <= nand.geometry().blocks(), "more blocks are bad than there are");
    }

    /// No block is left. Those that failed a program are bad as well, though nothing on flash says so yet.
    pub(crate) fn full(&self) -> FtlError {
        FtlError::Full { bad_blocks: self.bad + (self.failing.len() + self.retiring.len()) as u32 }
    }

    /// RAM of the lists.
    pub(crate) fn bytes(&self) -> usize {
        (self.failing.capacity() + 3 * self.retiring.capacity()) * size_of::<Block>()
    }
}
