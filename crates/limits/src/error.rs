//! The one error type: each variant is an input that no model can answer, said in one line.

use crate::bounds::{MAX_CHOICES, MAX_PAGES_PER_BLOCK, MAX_ZIPF_EXPONENT, SPARE_MIN};

/// Why a model has no answer. The message names the input, its value and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The ratio of logical to physical pages is not strictly between 0 and 1.
    #[error("ratio {0} is out of range: logical over physical pages must lie between 0 and 1, both excluded")]
    Ratio(f64),
    /// The ratio is in range, but so close to 1 that the answer is no longer a finite number of use.
    #[error("ratio {0} is too close to 1: the spare share must be at least {min}", min = SPARE_MIN)]
    RatioTooClose(f64),
    /// The number of pages per block is below 2 or too large.
    #[error("{0} pages per block is out of range: use 2 to {MAX_PAGES_PER_BLOCK}")]
    PagesPerBlock(u32),
    /// The number of pages per block is fine elsewhere, but too large for the two-class state space.
    #[error("{pages_per_block} pages per block is too many for mixed greedy: use at most {max}")]
    MixedPagesPerBlock {
        /// The request.
        pages_per_block: u32,
        /// The largest that is answered.
        max: u32,
    },
    /// d-choices with no choice, or too many.
    #[error("{0} choices is out of range: use 1 to {MAX_CHOICES}")]
    Choices(u32),
    /// A text that is not WRITES/SPACE.
    #[error("hot class {0:?} is not WRITES/SPACE in percent, such as 80/20")]
    HotSyntax(String),
    /// A share of the hot class that is not between 0 and 1, or too close to either.
    #[error(
        "hot class {writes}/{space} is out of range: both percentages must lie between 0 and 100, at least 1e-7 from either"
    )]
    HotRange {
        /// Percent of the writes.
        writes: f64,
        /// Percent of the space.
        space: f64,
    },
    /// The class called hot gets fewer writes per page than the rest.
    #[error("hot class {writes}/{space} is colder than the rest: give the share of writes first, then that of space")]
    HotIsCold {
        /// Percent of the writes.
        writes: f64,
        /// Percent of the space.
        space: f64,
    },
    /// A Zipf exponent that is negative, not a number or too large.
    #[error("Zipf exponent {0} is out of range: use 0 to {MAX_ZIPF_EXPONENT}")]
    ZipfExponent(f64),
    /// No page to write, or more than can be counted exactly.
    #[error("{0} pages is out of range: use 1 to 2^48")]
    Pages(u64),
    /// A parameter of Logarithmic Gecko that makes no sense.
    #[error("{name} = {value} is out of range: {rule}")]
    Gecko {
        /// Which parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must satisfy.
        rule: &'static str,
    },
    /// Reserve and open blocks leave no room for the logical pages.
    #[error(
        "{logical_pages} logical pages do not fit: {usable_pages} physical pages remain after reserve and open blocks"
    )]
    NoSpare {
        /// Pages that the host sees.
        logical_pages: u64,
        /// Pages that garbage collection can use.
        usable_pages: u64,
    },
}
