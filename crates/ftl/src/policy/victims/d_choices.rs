//! d-choices: the fewest live pages among d candidates drawn at random. d = 1 is random collection; large d is greedy.

use crate::RamLedger;
use crate::blocks::{Counters, View};
use crate::policy::draws::Draws;
use crate::policy::{Choice, Context, State, Victim, VictimSpec};
use crate::spec::Param;
use alloc::boxed::Box;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

const D: Param =
    Param::number("victim.d", 1, 1000, 10, "blocks drawn for each choice").does("draws blocks").always_shown();

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("d-choices", "the fewest live pages among d drawn at random", |context| {
        Box::new(DChoices::new(context))
    })
    .params(&[D]);

/// The best of d candidates drawn uniformly, with replacement. Where all that were drawn are full, the emptiest of all:
/// on a drive with next to nothing stale, moving full blocks would go on until one of the few others is drawn.
#[derive(Clone, Preserve)]
struct DChoices {
    d: u32,
    pages_per_block: u32,
    rng: Draws,
    candidates: u32,
}

impl DChoices {
    fn new(context: &Context) -> Self {
        let rng = Draws::new(context.seed);
        Self { d: context.number(&D), pages_per_block: context.pages_per_block, rng, candidates: 0 }
    }

    /// A candidate drawn uniformly. Nearly all blocks are candidates on a drive in use, so a draw or two do. Where they
    /// are rare, the next one after a random place is taken instead of drawing on.
    fn draw(&mut self, counters: &Counters) -> Block {
        let blocks = counters.keys().len();
        let mut at = 0;
        for _ in 0..32 {
            at = (((self.rng.next() >> 32) * blocks as u64) >> 32) as usize;
            if counters.is_candidate(Block(at as u32)) {
                return Block(at as u32);
            }
        }
        debug_assert!(counters.least_by_scan().is_some(), "candidates are counted, and there is none");
        while !counters.is_candidate(Block(at as u32)) {
            at = (at + 1) % blocks;
        }
        Block(at as u32)
    }
}

impl Victim for DChoices {
    fn closed(&mut self, _counters: &Counters, _block: Block) {
        self.candidates += 1;
    }

    fn taken(&mut self, _counters: &Counters, _block: Block) {
        self.candidates -= 1;
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let counters = view.counters;
        if self.candidates == 0 {
            return None;
        }
        let mut best = self.draw(counters);
        for _ in 1..self.d {
            let other = self.draw(counters);
            if counters.live(other) < counters.live(best) {
                best = other;
            }
        }
        if u32::from(counters.live(best)) == self.pages_per_block {
            let examined = self.d + counters.keys().len() as u32;
            return counters.least_by_scan().map(|block| Choice { block, examined });
        }
        Some(Choice { block: best, examined: self.d })
    }
}

impl State for DChoices {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("victim.random_state", 32);
    }
}
