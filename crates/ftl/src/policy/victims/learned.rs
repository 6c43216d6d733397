//! Cost-benefit by both ages of a block: since it was closed, and since it lost a page last. Which of them counts how
//! much is learned. This one is of no paper.
//!
//! Of two blocks with the same live pages the better victim is the one whose pages die more slowly. Two rules estimate
//! that, and they contradict each other:
//!
//! | pages die | the best estimate | rule |
//! | --- | --- | --- |
//! | by chance alone, as under drawn workloads | the age of the block, of all of its losses | `cost-benefit-sealed` |
//! | in bursts, as under recorded traces | how long it has been dormant: its burst is over | `cost-benefit` |
//!
//! A block of p pages that was closed a ago has lost them at the rate r = -ln u / a, u being the share that is live. While
//! it was dormant for d it would have lost x = p u r d of them at that rate. By the binary logarithm of x two sums are
//! kept: the pages that died, and those expected at the rate r. Their quotient falls with x if pages die in bursts, and
//! does not if they die by chance:
//!
//! ```text
//!   died / expected
//!   1 |- - - - - - - - -    by chance: slope 0
//!     |  \
//!     |    \                 in bursts: slope 1 and more
//!     +--------------- log x
//!
//!   collected: the least   u / ((1 - u) a^(1 - s) d^s)      s = half the slope, from 0 to 0.5
//! ```
//!
//! - The sums are halved each time that as many pages have died as half the logical pages. So they follow a change of the
//!   workload within one or two drive writes.
//! - A slope below [`SLOPE_MIN`] is none: pages that die by chance show one of about 0.1.
//! - A choice scores all blocks of a drive that has at most [`SCORED`], otherwise so many: runs of [`RUN`] blocks, evenly
//!   over the drive, since blocks beside each other are often of one age. The next choice scores those behind each run.
//! - After a power cut it learns anew, and begins as `cost-benefit-sealed`.

use crate::Counter;
use crate::blocks::{View, Wants};
use crate::policy::{Choice, Table, Victim, VictimSpec};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::Block;

/// Classes by x: from 1 to 2, from 2 to 4, and from 4 to 8. Below, hardly any block is dormant for long; above, nothing
/// but cold pages is left.
const CLASSES: usize = 3;
/// So many deaths, as expected, belong to each class from the outset.
const PRIOR: f64 = 16.0;
/// What the sums must say before they count, as the square of a number of pages.
const LITTLE: f64 = 10_000.0;
/// Blocks that a choice scores, at the most.
const SCORED: u32 = 1024;
/// Of these, so many stand beside each other: what RAM has of them is in a cache line.
const RUN: u32 = 16;
/// The least slope.
const SLOPE_MIN: f64 = 0.15;
/// The share of the second age at a slope of 1 and more.
const SHARE_MAX: f64 = 0.5;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("cost-benefit-learned", "the same by both ages, weighed by what was learned", |context| {
        let pages = context.pages_per_block;
        let mut costs = Table::new("victim.costs", pages as usize + 1, 0.0);
        let mut losses = Table::new("victim.losses", pages as usize + 1, 0.0);
        for live in 0..=pages {
            costs[live as usize] = cost(live, pages);
            // As if half a page more were live: a block that has lost none has a rate, too.
            let share = f64::from(pages + 1) / (f64::from(live) + 0.5);
            losses[live as usize] = f64::from(live) * core::f64::consts::LN_2 * log2(share);
        }
        Box::new(Learned {
            costs,
            losses,
            died: Table::new("victim.died", CLASSES, 0.0),
            expected: Table::new("victim.expected", CLASSES, 0.0),
            share: 0.0,
            deaths: 0,
            halved_at: u64::from(context.logical_pages / 2).max(1),
            chosen_at: 0,
            hand: 0,
        })
    })
    .wants(|_| Wants::NOTHING.ages().deaths());

