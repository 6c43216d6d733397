//! Latencies of one kind of request: an HDR histogram in nanoseconds, with exact mean and maximum.

use crate::result::Latency;
use hdrhistogram::Histogram;

/// Significant digits that percentiles are kept to.
const DIGITS: u8 = 4;
/// Those of the percentiles of an interval: such a histogram takes 150 KB, and is emptied at each point of a series.
const DIGITS_OF_INTERVALS: u8 = 3;
/// The longest latency that needs no growth: 2^27 ns, 134 ms. Counters up to a quarter of an hour take twice the
/// memory.
const LONGEST_NS: u64 = 1 << 27;

/// A histogram of latencies.
#[derive(Debug)]
pub(crate) struct LatencyHistogram {
    histogram: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
    /// Most latencies of a simulated drive equal the one before: such a run is put into the histogram at once.
    run_ns: u64,
    run_count: u64,
}

impl LatencyHistogram {
    /// An empty histogram.
    pub(crate) fn new() -> Self {
        Self::with_digits(DIGITS)
    }

    /// One of an interval.
    pub(crate) fn of_interval() -> Self {
        Self::with_digits(DIGITS_OF_INTERVALS)
    }

    /// Empties it.
    pub(crate) fn clear(&mut self) {
        self.histogram.reset();
        (self.sum_ns, self.max_ns, self.run_count) = (0, 0, 0);
    }

    fn with_digits(digits: u8) -> Self {
        // The arguments are constants that the crate accepts.
        #[expect(clippy::unwrap_used)]
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, digits).unwrap();
        histogram.auto(true);
        Self { histogram, sum_ns: 0, max_ns: 0, run_ns: 0, run_count: 0 }
    }

    /// Adds a latency in nanoseconds.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        if ns != self.run_ns {
            self.settle();
            self.run_ns = ns;
        }
        self.run_count += 1;
    }

    fn settle(&mut self) {
        if self.run_count > 0 {
            // It grows as it must, so nothing is refused.
            let recorded = self.histogram.record_n(self.run_ns, self.run_count);
            debug_assert!(recorded.is_ok());
            self.sum_ns += u128::from(self.run_ns) * u128::from(self.run_count);
            self.max_ns = self.max_ns.max(self.run_ns);
            self.run_count = 0;
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.len() + self.run_count
    }

    /// Latencies in nanoseconds that were recorded, to four digits, ascending, and how often each was.
    pub(crate) fn recorded(&mut self) -> Vec<(u64, u64)> {
        self.settle();
        let at = |ns| self.histogram.lowest_equivalent(ns);
        self.histogram.iter_recorded().map(|v| (at(v.value_iterated_to()), v.count_at_value())).collect()
    }

    /// Mean, percentiles and maximum in microseconds; none where nothing was recorded.
    pub(crate) fn summary(&mut self) -> Option<Latency> {
        self.settle();
        let count = self.histogram.len();
        if count == 0 {
            return None;
        }
        let micros = |ns: u64| ns as f64 / 1e3;
        // The lower edge of the bucket: round latencies are edges, and so stay round.
        let quantile = |q| micros(self.histogram.lowest_equivalent(self.histogram.value_at_quantile(q)));
        Some(Latency {
            mean: self.sum_ns as f64 / count as f64 / 1e3,
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: micros(self.max_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_maximum_are_exact_and_percentiles_to_four_digits() {
        let mut latencies = LatencyHistogram::new();
        for ns in (1..=1000).map(|k| k * 1000) {
            latencies.record(ns);
        }
        let s = latencies.summary().unwrap();
        assert_eq!((s.mean, s.max), (500.5, 1000.0));
        assert!((s.p50 - 500.0).abs() < 0.05 && (s.p99 - 990.0).abs() < 0.1 && (s.p999 - 999.0).abs() < 0.1, "{s:?}");
    }

    #[test]
    fn a_run_of_equal_latencies_counts_in_full() {
        let mut latencies = LatencyHistogram::new();
        (0..999).for_each(|_| latencies.record(1_000_000));
        latencies.record(5_000_000);
        let s = latencies.summary().unwrap();
        assert_eq!((s.mean, s.p50, s.p99, s.p999, s.max), (1004.0, 1000.0, 1000.0, 1000.0, 5000.0));
    }

    #[test]
    fn nothing_recorded_is_nothing() {
        assert_eq!(LatencyHistogram::new().summary(), None);
    }

    #[test]
    fn zero_and_the_longest_time_there_is_are_recorded() {
        let mut latencies = LatencyHistogram::new();
        latencies.record(0);
        latencies.record(u64::MAX);
        let s = latencies.summary().unwrap();
        assert_eq!((s.p50, s.max), (0.0, u64::MAX as f64 / 1e3));
    }
}
