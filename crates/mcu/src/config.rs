//! What a drive is made of, and what it can hold.

use crate::barriers::Barrier;
use crate::flash::Chip;
use crate::layout::{Layout, OPENS_A_CHECKPOINT, Sizes, ceil, ceil_long};
use crate::meta::KEYS;

/// Where the mapping table stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapping {
    /// On flash, in translation pages. RAM has their directory, and the entries that are newer (DFTL; GeckoFTL section 4).
    Paged,
    /// In RAM, four bytes a logical page; translation pages follow it.
    Ram,
}

/// How stale pages of a block are found when it is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Validity {
    /// Logarithmic Gecko: sorted runs of reports on flash (GeckoFTL section 3).
    Gecko,
    /// The mapping is asked for each page: no structure at all, and more flash reads.
    ByMapping,
}

/// The parts of a drive, as types: only what they name is compiled.
pub trait Parts: Clone {
    /// Where the mapping table stands.
    const MAPPING: Mapping;
    /// How stale pages are found.
    const VALIDITY: Validity;
}

/// Translation pages on flash, stale pages in Logarithmic Gecko.
#[derive(Clone, Copy, Debug)]
pub struct Gecko;

impl Parts for Gecko {
    const MAPPING: Mapping = Mapping::Paged;
    const VALIDITY: Validity = Validity::Gecko;
}

/// Translation pages on flash, and no record of stale pages: the least RAM and code.
#[derive(Clone, Copy, Debug)]
pub struct Smallest;

impl Parts for Smallest {
    const MAPPING: Mapping = Mapping::Paged;
    const VALIDITY: Validity = Validity::ByMapping;
}

/// The mapping table in RAM: one flash read a host read.
#[derive(Clone, Copy, Debug)]
pub struct RamTable;

impl Parts for RamTable {
    const MAPPING: Mapping = Mapping::Ram;
    const VALIDITY: Validity = Validity::ByMapping;
}

/// A drive's configuration. Chip and logical pages stay as they are from format on; the rest may change at a mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The chip.
    pub chip: Chip,
    /// Host pages, of [`Chip::data_bytes`] each: at the most [`Config::most_logical_pages`].
    pub logical_pages: u32,
    /// Room for mapping entries that are not on flash yet, eight bytes each: a power of two. Seven eighths are used. A
    /// write programs the fewer translation pages the more there are. Unused with [`Mapping::Ram`].
    pub dirty_slots: u32,
    /// Blocks that may be opened until a dirty entry is written: a mount reads the metadata of so many blocks. It may grow from
    /// mount to mount, and not shrink. With 4 there is room for a block of translation pages, with each more for another.
    pub window: u32,
    /// Blocks that may be bad or grow bad, of the factory's as well.
    pub bad_blocks: u32,
    /// Bits that ECC corrects in a page from which on its block is written anew. 0: never.
    pub refresh_bits: u32,
    /// Reads of a block, about, from which on it is written anew: two bytes of memory a block count them, from each mount
    /// on. 0: they are not counted.
    pub disturb_reads: u32,
    /// What a test double forgets.
    #[cfg(phelsuma_mutants)]
    pub forgets: Option<Barrier>,
}

/// Why a configuration cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// Bytes of a page, pages of a block or blocks are outside of what [`Chip`] says.
    Chip,
    /// There are no logical pages, or too many of them for the chip: [`Config::most_logical_pages`].
    LogicalPages,
    /// `dirty_slots` is no power of two, or fewer than 16.
    DirtySlots,
    /// `window` is below 4.
    Window,
    /// More blocks may be bad than there are to spare.
    BadBlocks,
}

/// Free blocks below which nothing is written for the host: a collection needs two, a checkpoint one, one may fail, and merges
/// of runs take one. Where they take more, it is more (`Sizes::low`).
pub(crate) const LOW: u32 = 5;

/// Free blocks above that, those included that are free with the next checkpoint, below which blocks are collected.
pub(crate) const HIGH: u32 = 2;

impl Config {
    /// A drive of `logical_pages` with room for `dirty_slots` entries, a window of 24 blocks, 2 % bad blocks, and no
    /// refresh.
    pub const fn new(chip: Chip, logical_pages: u32, dirty_slots: u32) -> Self {
        Self {
            chip,
            logical_pages,
            dirty_slots,
            window: 24,
            bad_blocks: chip.blocks / 50,
            refresh_bits: 0,
            disturb_reads: 0,
            #[cfg(phelsuma_mutants)]
            forgets: None,
        }
    }

