//! Scores of cost and age: cost-benefit (Kawaguchi) and Cost Age Times (Chiang), as Dual Greedy's section II-C has
//! them.
//!
//! u is the share of a block's pages that are live, and t its erase count. a is the time since it last lost a page, or
//! since it was begun where it has lost none.
//! - Cost-benefit collects the block of the largest a (1 - u) / 2u.
//! - The form of SepBIT's paper is the same with the time since a block was closed for a.
//! - CAT collects the one of the smallest u t / ((1 - u) a). Without wear t is left out.
//!
//! **Every choice scores all blocks**: ages change with time, so no order of theirs lasts. The papers do that, and the
//! count of blocks examined shows it. Of equals the emptiest is taken, and of these the lowest number. A block whose
//! pages are all live is taken only where there is no other. One with none is chosen at once, though the scan goes on
//! for it. Scores are compared as fractions of whole numbers, so that they are the same on every machine.
//!
//! A large drive has many blocks, and hardly any is better than the best so far. Blocks are therefore taken in groups: a
//! group in which no rounded score comes near is passed over ([`Group`]). What is chosen is the same.

use crate::RamLedger;
use crate::blocks::{View, Wants};
use crate::policy::{Choice, State, Victim, VictimSpec};
use crate::spec::{Chosen, Param};
use alloc::boxed::Box;
use core::cmp::Ordering;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static COST_BENEFIT: VictimSpec =
    VictimSpec::new("cost-benefit", "live pages and age (Kawaguchi)", |_| Box::new(CostAge { score: Score::Benefit }))
        .wants(|_| Wants::NOTHING.times());

pub(crate) static COST_BENEFIT_SEALED: VictimSpec =
    VictimSpec::new("cost-benefit-sealed", "the same by the age of blocks (SepBIT)", |_| {
        Box::new(CostAge { score: Score::BenefitSealed })
    })
    .wants(|_| Wants::NOTHING.closed());

const WEAR: Param = Param::words("cat.wear", &["on", "off"], "whether cat goes by erase counts as well");

pub(crate) static CAT: VictimSpec = VictimSpec::new("cat", "live pages, age and erase count (CAT)", |context| {
    Box::new(CostAge { score: Score::AgeTimes { wear: context.is(&WEAR, "on") } })
})
.params(&[WEAR])
.wants(|values| match values.is(&WEAR, "on") {
    true => Wants::NOTHING.times().erases(),
    false => Wants::NOTHING.times(),
});

/// CAT by live pages and age alone.
pub(crate) const CAT_WITHOUT_WEAR: Chosen<VictimSpec> = CAT.chosen().with(0, 1);

/// Which score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
enum Score {
    Benefit,
    BenefitSealed,
    AgeTimes { wear: bool },
}

/// The block with the best score of all.
#[derive(Clone, Preserve)]
struct CostAge {
    score: Score,
}

/// The cost of collecting a block, over the gain: the smaller, the better.
#[derive(Clone, Copy)]
struct Fraction {
    cost: u64,
    gain: u64,
}

impl Fraction {
    fn order(self, other: Self) -> Ordering {
        (u128::from(self.cost) * u128::from(other.gain)).cmp(&(u128::from(other.cost) * u128::from(self.gain)))
    }
}

/// Blocks of a group.
const GROUP: usize = 64;
/// A factor for how much worse a rounded score may look than it is. A comparison has nine roundings, each of at most a
/// share of 2^-24.
const ROUNDED: f32 = 1.000_01;

/// Columns of consecutive blocks, for a test whether one may be better than the best so far. In this form the compiler
/// tests several at a time.
struct Group<'a> {
    /// Live pages of candidates; of others more than a block has.
    lives: &'a [u16],
    ages: [u32; GROUP],
    /// Erase counts, or 1 where the score does not go by them.
    times: [u32; GROUP],
}

