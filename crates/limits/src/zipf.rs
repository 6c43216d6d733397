//! Zipf: every page is its own class with its own quota, in the limit of large blocks.
//!
//! Page k is written with probability rₖ ∝ k⁻ˢ. With αₖ physical pages for logical page k, mean 1/ρ, minimise
//! Σ rₖ·A(αₖ), A being [`lru`]. Write A = 1/y; y follows from α = −ln(1 − y)/y, and differentiating gives
//! −dA/dα = 1/g(y) with g(y) = y/(1 − y) + ln(1 − y), which grows from 0 to infinity. So at the optimum
//! g(yₖ) = rₖ/λ for one multiplier λ, found by bisection on the mean of αₖ.
//!
//! The first 2,048 pages are taken one by one; beyond, neighbours whose ranks differ by under 1/256 share one
//! value, which changes the result by less than one part in a hundred thousand and makes it independent of the
//! number of pages.
//!
//! [`lru`]: crate::lru()

use crate::error::LimitError;
use crate::lru::log_excess;
use crate::solve::{bisect, check_ratio};

/// The largest exponent; beyond it one page takes all writes that matter.
pub const MAX_ZIPF_EXPONENT: f64 = 8.0;

const SINGLE_PAGES: u64 = 2048;
const PAGES_MAX: u64 = 1 << 48;

/// Neighbouring pages that are treated alike.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Share of the logical pages.
    space: f64,
    /// Share of the writes.
    writes: f64,
}

/// The lowest WA of a static split when every page has its own quota, writes following Zipf's law.
///
/// `rho` is logical over usable physical pages, `exponent` the s of k⁻ˢ (0 is uniform), `pages` the number of
/// logical pages; the result is programs per host page written. It is the limit b → ∞ and assumes that every
/// page's frequency is known; a policy that adapts in time, or finite b, may go a little below.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`]; [`LimitError::ZipfExponent`] outside
/// 0..=[`MAX_ZIPF_EXPONENT`]; [`LimitError::Pages`] outside 1..=2^48.
pub fn zipf_best_split(rho: f64, exponent: f64, pages: u64) -> Result<f64, LimitError> {
    let alpha = 1.0 / check_ratio(rho)?;
    if !(0.0..=MAX_ZIPF_EXPONENT).contains(&exponent) {
        return Err(LimitError::ZipfExponent(exponent));
    }
    if !(1..=PAGES_MAX).contains(&pages) {
        return Err(LimitError::Pages(pages));
    }
    let groups = groups(exponent, pages);
    let excess = |log_lambda: f64| {
        let mean: f64 = groups.iter().map(|group| group.space * log_excess(group.invalid_share(log_lambda))).sum();
        (alpha - 1.0) - mean // α − 1 = (−ln(1 − y) − y)/y: no cancellation for small spare
    };
    // Relative heats lie within 2^48^8 of one; g spans less than e^±50 for every ratio that is answered.
    let log_lambda = bisect(-400.0, 400.0, excess);
    Ok(groups.iter().map(|group| group.writes / group.invalid_share(log_lambda)).sum())
}

impl Group {
    /// y with g(y) = heat/λ, by the logarithm of λ.
    fn invalid_share(&self, log_lambda: f64) -> f64 {
        let log_target = (self.writes / self.space).ln() - log_lambda;
        invalid_share_at(log_target)
    }
}

/// The root of g(y) = y/(1 − y) + ln(1 − y) = exp(`log_target`).
///
/// With z = y/(1 − y) it is z − ln(1 + z), about z²/2 for small and z for large z; Newton on it is convex.
fn invalid_share_at(log_target: f64) -> f64 {
    let target = log_target.exp();
    if target > 1e30 {
        return 1.0;
    }
    // From the right of the root, so that Newton comes down monotonically: z − ln(1 + z) ≥ z²/(2(1 + z)).
    let mut z = target + (target * target + 2.0 * target).sqrt();
    for _ in 0..60 {
        let value = if z < 1e-3 {
            z * z * (1.0 / 2.0 - z * (1.0 / 3.0 - z * (1.0 / 4.0 - z * (1.0 / 5.0 - z / 6.0))))
        } else {
            z - z.ln_1p()
        };
        let step = (value - target) * (1.0 + z) / z;
        z -= step;
        if step.abs() <= 1e-14 * z {
            break;
        }
    }
    z / (1.0 + z)
}

/// The pages in groups, hottest first.
fn groups(exponent: f64, pages: u64) -> Vec<Group> {
    let mut weights = Vec::new(); // (pages, unnormalised writes)
    let mut first = 1u64;
    while first <= pages {
        let count = if first <= SINGLE_PAGES { 1 } else { (first / 256).min(pages - first + 1) };
        let weight = if count == 1 {
            (first as f64).powf(-exponent)
        } else {
            power_sum(first as f64 - 0.5, (first + count) as f64 - 0.5, exponent)
        };
        weights.push((count as f64, weight));
        first += count;
    }
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let group = |(count, weight)| Group { space: count / pages as f64, writes: weight / total };
    weights.into_iter().map(group).collect()
}

/// ∫ x⁻ˢ dx from `low` to `high`: the sum over the integers between, to a few parts in a million for large ones.
fn power_sum(low: f64, high: f64, exponent: f64) -> f64 {
    let stretch = (high / low).ln();
    let rise = (1.0 - exponent) * stretch;
    let mean = if rise.abs() < 1e-12 { 1.0 } else { rise.exp_m1() / rise };
    low.powf(1.0 - exponent) * stretch * mean
}
