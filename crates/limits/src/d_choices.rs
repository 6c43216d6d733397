//! d-choices: of d blocks drawn at random the one with the fewest valid pages is collected.
//!
//! Mean field, uniform random writes (Van Houdt, SIGMETRICS 2013, as a system of equations). Let tᵢ be the share of
//! blocks with at least i valid pages and c the rate at which a valid page dies. Time is in collections per block. The
//! flow from i to i − 1 valid pages is c·i·(tᵢ − tᵢ₊₁). Collection turns blocks with fewer than i valid pages into full
//! ones at the rate 1 − tᵢᵈ. In steady state the two are equal. With t_(b+1) = 0 this gives all tᵢ from the top down; c
//! is where Σ tᵢ = b·ρ. A victim yields W = c·b·ρ = b − Σ tᵢᵈ pages; WA = b/W.

use crate::bounds::MAX_CHOICES;
use crate::error::LimitError;
use crate::solve::{bisect, check_pages_per_block, check_ratio};

/// WA of d-choices under uniform random writes.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written. Exact for
/// infinitely many blocks; falls from [`random`] at d = 1 to [`greedy`](crate::greedy()) as d grows.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`], [`LimitError::PagesPerBlock`];
/// [`LimitError::Choices`] outside 1..=[`MAX_CHOICES`].
pub fn d_choices(rho: f64, pages_per_block: u32, d: u32) -> Result<f64, LimitError> {
    let rho = check_ratio(rho)?;
    let b = check_pages_per_block(pages_per_block)?;
    if !(1..=MAX_CHOICES).contains(&d) {
        return Err(LimitError::Choices(d));
    }
    if d == 1 {
        return random(rho);
    }
    // WA lies between 1 and that of random choice, and WA = 1/(c·ρ).
    let wanted = f64::from(b) * rho;
    let c = bisect((1.0 - rho) / rho, 1.0 / rho, |c| wanted - valid_pages(c, b, d));
    Ok((1.0 / (c * rho)).max(1.0))
}

/// WA when the victim is drawn at random, under uniform random writes: 1/(1 − ρ), for every block size.
///
/// A random block is as full as the average one. `rho` is logical over usable physical pages.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`].
pub fn random(rho: f64) -> Result<f64, LimitError> {
    Ok(1.0 / (1.0 - check_ratio(rho)?))
}

/// Σ tᵢ: the mean number of valid pages per block when a valid page dies at rate `c`. Falls with c.
fn valid_pages(c: f64, b: u32, d: u32) -> f64 {
    let mut t = 0.0;
    let mut sum = 0.0;
    for i in (1..=b).rev() {
        t = next_share(c * f64::from(i), t, d);
        sum += t;
    }
    sum
}

/// tᵢ from tᵢ₊₁: the root of q·t + tᵈ = 1 + q·t_above in [t_above, 1], with q = c·i.
///
/// The left side is increasing and convex, so Newton from the right end never oversteps the root.
fn next_share(q: f64, t_above: f64, d: u32) -> f64 {
    let exponent = f64::from(d);
    let right = 1.0 + q * t_above;
    let mut t = 1.0f64;
    for _ in 0..200 {
        let slope_power = t.powf(exponent - 1.0);
        let step = (q * t + t * slope_power - right) / (q + exponent * slope_power);
        t -= step;
        if step <= 1e-15 * t {
            break;
        }
    }
    t.clamp(t_above, 1.0)
}
