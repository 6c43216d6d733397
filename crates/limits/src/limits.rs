//! Every limit for one drive, in one value that can be printed or serialised.

use serde::Serialize;

use crate::{
    BestQuota, HotCold, LimitError, MAX_MIXED_PAGES_PER_BLOCK, best_quota, d_choices, desnoyers, greedy, lru,
    mixed_greedy, mixed_lru, random, small_spare, zipf_best_split, zipf_mixed_lru,
};

/// The exponents that the tables list.
pub(crate) const ZIPF_EXPONENTS: [f64; 4] = [0.8, 0.99, 1.0, 1.2];
/// The number of logical pages of the Zipf figures.
pub(crate) const ZIPF_PAGES: u64 = 1 << 20;

/// Everything that the models say about one ratio and block size. All figures are WA unless named otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limits {
    /// Logical over usable physical pages.
    pub ratio: f64,
    /// b.
    pub pages_per_block: u32,
    /// Under uniform random writes.
    pub uniform: UniformLimits,
    /// Under hot and cold writes, when a hot class was given.
    pub hot: Option<HotLimits>,
    /// Under Zipf's law.
    pub zipf: Vec<ZipfLimit>,
}

/// Under uniform random writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UniformLimits {
    /// FIFO or LRU, large blocks.
    pub lru: f64,
    /// Greedy.
    pub greedy: f64,
    /// Greedy by Desnoyers' closed form.
    pub desnoyers: f64,
    /// The emptiest of ten random blocks.
    pub d_choices_10: f64,
    /// The emptier of two random blocks.
    pub d_choices_2: f64,
    /// A random block.
    pub random: f64,
}

/// Under writes to a hot and a cold class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotLimits {
    /// The classes.
    pub class: HotCold,
    /// Separated, with the best fixed quota for each.
    pub best_quota: BestQuota,
    /// The closed form of it for small spare.
    pub best_quota_small_spare: f64,
    /// Separated, one greedy collector over all blocks: the same as uniform.
    pub separated_global_greedy: f64,
    /// Mixed in the same blocks, one greedy collector; none above [`MAX_MIXED_PAGES_PER_BLOCK`].
    pub mixed_greedy: Option<f64>,
    /// Mixed in the same blocks, FIFO or LRU, large blocks.
    pub mixed_lru: f64,
}

/// Under Zipf's law over 2^20 pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ZipfLimit {
    /// s of k⁻ˢ.
    pub exponent: f64,
    /// Every page its own class, best static split, large blocks.
    pub best_split: f64,
    /// All pages mixed in the same blocks, FIFO or LRU, large blocks.
    pub mixed_lru: f64,
}

impl Limits {
    /// Computes all limits at `ratio` (logical over usable physical pages) and `pages_per_block`.
    ///
    /// Takes some 50 ms in a release build at 128 pages per block, and a second or so where mixed greedy has blocks of
    /// 1,024 pages.
    ///
    /// # Errors
    /// [`LimitError::Ratio`], [`LimitError::RatioTooClose`], [`LimitError::PagesPerBlock`].
    pub fn compute(ratio: f64, pages_per_block: u32, hot: Option<HotCold>) -> Result<Self, LimitError> {
        let uniform = UniformLimits {
            lru: lru(ratio)?,
            greedy: greedy(ratio, pages_per_block)?,
            desnoyers: desnoyers(ratio, pages_per_block)?,
            d_choices_10: d_choices(ratio, pages_per_block, 10)?,
            d_choices_2: d_choices(ratio, pages_per_block, 2)?,
            random: random(ratio)?,
        };
        let hot = hot.map(|class| HotLimits::compute(ratio, pages_per_block, class)).transpose()?;
        let zipf = ZIPF_EXPONENTS
            .iter()
            .map(|&exponent| {
                Ok(ZipfLimit {
                    exponent,
                    best_split: zipf_best_split(ratio, exponent, ZIPF_PAGES)?,
                    mixed_lru: zipf_mixed_lru(ratio, exponent, ZIPF_PAGES)?,
                })
            })
            .collect::<Result<_, LimitError>>()?;
        Ok(Self { ratio, pages_per_block, uniform, hot, zipf })
    }
}

impl HotLimits {
    fn compute(ratio: f64, pages_per_block: u32, class: HotCold) -> Result<Self, LimitError> {
        let small_enough = pages_per_block <= MAX_MIXED_PAGES_PER_BLOCK;
        Ok(Self {
            class,
            best_quota: best_quota(ratio, pages_per_block, class)?,
            best_quota_small_spare: small_spare(ratio, class)?,
            // Each class's blocks fall from b to the same threshold on their own clocks: the sums of the
            // uniform case hold for each class, and so the ratio and the pages won do.
            separated_global_greedy: greedy(ratio, pages_per_block)?,
            mixed_greedy: small_enough.then(|| mixed_greedy(ratio, pages_per_block, class)).transpose()?,
            mixed_lru: mixed_lru(ratio, class)?,
        })
    }
}
