//! Wear levelling by swapping hot and cold data (LAST++ section 4.9, which names Chang 2007 and leaves the rest open).
//!
//! - **Cold data are moved to worn blocks.** For each page that the host writes, the data block of one logical block is
//!   examined. It is merged into the most worn free block if two conditions hold. It was erased fewer times than that
//!   one by more than the *lag*, and no page of its logical block is in a log block. This is a full merge like any
//!   other, to power cuts as well. The block that it leaves is free, and little worn.
//! - **Everything else takes the least worn free block** of those that have been free for the longest.
//!
//! That is the swap of Chang's dual pool: the blocks of the hot pool are those that go through the pool of free blocks.
//!
//! As with page-mapped FTLs ([`crate::blocks`]) a block's erase count stands in `aux` of its first page, with the erase
//! right before it. A power cut between the two loses it, and such a block is taken for the average. Here RAM has them
//! all. A recovery reads them with the first page of every block. Only levelling rests on any of it.

use crate::medium::FirstPages;
use crate::{Counter, RamLedger};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The most free blocks of a die that are looked at.
const LOOKS: usize = 32;

#[derive(Clone, Debug, Preserve)]
pub(super) struct SwapLevelling {
    /// By how many erases a data block must be behind the most worn free block.
    pub(super) lag: u32,
    /// By block.
    erases: Vec<u32>,
    /// The largest of them.
    pub(super) most: u32,
    /// Whether the block that is opened next is for cold data.
    pub(super) for_cold: bool,
    /// The logical block that is looked at next.
    pub(super) next: u32,
    /// Host pages to be written before the next swap.
    pub(super) rest: u64,
    pub(super) swaps: u64,
    pub(super) pages_moved: u64,
}

impl SwapLevelling {
    pub(super) fn new(blocks: u32, lag: u32) -> Self {
        Self {
            lag,
            erases: vec![0; blocks as usize],
            most: 0,
            for_cold: false,
            next: 0,
            rest: 0,
            swaps: 0,
            pages_moved: 0,
        }
    }

    /// A recovery has read the first pages. Blocks of which nothing is known are taken for the average.
    pub(super) fn found(&mut self, first: &FirstPages) {
        let known = || (0..self.erases.len() as u32).filter_map(|block| first.erases_of(Block(block)));
        let (sum, count) = known().fold((0, 0), |(sum, count), erases| (sum + u64::from(erases), count + 1));
        let average = u64::checked_div(sum, count).unwrap_or(0) as u32;
        for (block, erases) in (0..).zip(&mut self.erases) {
            *erases = first.erases_of(Block(block)).unwrap_or(average);
        }
        self.most = self.erases.iter().copied().max().unwrap_or(0);
    }

    /// A block was erased.
    pub(super) fn erased(&mut self, block: Block) {
        let erases = &mut self.erases[block.index()];
        *erases = erases.saturating_add(1);
        self.most = self.most.max(*erases);
    }

    /// How often a block was erased.
    pub(super) fn erases_of(&self, block: Block) -> u32 {
        self.erases[block.index()]
    }

    /// Which of the free blocks of a die is to be taken, by its place among them.
    pub(super) fn choice(&self, free: &VecDeque<Block>) -> Option<usize> {
        self.chosen(free, self.for_cold)
    }

    pub(super) fn chosen(&self, free: &VecDeque<Block>, for_cold: bool) -> Option<usize> {
        let looked_at = || (0..).zip(free.iter().take(LOOKS).map(|block| self.erases_of(*block)));
        // Of equals the one that has been free for longest.
        let chosen = if for_cold {
            looked_at().max_by_key(|(place, erases)| (*erases, core::cmp::Reverse(*place)))
        } else {
            looked_at().min_by_key(|(_, erases)| *erases)
        };
        chosen.map(|(place, _)| place)
    }

    pub(super) fn counters(&self, counters: &mut Vec<Counter>) {
        counters.push(Counter::sum("wear_collections", self.swaps));
        counters.push(Counter::sum("wear_pages_moved", self.pages_moved));
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("wear.erase_counts", self.erases.capacity() as u64 * 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_data_take_the_most_worn_block_and_all_else_the_least_worn_of_those_free_for_longest() {
        let mut wear = SwapLevelling::new(40, 2);
        for (block, erases) in [(7, 3), (8, 5), (9, 5), (35, 9)] {
            (0..erases).for_each(|_| wear.erased(Block(block)));
        }
        let free: VecDeque<Block> = [9, 7, 1, 8, 2].map(Block).into();
        assert_eq!((wear.chosen(&free, true), wear.chosen(&free, false)), (Some(0), Some(2)));
        // Of more than are looked at the last ones are not.
        let free: VecDeque<Block> = (0..40).map(Block).collect();
        assert_eq!((wear.chosen(&free, true), wear.chosen(&VecDeque::new(), true)), (Some(8), None));
    }
}
