//! When live pages will die, as far as the host has said it: knowledge of an oracle, which no real drive has.
//!
//! It keeps the moment in logical time by physical page, and the sum of these by block. So the remaining life of a
//! block's live pages together takes no look at each page. It is kept in RAM alone. After a power cut there is no
//! record of a page until the host writes it again.
//!
//! A block whose first page is written anew holds nothing of before. Moments of pages that were not reported as dead
//! are forgotten then. So every page that is written is reported, whether its death has a moment or not.

use crate::RamLedger;
use crate::policy::State;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Page};

/// Deaths of pages, and their sums.
#[derive(Clone, Debug, Preserve)]
pub(in crate::policy) struct Deaths {
    /// By page, 0 where it is not known or never. Numbers of pages have gaps where a block's pages are no power of two.
    by_page: Vec<u64>,
    /// By block: how many are known, and their sum.
    known: Vec<u32>,
    sums: Vec<u64>,
    pages_per_block: u32,
    /// The bits of a page's number that say where in its block it stands.
    index_bits: u32,
    /// How long a page has left of which nothing is known: longer than any whose block could be waited for.
    long: u64,
}

impl Deaths {
    pub(in crate::policy) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let pages = blocks as usize * pages_per_block as usize;
        let index_bits = pages_per_block.next_power_of_two().ilog2();
        Self {
            by_page: vec![0; (blocks as usize) << index_bits],
            known: vec![0; blocks as usize],
            sums: vec![0; blocks as usize],
            pages_per_block,
            index_bits,
            long: 64 * pages as u64,
        }
    }

    fn block_of(&self, page: Page) -> usize {
        (page.0 >> self.index_bits) as usize
    }

    /// The page is live from now on, and dies then.
    pub(in crate::policy) fn lives(&mut self, page: Page, death: Option<u64>) {
        let first = self.block_of(page) << self.index_bits;
        if page.index() == first {
            self.by_page[first..first + self.pages_per_block as usize].fill(0);
            let block = self.block_of(page);
            (self.known[block], self.sums[block]) = (0, 0);
        }
        self.dies(page);
        // A moment further away than can be waited for is never; so sums do not overflow.
        let Some(death) = death.filter(|death| (1..1 << 48).contains(death)) else { return };
        let block = self.block_of(page);
        self.by_page[page.index()] = death;
        self.known[block] += 1;
        debug_assert!(self.known[block] <= self.pages_per_block, "more pages of a block are to die than it has");
        self.sums[block] += death;
    }

    /// The page is live no longer.
    pub(in crate::policy) fn dies(&mut self, page: Page) {
        let death = core::mem::take(&mut self.by_page[page.index()]);
        if death > 0 {
            let block = self.block_of(page);
            self.known[block] -= 1;
            self.sums[block] -= death;
        }
    }

    /// When the page dies, if that is known.
    pub(in crate::policy) fn of(&self, page: Page) -> Option<u64> {
        Some(self.by_page[page.index()]).filter(|death| *death > 0)
    }

    /// How long the `live` pages of a block have left together.
    pub(in crate::policy) fn left(&self, block: Block, live: u32, now: u64) -> u64 {
        let known = self.known[block.index()];
        let of_known = self.sums[block.index()].saturating_sub(u64::from(known) * now);
        of_known + self.unknown(live.saturating_sub(known))
    }

    /// How long so many pages have left together of which nothing is known.
    pub(in crate::policy) fn unknown(&self, live: u32) -> u64 {
        u64::from(live) * self.long
    }
}

impl State for Deaths {
    fn enter(&self, ledger: &mut RamLedger) {
        let by_block = self.known.len() as u64 * 4 + self.sums.len() as u64 * 8;
        let pages = self.known.len() as u64 * u64::from(self.pages_per_block);
        ledger.structure("blocks.deaths", pages * 8 + by_block);
        ledger.index("index.death_gaps", (self.by_page.len() as u64 - pages) * 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_nand::Geometry;

    #[test]
    fn what_a_block_has_left_is_the_sum_of_its_pages() {
        let mut deaths = Deaths::new(2, 4);
        deaths.lives(Page(4), Some(130));
        deaths.lives(Page(5), Some(190));
        assert_eq!(deaths.left(Block(1), 2, 100), 30 + 90);
        assert_eq!(deaths.left(Block(0), 0, 100), 0);
        // One that stays weighs more than all that can be waited for.
        deaths.lives(Page(6), None);
        assert_eq!(deaths.left(Block(1), 3, 100), 30 + 90 + 64 * 8);
        deaths.dies(Page(6));
        deaths.dies(Page(4));
        assert_eq!((deaths.of(Page(4)), deaths.of(Page(5))), (None, Some(190)));
        assert_eq!(deaths.left(Block(1), 1, 130), 60);
        // A host that was wrong: the page should have died.
        assert_eq!(deaths.left(Block(1), 1, 200), 0);
        // Its first page is written anew.
        deaths.lives(Page(4), None);
        assert_eq!((deaths.of(Page(5)), deaths.left(Block(1), 0, 130)), (None, 0));
    }

    /// Blocks of five pages: those of the second one begin at number 8.
    #[test]
    fn pages_are_of_the_block_that_the_geometry_says() {
        let geometry = Geometry::new(512, 5, 4, 1, 1).unwrap();
        let mut deaths = Deaths::new(4, 5);
        for block in 0..4 {
            deaths.lives(geometry.page(Block(block), 4), Some(100 + u64::from(block)));
        }
        assert_eq!([0, 1, 2, 3].map(|block| deaths.left(Block(block), 1, 0)), [100, 101, 102, 103]);
        deaths.lives(geometry.page(Block(2), 0), None);
        assert_eq!([1, 2, 3].map(|block| deaths.left(Block(block), 0, 0)), [101, 0, 103]);
    }
}
