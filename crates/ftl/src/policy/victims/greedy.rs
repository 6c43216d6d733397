//! Greedy: the block with the fewest live pages.

use crate::blocks::{Counters, GroupMinima, View};
use crate::policy::{Choice, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::Block;

pub(crate) static SPEC: VictimSpec = VictimSpec::new("greedy", "the fewest live pages", |context| {
    Box::new(Greedy { minima: GroupMinima::new(context.blocks as usize) })
});

crate::policy_state! {
    /// The block with the fewest live pages, the lowest number of equals.
    struct Greedy {
        minima: GroupMinima,
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
        let keys = view.counters().keys();
        let (block, key) = self.minima.least(keys);
        let examined = self.minima.looked_at(keys.len());
        Counters::is_candidate_key(key).then_some(Choice { block: Block(block as u32), examined })
    }
}
