//! Mixed classes under FIFO (LRU): pages of all heats share the log, in the limit of large blocks.
//!
//! With large blocks a block's valid pages fall with its age alone, so that greedy takes the oldest block too. So
//! [`mixed_greedy`] tends to this as blocks grow. A page of write rate r is programmed when the host writes it, and
//! when it comes round unwritten after T host writes. In between lie (1 − exp(−r·T))/r of them on average. Hence WA = Σ
//! r/(1 − exp(−r·T)) over all pages. One round programs every physical page once: T·WA = physical pages. With one class
//! this is the [`lru`] equation.
//!
//! [`mixed_greedy`]: crate::mixed_greedy()
//! [`lru`]: crate::lru()

use crate::error::LimitError;
use crate::hot_cold::HotCold;
use crate::solve::{bisect, check_ratio};
use crate::zipf::{Group, checked_groups};

/// WA when two classes share the blocks of one FIFO (LRU) collector, b → ∞.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written. Exact in
/// the limit of many blocks.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`].
pub fn mixed_lru(rho: f64, hot: HotCold) -> Result<f64, LimitError> {
    let classes = [
        Group { space: hot.space(), writes: hot.writes() },
        Group { space: 1.0 - hot.space(), writes: 1.0 - hot.writes() },
    ];
    Ok(solve(check_ratio(rho)?, &classes))
}

/// WA when pages written by Zipf's law share the blocks of one FIFO (LRU) collector, b → ∞.
///
/// `rho` is logical over usable physical pages, `exponent` the s of k⁻ˢ, `pages` the number of logical pages.
/// Exact in the limit of many blocks; greedy with finite blocks does a few percent better.
///
/// # Errors
/// As [`zipf_best_split`](crate::zipf_best_split()).
pub fn zipf_mixed_lru(rho: f64, exponent: f64, pages: u64) -> Result<f64, LimitError> {
    Ok(solve(check_ratio(rho)?, &checked_groups(exponent, pages)?))
}

/// T per logical page from T·WA = 1/ρ, then WA.
fn solve(rho: f64, classes: &[Group]) -> f64 {
    let alpha = 1.0 / rho;
    let round = bisect(0.0, alpha, |round| {
        let excess: f64 = classes.iter().map(|class| class.space * excess(class.writes / class.space * round)).sum();
        excess - (alpha - 1.0)
    });
    alpha / round
}

/// x/(1 − exp(−x)) − 1, without cancellation for small x.
fn excess(x: f64) -> f64 {
    if x < 1e-2 { x / 2.0 + x * x * (1.0 / 12.0 - x * x / 720.0) } else { x / -(-x).exp_m1() - 1.0 }
}
