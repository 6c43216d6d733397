//! The search for the best configuration (GCS): how many groups, how large, and which pages are hot.
//!
//! It works in the plane of times, not of sizes: a chain is how long pages are in each group, and sizes follow.
//! Thresholds of HOT and its times are tried on a grid. Then groups are inserted in front of the last one as long as
//! that helps. Then each time is made longer and shorter as long as that helps. A group is worth its place only if it
//! saves [`WORTHWHILE`] of the moves, since each has an open block of its own.

use super::chain::{Configuration, Outcome, Pages, Times};
use super::intervals::{Distribution, EARLIER_STEPS, SurvivalCurve};

/// A group must save so much of the write amplification.
const WORTHWHILE: f64 = 0.003;
/// Rounds of improvement at the most.
const ROUNDS_MAX: u32 = 12;
/// From one time to the next on the grid.
const STRIDE: f64 = 1.6;
/// Fewer pages written than this share are not worth HOT, nor are more worth the rest.
const HOT_SHARES: core::ops::Range<f64> = 0.02..0.98;

/// The drive that is divided: pages of written blocks, and how many of them are live.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Drive {
    pub(super) pages: f64,
    pub(super) live: f64,
    pub(super) pages_per_block: f64,
}

struct Search<'a> {
    drive: &'a Drive,
    hot: SurvivalCurve,
    others: SurvivalCurve,
}

impl Search<'_> {
    fn outcome(&self, times: &Times) -> Option<Outcome> {
        let Drive { pages, live, .. } = *self.drive;
        let outcome = Pages { hot: &self.hot, others: &self.others, room: pages, live }.outcome(times)?;
        // A group of less than a block is none.
        let first = usize::from(self.hot[0] == 0.0);
        let smallest = outcome.sizes[first..times.count + 1].iter().copied().fold(f64::MAX, f64::min);
        (smallest >= self.drive.pages_per_block).then_some(outcome)
    }

    fn write_amplification(&self, times: &Times) -> f64 {
        self.outcome(times).map_or(f64::MAX, |outcome| outcome.write_amplification)
    }

    /// Times on the grid, from a block's to all that there is room for.
    fn grid(&self) -> impl Iterator<Item = f64> + use<> {
        let most = 2.0 * self.drive.pages;
        core::iter::successors(Some(2.0 * self.drive.pages_per_block), |time| Some(time * STRIDE))
            .take_while(move |time| *time < most)
    }

    /// Inserts groups in front of the last as long as that helps.
    fn lengthened(&self, mut times: Times, most: usize) -> (Times, f64) {
        let mut best = self.write_amplification(&times);
        while times.count + 1 < most {
            let longer = |time: f64| {
                let mut longer = times;
                longer.groups[longer.count] = time;
                longer.count += 1;
                longer
            };
            let tried = self.grid().map(|time| (longer(time), self.write_amplification(&longer(time))));
            let Some((found, amplification)) = tried.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            if amplification >= best * (1.0 - WORTHWHILE) {
                break;
            }
            (times, best) = (found, amplification);
        }
        (times, best)
    }

    /// Makes each time longer or shorter as long as that helps.
    fn improved(&self, mut times: Times, mut best: f64) -> (Times, f64) {
        let mut factor = STRIDE;
        for _ in 0..ROUNDS_MAX {
            let before = best;
            for group in 0..=times.count {
                for factor in [factor, 1.0 / factor] {
                    let mut other = times;
                    let time = if group == times.count { &mut other.hot } else { &mut other.groups[group] };
                    *time *= factor;
                    let amplification = self.write_amplification(&other);
                    if amplification < best {
                        (times, best) = (other, amplification);
                    }
                }
            }
            if best >= before * (1.0 - WORTHWHILE / 4.0) {
                factor = 1.0 + (factor - 1.0) / 2.0;
                if factor < 1.05 {
                    break;
                }
            }
        }
        (times, best)
    }
}

