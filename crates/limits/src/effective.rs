//! The ratio that the models mean: reserve and open blocks are not spare.

use crate::error::LimitError;
use crate::solve::{check_pages_per_block, check_ratio};

/// Logical pages over the pages that garbage collection can use, i.e. without reserve and open blocks.
///
/// Compare a measurement with a limit at this ratio, not at the nominal one.
///
/// # Errors
/// [`LimitError::PagesPerBlock`]; [`LimitError::NoSpare`] when the logical pages do not fit with at least one
/// page to spare; [`LimitError::Ratio`] when there is no logical page.
pub fn effective_ratio(
    logical_pages: u64,
    blocks: u64,
    pages_per_block: u32,
    reserve_blocks: u64,
    open_blocks: u64,
) -> Result<f64, LimitError> {
    let b = u64::from(check_pages_per_block(pages_per_block)?);
    let usable_pages = blocks.saturating_sub(reserve_blocks).saturating_sub(open_blocks).saturating_mul(b);
    if logical_pages >= usable_pages {
        return Err(LimitError::NoSpare { logical_pages, usable_pages });
    }
    check_ratio(logical_pages as f64 / usable_pages as f64)
}
