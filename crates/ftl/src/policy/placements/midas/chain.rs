//! A chain of groups as a Markov chain (MCAM): what each group would move, from how long pages live.
//!
//! Everything is counted per page that the host writes, which is the unit of time as well. Let f pages come into a
//! group that has room for s. It keeps each of them for t = s / f, if its blocks are collected in the order in which
//! they were closed. Pages that are live then go on. So a page that is live when it leaves the g-th group has lived for
//! the sum of the times up to there. The distribution says how many do.
//!
//! The last group keeps what it moves: it holds pages that have been through it once, twice and so on. Let T be the age
//! at which a page came. With time t it is moved at each age T + t, T + 2t ... that it lives to see. The group's room
//! decides t. Some pages were not written for so long that no interval was seen. They go round there too, all the time.
//! Greedy does a little better there than the order of closing; the prediction is for the latter.

use super::intervals::{SurvivalCurve, alive_after, alive_at};
use crate::policy::notes::GROUPS_MAX;
use phelsuma_nand::state::Preserve;

/// How often the last group may be gone round while a page lives, at the most: the rest is an integral.
const ROUNDS_MAX: u32 = 48;
/// Halvings in the search for the time of the last group.
const HALVINGS: u32 = 9;
/// From one time that is tried for it to the next.
const STRIDE: f64 = 0.85;
/// More than so many pages moved for each written is no configuration to think of.
const MOVED_MAX: f64 = 64.0;

/// How the blocks are divided.
#[derive(Clone, Copy, PartialEq, Debug, Preserve)]
pub(super) struct Configuration {
    /// Groups of the chain, without HOT.
    pub(super) groups: u8,
    /// Pages whose last interval is shorter go to HOT; none with 0.
    pub(super) hot_below: u64,
    /// By group, HOT first: blocks that it may have. The last has the rest.
    pub(super) limits: [u32; GROUPS_MAX],
    /// By group, HOT first: the share of a victim's pages that is going to be live.
    pub(super) live_shares: [f64; GROUPS_MAX],
    /// Pages written to flash for each that the host writes.
    pub(super) write_amplification: f64,
}

impl Configuration {
    /// Everything together.
    pub(super) fn one_group() -> Self {
        Self {
            groups: 1,
            hot_below: 0,
            limits: [0; GROUPS_MAX],
            live_shares: [0.0; GROUPS_MAX],
            write_amplification: 0.0,
        }
    }
}

/// Times of a chain: how long pages are in each group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Times {
    /// Of HOT.
    pub(super) hot: f64,
    /// Of the groups of the chain but the last.
    pub(super) groups: [f64; GROUPS_MAX],
    /// How many of these there are.
    pub(super) count: usize,
}

impl Times {
    /// One group, with or without HOT.
    pub(super) fn of_one_group(hot: f64) -> Self {
        Self { hot, groups: [0.0; GROUPS_MAX], count: 0 }
    }
}

/// How long pages live, those of HOT and the others, and how much room there is.
pub(super) struct Pages<'a> {
    pub(super) hot: &'a SurvivalCurve,
    pub(super) others: &'a SurvivalCurve,
    /// Pages of written blocks.
    pub(super) room: f64,
    /// Of which these are live.
    pub(super) live: f64,
}

/// The prediction for a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Pages written to flash for each that the host writes.
    pub(super) write_amplification: f64,
    /// By group, HOT first: its pages, and the share of a victim's that is live.
    pub(super) sizes: [f64; GROUPS_MAX],
    pub(super) live_shares: [f64; GROUPS_MAX],
}

