//! The distribution of update intervals (UID): how many pages the host writes from one write of a page to the next.
//!
//! It counts pairs: the interval that ended with one write of a page and the one that ended with the next. The first
//! decides whether the page went to HOT, the second how long it lived. Intervals are counted in steps that grow with
//! them: eight of them double the length. For the first of a pair two do.
//!
//! Every write counts. The paper has a sample of the pages, which would take less RAM. Under skewed writes it would be
//! wrong by whether the few pages that are written most are in it.

use crate::RamLedger;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::LogicalPage;
use phelsuma_nand::state::Preserve;

/// Steps of an interval to a doubling, and of the one before it.
const FINE: u32 = 8;
const COARSE: u32 = 2;
/// Intervals of up to 2^32 are distinguished.
const DOUBLINGS: u32 = 32;
/// Steps of intervals.
pub(super) const STEPS: usize = (FINE * DOUBLINGS) as usize;
/// Steps of intervals before them.
pub(super) const EARLIER_STEPS: usize = (COARSE * DOUBLINGS) as usize;
/// Pairs that a distribution is made of, at least.
const PAIRS_MIN: u64 = 1024;
/// No interval has been seen of this page.
const UNSEEN: u8 = u8::MAX;

/// The step that an interval is of: `steps` to a doubling.
fn step(interval: u64, steps: u32) -> usize {
    let interval = interval.clamp(1, (1 << DOUBLINGS) - 1);
    let doublings = interval.ilog2();
    let within = (((interval << DOUBLINGS >> doublings) - (1 << DOUBLINGS)) * u64::from(steps)) >> DOUBLINGS;
    (doublings * steps) as usize + within as usize
}

/// Where a step begins.
fn begin(step: usize, steps: u32) -> f64 {
    let (doublings, within) = (step as u32 / steps, step as u32 % steps);
    (1u64 << doublings) as f64 * (1.0 + f64::from(within) / f64::from(steps))
}

/// Pairs of intervals, counted.
#[derive(Clone, Preserve)]
pub(super) struct Intervals {
    /// By logical page: the step of its last interval.
    earlier: Vec<u8>,
    /// By step of the earlier interval, then by that of the later one.
    pairs: Box<[u32]>,
    total: u64,
}

impl Intervals {
    pub(super) fn new(logical_pages: u32) -> Self {
        Self {
            earlier: vec![UNSEEN; logical_pages as usize],
            pairs: vec![0; STEPS * EARLIER_STEPS].into_boxed_slice(),
            total: 0,
        }
    }

    /// The host writes a page, after such an interval if it is known.
    #[inline]
    pub(super) fn count(&mut self, page: LogicalPage, interval: Option<u64>) {
        let earlier = &mut self.earlier[page.0 as usize];
        let Some(interval) = interval else {
            *earlier = UNSEEN;
            return;
        };
        if *earlier != UNSEEN {
            let pair = &mut self.pairs[usize::from(*earlier) * STEPS + step(interval, FINE)];
            *pair = pair.saturating_add(1);
            self.total += 1;
        }
        *earlier = step(interval, COARSE) as u8;
    }

    /// The counts, if there are enough.
    pub(super) fn distribution(&self) -> Option<Distribution<'_>> {
        (self.total >= PAIRS_MIN).then_some(Distribution { pairs: &self.pairs, total: self.total as f64 })
    }

    /// From now on the counts so far count half.
    pub(super) fn begin_epoch(&mut self) {
        self.pairs.iter_mut().for_each(|pair| *pair /= 2);
        self.total = self.pairs.iter().map(|pair| u64::from(*pair)).sum();
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.last_intervals", self.earlier.len() as u64);
        ledger.structure("placement.interval_pairs", self.pairs.len() as u64 * 4);
    }
}

/// What share of the pages that the host writes lives how long.
#[derive(Clone, Copy)]
pub(super) struct Distribution<'a> {
    pairs: &'a [u32],
    total: f64,
}

/// By step, and one more that is 0: the share of the pages written that live longer than where the step begins.
pub(super) type SurvivalCurve = [f64; STEPS + 1];

