//! Where each structure stands in the memory that is lent to a drive.

use crate::config::{Config, ConfigError, LOW, Mapping, Validity};
use crate::flash::Chip;
use crate::tables::{Bytes, Table16, Table32};

/// A translation page that was never written, and no page at all.
pub(crate) const NONE: u32 = 0x3fff_ffff;

/// An entry whose page cannot be found any more: a read error until it is written again.
pub(crate) const LOST: u32 = 0x3fff_fffe;

/// Blocks that may have been opened between two checkpoints.
pub(crate) const OPENS_A_CHECKPOINT: u32 = 8;

/// One read out of so many is counted, by chance.
pub(crate) const READS: u32 = 64;

/// Blocks that a failed mount may have left behind, and those that are open.
const SLACK: u32 = 8;

/// What a checkpoint has before its tables, in bytes.
pub(crate) const HEADER_BYTES: u32 = 64;

/// What each part of a checkpoint begins with: which checkpoint it is of (8 bytes), and its number of parts (4).
pub(crate) const PART_BYTES: u32 = 12;

/// The structures of a drive, by place. The first ones, up to the counts, are what a checkpoint writes, one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) header: Bytes,
    /// Blocks that were free when the checkpoint was written, a bit each, and those that were held.
    pub(crate) free_bits: Bytes,
    pub(crate) held_bits: Bytes,
    /// Level and pages of each run: oldest run first.
    pub(crate) runs: Table32,
    /// Pages of all runs, one run behind the other, and the lowest block in each page.
    pub(crate) run_pages: Table32,
    pub(crate) run_firsts: Table32,
    /// The global mapping directory: where each translation page stands.
    pub(crate) directory: Table32,
    /// Live pages of each block, or what state it is in.
    pub(crate) counts: Table16,
    /// Dirty entries of each translation page. While a drive mounts: bits 32 to 47 of its seq.
    pub(crate) dirty_of: Table16,
    /// Number of the opened block with the oldest of them. While a drive mounts: bits 0 to 31 of its seq.
    pub(crate) oldest_of: Table32,
    /// Dirty entries: a hash table of keys, and of pages. For a table in RAM: none, and all entries.
    pub(crate) keys: Table32,
    pub(crate) places: Table32,
    /// While a drive mounts: the blocks that were opened last, the newest first. Seq (low and high) and block.
    pub(crate) recent: Table32,
    /// Reads of each block, in units of [`READS`]. Where they are counted.
    pub(crate) reads: Table16,
    /// One page, for whatever is read or written.
    pub(crate) page: Bytes,
    /// Two pages of runs that are merged, and the buffer of reports. With Logarithmic Gecko.
    pub(crate) older: Bytes,
    pub(crate) newer: Bytes,
    pub(crate) reports: Bytes,
    /// All of it.
    pub(crate) bytes: usize,
}

/// Gives places out, one behind the other.
struct Places(usize);

impl Places {
    const fn bytes(&mut self, bytes: u32) -> Bytes {
        let at = self.0;
        // Words stand on multiples of four.
        self.0 += (bytes as usize).next_multiple_of(4);
        Bytes { at, bytes: bytes as usize }
    }

    const fn words(&mut self, entries: u32) -> Table32 {
        let Bytes { at, .. } = self.bytes(entries.saturating_mul(4));
        Table32 { at, entries }
    }

    const fn halves(&mut self, entries: u32) -> Table16 {
        let Bytes { at, .. } = self.bytes(entries.saturating_mul(2));
        Table16 { at, entries }
    }
}

/// Sizes that follow from a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// Entries of a translation page.
    pub(crate) entries: u32,
    /// Translation pages.
    pub(crate) translation_pages: u32,
    /// Bytes of a report: a block, and a bit for each of its pages.
    pub(crate) report_bytes: u32,
    /// Reports that fit in a page.
    pub(crate) reports: u32,
    /// The highest level of a run: two runs of it are one of it again.
    pub(crate) top_level: u32,
    /// Runs, and their pages, that there can be.
    pub(crate) runs: u32,
    pub(crate) run_pages: u32,
    /// Blocks that a mount replays.
    pub(crate) recent: u32,
    /// Parts of a checkpoint.
    pub(crate) parts: u32,
}

