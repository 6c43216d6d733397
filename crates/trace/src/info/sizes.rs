//! How large requests are.

use hashbrown::HashMap;
use serde::Serialize;

use super::share::share;

/// So many distinct sizes are counted exactly; further new ones are rounded up to a power of two.
const DISTINCT_MAX: usize = 65_536;
const FREQUENT: usize = 5;

/// A request size and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeCount {
    /// Size in bytes.
    pub bytes: u64,
    /// Requests of that size.
    pub requests: u64,
}

/// The distribution of request sizes, in bytes; all 0 without requests. A percentile is the smallest
/// size that at least that share of the requests does not exceed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sizes {
    /// Mean size.
    pub mean_bytes: f64,
    /// Median.
    pub p50_bytes: u64,
    /// 90th percentile.
    pub p90_bytes: u64,
    /// 99th percentile.
    pub p99_bytes: u64,
    /// Largest.
    pub max_bytes: u64,
    /// The five most frequent sizes, most frequent first, smaller ones first among equals.
    pub most_frequent: Vec<SizeCount>,
}

#[derive(Default)]
pub(super) struct Counter {
    counts: HashMap<u64, u64>,
}

impl Counter {
    pub(super) fn add(&mut self, bytes: u64) {
        if let Some(count) = self.counts.get_mut(&bytes) {
            *count += 1;
        } else {
            let full = self.counts.len() >= DISTINCT_MAX;
            *self.counts.entry(if full { bytes.next_power_of_two() } else { bytes }).or_insert(0) += 1;
        }
    }

    pub(super) fn summary(&self, total_bytes: u64) -> Sizes {
        let mut counts: Vec<SizeCount> =
            self.counts.iter().map(|(&bytes, &requests)| SizeCount { bytes, requests }).collect();
        counts.sort_unstable_by_key(|count| count.bytes);
        let requests: u64 = counts.iter().map(|count| count.requests).sum();
        let percentile = |percent: u64| {
            let rank = (requests * percent).div_ceil(100);
            let mut seen = 0;
            let reached = counts.iter().find(|count| {
                seen += count.requests;
                seen >= rank
            });
            reached.map_or(0, |count| count.bytes)
        };
        let mut frequent = counts.clone();
        frequent.sort_by_key(|count| std::cmp::Reverse(count.requests));
        frequent.truncate(FREQUENT);
        Sizes {
            mean_bytes: share(total_bytes, requests),
            p50_bytes: percentile(50),
            p90_bytes: percentile(90),
            p99_bytes: percentile(99),
            max_bytes: counts.last().map_or(0, |count| count.bytes),
            most_frequent: frequent,
        }
    }
}
