//! Desnoyers' closed form for greedy ("Analytic modeling of SSD write performance", SYSTOR 2012).
//!
//! He lets the number of valid pages fall continuously from b to X₀, where a block is collected, and corrects by half a
//! page:
//!
//! ```text
//! X₀ = ½ − (b/α)·W(−κ·exp(−κ))      κ = (1 + 1/(2b))·α
//! WA = b/(b − X₀ + 1)
//! ```
//!
//! W is the principal branch of Lambert's function.
//!
//! Let x = −W(−κ·exp(−κ))/κ, the root of x = exp(−κ(1 − x)). Then X₀ = ½ + (b + ½)·x and so WA = b / ((b + ½)(1 − x)):
//! the [`lru`](crate::lru()) equation with a little more spare.

use crate::error::LimitError;
use crate::lru::invalid_share;
use crate::solve::{check_pages_per_block, check_ratio};

/// WA of greedy collection under uniform random writes, in closed form.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written. Within
/// 0.35 % of [`greedy`](crate::greedy()) for b ≥ 64 and ρ from 0.7 to 0.98, but 2 % low at ρ = 0.98, b = 64: it gets
/// worse where a victim yields only a few pages. With much spare it can fall just below 1, and is cut there.
///
/// # Errors
/// As [`greedy`](crate::greedy()).
pub fn desnoyers(rho: f64, pages_per_block: u32) -> Result<f64, LimitError> {
    let alpha = 1.0 / check_ratio(rho)?;
    let b = f64::from(check_pages_per_block(pages_per_block)?);
    let kappa = (1.0 + 0.5 / b) * alpha;
    Ok((b / ((b + 0.5) * invalid_share(kappa))).max(1.0))
}
