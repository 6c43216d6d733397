//! The cost of keeping page validity in a Logarithmic Gecko, beside a bitmap in flash.
//!
//! It follows the GeckoFTL paper (SIGMOD 2016), sections 3.2, 3.3, 5.1 and appendix A. Constants that its O-notation
//! leaves open are filled in, at size ratio T = 2:
//!
//! - V = ⌊8·P / (key + B/S + 1)⌋ entries fit in the buffer and in a page: key, part of the bitmap, erase flag.
//! - There are L = log₂(K·S/V) levels, not rounded: the average over how full the levels are.
//! - An entry is programmed (L + 1)/V times when runs merge two by two. It is (L/2 + 1)/V times when all runs that will
//!   merge do so at once. Each merge reads about what it programs.
//! - A collection queries about L/2 + 1.4 pages: half of the levels hold a run, and the newest are small.
//! - It inserts one more entry, for the erase, whatever S is. So one collection's entries are its invalidations plus
//!   one.
//!
//! Collections per host write are WA/B under uniform random writes and greedy collection. Entries for the same block
//! that meet in the buffer are not counted as merged. This is the worst case, which the paper measures too.

use serde::Serialize;

use crate::error::LimitError;
use crate::greedy;
use crate::solve::{check_pages_per_block, check_ratio};

/// How runs are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// Two runs at a time, level by level.
    TwoWay,
    /// All runs that would merge one after the other, at once (the paper's appendix A).
    MultiWay,
}

/// The most pages of a drive: the addresses in a mapping entry have 32 bits.
const PAGES_MAX: u64 = 1 << 32;

/// A drive and a tuning of Logarithmic Gecko on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gecko {
    /// P, bytes per page.
    pub page_bytes: u32,
    /// B.
    pub pages_per_block: u32,
    /// K.
    pub blocks: u64,
    /// Logical over physical pages.
    pub ratio: f64,
    /// Bits of an entry's key, block and part together.
    pub key_bits: u32,
    /// S, parts of a block's bitmap.
    pub partitions: u32,
    /// How runs are merged.
    pub merge: Merge,
    /// δ, the cost of a program in reads.
    pub delta: f64,
}

impl Gecko {
    /// The paper's drive: 2 TB of 4 KiB pages, 128 per block, ratio 0.70, δ = 10, keys of 32 bits.
    pub fn paper(partitions: u32, merge: Merge) -> Self {
        Self {
            page_bytes: 4096,
            pages_per_block: 128,
            blocks: 1 << 22,
            ratio: 0.70,
            key_bits: 32,
            partitions,
            merge,
            delta: 10.0,
        }
    }

    fn check(&self) -> Result<(), LimitError> {
        check_ratio(self.ratio)?;
        check_pages_per_block(self.pages_per_block)?;
        let require = |good: bool, name, value: f64, rule| {
            if good { Ok(()) } else { Err(LimitError::Gecko { name, value, rule }) }
        };
        let (pages, partitions) = (self.pages_per_block, self.partitions);
        require(
            partitions > 0 && pages % partitions == 0,
            "partitions",
            partitions.into(),
            "it must divide the pages per block",
        )?;
        require((1..=128).contains(&self.key_bits), "key bits", self.key_bits.into(), "use 1 to 128")?;
        require(
            self.delta >= 1.0 && self.delta.is_finite(),
            "delta",
            self.delta,
            "a program costs at least one read and not infinitely many",
        )?;
        require(self.blocks >= 2, "blocks", self.blocks as f64, "use at least 2")?;
        require(
            self.entry_bits() <= 8 * u64::from(self.page_bytes),
            "page bytes",
            self.page_bytes.into(),
            "a page must hold at least one entry",
        )?;
        let pages = self.blocks.saturating_mul(self.pages_per_block.into());
        require(pages <= PAGES_MAX, "pages", pages as f64, "a mapping entry of four bytes names one of at most 2^32")?;
        let parts = u128::from(self.blocks) * u128::from(partitions);
        require(
            self.key_bits >= 64 || parts <= 1 << self.key_bits,
            "key bits",
            self.key_bits.into(),
            "keys must tell all parts of all blocks' bitmaps apart",
        )?;
        let logical_pages = (pages as f64 * self.ratio).floor();
        require(logical_pages >= 1.0, "logical pages", logical_pages, "the ratio must leave at least one")?;
        // To three digits, and not rounded up: it is printed.
        let spare_blocks = (self.blocks as f64 * (1.0 - self.ratio) * 1e3).floor() / 1e3;
        require(
            spare_blocks >= 1.0,
            "spare blocks",
            spare_blocks,
            "the ratio must leave at least one, to which live pages are moved",
        )
    }

    fn entry_bits(&self) -> u64 {
        u64::from(self.key_bits) + u64::from(self.pages_per_block / self.partitions) + 1
    }
}

/// What validity costs, per host page written unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GeckoCosts {
    /// V, entries per page and in the buffer.
    pub entries_per_page: u64,
    /// L, levels, an average and so not whole.
    pub levels: f64,
    /// Programs per inserted entry.
    pub programs_per_entry: f64,
    /// Page reads per query of a collection.
    pub reads_per_query: f64,
    /// Collections per host page written.
    pub collections_per_write: f64,
    /// Programs, including those for the erases' entries.
    pub programs_per_update: f64,
    /// The paper's metric, programs + reads/δ, updates and queries together.
    pub write_amplification: f64,
    /// The same for a bitmap in flash: one read and one program per update, one read per collection.
    pub bitmap_write_amplification: f64,
    /// 1 − the quotient of the two: what Gecko saves of the bitmap's cost.
    pub saved: f64,
    /// The same without the queries on either side.
    pub saved_on_updates: f64,
}

/// The cost of page validity in a Logarithmic Gecko, in programs + reads/δ per host page written.
///
/// Within a few percent of a simulation in steady state. The number of levels is continuous, so a given drive may stand
/// above or below by the cost of half a level.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`], [`LimitError::PagesPerBlock`]; [`LimitError::Gecko`] names the
/// parameter otherwise.
pub fn gecko(drive: &Gecko) -> Result<GeckoCosts, LimitError> {
    drive.check()?;
    let entries_per_page = 8 * u64::from(drive.page_bytes) / drive.entry_bits();
    let v = entries_per_page as f64;
    let entries = drive.blocks as f64 * f64::from(drive.partitions);
    let levels = (entries / v).log2().max(0.0);
    let rewrites = match drive.merge {
        Merge::TwoWay => levels,
        Merge::MultiWay => levels / 2.0,
    };
    let programs_per_entry = (rewrites + 1.0) / v;
    let reads_per_query = levels / 2.0 + 1.4;
    let collections_per_write = greedy::solve(drive.ratio, drive.pages_per_block) / f64::from(drive.pages_per_block);
    let programs_per_update = programs_per_entry * (1.0 + collections_per_write);
    let updates = programs_per_update * (1.0 + 1.0 / drive.delta);
    let write_amplification = updates + reads_per_query * collections_per_write / drive.delta;
    let bitmap_updates = 1.0 + 1.0 / drive.delta;
    let bitmap_write_amplification = bitmap_updates + collections_per_write / drive.delta;
    Ok(GeckoCosts {
        entries_per_page,
        levels,
        programs_per_entry,
        reads_per_query,
        collections_per_write,
        programs_per_update,
        write_amplification,
        bitmap_write_amplification,
        saved: 1.0 - write_amplification / bitmap_write_amplification,
        saved_on_updates: 1.0 - updates / bitmap_updates,
    })
}
