//! Hazard: cost-benefit by the age of a block, corrected by what was learned of blocks that lose pages no longer. This one
//! is of no paper.
//!
//! A block of p pages was closed a ago, and u of them are live. If its pages die by chance alone, they do so at the rate
//! r = -ln u / a. So `cost-benefit-sealed` collects the block of the least u / ((1 - u) a), which is r u / ((1 - u) (-ln u)):
//! the rule that splits the spare space best (the static optimum of `phelsuma limits`). With bursts r is the rate of a burst
//! that is over. Then a block that has been dormant for long is not going to lose more.
//!
//! Which of both holds is learned. At the rate r a block would have lost x = p u r d pages while it was dormant for d. Of
//! blocks of the same stream and of about the same x (within a factor of two) two sums are kept:
//!
//! ```text
//!             pages that died                              u
//!  q(x) = ----------------------       collected:  q(x) ---------     the least of all
//!         those expected, at r                          (1 - u) a
//!
//!  by chance alone        q = 1 everywhere, as x is seldom above 3
//!  in bursts              q falls with x: dormant blocks are collected first
//! ```
//!
//! - Both sums are halved each time that as many pages have died as half the logical pages. So they follow a change of
//!   the workload within one or two drive writes.
//! - [`PRIOR`] deaths, as expected, are added to each sum: what is rare is corrected little.
//! - Every choice scores all blocks, as those of `cost-benefit` do.
//! - After a power cut it learns anew.

use crate::blocks::{View, Wants};
use crate::policy::{Choice, Table, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::Block;

/// Streams that are told apart; those behind are one, and so are blocks of metadata.
const STREAMS: usize = 16;
/// Classes by x.
const CLASSES: usize = 16;
/// So many deaths, as expected, belong to each class from the outset.
const PRIOR: f64 = 16.0;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("hazard", "the same, corrected by how fast pages of dormant blocks die", |context| {
        let pages = context.pages_per_block;
        let mut logs = Table::new("victim.logarithms", pages as usize + 1, 0.0);
        for live in 0..=pages {
            // As if half a page more had died, and one more were live: a block that has lost none has a rate, too.
            logs[live as usize] = LN_2 * log2(f64::from(pages + 1) / (f64::from(live) + 0.5));
        }
        Box::new(Hazard {
            died: Table::new("victim.died", STREAMS * CLASSES, 0.0),
            expected: Table::new("victim.expected", STREAMS * CLASSES, 0.0),
            factors: Table::new("victim.factors", STREAMS * CLASSES, 1.0),
            logs,
            deaths: 0,
            halved_at: u64::from(context.logical_pages / 2).max(1),
            chosen_at: 0,
        })
    })
    .wants(|_| Wants::NOTHING.clock().closed().deaths());

const LN_2: f64 = core::f64::consts::LN_2;

crate::policy_state! {
    /// The block whose pages cost least to move, by the rates at which blocks like it lose pages.
    struct Hazard {
        /// By class: pages that died since the sums were halved, and half of those before.
        died: Table<f64>,
        /// Those expected.
        expected: Table<f64>,
        /// By class: q, as of the present choice.
        factors: Table<f64>,
        /// By live pages: -ln u.
        logs: Table<f64>,
        /// Pages that died since the sums were halved.
        deaths: u64,
        halved_at: u64,
        /// When the choice before was.
        chosen_at: u64,
    }
}

/// The binary logarithm of a number of at least 1, by squaring: the same on every machine.
fn log2(mut number: f64) -> f64 {
    let (mut log, mut bit) = (0.0, 1.0);
    while number >= 2.0 {
        number /= 2.0;
        log += 1.0;
    }
    for _ in 0..32 {
        number *= number;
        bit /= 2.0;
        if number >= 2.0 {
            number /= 2.0;
            log += bit;
        }
    }
    log
}

/// The number of the class of x within its stream: by its binary exponent.
fn class_of(x: f64) -> usize {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i64 - 1_023;
    (exponent - 1).clamp(0, CLASSES as i64 - 1) as usize
}

impl Hazard {
    /// The class of a block of so many live pages, and how many of them a unit of time is expected to cost it.
    #[inline]
    fn class(&self, view: &View<'_>, block: Block, live: u32) -> (usize, f64) {
        let stream =
            if view.is_metadata(block) { STREAMS - 1 } else { usize::from(view.stream_of(block)).min(STREAMS - 2) };
        let live = live.min(view.pages_per_block());
        let loss = f64::from(live) * self.logs[live as usize] / f64::from(view.since_closed(block).max(1));
        (stream * CLASSES + class_of(loss * f64::from(view.dormant(block))), loss)
    }

    fn learn(&mut self) {
        for class in 0..STREAMS * CLASSES {
            let learned = (self.died[class] + PRIOR) / (self.expected[class] + PRIOR);
            self.factors[class] = if class % CLASSES == 0 { 1.0 } else { learned };
        }
    }
}

impl Victim for Hazard {
    #[inline]
    fn died(&mut self, view: &View<'_>, block: Block) {
        let Some(live) = view.counters().known(block) else { return };
        let (class, _) = self.class(view, block, live.into());
        self.died[class] += 1.0;
        self.deaths += 1;
        if self.deaths >= self.halved_at {
            self.deaths = 0;
            self.died.iter_mut().chain(self.expected.iter_mut()).for_each(|sum| *sum /= 2.0);
        }
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let passed = view.now().saturating_sub(self.chosen_at);
        self.chosen_at = view.now();
        // A second choice at the same moment is to be the same.
        if passed > 0 {
            self.learn();
        }
        let pages = view.pages_per_block();
        let mut best: Option<(f64, u32, Block)> = None;
        for (block, live) in view.candidates() {
            let (class, loss) = self.class(view, block, live);
            self.expected[class] += loss * passed as f64;
            let gain = f64::from(pages.saturating_sub(live)) * f64::from(view.since_closed(block).max(1));
            let cost = if gain > 0.0 { self.factors[class] * f64::from(live) / gain } else { f64::MAX };
            if best.is_none_or(|(least, its_live, _)| cost < least || cost == least && live < its_live) {
                best = Some((cost, live, block));
            }
        }
        best.map(|(.., block)| Choice::new(block, view.blocks()))
    }
}
