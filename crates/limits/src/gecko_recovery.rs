//! Recovery times by the GeckoFTL paper's formulas (sections 2 and 5.3, appendix C), one chip at a time.
//!
//! It has only the terms that the paper names. Spare areas that are re-read to confirm mistakes come after recovery.

use serde::Serialize;

use crate::error::LimitError;
use crate::gecko::{Gecko, gecko};
use crate::gecko_ram::{run_pages, translation_pages};

/// Times of single operations in seconds, and the cache that must be recovered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RecoveryCosts {
    /// Reading a page.
    pub read_seconds: f64,
    /// Reading a spare area.
    pub spare_read_seconds: f64,
    /// Programming a page.
    pub program_seconds: f64,
    /// C, entries of the mapping cache.
    pub cache_entries: u64,
    /// The part of C that may be dirty in LazyFTL.
    pub lazy_dirty_share: f64,
}

impl RecoveryCosts {
    /// The paper's: 100 µs, 3 µs, 1 ms, a cache of 4 MB at 8 bytes per entry, a tenth of it dirty in LazyFTL.
    pub const fn paper() -> Self {
        Self {
            read_seconds: 100e-6,
            spare_read_seconds: 3e-6,
            program_seconds: 1e-3,
            cache_entries: 1 << 19,
            lazy_dirty_share: 0.1,
        }
    }
}

/// Seconds until normal operation resumes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RecoverySeconds {
    /// GeckoRec, its eight steps.
    pub gecko_rec: f64,
    /// LazyFTL: block types, mapping directory, bitmap from the translation table, dirty entries synchronised.
    pub lazy_ftl: f64,
    /// Every spare area of the drive.
    pub full_scan: f64,
}

/// Recovery times on this drive, by formula; a simulation overlaps chips and comes out faster.
///
/// # Errors
/// As [`gecko`].
pub fn recovery_seconds(drive: &Gecko, costs: &RecoveryCosts) -> Result<RecoverySeconds, LimitError> {
    let v = gecko(drive)?.entries_per_page as f64;
    let blocks = drive.blocks as f64;
    let translation = translation_pages(drive);
    let runs = run_pages(drive);
    let cache = costs.cache_entries as f64;
    let dirty = (cache * costs.lazy_dirty_share).floor();
    // First spare of each block and the spares of the translation pages: both schemes read them.
    let common_spares = blocks + translation;
    let gecko_spares = common_spares + runs + 2.0 * cache;
    let gecko_reads = 2.0 * v + runs; // buffer, then the valid counters from all runs
    let lazy_reads = translation + dirty;
    Ok(RecoverySeconds {
        gecko_rec: gecko_spares * costs.spare_read_seconds + gecko_reads * costs.read_seconds,
        lazy_ftl: common_spares * costs.spare_read_seconds
            + lazy_reads * costs.read_seconds
            + dirty * costs.program_seconds,
        full_scan: blocks * f64::from(drive.pages_per_block) * costs.spare_read_seconds,
    })
}