/// The configuration of the least write amplification, of at most so many groups; none where there is no room for any.
pub(super) fn best(uid: Distribution<'_>, drive: &Drive, groups: u8) -> Option<Configuration> {
    let mut found: Option<(usize, Times, f64)> = None;
    let keep = |found: &mut Option<(usize, Times, f64)>, hot, times, amplification: f64| {
        if amplification < f64::MAX && found.is_none_or(|(.., least)| amplification < least * (1.0 - WORTHWHILE)) {
            *found = Some((hot, times, amplification));
        }
    };
    let search = |hot_below: usize| {
        let (hot, others) = uid.split(hot_below);
        Search { drive, hot, others }
    };
    let (times, amplification) = search(0).lengthened(Times::of_one_group(0.0), groups.into());
    keep(&mut found, 0, times, amplification);
    for hot_below in 1..EARLIER_STEPS {
        let search = search(hot_below);
        if !HOT_SHARES.contains(&search.hot[0]) {
            continue;
        }
        let tried = search.grid().map(Times::of_one_group);
        let tried = tried.map(|times| (times, search.write_amplification(&times)));
        let Some((times, _)) = tried.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let (times, amplification) = search.lengthened(times, groups.into());
        keep(&mut found, hot_below, times, amplification);
    }
    let (hot_below, times, amplification) = found?;
    let search = search(hot_below);
    let (times, _) = search.improved(times, amplification);
    let outcome = search.outcome(&times)?;
    let sizes: f64 = outcome.sizes.iter().sum();
    debug_assert!((sizes - drive.pages).abs() <= 1e-6 * drive.pages, "the groups do not add up to the drive");
    let mut configuration = Configuration {
        groups: times.count as u8 + 1,
        hot_below: if hot_below == 0 { 0 } else { Distribution::threshold(hot_below) },
        live_shares: outcome.live_shares,
        write_amplification: outcome.write_amplification,
        ..Configuration::one_group()
    };
    for (limit, pages) in configuration.limits.iter_mut().zip(outcome.sizes) {
        *limit = (pages / drive.pages_per_block + 0.5) as u32;
    }
    Some(configuration)
}

#[cfg(test)]
mod tests {
    use super::super::intervals::Intervals;
    use super::*;
    use phelsuma_nand::LogicalPage;

    #[test]
    fn a_hot_class_gets_blocks_of_its_own() {
        // Nine pages of ten that are written live for about 1,000, one for about 100,000. Blocks of 64.
        let mut intervals = Intervals::new(100);
        for n in 0..20_000u64 {
            intervals.count(LogicalPage(u32::from(n % 10 == 0)), Some(if n % 10 == 0 { 100_000 } else { 1_000 }));
        }
        let live = 0.9 * 1_030.0 + 0.1 * 103_000.0;
        let drive = Drive { pages: live / 0.85, live, pages_per_block: 64.0 };
        let uid = intervals.distribution().unwrap();
        let one = Search { drive: &drive, hot: uid.split(0).0, others: uid.split(0).1 };
        let one = one.write_amplification(&Times::of_one_group(0.0));
        let best = best(uid, &drive, 6).unwrap();
        assert!(best.write_amplification < 0.5 * one, "{best:?} for {one}");
        // Whether by HOT or by the first group of the chain: those that live for 1,000 are to die where they were
        // written.
        let first = usize::from(best.hot_below == 0);
        assert!((800.0..2_000.0).contains(&(f64::from(best.limits[first]) * 64.0)), "{best:?}");
    }

    #[test]
    fn where_all_pages_live_alike_there_is_nothing_to_divide() {
        let mut intervals = Intervals::new(100);
        (0..5_000).for_each(|_| intervals.count(LogicalPage(3), Some(10_000)));
        let drive = Drive { pages: 12_000.0, live: 10_000.0, pages_per_block: 64.0 };
        let best = best(intervals.distribution().unwrap(), &drive, 6).unwrap();
        assert_eq!((best.groups, best.hot_below), (1, 0), "{best:?}");
    }
}