crate::policy_state! {
    /// The block with the least u / ((1 - u) a^(1 - s) d^s).
    struct Learned {
        /// By live pages: the binary logarithm of u / (1 - u).
        costs: Table<f64>,
        /// By live pages: p u (-ln u), the pages that a block loses in the time of its age.
        losses: Table<f64>,
        /// By class: pages that died since the sums were halved, and half of those before.
        died: Table<f64>,
        /// Those expected.
        expected: Table<f64>,
        /// s, as of the present choice.
        share: f64,
        /// Pages that died since the sums were halved.
        deaths: u64,
        halved_at: u64,
        /// When the choice before was; 0 before the first.
        chosen_at: u64,
        /// How far behind the first one's beginning the runs begin that the present choice scores.
        hand: u32,
    }
}

/// The binary logarithm of u / (1 - u); beyond all others where nothing is live, or nothing is gained.
fn cost(live: u32, pages: u32) -> f64 {
    match (live, pages.saturating_sub(live)) {
        (0, _) => -1e9,
        (_, 0) => 1e9,
        (live, stale) => log2(f64::from(live) / f64::from(stale)),
    }
}

/// The binary logarithm of a positive number, by squaring: the same on every machine.
fn log2(number: f64) -> f64 {
    if number < 1.0 {
        return -log2(1.0 / number);
    }
    let (mut number, mut log, mut bit) = (number, 0.0, 1.0);
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

/// About the binary logarithm of an age: exact for powers of two, and a straight line between them. That is what a
/// number's exponent and fraction are, read as one number.
#[inline]
fn log2_of_age(age: u32) -> f64 {
    const FRACTION: f64 = 1.0 / (1_u64 << 52) as f64;
    f64::from(age.max(1)).to_bits() as f64 * FRACTION - 1023.0
}

/// The best block so far.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    live: u32,
    block: Block,
}

/// The ages of a block: since it was closed, and since it lost a page last.
#[derive(Clone, Copy)]
struct Ages {
    sealed: u32,
    dormant: u32,
}

impl Ages {
    #[inline]
    fn of(view: &View<'_>, block: Block) -> Self {
        let sealed = view.since_closed(block).max(1);
        Self { sealed, dormant: view.dormant(block).clamp(1, sealed) }
    }
}

impl Learned {
    /// The class of a block if it is in one, and how many pages a unit of time is expected to cost it. One that has lost
    /// none since it was closed is in no class.
    #[inline]
    fn class(&self, live: u32, ages: Ages) -> Option<(usize, f64)> {
        if ages.dormant >= ages.sealed {
            return None;
        }
        let losses = self.losses[(live as usize).min(self.losses.len() - 1)];
        let sealed = f64::from(ages.sealed);
        // Most are below the first class: for these nothing is divided.
        if losses * f64::from(ages.dormant) < sealed {
            return None;
        }
        let rate = losses / sealed;
        let class = ((rate * f64::from(ages.dormant)) as u64).checked_ilog2()? as usize;
        (class < CLASSES).then_some((class, rate))
    }

