//! How large files are: lognormal, as Douceur and Bolosky found on Windows computers ("A Large-Scale Study of
//! File-System Contents", SIGMETRICS 1999).

use rand_core::RngCore;

use crate::workload::address::unit_interval;

/// A lognormal distribution of sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Logarithm of the median.
    log_median: f64,
    sigma: f64,
    most: f64,
}

impl Sizes {
    /// With this median, in bytes, and none above `most`.
    pub(super) fn with_median(median: u64, sigma: f64, most: u64) -> Self {
        Sizes { log_median: libm::log(median as f64), sigma, most: most as f64 }
    }

    /// With this mean, in bytes, and none above `most`, which should be well above the mean.
    pub(super) fn with_mean(mean: u64, sigma: f64, most: u64) -> Self {
        let log_median = libm::log(mean as f64) - sigma * sigma / 2.0;
        Sizes { log_median, sigma, most: most as f64 }
    }

    /// A size in bytes, at least 1.
    pub(super) fn draw(&self, random: &mut impl RngCore) -> u64 {
        let size = libm::exp(self.log_median + self.sigma * nearly_normal(random));
        size.min(self.most).max(1.0) as u64
    }
}

/// A number of mean 0 and variance 1: the sum of twelve uniform ones, less 6. Without tails beyond 6, which no size
/// needs.
fn nearly_normal(random: &mut impl RngCore) -> f64 {
    (0..12).map(|_| unit_interval(random)).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn drawn(sizes: Sizes) -> Vec<u64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut drawn: Vec<u64> = (0..100_000).map(|_| sizes.draw(&mut random)).collect();
        drawn.sort_unstable();
        drawn
    }

    #[test]
    fn sizes_have_the_mean_or_the_median_that_was_asked_for() {
        let with_mean = drawn(Sizes::with_mean(1_000_000, 0.4, 1 << 40));
        let mean = with_mean.iter().sum::<u64>() as f64 / with_mean.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        let with_median = drawn(Sizes::with_median(8192, 2.0, 1 << 20));
        let median = with_median[with_median.len() / 2] as f64;
        assert!((median / 8192.0 - 1.0).abs() < 0.04, "{median}");
        assert_eq!(with_median.last(), Some(&(1 << 20)));
        // One standard deviation below the median is a factor of e^2.
        let below = with_median[15_866] as f64;
        assert!((below * std::f64::consts::E.powi(2) / 8192.0 - 1.0).abs() < 0.06, "{below}");
    }
}