impl Group<'_> {
    /// Whether a block may be at least as good as `best`. One that is no candidate gains less than nothing.
    fn may_be_better(&self, pages: u32, best: Fraction) -> bool {
        let (cost_of_best, gain_of_best) = (best.cost as f32 * ROUNDED, best.gain as f32);
        let scores = self.lives.iter().zip(self.ages.iter().zip(&self.times));
        scores.fold(false, |any, (live, (age, times))| {
            let cost = f32::from(*live) * *times as f32;
            let gain = (pages as i32 - i32::from(*live)) as f32 * *age as f32;
            any | (cost * gain_of_best <= cost_of_best * gain)
        })
    }
}

impl CostAge {
    /// Columns of the group that begins with `first`.
    fn group<'a>(&self, view: &View<'a>, first: Block) -> Group<'a> {
        let lives = view.counters().keys().get(first.index()..).unwrap_or_default();
        let mut group = Group { lives: lives.get(..GROUP).unwrap_or(lives), ages: [0; GROUP], times: [1; GROUP] };
        view.ages(self.score == Score::BenefitSealed, first, &mut group.ages);
        if self.score == (Score::AgeTimes { wear: true }) {
            group.times.iter_mut().zip(view.erases_from(first)).for_each(|(times, erases)| *times = erases);
        }
        group
    }

    /// The age that the score goes by.
    fn age(&self, view: &View<'_>, block: Block) -> u32 {
        if self.score == Score::BenefitSealed { view.since_closed(block) } else { view.dormant(block) }
    }

    /// Of pages of which `live` are live, in a block erased `erases` times that lost one, or was closed, so long ago.
    ///
    /// Cost-benefit is the inverse of what it collects the largest of: with v live pages of p that is
    /// 2u / ((1 - u) a) = 2v / ((p - v) a). The 2 changes no order.
    fn of(&self, live: u32, pages: u32, dormant: u32, erases: u32) -> Fraction {
        debug_assert!(live <= pages, "a block has more live pages than pages");
        let times = if self.score == (Score::AgeTimes { wear: true }) { u64::from(erases) } else { 1 };
        Fraction { cost: u64::from(live) * times, gain: u64::from(pages.saturating_sub(live)) * u64::from(dormant) }
    }

    /// Whether the first of two blocks of `pages` pages, with their live pages, is collected rather than the other.
    fn is_better(this: (Fraction, u32, Block), than: (Fraction, u32, Block), pages: u32) -> bool {
        let ((fraction, live, _), (its_fraction, its_live, _)) = (this, than);
        // A gain of nothing is no number to divide by: all of those are alike.
        let by_score = match (fraction.gain, its_fraction.gain) {
            (0, 0) => Ordering::Equal,
            _ => fraction.order(its_fraction),
        };
        (live > 0)
            .cmp(&(its_live > 0))
            .then((live == pages).cmp(&(its_live == pages)))
            .then(by_score)
            .then(live.cmp(&its_live))
            .is_lt()
    }
}

impl Victim for CostAge {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let pages = view.pages_per_block();
        let mut best: Option<(Fraction, u32, Block)> = None;
        for first in (0..view.blocks()).step_by(GROUP).map(Block) {
            if best.is_some_and(|(fraction, ..)| !self.group(view, first).may_be_better(pages, fraction)) {
                continue;
            }
            for (block, live) in view.candidates_from(first, GROUP as u32) {
                let scored = (self.of(live, pages, self.age(view, block), view.erases(block)), live, block);
                if best.is_none_or(|best| Self::is_better(scored, best, pages)) {
                    best = Some(scored);
                }
            }
        }
        best.map(|(.., block)| Choice { block, examined: view.blocks() })
    }
}

impl State for CostAge {
    fn enter(&self, _ledger: &mut RamLedger) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::scene::Scene;

    fn cat(wear: bool) -> CostAge {
        CostAge { score: Score::AgeTimes { wear } }
    }

