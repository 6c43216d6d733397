//! How long a written page lives, measured in page writes.

use serde::Serialize;

/// How many pages the host wrote from a write of a page up to the write that replaced it (1: the very
/// next page written was the same page).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Lifetimes {
    /// Entry k counts lives of 2^k to 2^(k+1) - 1 page writes.
    pub histogram_log2: Vec<u64>,
    /// Page versions that the trace leaves in place, one per different written page; their lives have no
    /// end and are neither in the histogram nor in the quantiles.
    pub live_at_end: u64,
    /// Half of the lives are at most this long, to the end of a histogram entry; 0 without any.
    pub p50_at_most: u64,
    /// Likewise 90 %.
    pub p90_at_most: u64,
    /// Likewise 99 %.
    pub p99_at_most: u64,
}

pub(super) struct Counter {
    histogram: [u64; 64],
}

impl Default for Counter {
    fn default() -> Self {
        Counter { histogram: [0; 64] }
    }
}

impl Counter {
    /// Counts a life of at least one page write.
    pub(super) fn add(&mut self, page_writes: u64) {
        if let Some(entry) = self.histogram.get_mut(page_writes.max(1).ilog2() as usize) {
            *entry += 1;
        }
    }

    pub(super) fn summary(&self, unique_written: u64) -> Lifetimes {
        let lives: u64 = self.histogram.iter().sum();
        let quantile = |percent: u64| {
            let rank = (u128::from(lives) * u128::from(percent)).div_ceil(100);
            let mut seen = 0;
            let reached = self.histogram.iter().position(|&count| {
                seen += u128::from(count);
                lives > 0 && seen >= rank
            });
            reached.map_or(0, |k| u64::MAX >> (63 - k))
        };
        let used = self.histogram.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        Lifetimes {
            histogram_log2: self.histogram.iter().take(used).copied().collect(),
            live_at_end: unique_written,
            p50_at_most: quantile(50),
            p90_at_most: quantile(90),
            p99_at_most: quantile(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ends_of_histogram_entries() {
        let mut counter = Counter::default();
        for life in [1, 2, 3, 4, 1000] {
            counter.add(life);
        }
        let lives = counter.summary(7);
        assert_eq!(lives.histogram_log2, [1, 2, 1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((lives.p50_at_most, lives.p90_at_most, lives.p99_at_most), (3, 1023, 1023));
    }

    #[test]
    fn without_lives_all_is_zero() {
        assert_eq!(Counter::default().summary(0), Lifetimes::default());
    }
}