    /// Bytes of memory that a drive of these parts needs, all of it: [`Drive::mount`](crate::Drive::mount) wants so many.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub const fn memory_bytes<P: Parts>(&self) -> Result<usize, ConfigError> {
        match Layout::of(self, P::MAPPING, P::VALIDITY) {
            Ok((layout, _)) => Ok(layout.bytes),
            Err(error) => Err(error),
        }
    }

    /// The most logical pages that fit on this chip with these slots and bad blocks, so that a collection always frees
    /// more than it writes; 0 where the rest of the configuration cannot be.
    pub const fn most_logical_pages<P: Parts>(&self) -> u32 {
        if self.check_parts(P::MAPPING).is_err() {
            return 0;
        }
        // Fewer by steps of a sixteenth of a block until it fits.
        let mut pages = self.chip.pages();
        let step = ceil(self.chip.pages_per_block, 16);
        while pages > step {
            pages -= step;
            if (Self { logical_pages: pages, ..*self }).fits(P::MAPPING, P::VALIDITY) {
                return pages;
            }
        }
        0
    }

    /// Whether a barrier is kept: all but test doubles keep it.
    #[cfg(phelsuma_mutants)]
    pub(crate) fn keeps(&self, barrier: Barrier) -> bool {
        self.forgets != Some(barrier)
    }

    /// Every drive keeps every barrier outside the proof of the laboratory.
    #[cfg(not(phelsuma_mutants))]
    #[inline(always)]
    pub(crate) fn keeps(&self, _barrier: Barrier) -> bool {
        true
    }

    /// Whether collections make progress: the emptiest block has on average as few live pages as all of them. What is
    /// freed is to be more than its live pages, the translation pages that become due with them, and the reports.
    const fn fits(&self, mapping: Mapping, validity: Validity) -> bool {
        let sizes = Sizes::of(self, validity);
        let ppb = self.chip.pages_per_block as u64;
        // Open blocks, free ones, those that wait for a checkpoint, and one that is being collected.
        let low = if matches!(validity, Validity::Gecko) { sizes.low(&self.chip) } else { LOW };
        let apart = low + HIGH + 3 + 1 + OPENS_A_CHECKPOINT / 2;
        let Some(blocks) = self.chip.blocks.checked_sub(apart + self.bad_blocks) else { return false };
        // A checkpoint may have to write all translation pages whose entries are older than that.
        if self.window < 3 + ceil(sizes.translation_pages, self.chip.pages_per_block) {
            return false;
        }
        let metadata = sizes.translation_pages + sizes.run_pages / 2 + sizes.parts;
        let live = (self.logical_pages + metadata) as u64;
        let room = blocks as u64 * ppb;
        if live >= room {
            return false;
        }
        // Entries that a translation page takes along when it is written, at the least.
        let together = match mapping {
            Mapping::Paged => match (self.dirty_slots as u64 * 7 / 8).checked_div(sizes.translation_pages as u64) {
                None | Some(0) => 1,
                Some(entries) => entries,
            },
            Mapping::Ram => 8,
        };
        // Live pages of a victim, and what moving them costs.
        let victim = ceil_long(live * ppb, room);
        let costs = victim + ceil_long(victim, together) + sizes.parts as u64 + 2;
        costs < ppb
    }

    /// Whether everything but the number of logical pages can be.
    const fn check_parts(&self, mapping: Mapping) -> Result<(), ConfigError> {
        let Chip { page_bytes, pages_per_block, blocks, .. } = self.chip;
        let page = page_bytes.is_power_of_two() && page_bytes >= 512 && page_bytes <= 16_384;
        let block = pages_per_block.is_power_of_two() && pages_per_block >= 4 && pages_per_block <= 256;
        if !page || !block || blocks < 8 || blocks > 65_536 {
            return Err(ConfigError::Chip);
        }
        if self.window < 4 || self.window > 4096 {
            return Err(ConfigError::Window);
        }
        if self.bad_blocks >= blocks {
            return Err(ConfigError::BadBlocks);
        }
        let slots = self.dirty_slots;
        if matches!(mapping, Mapping::Paged) && (slots < 16 || !slots.is_power_of_two() || slots > 1 << 24) {
            return Err(ConfigError::DirtySlots);
        }
        Ok(())
    }

    pub(crate) const fn check(&self, mapping: Mapping, validity: Validity) -> Result<(), ConfigError> {
        if let Err(error) = self.check_parts(mapping) {
            return Err(error);
        }
        let Self { logical_pages, chip, .. } = self;
        let is_none = *logical_pages == 0 || *logical_pages > chip.pages() || *logical_pages >= KEYS;
        if is_none || !self.fits(mapping, validity) {
            return Err(ConfigError::LogicalPages);
        }
        if Sizes::of(self, validity).parts > chip.pages_per_block {
            return Err(ConfigError::Chip);
        }
        Ok(())
    }
}