    /// Blocks of 8 pages. A has 2 live and lost one 30 ago: a(1 - u)/2u = 30 * 0.75 / 0.5 = 45. B has 4 live and lost
    /// one 100 ago: 100 * 0.5 / 1 = 50. So it is collected before A. CAT with t = 3 for B and t = 2 for A is 0.25 * 2 /
    /// (0.75 * 30) = 1/45 for A. It is 0.5 * 3 / (0.5 * 100) = 1/33 for B: A comes first.
    #[test]
    fn scores_are_the_papers() {
        let (cost_benefit, cat) = (CostAge { score: Score::Benefit }, cat(true));
        let (a, b) = (cost_benefit.of(2, 8, 30, 2), cost_benefit.of(4, 8, 100, 3));
        assert_eq!((2 * 45 * a.cost, 2 * 50 * b.cost), (a.gain, b.gain));
        assert_eq!(b.order(a), Ordering::Less);
        let (a, b) = (cat.of(2, 8, 30, 2), cat.of(4, 8, 100, 3));
        assert_eq!((a.gain / a.cost, b.gain / b.cost), (45, 33));
        assert_eq!(a.order(b), Ordering::Less);
        let without = self::cat(false);
        assert_eq!(without.of(4, 8, 100, 3).order(without.of(2, 8, 30, 2)), Ordering::Less);
    }

    /// The best so far lost a page just now: its gain is nothing. So has an emptier one of the next group.
    #[test]
    fn of_blocks_without_age_the_emptiest_is_taken_from_any_group() {
        let mut scene = Scene::new(130, 8, 1, Wants::NOTHING.times());
        scene.at(5).write(3, 0).write(70, 0).lose(&[3, 70, 70]);
        let mut policy = CostAge { score: Score::Benefit };
        assert_eq!(policy.choose(&scene.view()).map(|choice| choice.block), Some(Block(70)));
    }

    #[test]
    fn the_largest_numbers_there_can_be_do_not_overflow() {
        let cat = cat(true);
        let (most, least) = (cat.of(8_191, 8_192, u32::MAX, u32::MAX), cat.of(1, 8_192, u32::MAX, 1));
        assert_eq!(least.order(most), Ordering::Less);
    }

    proptest::proptest! {
        /// Whatever the ages, live pages and erase counts are, passing over groups changes no choice.
        #[test]
        fn the_choice_is_that_of_a_comparison_of_all(
            steps in proptest::collection::vec((0u32..300, 0u32..4, 0u64..40), 1..1_500),
            begun in proptest::bits::u64::ANY,
            empty in proptest::bool::weighted(0.1),
            score in 0usize..4,
        ) {
            let of = [Score::Benefit, Score::BenefitSealed, Score::AgeTimes { wear: true }, Score::AgeTimes { wear: false }];
            let mut policy = CostAge { score: of[score] };
            let mut scene = Scene::new(300, 8, 1, Wants::NOTHING.closed().erases());
            let mut now = begun >> 40;
            for (block, losses, time) in steps {
                now += if time == 39 { 1 << 24 } else { time / 8 };
                scene.at(now);
                if !scene.view().counters().is_candidate(Block(block)) {
                    (0..=losses).for_each(|_| {
                        scene.write(block, 0);
                    });
                }
                let live = u32::from(scene.view().counters().live(Block(block)));
                (0..losses.min(live - u32::from(!empty && live > 0))).for_each(|_| {
                    scene.lose(&[block]);
                });
            }
            let view = scene.view();
            let scored = view.candidates().map(|(block, live)| {
                (policy.of(live, 8, policy.age(&view, block), view.erases(block)), live, block)
            });
            let best = scored.reduce(|best, this| if CostAge::is_better(this, best, 8) { this } else { best });
            proptest::prop_assert_eq!(policy.choose(&view).map(|choice| choice.block), best.map(|(.., block)| block));
        }
    }
}