impl Pages<'_> {
    /// The live pages at an age in the chain: pages of HOT come to it `hot` later.
    fn alive(&self, age: f64, hot: f64) -> f64 {
        alive_at(self.others, age) + alive_at(self.hot, hot + age)
    }

    fn alive_after(&self, age: f64, hot: f64) -> f64 {
        alive_after(self.others, age) + alive_after(self.hot, hot + age)
    }

    /// Pages that are live and of which no interval was seen.
    fn unseen(&self) -> f64 {
        (self.live - self.alive_after(0.0, 0.0)).max(0.0)
    }

    /// The pages that a last group of time `round` holds, live or not.
    fn held(&self, age: f64, hot: f64, round: f64) -> f64 {
        let mut sum = 0.0;
        for n in 0..ROUNDS_MAX {
            let alive = self.alive(age + f64::from(n) * round, hot);
            sum += round * alive;
            if alive < 1e-6 {
                return sum;
            }
        }
        // From here on a step is short beside the age.
        sum + self.alive_after(age + f64::from(ROUNDS_MAX - 1) * round + round / 2.0, hot)
    }

    /// What comes of these times; none where there is no room for them.
    pub(super) fn outcome(&self, times: &Times) -> Option<Outcome> {
        let mut outcome =
            Outcome { write_amplification: 1.0, sizes: [0.0; GROUPS_MAX], live_shares: [0.0; GROUPS_MAX] };
        let has_hot = self.hot[0] > 0.0;
        let hot = if has_hot { times.hot } else { 0.0 };
        let mut left = self.room;
        if has_hot {
            outcome.sizes[0] = self.hot[0] * hot;
            let moved = alive_at(self.hot, hot);
            outcome.live_shares[0] = moved / self.hot[0];
            outcome.write_amplification += moved;
            left -= outcome.sizes[0];
        }
        let mut age = 0.0;
        for (group, time) in times.groups[..times.count].iter().enumerate() {
            let comes = self.alive(age, hot);
            outcome.sizes[group + 1] = comes * time;
            left -= comes * time;
            age += time;
            let moved = self.alive(age, hot);
            outcome.live_shares[group + 1] = moved / comes.max(1e-12);
            outcome.write_amplification += moved;
        }
        let unseen = self.unseen();
        let room = left - unseen;
        if room <= 0.0 {
            return None;
        }
        let comes = self.alive(age, hot);
        // It cannot take longer than until it is filled with what comes. Of several times for which there is room,
        // which there can be where many pages live equally long, the longest is looked for: there the least is moved.
        let mut longest = left / comes.max(1e-12);
        let mut shortest = longest;
        while self.held(age, hot, shortest) > room {
            (longest, shortest) = (shortest, shortest * STRIDE);
            if shortest * MOVED_MAX < left {
                return None;
            }
        }
        for _ in 0..HALVINGS {
            let between = (shortest + longest) / 2.0;
            if self.held(age, hot, between) < room { shortest = between } else { longest = between }
        }
        let moved = left / shortest - comes;
        debug_assert!(moved > -1e-6, "the last group moves less than nothing");
        outcome.sizes[times.count + 1] = left;
        outcome.live_shares[times.count + 1] = moved / (moved + comes);
        outcome.write_amplification += moved;
        Some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::super::intervals::{Distribution, Intervals};
    use super::*;
    use phelsuma_nand::LogicalPage;

    /// Uniform writes to 10,000 pages: an interval is longer than x with probability e^(-x / 10,000).
    fn uniform() -> Intervals {
        let mut intervals = Intervals::new(100);
        let mut random = 1u64;
        for _ in 0..400_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let share = ((random >> 11) + 1) as f64 / (1u64 << 53) as f64;
            // -ln(share), by the series of the inverse hyperbolic tangent after taking out powers of two.
            let doublings = -(share.log2().floor());
            let x = share * (doublings).exp2();
            let interval = 10_000.0 * (doublings * core::f64::consts::LN_2 - x.ln());
            intervals.count(LogicalPage(7), Some(interval as u64 + 1));
        }
        intervals
    }

    #[test]
    fn one_group_under_uniform_writes_is_the_cyclic_log() {
        let intervals = uniform();
        let distribution: Distribution<'_> = intervals.distribution().unwrap();
        let (hot, others) = distribution.split(0);
        for (room, known) in [(10_000.0 / 0.8, 2.6927), (10_000.0 / 0.9, 5.1787)] {
            let pages = Pages { hot: &hot, others: &others, room, live: 10_000.0 };
            let found = pages.outcome(&Times::of_one_group(0.0)).unwrap().write_amplification;
            assert!((found / known - 1.0).abs() < 0.03, "{found} for {known}");
        }
    }

    #[test]
    fn a_group_moves_what_is_live_when_its_time_is_over() {
        // Half of the pages live for about 16, half for about 4,096.
        let mut intervals = Intervals::new(100);
        for _ in 0..1_001 {
            intervals.count(LogicalPage(0), Some(16));
            intervals.count(LogicalPage(1), Some(4_096));
        }
        let (hot, others) = intervals.distribution().unwrap().split(0);
        let pages = Pages { hot: &hot, others: &others, room: 5_000.0, live: 2_200.0 };
        let mut times = Times { count: 1, ..Times::of_one_group(0.0) };
        times.groups[0] = 100.0;
        let outcome = pages.outcome(&times).unwrap();
        assert_eq!((outcome.sizes[1], outcome.live_shares[1]), (100.0, 0.5));
        // 4,900 is room for all that is left to die where it is, at 0.5 for each page written.
        assert!((outcome.write_amplification - 1.5).abs() < 0.01, "{outcome:?}");
        // No room for the groups in front, however little they would move; and none for the live pages.
        times.groups[0] = 9_000.0;
        assert!(pages.outcome(&times).is_none());
        times.groups[0] = 100.0;
        assert!(Pages { room: 2_000.0, ..pages }.outcome(&times).is_none());
    }
}
