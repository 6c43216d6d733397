//! The best static quota: each class has its own blocks, and a fixed part of the spare space.
//!
//! Two classes have shares fᵢ of the space and rᵢ of the writes. Each is collected greedily within its own blocks at
//! its own ratio ρᵢ. Together they fill the drive, Σ fᵢ·ρ/ρᵢ = 1. WA = Σ rᵢ·A(ρᵢ) with A = [`greedy`] is minimised over
//! the one free number, the part of the spare that the hot class gets. A has a kink wherever the collector's threshold
//! moves, and the minimum often lies on one. So the range is scanned first and the best part of it searched.
//!
//! For small spare A ≈ ρ/(2(1 − ρ)) + 2/3. Then the best spare goes with √(rᵢ·fᵢ), and WA ≈ (Σ √(rᵢ·fᵢ))² · ρ/(2(1 −
//! ρ)) + 2/3.
//!
//! [`greedy`]: crate::greedy()

use serde::Serialize;

use crate::error::LimitError;
use crate::greedy;
use crate::hot_cold::HotCold;
use crate::solve::{check_pages_per_block, check_ratio, minimize};

/// Parts of the range that are compared before the best is searched.
const SCAN_STEPS: u32 = 64;

/// The best fixed division of the spare space between a hot and a cold class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BestQuota {
    /// Programs per host page written, both classes together.
    pub write_amplification: f64,
    /// The part of the spare pages that the hot class gets, 0 to 1.
    pub hot_spare_share: f64,
    /// Logical over physical pages of the hot class.
    pub hot_ratio: f64,
    /// Logical over physical pages of the cold class.
    pub cold_ratio: f64,
    /// WA of the hot class by itself.
    pub hot_write_amplification: f64,
    /// WA of the cold class by itself.
    pub cold_write_amplification: f64,
}

impl BestQuota {
    fn at(rho: f64, b: u32, hot: HotCold, hot_spare_share: f64) -> Self {
        let spare = (1.0 - rho) / rho; // spare pages per logical page
        let hot_ratio = hot.space() / (hot.space() + hot_spare_share * spare);
        let cold_space = 1.0 - hot.space();
        let cold_ratio = cold_space / (cold_space + (1.0 - hot_spare_share) * spare);
        let hot_wa = greedy::solve(hot_ratio, b);
        let cold_wa = greedy::solve(cold_ratio, b);
        Self {
            write_amplification: hot.writes() * hot_wa + (1.0 - hot.writes()) * cold_wa,
            hot_spare_share,
            hot_ratio,
            cold_ratio,
            hot_write_amplification: hot_wa,
            cold_write_amplification: cold_wa,
        }
    }
}

/// The lowest WA that two separated classes reach with a fixed quota each, every one collected greedily.
///
/// `rho` is logical over usable physical pages of the whole drive. Exact for infinitely many blocks, minimised
/// to about 12 digits; it assumes that every write's class is known. A policy that adapts in time may go a
/// little below.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`], [`LimitError::PagesPerBlock`].
pub fn best_quota(rho: f64, pages_per_block: u32, hot: HotCold) -> Result<BestQuota, LimitError> {
    let rho = check_ratio(rho)?;
    let b = check_pages_per_block(pages_per_block)?;
    let at = |share| BestQuota::at(rho, b, hot, share).write_amplification;
    let step = 1.0 / f64::from(SCAN_STEPS);
    let best_step = (0..=SCAN_STEPS)
        .map(|index| (f64::from(index) * step, at(f64::from(index) * step)))
        .min_by(|left, right| left.1.total_cmp(&right.1))
        .map_or(0.0, |(share, _)| share);
    let share = minimize((best_step - step).max(0.0), (best_step + step).min(1.0), at);
    Ok(BestQuota::at(rho, b, hot, share))
}

/// The closed form of the best quota for small spare and large blocks: (Σ √(rᵢ·fᵢ))²·ρ/(2(1 − ρ)) + 2/3.
///
/// Good to a few percent from ρ = 0.95 on; b is not in it.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`].
pub fn small_spare(rho: f64, hot: HotCold) -> Result<f64, LimitError> {
    let rho = check_ratio(rho)?;
    let roots = (hot.writes() * hot.space()).sqrt() + ((1.0 - hot.writes()) * (1.0 - hot.space())).sqrt();
    Ok(roots * roots * rho / (2.0 * (1.0 - rho)) + 2.0 / 3.0)
}
