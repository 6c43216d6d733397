//! First in, first out: the block written longest ago is collected, in the limit of large blocks.
//!
//! Source: the classic argument of Menon's and Robinson's log-structured arrays, and of Desnoyers 2012. Let x be the
//! share of pages still valid when their block comes round again. In one round of the log every logical page is written
//! α(1 − x) times on average. With random writes x is the chance of not being hit. Hence x = exp(−α(1 − x)). WA = 1/(1
//! − x), as each block yields 1 − x of its pages.

use crate::error::LimitError;
use crate::solve::{bisect, check_ratio};

/// WA of FIFO (LRU) collection under uniform random writes, b → ∞; also what greedy tends to as blocks grow.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written.
/// Exact in the limit of many blocks, for every ratio; solved to about 14 digits.
///
/// # Errors
/// [`LimitError::Ratio`] unless 0 < `rho` < 1, [`LimitError::RatioTooClose`] when the spare is under 10⁻⁹.
pub fn lru(rho: f64) -> Result<f64, LimitError> {
    Ok(1.0 / invalid_share(1.0 / check_ratio(rho)?))
}

/// The handy form of [`lru`] for small spare: ρ / (2(1 − ρ)) + 2/3.
///
/// The first two terms of the expansion in the spare: 0.23 % low at ρ = 0.9, 1 % at 0.8, 2.3 % at 0.7.
///
/// # Errors
/// As [`lru`].
pub fn lru_small_spare(rho: f64) -> Result<f64, LimitError> {
    let rho = check_ratio(rho)?;
    Ok(rho / (2.0 * (1.0 - rho)) + 2.0 / 3.0)
}

/// y = 1 − x for the smaller root of x = exp(−α(1 − x)), α > 1: the share of a block's pages that died.
///
/// In Lambert's function: y = 1 + W(−α·exp(−α))/α on its principal branch. Near α = 1 that form loses all its digits.
/// So the equation is solved as (−ln(1 − y) − y)/y = α − 1, whose left side grows from 0.
pub(crate) fn invalid_share(alpha: f64) -> f64 {
    bisect(0.0, 1.0, |y| log_excess(y) - (alpha - 1.0))
}

/// (−ln(1 − y) − y)/y, without cancellation for small y.
pub(crate) fn log_excess(y: f64) -> f64 {
    if y < 1e-3 {
        y * (1.0 / 2.0 + y * (1.0 / 3.0 + y * (1.0 / 4.0 + y * (1.0 / 5.0 + y / 6.0))))
    } else {
        (-(-y).ln_1p() - y) / y
    }
}