    /// The slope, by least squares: class by class, weighed by the deaths expected.
    fn learn(&mut self) {
        let (mut weights, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for class in 0..CLASSES {
            let weight = self.expected[class];
            let (x, y) = (class as f64, log2((self.died[class] + PRIOR) / (weight + PRIOR)));
            weights += weight;
            sum_x += weight * x;
            sum_y += weight * y;
            sum_xx += weight * x * x;
            sum_xy += weight * x * y;
        }
        let slope = (sum_x * sum_y - weights * sum_xy) / (weights * sum_xx - sum_x * sum_x + LITTLE);
        self.share = if slope < SLOPE_MIN { 0.0 } else { SHARE_MAX * slope.min(1.0) };
    }
}

impl Victim for Learned {
    #[inline]
    fn died(&mut self, view: &View<'_>, block: Block) {
        // As those that a choice expects to lose pages.
        let counters = view.counters();
        if !counters.is_candidate(block) || view.is_metadata(block) {
            return;
        }
        if let Some((class, _)) = self.class(counters.live(block).into(), Ages::of(view, block)) {
            self.died[class] += 1.0;
        }
        self.deaths += 1;
        if self.deaths >= self.halved_at {
            self.deaths = 0;
            self.died.iter_mut().chain(self.expected.iter_mut()).for_each(|sum| *sum /= 2.0);
        }
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let passed = if self.chosen_at == 0 { 0 } else { view.now().saturating_sub(self.chosen_at) };
        self.chosen_at = view.now();
        let blocks = view.blocks();
        let (runs, run) = if blocks <= SCORED { (1, blocks) } else { (SCORED / RUN, RUN) };
        let apart = blocks.div_ceil(runs);
        // A second choice at the same moment is to be the same.
        if passed > 0 {
            self.learn();
            self.hand = if apart - self.hand > run { self.hand + run } else { 0 };
        }
        // Those that are scored stand for all.
        let passed = passed as f64 * f64::from(apart) / f64::from(run.max(1));
        let mut best = None;
        for number in 0..runs {
            self.best_of(view, Block(self.hand + number * apart), run, passed, &mut best);
        }
        let mut looked_at = runs * run;
        let gains = best.is_some_and(|best| best.live < view.pages_per_block());
        if !gains && runs > 1 {
            looked_at += blocks;
            self.best_of(view, Block(0), blocks, 0.0, &mut best);
        }
        best.map(|best| Choice::new(best.block, looked_at))
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::level("victim_dormancy_percent", (self.share * 100.0) as u64));
    }
}

