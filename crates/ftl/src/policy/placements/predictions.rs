//! Whether the lives that a page had say anything of its next one.
//!
//! Where all pages are written alike they say nothing, and it is not worth a read to know them. So a sample of the pages
//! is followed in any case, and the others as long as the sample shows that lives differ.
//!
//! Of each life of such a page that ends there are two numbers: the binary logarithms of the mean life before, and of
//! this life. The square of their correlation is the share of the differences between lives that the lives before
//! explain. Uniform writes have a share of 0.
//!
//! Lives of cold pages end late, so for long the sample may be of hot pages alone, which are alike. Then lives are short:
//! those of uniform writes are about as many writes as there are logical pages, and their logarithms somewhat less.

use phelsuma_nand::LogicalPage;
use phelsuma_nand::state::Preserve;

/// One page in so many is followed in any case.
const SAMPLE: u32 = 16;
/// The least share that is worth the reads, and the least for which they go on.
const SHARE_MIN: f64 = 0.05;
const SHARE_KEPT: f64 = 0.03;
/// Lives are short if the mean of their logarithms is so many half octaves below that of the logical pages. Uniform writes
/// stay 0.83 octaves below, and less than 1.5 while the drive is written for the first time.
const SHORT: u8 = 4;
/// The share is looked at after so many ends.
const ENDS: u64 = 64;
/// The sums are halved so often before anything is concluded. The drive is written two or three times until then, and
/// twice more after it was formatted.
const ROUNDS_MIN: u8 = 4;
/// Fewer ends say nothing. The share of so many lives without a pattern is 0.002, seldom more than 0.01.
const ENDS_MIN: u64 = 512;

/// The sums that the correlation is of.
#[derive(Clone, Preserve)]
pub(super) struct Predictions {
    ends: u64,
    before: u64,
    life: u64,
    before_squared: u64,
    life_squared: u64,
    both: u64,
    /// The sums are halved at so many ends.
    halved_at: u64,
    /// How often they were, up to [`ROUNDS_MIN`].
    rounds: u8,
    /// The logarithm below which the mean life is short.
    short: u8,
    differ: bool,
}

impl Predictions {
    /// None yet, on a drive of so many logical pages, with the logarithm of that. Pages are followed until something is
    /// learned.
    pub(super) fn new(logical_pages: u32, logarithm: u8) -> Self {
        Self {
            ends: 0,
            before: 0,
            life: 0,
            before_squared: 0,
            life_squared: 0,
            both: 0,
            // While the host writes as many pages as it sees, so many of the sample's are written.
            // An even number: halving must not take an end without its logarithms.
            halved_at: (u64::from(logical_pages) / u64::from(SAMPLE)).max(ENDS_MIN).next_multiple_of(2),
            rounds: 0,
            short: logarithm.saturating_sub(SHORT),
            differ: true,
        }
    }

    /// Whether a page is one of the sample. By a product that has no pattern of the numbers of pages.
    pub(super) fn samples(page: LogicalPage) -> bool {
        page.0.wrapping_mul(0x9e37_79b1) < u32::MAX / SAMPLE
    }

    /// Whether it is worth a read to know a page's lives.
    pub(super) fn follows(&self, page: LogicalPage) -> bool {
        self.differ || Self::samples(page)
    }

    /// Whether lives differ in a way that those before show.
    pub(super) fn differ(&self) -> bool {
        self.differ
    }

    /// A life of a page of the sample has ended: the logarithms of the mean before, and of its own, in half octaves.
    pub(super) fn ended(&mut self, before: u8, life: u8) {
        let (before, life) = (u64::from(before), u64::from(life));
        self.ends += 1;
        self.before += before;
        self.life += life;
        self.before_squared += before * before;
        self.life_squared += life * life;
        self.both += before * life;
        if self.rounds == ROUNDS_MIN && self.ends.is_multiple_of(ENDS) {
            let least = if self.differ { SHARE_KEPT } else { SHARE_MIN };
            self.differ = self.share() >= least || self.life < self.ends * u64::from(self.short);
        }
        if self.ends >= self.halved_at {
            self.rounds = (self.rounds + 1).min(ROUNDS_MIN);
            let sums = [&mut self.before, &mut self.life, &mut self.before_squared, &mut self.life_squared];
            sums.into_iter().chain([&mut self.both, &mut self.ends]).for_each(|sum| *sum /= 2);
        }
    }