impl Distribution<'_> {
    /// The interval at which an earlier step begins.
    pub(super) fn threshold(earlier_steps: usize) -> u64 {
        begin(earlier_steps, COARSE) as u64
    }

    /// Of pages that go to HOT, whose last interval is below the threshold, and of the others. Together they begin with
    /// 1.
    pub(super) fn split(&self, earlier_steps: usize) -> (SurvivalCurve, SurvivalCurve) {
        let survival = |rows: core::ops::Range<usize>| {
            let mut survival = [0.0; STEPS + 1];
            for row in rows {
                for (step, pairs) in self.pairs[row * STEPS..][..STEPS].iter().enumerate() {
                    survival[step] += f64::from(*pairs);
                }
            }
            let mut longer = 0.0;
            for share in survival.iter_mut().rev() {
                longer += *share;
                *share = longer / self.total;
            }
            survival
        };
        let (hot, others) = (survival(0..earlier_steps), survival(earlier_steps..EARLIER_STEPS));
        debug_assert!((hot[0] + others[0] - 1.0).abs() < 1e-6, "the shares of what is written do not add up to 1");
        (hot, others)
    }
}

/// The share that lives longer than `age`, between the steps in proportion.
pub(super) fn alive_at(survival: &SurvivalCurve, age: f64) -> f64 {
    if age < 1.0 {
        return survival[0];
    }
    let at = step(age as u64, FINE);
    let (from, to) = (begin(at, FINE), begin(at + 1, FINE));
    let within = ((age - from) / (to - from)).clamp(0.0, 1.0);
    survival[at] + (survival[at + 1] - survival[at]) * within
}

/// The mean of the life left after `age`, of those that live longer: the integral of the survival from there on.
pub(super) fn alive_after(survival: &SurvivalCurve, age: f64) -> f64 {
    let mut at = step(age.max(1.0) as u64, FINE);
    let (mut from, mut alive) = (age, alive_at(survival, age));
    let mut sum = 0.0;
    while at < STEPS && alive > 0.0 {
        let (to, next) = (begin(at + 1, FINE), survival[at + 1]);
        sum += (to - from).max(0.0) * (alive + next) / 2.0;
        (from, alive) = (to, next);
        at += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cover_all_intervals_in_order() {
        for steps in [FINE, COARSE] {
            let mut last = 0;
            for interval in (1..5_000).chain((13..32).flat_map(|n| [(1 << n) - 1, 1 << n, (1 << n) + 1])) {
                let at = step(interval, steps);
                assert!(at >= last && at < (steps * DOUBLINGS) as usize, "{interval}");
                assert!(begin(at, steps) <= interval as f64 && (interval as f64) < begin(at + 1, steps).ceil());
                last = at;
            }
        }
        assert_eq!(step(u64::MAX, COARSE), EARLIER_STEPS - 1);
        assert!(EARLIER_STEPS < usize::from(UNSEEN));
    }

    #[test]
    fn pairs_say_what_lives_how_long_after_a_short_interval_and_after_a_long_one() {
        let mut intervals = Intervals::new(100);
        // Page 0 is written every 16 pages, page 1 every 256, page 2 for the first time each time.
        for _ in 0..1_001 {
            intervals.count(LogicalPage(0), Some(16));
            intervals.count(LogicalPage(1), Some(256));
            intervals.count(LogicalPage(2), None);
        }
        let (hot, others) = intervals.distribution().unwrap().split(step(64, COARSE));
        assert_eq!((Distribution::threshold(step(64, COARSE)), hot[0], others[0]), (64, 0.5, 0.5));
        assert_eq!((alive_at(&hot, 15.0), alive_at(&hot, 18.0)), (0.5, 0.0));
        assert_eq!((alive_at(&others, 255.0), alive_at(&others, 300.0)), (0.5, 0.0));
        // Half of the pages live 256 and a bit: the step is 32 wide.
        let mean = alive_after(&others, 0.0);
        assert!((128.0..=144.0).contains(&mean), "{mean}");
        intervals.begin_epoch();
        assert_eq!(intervals.total, 1_000);
        intervals.begin_epoch();
        assert!(intervals.distribution().is_none(), "too few");
    }
}
