//! Greedy: the block with the fewest live pages.

use super::{Choice, Victim};
use crate::RamLedger;
use crate::blocks::{Counters, GroupMinima, View};
use alloc::boxed::Box;
use phelsuma_nand::Block;

/// The block with the fewest live pages, the lowest number of equals.
#[derive(Clone)]
pub(crate) struct Greedy {
    minima: GroupMinima,
}

impl Greedy {
    pub(crate) fn new(blocks: u32) -> Self {
        Self { minima: GroupMinima::new(blocks as usize) }
    }
}

impl Victim for Greedy {
    fn closed(&mut self, counters: &Counters, block: Block) {
        self.minima.lowered(block.index(), counters.keys()[block.index()]);
    }

    #[inline]
    fn invalidated(&mut self, counters: &Counters, block: Block) {
        self.minima.lowered(block.index(), counters.keys()[block.index()]);
    }

    fn taken(&mut self, counters: &Counters, block: Block) {
        self.minima.raised(counters.keys(), block.index());
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let (block, key) = self.minima.least(view.counters.keys());
        let examined = self.minima.looked_at(view.counters.keys().len());
        Counters::is_candidate_key(key).then_some(Choice { block: Block(block as u32), examined })
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("index.group_minima", self.minima.bytes());
    }

    fn copy(&self) -> Box<dyn Victim> {
        Box::new(self.clone())
    }
}