    /// The square of the correlation; 0 where it is negative, and where all lives are the same.
    fn share(&self) -> f64 {
        let [ends, before, life, before_squared, life_squared, both] =
            [self.ends, self.before, self.life, self.before_squared, self.life_squared, self.both]
                .map(|sum| sum as f64);
        let covariance = ends * both - before * life;
        let variances = (ends * before_squared - before * before) * (ends * life_squared - life * life);
        if covariance > 0.0 && variances > 0.0 { covariance * covariance / variances } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A number below a limit, without a pattern (xorshift).
    fn drawn(state: &mut u64, limit: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 20) % limit
    }

    #[test]
    fn a_sixteenth_of_the_pages_is_the_sample() {
        let sampled: Vec<u32> = (0..16_000).filter(|page| Predictions::samples(LogicalPage(*page))).collect();
        assert!((950..1_050).contains(&sampled.len()), "{}", sampled.len());
        assert!(sampled.iter().any(|page| page % 2 == 0) && sampled.iter().any(|page| page % 2 == 1));
    }

    #[test]
    fn lives_without_a_pattern_are_not_followed_and_others_are() {
        let (mut predictions, mut state) = (Predictions::new(10_000, 27), 88_172_645_463_325_252);
        assert!(predictions.follows(LogicalPage(1)), "nothing is known yet");
        for _ in 0..8 * predictions.halved_at {
            predictions.ended(drawn(&mut state, 20) as u8 + 16, drawn(&mut state, 20) as u8 + 16);
        }
        assert!(!predictions.differ() && !predictions.follows(LogicalPage(1)));
        // From now on half of the pages live for an eighth of the others' time, which is six half octaves.
        let mut ends = 0;
        while !predictions.differ() && ends <= 2 * predictions.halved_at {
            let class = 6 * drawn(&mut state, 2);
            predictions.ended((class + drawn(&mut state, 8)) as u8 + 20, (class + drawn(&mut state, 12)) as u8 + 20);
            ends += 1;
        }
        assert!(ends <= 2 * predictions.halved_at, "{ends}");
    }

    /// An end that is lost in each halving would hide a small share.
    #[test]
    fn halving_changes_no_share() {
        let (mut predictions, mut state) = (Predictions::new(10_000, 27), 88_172_645_463_325_252);
        let (mut sum, mut shares) = (0.0, 0.0);
        for end in 0..40 * predictions.halved_at {
            let class = 3 * drawn(&mut state, 2);
            predictions.ended((class + drawn(&mut state, 8)) as u8 + 30, (class + drawn(&mut state, 8)) as u8 + 30);
            if end > predictions.halved_at {
                sum += predictions.share();
                shares += 1.0;
            }
        }
        let share = sum / shares;
        assert!((0.075..0.105).contains(&share), "{share}");
    }

    /// The hot pages are alike, and no cold one was written twice yet.
    #[test]
    fn short_lives_are_followed() {
        for (life, differ) in [(21, true), (23, false)] {
            let mut predictions = Predictions::new(10_000, 27);
            (0..4 * predictions.halved_at).for_each(|_| predictions.ended(life, life));
            assert_eq!(predictions.differ(), differ, "{life}");
        }
    }

    #[test]
    fn equal_lives_are_not_worth_a_read() {
        let mut predictions = Predictions::new(10_000, 27);
        (0..4 * predictions.halved_at).for_each(|_| predictions.ended(30, 30));
        assert!(!predictions.differ());
        assert!(predictions.ends < predictions.halved_at && predictions.both > 0);
    }
}