impl Learned {
    /// The best of the candidates among so many blocks, unless there is a better one. The time in which they lose what
    /// they are expected to lose is `passed`.
    fn best_of(&mut self, view: &View<'_>, first: Block, count: u32, passed: f64, best: &mut Option<Best>) {
        for (block, live) in view.candidates_from(first, count) {
            let ages = Ages::of(view, block);
            if let Some((class, rate)) = self.class(live, ages).filter(|_| !view.is_metadata(block)) {
                self.expected[class] += rate * passed;
            }
            let mut age = log2_of_age(ages.sealed);
            if self.share > 0.0 {
                age += self.share * (log2_of_age(ages.dormant) - age);
            }
            let cost = self.costs[(live as usize).min(self.costs.len() - 1)] - age;
            if best.is_none_or(|best| cost < best.cost || cost == best.cost && live < best.live) {
                *best = Some(Best { cost, live, block });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::scene::Scene;
    use crate::policy::{Context, victims::cost_age::COST_BENEFIT_SEALED};

    const WANTS: Wants = Wants::NOTHING.ages().deaths();

    fn built(spec: &'static VictimSpec, blocks: u32, pages_per_block: u32) -> Box<dyn Victim> {
        let logical_pages = 100 * blocks * pages_per_block;
        spec.chosen().build(&Context {
            blocks,
            pages_per_block,
            page_bytes: 4096,
            dies: 1,
            logical_pages,
            seed: 1,
            values: *spec.chosen(),
        })
    }

    fn share(victim: &dyn Victim) -> u64 {
        let mut counters = Vec::new();
        victim.counters(&mut counters);
        counters[0].value
    }

    #[test]
    fn costs_grow_with_live_pages() {
        let costs: Vec<f64> = (0..=128).map(|live| cost(live, 128)).collect();
        assert!(costs.is_sorted_by(|less, more| less < more));
        assert_eq!((cost(64, 128), cost(8, 10), cost(2, 10)), (0.0, 2.0, -2.0));
        assert!((log2(10.0) - 10.0_f64.log2()).abs() < 1e-9);
        assert_eq!([0, 1, 2, 3, 4, 6].map(log2_of_age), [0.0, 0.0, 1.0, 1.5, 2.0, 2.5]);
        assert!(log2_of_age(u32::MAX) < 32.0);
    }

    /// 64 blocks. One loses a page at each step, and which one `next` says, from its number and the step.
    fn steps(victim: &mut dyn Victim, scene: &mut Scene, steps: u64, next: impl Fn(u64) -> u32) {
        for step in 0..steps {
            scene.at(1_000 + 10 * step);
            let block = Block(next(step));
            if scene.view().counters().live(block) == 1 {
                scene.write(block.0, 0);
                continue;
            }
            victim.died(&scene.view(), block);
            scene.lose(&[block.0]);
            victim.choose(&scene.view());
        }
    }

    fn scene() -> Scene {
        let mut scene = Scene::new(64, 128, 1, WANTS);
        for block in 0..64 {
            scene.at(u64::from(block)).write(block, 0);
        }
        scene
    }

    #[test]
    fn by_chance_alone_it_goes_by_the_age_of_blocks() {
        let (mut scene, mut victim) = (scene(), built(&SPEC, 64, 128));
        // A sequence without a pattern (xorshift).
        steps(&mut *victim, &mut scene, 12_000, |step| {
            let mut x = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            x ^= x >> 12;
            x ^= x << 25;
            x ^= x >> 27;
            (x >> 40) as u32 % 64
        });
        assert_eq!(share(&*victim), 0);
        let sealed = built(&COST_BENEFIT_SEALED, 64, 128).choose(&scene.view()).map(|choice| choice.block);
        assert_eq!(victim.choose(&scene.view()).map(|choice| choice.block), sealed);
    }

    #[test]
    fn in_bursts_it_goes_by_how_long_blocks_have_been_dormant() {
        let (mut scene, mut victim) = (scene(), built(&SPEC, 64, 128));
        // Each block loses 80 pages in a row, and then no more.
        steps(&mut *victim, &mut scene, 64 * 80, |step| (step / 80) as u32);
        assert!(share(&*victim) >= 30, "{}", share(&*victim));
    }

    #[test]
    fn of_a_large_drive_a_part_is_scored_and_in_turn_all_of_it() {
        let blocks = 3 * SCORED + 7;
        let (mut scene, mut victim) = (Scene::new(blocks, 4, 1, WANTS), built(&SPEC, blocks, 4));
        (0..blocks).for_each(|block| {
            scene.write(block, 0);
        });
        // Nothing is gained anywhere: all are looked at.
        scene.at(1_000_000);
        assert_eq!(victim.choose(&scene.view()).unwrap().examined, SCORED + blocks);
        // Every block is worth as much, one of them more.
        for block in 0..blocks {
            scene.lose(&[block]);
        }
        for emptiest in [0, blocks / 2, blocks - 1] {
            scene.lose(&[emptiest, emptiest]);
            let mut found = Vec::new();
            for step in 1..=u64::from(blocks.div_ceil(SCORED / RUN).div_ceil(RUN)) {
                scene.at(1_000_000 * u64::from(emptiest + 2) + step);
                let choice = victim.choose(&scene.view()).unwrap();
                assert_eq!((choice.examined, Some(choice)), (SCORED, victim.choose(&scene.view())));
                found.push(choice.block.0);
            }
            assert!(found.contains(&emptiest), "{emptiest}: {found:?}");
            scene.write(emptiest, 0).lose(&[emptiest]);
        }
    }

    #[test]
    fn what_was_learned_fades() {
        let mut scene = Scene::new(4, 8, 1, WANTS);
        scene.write(0, 0).at(9);
        let mut victim = Learned {
            costs: Table::new("victim.costs", 9, 0.0),
            losses: Table::new("victim.losses", 9, 0.0),
            died: Table::new("victim.died", CLASSES, 0.0),
            expected: Table::new("victim.expected", CLASSES, 1024.0),
            share: 0.0,
            deaths: 0,
            halved_at: 8,
            chosen_at: 0,
            hand: 0,
        };
        (0..80).for_each(|_| victim.died(&scene.view(), Block(0)));
        assert_eq!((victim.expected[0], victim.deaths), (1.0, 0));
    }
}
