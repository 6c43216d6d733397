//! FIFO: the block that was closed longest ago, whatever it holds (the cyclic log; LRU in the analytic literature).

use crate::RamLedger;
use crate::blocks::{Counters, View};
use crate::policy::{Choice, State, Victim, VictimSpec};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec = VictimSpec::new("fifo", "closed longest ago", |_| Box::new(Fifo::default()));

/// Candidates in the order in which they were closed.
#[derive(Clone, Default, Preserve)]
struct Fifo {
    queue: VecDeque<Block>,
    longest: usize,
}

impl Victim for Fifo {
    fn closed(&mut self, _counters: &Counters, block: Block) {
        debug_assert!(!self.queue.contains(&block), "{block} was closed twice");
        self.queue.push_back(block);
        self.longest = self.longest.max(self.queue.len());
    }

    fn taken(&mut self, _counters: &Counters, block: Block) {
        // A victim is the head; anything else (a block retired as bad) is rare.
        if self.queue.front() == Some(&block) {
            self.queue.pop_front();
        } else {
            self.queue.retain(|b| *b != block);
        }
    }

    fn choose(&mut self, _view: &View<'_>) -> Option<Choice> {
        self.queue.front().map(|block| Choice { block: *block, examined: 1 })
    }
}

impl State for Fifo {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("victim.queue", self.longest as u64 * 4);
        ledger.index("index.victim_queue_room", (self.queue.capacity() - self.longest) as u64 * 4);
    }
}