/// Rounded up. By 0 it is `value`: `div_ceil` has a path that panics, which firmware would carry.
pub(crate) const fn ceil(value: u32, by: u32) -> u32 {
    match value.checked_div(by) {
        Some(whole) => whole + (whole * by < value) as u32,
        None => value,
    }
}

/// The same for longer numbers.
pub(crate) const fn ceil_long(value: u64, by: u64) -> u64 {
    match value.checked_div(by) {
        Some(whole) => whole + (whole * by < value) as u64,
        None => value,
    }
}

/// What a page of a run begins with: how many reports it has.
pub(crate) const RUN_HEADER: u32 = 4;

impl Sizes {
    pub(crate) const fn of(config: &Config, validity: Validity) -> Self {
        let data = config.chip.data_bytes();
        let entries = data / 4;
        let translation_pages = ceil(config.logical_pages, entries);
        let report_bytes = 4 + ceil(config.chip.pages_per_block, 32) * 4;
        let reports = match (data - RUN_HEADER).checked_div(report_bytes) {
            Some(reports) => reports,
            None => 0,
        };
        let most = ceil(config.chip.blocks, reports);
        let top_level = most.next_power_of_two().trailing_zeros();
        let gecko = matches!(validity, Validity::Gecko);
        let runs = if gecko { top_level + 4 } else { 0 };
        let run_pages = if gecko { most.next_power_of_two() + 3 * most + 4 } else { 0 };
        let recent = config.window + OPENS_A_CHECKPOINT + SLACK;
        let state =
            HEADER_BYTES + 2 * ceil(config.chip.blocks, 32) * 4 + 4 * (runs + 2 * run_pages + translation_pages);
        let parts = ceil(state, data - PART_BYTES);
        Self { entries, translation_pages, report_bytes, reports, top_level, runs, run_pages, recent, parts }
    }

    /// Free blocks below which nothing is written for the host, on a drive with Logarithmic Gecko. One write may merge the runs
    /// of all levels: as many pages as the oldest run and all others.
    pub(crate) const fn low(&self, chip: &Chip) -> u32 {
        let most = ceil(chip.blocks, self.reports);
        LOW - 1 + ceil(most + most.next_power_of_two(), chip.pages_per_block)
    }
}

impl Layout {
    /// The places of a drive's structures.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub(crate) const fn of(
        config: &Config,
        mapping: Mapping,
        validity: Validity,
    ) -> Result<(Self, Sizes), ConfigError> {
        if let Err(error) = config.check(mapping, validity) {
            return Err(error);
        }
        let sizes = Sizes::of(config, validity);
        let mut places = Places(0);
        let page = config.chip.page_bytes;
        let gecko_page = if matches!(validity, Validity::Gecko) { page } else { 0 };
        let (keys, entries) = match mapping {
            Mapping::Paged => (config.dirty_slots, config.dirty_slots),
            Mapping::Ram => (0, config.logical_pages),
        };
        let layout = Self {
            header: places.bytes(HEADER_BYTES),
            free_bits: places.bytes(ceil(config.chip.blocks, 32) * 4),
            held_bits: places.bytes(ceil(config.chip.blocks, 32) * 4),
            runs: places.words(sizes.runs),
            run_pages: places.words(sizes.run_pages),
            run_firsts: places.words(sizes.run_pages),
            directory: places.words(sizes.translation_pages),
            counts: places.halves(config.chip.blocks),
            dirty_of: places.halves(sizes.translation_pages),
            oldest_of: places.words(sizes.translation_pages),
            keys: places.words(keys),
            places: places.words(entries),
            recent: places.words(3 * sizes.recent),
            reads: places.halves(if config.disturb_reads > 0 { config.chip.blocks } else { 0 }),
            page: places.bytes(page),
            older: places.bytes(gecko_page),
            newer: places.bytes(gecko_page),
            reports: places.bytes(gecko_page),
            bytes: 0,
        };
        Ok((Self { bytes: places.0, ..layout }, sizes))
    }

    /// What a checkpoint writes.
    pub(crate) fn state(&self) -> Bytes {
        Bytes { at: self.header.at, bytes: self.counts.at - self.header.at }
    }
}
