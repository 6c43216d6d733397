//! GeckoFTL's RAM by its own formulas (section 2 and appendix B), structure by structure.
//!
//! What a percentage means depends on which structures are counted; so each is given by itself.

use serde::Serialize;

use crate::error::LimitError;
use crate::gecko::{Gecko, gecko};

/// Bytes in RAM, as the paper counts them (fractions of a byte included).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GeckoRam {
    /// PVB in RAM, which the others keep: one bit per physical page.
    pub bitmap_bytes: f64,
    /// Run directories: 8 bytes for each of at most 2·K·(4 + B/8)/P pages of runs.
    pub run_directories_bytes: f64,
    /// Input and output buffer and one buffer per level: P·(2 + L), L rounded up.
    pub buffers_bytes: f64,
    /// BVC: two bytes per block.
    pub valid_counters_bytes: f64,
    /// GMD: four bytes per translation page.
    pub mapping_directory_bytes: f64,
}

impl GeckoRam {
    /// What replaces the bitmap: run directories and buffers.
    pub fn gecko_bytes(&self) -> f64 {
        self.run_directories_bytes + self.buffers_bytes
    }

    /// 1 − (run directories and buffers) / bitmap.
    pub fn saved_on_validity(&self) -> f64 {
        1.0 - self.gecko_bytes() / self.bitmap_bytes
    }

    /// The same with counters and mapping directory added on both sides.
    pub fn saved_with_directories(&self) -> f64 {
        let common = self.valid_counters_bytes + self.mapping_directory_bytes;
        1.0 - (self.gecko_bytes() + common) / (self.bitmap_bytes + common)
    }

    /// The same, but with the counters on Gecko's side only: a bitmap in RAM can be counted when needed.
    pub fn saved_with_own_counters(&self) -> f64 {
        let gecko = self.gecko_bytes() + self.valid_counters_bytes + self.mapping_directory_bytes;
        1.0 - gecko / (self.bitmap_bytes + self.mapping_directory_bytes)
    }
}

/// GeckoFTL's RAM on this drive. The run directories are the paper's for S = 1, as its appendix has them.
///
/// # Errors
/// As [`gecko`].
pub fn gecko_ram(drive: &Gecko) -> Result<GeckoRam, LimitError> {
    let costs = gecko(drive)?;
    let page = f64::from(drive.page_bytes);
    let blocks = drive.blocks as f64;
    let pages = blocks * f64::from(drive.pages_per_block);
    Ok(GeckoRam {
        bitmap_bytes: pages / 8.0,
        run_directories_bytes: 8.0 * run_pages(drive),
        buffers_bytes: page * (2.0 + costs.levels.ceil()),
        valid_counters_bytes: 2.0 * blocks,
        mapping_directory_bytes: 4.0 * translation_pages(drive),
    })
}

/// Pages of runs at most: the largest holds one entry per block, all others together as many.
pub(crate) fn run_pages(drive: &Gecko) -> f64 {
    let entry_bytes = 4.0 + f64::from(drive.pages_per_block) / 8.0;
    2.0 * drive.blocks as f64 * entry_bytes / f64::from(drive.page_bytes)
}

/// Pages of the translation table: four bytes per logical page.
pub(crate) fn translation_pages(drive: &Gecko) -> f64 {
    let logical_pages = drive.blocks as f64 * f64::from(drive.pages_per_block) * drive.ratio;
    4.0 * logical_pages / f64::from(drive.page_bytes)
}
