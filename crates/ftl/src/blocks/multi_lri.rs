//! The multi-LRI lists: blocks by their number of live pages, least recently invalidated first (Dual Greedy, section
//! III-A).
//!
//! Level i holds the blocks with i live pages. In each level the block that lost a page longest ago is at the head. A
//! block that loses a page goes to the tail of the level below. Every move takes constant time. Each list is a ring
//! through a node of its own. So taking a block out needs neither its level nor a look at the ends.
//!
//! Where the paper is silent:
//! - **Level 0 is a list like the others**, though the paper says that there is none. Blocks without a live page have
//!   to be found in constant time as well. For the paper's "top" level 0 does not count.
//! - **A block enters when it is closed**, at the tail. An open block is no candidate, and a list with it in front
//!   would have to be searched. So a list is ordered by when its blocks came to the level. A block may have lost its
//!   last page while it was open: then that moment is later than the loss.

use crate::RamLedger;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// Rings through the blocks of each level.
#[derive(Clone, Debug, Preserve)]
pub struct MultiLri {
    /// By node: the blocks, then the levels' own. A node that is in no list is a ring of its own.
    next: Vec<u32>,
    prev: Vec<u32>,
    blocks: u32,
    levels: u32,
}

impl MultiLri {
    /// Empty lists, from level 0 to the pages of a block.
    pub(crate) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let alone: Vec<u32> = (0..blocks + pages_per_block + 1).collect();
        Self { next: alone.clone(), prev: alone, blocks, levels: pages_per_block + 1 }
    }

    /// The pages of a block: the level of a block that has lost none.
    #[inline]
    pub fn full(&self) -> u32 {
        self.levels - 1
    }

    #[inline]
    fn is_listed(&self, block: Block) -> bool {
        self.next[block.index()] != block.0
    }

    /// The block is a candidate from now on.
    pub(crate) fn enter(&mut self, block: Block, level: u32) {
        self.leave(block);
        let (node, list) = (block.0, self.blocks + level.min(self.full()));
        let last = self.prev[list as usize];
        self.prev[node as usize] = last;
        self.next[node as usize] = list;
        self.next[last as usize] = node;
        self.prev[list as usize] = node;
    }

    /// The block is none any more. Nothing happens to one that was none.
    #[inline]
    pub(crate) fn leave(&mut self, block: Block) {
        let (next, prev) = (self.next[block.index()], self.prev[block.index()]);
        let is_between = self.next[prev as usize] == block.0 && self.prev[next as usize] == block.0;
        debug_assert!(is_between, "the list of {block} is no ring");
        self.next[prev as usize] = next;
        self.prev[next as usize] = prev;
        self.next[block.index()] = block.0;
        self.prev[block.index()] = block.0;
    }

    /// The block has lost a page and has so many left. Nothing happens to one that is no candidate.
    #[inline]
    pub(crate) fn lowered(&mut self, block: Block, level: u32) {
        if self.is_listed(block) {
            self.enter(block, level);
        }
    }

    /// The blocks of a level, the one that lost a page longest ago first.
    pub fn level(&self, level: u32) -> impl Iterator<Item = Block> + Clone + '_ {
        let after = move |node: u32| self.next.get(node as usize).copied().filter(|next| *next < self.blocks);
        core::iter::successors(after(self.blocks + level), move |node| after(*node)).map(Block)
    }

    /// The first block of a level.
    #[inline]
    pub fn head(&self, level: u32) -> Option<Block> {
        let node = self.next.get((self.blocks + level) as usize);
        node.filter(|node| **node < self.blocks).map(|node| Block(*node))
    }

    /// The top level: the one of the fewest live pages, but some, that has a block.
    #[inline]
    pub fn top(&self) -> Option<u32> {
        (1..self.levels).find(|level| self.head(*level).is_some())
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("index.multi_lri_links", (self.next.len() + self.prev.len()) as u64 * 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec;
    use proptest::prelude::*;

    fn blocks_of(lists: &MultiLri, level: u32) -> Vec<u32> {
        lists.level(level).map(|block| block.0).collect()
    }

    /// Figure 2: a block has four pages. A block of level i that receives an invalidation becomes the tail of level
    /// i - 1, and the heads are the least recently invalidated.
    #[test]
    fn a_block_that_loses_a_page_becomes_the_tail_of_the_level_below() {
        let mut lists = MultiLri::new(8, 4);
        // Blocks 0 to 4 are written in full, one after another.
        for block in 0..5 {
            lists.enter(Block(block), 4);
        }
        assert_eq!(blocks_of(&lists, 4), [0, 1, 2, 3, 4]);
        // Each of 3, 1, 0 loses a page: level 3, in that order.
        for block in [3, 1, 0] {
            lists.lowered(Block(block), 3);
        }
        assert_eq!(blocks_of(&lists, 4), [2, 4]);
        assert_eq!(blocks_of(&lists, 3), [3, 1, 0]);
        // 1, in the middle, loses another; then 3, at the head.
        lists.lowered(Block(1), 2);
        lists.lowered(Block(3), 2);
        assert_eq!(blocks_of(&lists, 3), [0]);
        assert_eq!(blocks_of(&lists, 2), [1, 3]);
        assert_eq!(lists.top(), Some(2));
        // 3 overtakes 1: to level 1, and then to level 0, which is never the top.
        lists.lowered(Block(3), 1);
        assert_eq!((lists.top(), lists.head(1)), (Some(1), Some(Block(3))));
        lists.lowered(Block(3), 0);
        assert_eq!((lists.top(), lists.head(0)), (Some(2), Some(Block(3))));
        // One that is being written is in no list, whatever it loses.
        lists.lowered(Block(7), 1);
        assert_eq!(lists.top(), Some(2));
        // A victim leaves; leaving twice is leaving once.
        lists.leave(Block(1));
        lists.leave(Block(1));
        assert_eq!((lists.top(), blocks_of(&lists, 2)), (Some(3), vec![]));
    }

    proptest! {
        #[test]
        fn the_lists_are_those_of_a_plain_model(moves in proptest::collection::vec((0u32..24, 0u32..4), 0..400)) {
            const FULL: u32 = 6;
            let mut lists = MultiLri::new(24, FULL);
            let mut model: Vec<VecDeque<u32>> = vec![VecDeque::new(); FULL as usize + 1];
            let mut live = [0u32; 24];
            for (block, what) in moves {
                let listed = model.iter().any(|level| level.contains(&block));
                let left = &mut live[block as usize];
                match what {
                    0 if !listed => {
                        *left = FULL - block % 3;
                        model[*left as usize].push_back(block);
                        lists.enter(Block(block), *left);
                    }
                    1 => {
                        model.iter_mut().for_each(|level| level.retain(|other| *other != block));
                        lists.leave(Block(block));
                    }
                    _ if *left > 0 => {
                        *left -= 1;
                        lists.lowered(Block(block), *left);
                        if listed {
                            model.iter_mut().for_each(|level| level.retain(|other| *other != block));
                            model[*left as usize].push_back(block);
                        }
                    }
                    _ => {}
                }
                for level in 0..=FULL {
                    prop_assert_eq!(blocks_of(&lists, level), model[level as usize].iter().copied().collect::<Vec<_>>());
                    prop_assert_eq!(lists.head(level).map(|block| block.0), model[level as usize].front().copied());
                }
                let top = (1..=FULL).find(|level| !model[*level as usize].is_empty());
                prop_assert_eq!(lists.top(), top);
            }
        }
    }
}
