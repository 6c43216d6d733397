//! Whether the host's writes are purely random: how long a page went unwritten then says nothing of how long it will.
//!
//! All separation of hot data from others rests on one thing (Dual Greedy, section III-B): a page that was written
//! again soon will be written again soon. Where it does not hold, "any predictions on write behaviors based on locality
//! will not be useful" (section V-B). So that is tested:
//!
//! - **The sample** is [`SAMPLED`] logical pages, whatever collection does with them. Of each there is a record of when
//!   it was written last and whether the interval before that was short. Short is below a running median of all such
//!   intervals.
//! - **The test** follows every [`WINDOW`] pairs of successive intervals. The share of short ones after short ones is
//!   compared with their share after long ones. If the writes are random, the two differ by chance alone. They count as
//!   not random where the first is the larger by more than four standard deviations of that.
//! - **Its errors**: where writes are random, one window in thirty thousand is mistaken. A difference of a sixteenth is
//!   usually noticed where as many intervals are short as are long. The two numbers decide how soon and how surely it
//!   is noticed. They have nothing to do with the workload or the size of the drive.
//!
//! Writes that are the same over and over (a loop) have intervals that are all alike. A median of these has as many on
//! both sides, by chance of the last digits. A trim ends no interval. Nothing counts before the drive has been written
//! over twice, by when the median is one. The same holds after a power cut, which forgets it.

use crate::{Counter, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::LogicalPage;
use phelsuma_nand::state::Preserve;

/// Logical pages that are watched, at the most.
const SAMPLED: u32 = 8192;

/// How often the drive's logical pages are written over before anything counts.
const RUN_IN: u64 = 2;

/// Pairs of intervals that a decision rests on.
const WINDOW: u64 = 4096;

/// The square of how many standard deviations a difference may be by chance.
const BY_CHANCE_SQUARED: f64 = 16.0;

/// The last observation of a page that is watched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Preserve)]
enum Seen {
    #[default]
    Nothing,
    Written,
    AfterLong,
    AfterShort,
}

/// The test.
#[derive(Clone, Debug, Preserve)]
pub(super) struct Randomness {
    /// Every so manieth logical page is watched.
    stride: u32,
    /// When each was written last, as the low half of logical time.
    written: Vec<u32>,
    seen: Vec<Seen>,
    median: u32,
    /// Pairs after a long interval, then after a short one; and of these those whose second interval was short.
    pairs: [u64; 2],
    short: [u64; 2],
    /// Pages to be written before anything counts.
    run_in: u64,
    is_random: bool,
    windows: u64,
    random_windows: u64,
    /// By how much the shares differed in the last window, in thousandths.
    last: i64,
}

impl Randomness {
    pub(super) fn new(logical_pages: u32) -> Self {
        let stride = logical_pages.div_ceil(SAMPLED).max(1);
        let watched = logical_pages.div_ceil(stride) as usize;
        Self {
            stride,
            written: vec![0; watched],
            seen: vec![Seen::Nothing; watched],
            median: 0,
            pairs: [0; 2],
            short: [0; 2],
            run_in: RUN_IN * u64::from(logical_pages),
            is_random: false,
            windows: 0,
            random_windows: 0,
            last: 0,
        }
    }

    pub(super) fn is_random(&self) -> bool {
        self.is_random
    }

    /// The host writes a page.
    #[inline]
    pub(super) fn written(&mut self, page: LogicalPage, now: u64) {
        self.run_in = self.run_in.saturating_sub(1);
        if page.0.is_multiple_of(self.stride) {
            self.watched((page.0 / self.stride) as usize, now as u32);
        }
    }

    fn watched(&mut self, slot: usize, now: u32) {
        let Some((written, seen)) = self.written.get_mut(slot).zip(self.seen.get_mut(slot)) else { return };
        let interval = now.wrapping_sub(core::mem::replace(written, now));
        if *seen == Seen::Nothing {
            *seen = Seen::Written;
            return;
        }
        // A step up or down, a thirty-second of its value: it stays where as many go up as down.
        let is_short = interval < self.median;
        let step = self.median / 32 + 1;
        self.median = if is_short { self.median - step.min(self.median) } else { self.median.saturating_add(step) };
        let before = core::mem::replace(seen, if is_short { Seen::AfterShort } else { Seen::AfterLong });
        if before != Seen::Written && self.run_in == 0 {
            let class = usize::from(before == Seen::AfterShort);
            self.pairs[class] += 1;
            self.short[class] += u64::from(is_short);
            if self.pairs[0] + self.pairs[1] == WINDOW {
                self.decide();
            }
        }
    }

    fn decide(&mut self) {
        let has_more = self.short.iter().zip(&self.pairs).any(|(short, pairs)| short > pairs);
        debug_assert!(!has_more, "more intervals are short than there are");
        let [after_long, after_short] = self.pairs.map(|pairs| pairs.max(1) as f64);
        let [short_after_long, short_after_short] = self.short.map(|short| short as f64);
        let differ = short_after_short / after_short - short_after_long / after_long;
        let short = (short_after_long + short_after_short) / (after_long + after_short);
        let variance = short * (1.0 - short) * (1.0 / after_long + 1.0 / after_short);
        (self.pairs, self.short) = ([0; 2], [0; 2]);
        self.is_random = differ <= 0.0 || differ * differ <= BY_CHANCE_SQUARED * variance;
        self.last = (differ * 1000.0) as i64;
        self.windows += 1;
        self.random_windows += u64::from(self.is_random);
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let bytes = self.written.len() * 4 + self.seen.len() + size_of::<Self>();
        ledger.structure("placement.randomness", bytes as u64);
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("placement_windows", self.windows));
        out.push(Counter::sum("placement_random_windows", self.random_windows));
        out.push(Counter::level("placement_short_after_short", self.last.max(0) as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const PAGES: u32 = 20_000;

    /// Windows, and those for random, while `page` is asked which page is written.
    fn windows(mut page: impl FnMut(&mut Xoshiro256PlusPlus, u64) -> u32) -> (u64, u64) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut randomness = Randomness::new(PAGES);
        for now in 0..60 * u64::from(PAGES) {
            let page = LogicalPage(page(&mut rng, now));
            // Time has started over in between.
            randomness.written(page, now + (1 << 32) - 50_000);
        }
        (randomness.windows, randomness.random_windows)
    }

    #[test]
    fn uniform_writes_are_random() {
        let (windows, random) = windows(|rng, _| (rng.next_u64() % u64::from(PAGES)) as u32);
        assert!(windows > 90 && random == windows, "{random} of {windows}");
    }

    /// 80 % of the writes to 20 % of the pages, and 70 % to 30 %: in the second, a page of the hot part is written 5.4
    /// times as often as another. Hardly any window takes them for random.
    #[test]
    fn skewed_writes_are_not() {
        for (writes, space) in [(80, 20), (70, 30)] {
            let (windows, random) = windows(|rng, _| {
                let (hot, at) = (rng.next_u64() % 100 < writes, rng.next_u64());
                let edge = u64::from(PAGES) * space / 100;
                (if hot { at % edge } else { edge + at % (u64::from(PAGES) - edge) }) as u32
            });
            assert!(windows > 90 && random * 10 < windows, "{writes}/{space}: {random} of {windows}");
        }
    }
}
