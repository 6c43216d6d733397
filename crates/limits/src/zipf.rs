//! Zipf: every page is its own class with its own quota, in the limit of large blocks.
//!
//! Page k is written with probability rₖ ∝ k⁻ˢ. With αₖ physical pages for logical page k, mean 1/ρ, minimise Σ
//! rₖ·A(αₖ), A being [`lru`]. Write A = 1/y. Then y follows from α = −ln(1 − y)/y. Differentiating gives −dA/dα =
//! 1/g(y) with g(y) = y/(1 − y) + ln(1 − y), which grows from 0 to infinity. So at the optimum g(yₖ) = rₖ/λ for one
//! multiplier λ, found by bisection on the mean of αₖ. The code works with z = y/(1 − y), which keeps its digits at
//! both ends:
//!
//! ```text
//! g = z − ln(1 + z)      α = ln(1 + z)·(1 + z)/z      A = (1 + z)/z
//! ```
//!
//! The first 2,048 pages are taken one by one. Beyond, neighbours whose ranks differ by under 1/256 share one value.
//! That changes the result by less than one part in a hundred thousand and makes it independent of the number of pages.
//!
//! [`lru`]: crate::lru()

use crate::bounds::MAX_ZIPF_EXPONENT;
use crate::error::LimitError;
use crate::solve::{check_ratio, regula_falsi};

const SINGLE_PAGES: u64 = 2048;
const PAGES_MAX: u64 = 1 << 48;

/// Neighbouring pages that are treated alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// Share of the logical pages.
    pub(crate) space: f64,
    /// Share of the writes.
    pub(crate) writes: f64,
}

/// The lowest WA of a static split when every page has its own quota, writes following Zipf's law.
///
/// `rho` is logical over usable physical pages, `exponent` the s of k⁻ˢ (0 is uniform), `pages` the number of logical
/// pages. The result is programs per host page written. It is the limit b → ∞ and assumes that every page's frequency
/// is known. A policy that adapts in time, or finite b, may go a little below.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`]; [`LimitError::ZipfExponent`] outside
/// 0..=[`MAX_ZIPF_EXPONENT`]; [`LimitError::Pages`] outside 1..=2^48.
pub fn zipf_best_split(rho: f64, exponent: f64, pages: u64) -> Result<f64, LimitError> {
    let alpha = 1.0 / check_ratio(rho)?;
    let groups = checked_groups(exponent, pages)?;
    let excess = |log_lambda: f64| {
        let mean: f64 = groups.iter().map(|group| group.space * spare_per_page(group.odds(log_lambda))).sum();
        (alpha - 1.0) - mean
    };
    // Wide enough for every exponent, number of pages and ratio that is answered: the heats of two pages differ
    // by e^267 at most, and g at the smallest spare is above e^-50. Halve until the excess is smooth, then aim.
    let (mut low, mut high) = (-400.0, 400.0);
    while high - low > 1.0 {
        let middle = 0.5 * (low + high);
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    let ends = ((low, excess(low)), (high, excess(high)));
    let log_lambda = if ends.0.1 < 0.0 && ends.1.1 > 0.0 {
        regula_falsi(ends.0, ends.1, 1e-13 * (alpha - 1.0), excess)
    } else {
        low // so much spare that every page has more than makes a difference
    };
    let cost = |group: &Group| {
        let z = group.odds(log_lambda);
        group.writes * (1.0 + z) / z
    };
    Ok(groups.iter().map(cost).sum())
}

impl Group {
    /// z with g(z) = heat/λ, by the logarithm of λ.
    fn odds(&self, log_lambda: f64) -> f64 {
        odds_at((self.writes / self.space).ln() - log_lambda)
    }
}

/// z, the odds that a page is found dead when its block comes round, from z − ln(1 + z) = exp(`log_target`).
fn odds_at(log_target: f64) -> f64 {
    let target = log_target.clamp(-600.0, 300.0).exp(); // far off only while λ is being searched
    // Newton on a convex function from the right of the root, as z − ln(1 + z) ≥ z²/(2(1 + z)): it comes down
    // without overstepping.
    let mut z = if target < 1e100 { target + (target * target + 2.0 * target).sqrt() } else { 2.0 * target };
    for _ in 0..100 {
        let value = if z < 1e-3 {
            z * z * (1.0 / 2.0 - z * (1.0 / 3.0 - z * (1.0 / 4.0 - z * (1.0 / 5.0 - z / 6.0))))
        } else {
            z - z.ln_1p()
        };
        let step = (value - target) * (1.0 + z) / z;
        z -= step;
        if step.abs() <= 1e-13 * z {
            break;
        }
    }
    z
}

/// α − 1, spare pages per logical page, at odds z: ((1 + z)·ln(1 + z) − z)/z, without cancellation.
fn spare_per_page(z: f64) -> f64 {
    if z < 1e-3 {
        z * (1.0 / 2.0 - z * (1.0 / 6.0 - z * (1.0 / 12.0 - z * (1.0 / 20.0 - z / 30.0))))
    } else {
        z.ln_1p() / z + z.ln_1p() - 1.0
    }
}

/// The pages in groups, hottest first, if exponent and number are in range.
pub(crate) fn checked_groups(exponent: f64, pages: u64) -> Result<Vec<Group>, LimitError> {
    if !(0.0..=MAX_ZIPF_EXPONENT).contains(&exponent) {
        return Err(LimitError::ZipfExponent(exponent));
    }
    if !(1..=PAGES_MAX).contains(&pages) {
        return Err(LimitError::Pages(pages));
    }
    Ok(groups(exponent, pages))
}

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
