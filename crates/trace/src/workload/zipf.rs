//! Exact Zipf-distributed ranks in constant time and memory: rejection-inversion.
//!
//! The method is Hörmann and Derflinger's, "Rejection-inversion to generate variates from monotone discrete
//! distributions", 1996.
//!
//! Rank k of 1 to L has probability proportional to k^-theta, for any theta above 0. The density is integrated in
//! closed form as H(x) = (x^(1-theta) - 1) / (1 - theta), which is ln x at theta = 1. Near 1 it is evaluated through
//! `expm1` and `ln_1p` so that nothing cancels. The area under H between 1/2 and L + 1/2 is inverted at a uniform point
//! and rounded to a rank. The rank is accepted if the point lies in its bar; at least two of three points do.

use rand_core::RngCore;

use super::address::unit_interval;

#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    ranks: u64,
    theta: f64,
    /// H(3/2) - 1: where the first bar starts.
    area_first: f64,
    /// H(L + 1/2).
    area_last: f64,
    /// Points this close to their rank are accepted without computing a bar.
    sure: f64,
}

impl Zipf {
    /// `ranks` is at least 1 and `theta` above 0.
    pub(crate) fn new(ranks: u64, theta: f64) -> Self {
        let area_first = integral(1.5, theta) - 1.0;
        let area_last = integral(ranks as f64 + 0.5, theta);
        let sure = 2.0 - inverse(integral(2.5, theta) - density(2.0, theta), theta);
        Zipf { ranks, theta, area_first, area_last, sure }
    }

    /// A rank from 1 to the number of ranks.
    #[inline]
    pub(crate) fn sample(&self, random: &mut impl RngCore) -> u64 {
        loop {
            let area = self.area_last + unit_interval(random) * (self.area_first - self.area_last);
            let point = inverse(area, self.theta);
            let rank = libm::round(point).clamp(1.0, self.ranks as f64);
            if rank - point <= self.sure || area >= integral(rank + 0.5, self.theta) - density(rank, self.theta) {
                return (rank as u64).clamp(1, self.ranks);
            }
        }
    }
}

/// x^-theta.
fn density(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// H(x), the integral of the density from 1 to x.
fn integral(x: f64, theta: f64) -> f64 {
    let log = libm::log(x);
    expm1_over(log * (1.0 - theta)) * log
}

/// The x at which H(x) is `area`.
fn inverse(area: f64, theta: f64) -> f64 {
    // Rounding may push the argument of the logarithm to -1 where x is unbounded.
    let t = (area * (1.0 - theta)).max(-1.0);
    libm::exp(log1p_over(t) * area)
}

/// (e^t - 1) / t, which is 1 at 0.
fn expm1_over(t: f64) -> f64 {
    if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t * 0.5 * (1.0 + t / 3.0) }
}

/// ln(1 + t) / t, which is 1 at 0.
fn log1p_over(t: f64) -> f64 {
    if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t * (0.5 - t / 3.0) }
}
