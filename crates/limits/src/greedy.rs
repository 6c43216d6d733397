//! Greedy: the block with the fewest valid pages is collected. Finite blocks, many of them.
//!
//! Mean field, uniform random writes. Count time in collections per block, and let a valid page die at rate c. A block
//! falls from b valid pages to b − 1, b − 2, …, staying 1/(c·i) at i. Collection keeps everything above a threshold j*:
//! no block lives below it, a share m of all blocks waits at it. Of the collected blocks u = c·j*·m lost one more page
//! just before. They are taken at once, at j* − 1, and the others at j*. All blocks add up to one: (H_b − H_j*)/c + m =
//! 1, H being harmonic numbers. Deaths equal host writes, which equal the pages won per collection: c·b·ρ = b − j* + u.
//!
//! Eliminating c and m leaves one equation that is linear in u. At u = 0 it says ρ = (b − j*) / (b·(H_b − H_j*)). This
//! grows with j* from 1/H_b to 1 and cuts the ratios into one interval per threshold. u = 1 at j* is u = 0 at j* − 1,
//! so the pieces join.

use crate::error::LimitError;
use crate::solve::{check_pages_per_block, check_ratio};

/// WA of greedy collection under uniform random writes, `pages_per_block` pages per block.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written. Exact for
/// infinitely many blocks (simulations of 8,192 blocks and more agree within 0.05 %). It is 1 when so much is spare
/// that blocks empty by themselves, ρ ≤ 1/H_b.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`]; [`LimitError::PagesPerBlock`] outside
/// 2..=[`MAX_PAGES_PER_BLOCK`](crate::MAX_PAGES_PER_BLOCK).
pub fn greedy(rho: f64, pages_per_block: u32) -> Result<f64, LimitError> {
    Ok(solve(check_ratio(rho)?, check_pages_per_block(pages_per_block)?))
}

/// [`greedy`] for inputs that are known to be good. b = 1 is allowed and gives 1, ρ = 1 and gives b.
pub(crate) fn solve(rho: f64, pages_per_block: u32) -> f64 {
    let b = f64::from(pages_per_block);
    // No threshold is above b − 1: that is where a ratio of 1 would stand, with one page won per collection.
    let mut harmonic = 1.0 / b; // H_b − H_j
    let mut j = pages_per_block - 1;
    // Down from the top to the smallest threshold whose interval reaches up to this ratio.
    while j > 0 {
        // H_b − H_(j−1)
        let harmonic_below = harmonic + 1.0 / f64::from(j);
        let rho_below = (b - f64::from(j) + 1.0) / (b * harmonic_below);
        if rho_below <= rho {
            break;
        }
        harmonic = harmonic_below;
        j -= 1;
    }
    if j == 0 {
        return 1.0;
    }
    let j = f64::from(j);
    let u = (b - j - b * rho * harmonic) / (b * rho / j - 1.0);
    b / (b - j + u.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_one_page_costs_nothing() {
        for rho in [0.01, 0.5, 0.999] {
            assert_eq!(solve(rho, 1), 1.0);
        }
    }

    #[test]
    fn with_nothing_to_spare_a_collection_wins_one_page() {
        for b in [2, 7, 128] {
            assert_eq!(solve(1.0, b), f64::from(b));
        }
    }
}
