//! What a battery saves besides mapping entries: the structures in RAM without which the table on flash would have to
//! be read when the power is back (GeckoFTL section 5.3: DFTL copies PVB to flash before power runs out).
//!
//! They are cut into pages, each with a number, and written after everything else; the *seal* is the last of all. It
//! says after which moment in program order the others were written. They are what is so **only while nothing has been
//! programmed since**: a recovery believes the seal if no page on the drive is younger, and with it all pages between
//! that moment and itself. An erase alone changes nothing, since a block that may be erased has no live pages, and what
//! is gone with it is missed. So no state is ever believed but the one at the last failure of the power, whether that
//! was announced or not, and however often the recovery is cut.
//!
//! What is saved:
//! - the directory of translation pages, or the root of their tree, as pages of the translation table behind the last;
//! - the bitmap in RAM (PVB), or the directory of the one in flash, as bitmap pages;
//! - the counters of live pages (BVC), which also say which blocks are free, behind them. Where RAM holds a sample of
//!   them, those that are not in it are said to be in use, and the seal says how many pages are live in all.
//!
//! Where a structure is damaged, there is no seal: the recovery reads the table, and the damage is mended.

use super::mapping::{AnyMapping, Mapping};
use super::meta_io::MetaIo;
use super::parts::PageMapped;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::Item;
use crate::medium::Saved;
use crate::page_mapped::validity::Validity;
use phelsuma_nand::{Geometry, Kind, Nand, Purpose, Time};

/// What a saved page is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    Table,
    Validity,
    Counters,
}

/// Which pages there are, and what their keys are.
#[derive(Clone, Debug)]
pub(crate) struct SavedPages {
    /// By section: kind, key of the first page, pages.
    sections: [(Section, Kind, u32, u32); 3],
    page_bytes: u64,
}

/// The key of the seal, among bitmap pages.
const SEAL: u32 = u32::MAX;

impl SavedPages {
    /// Of the translation table the keys from `behind_table` on are free, and of the bitmap those from `behind_bitmap`
    /// on; each section has so many bytes.
    fn new(geometry: &Geometry, behind_table: u32, behind_bitmap: u32, bytes: [u64; 3]) -> Self {
        let page_bytes = u64::from(geometry.page_bytes());
        let [table, validity, counters] = bytes.map(|bytes| bytes.div_ceil(page_bytes) as u32);
        let sections = [
            (Section::Table, Kind::Translation, behind_table, table),
            (Section::Validity, Kind::Bitmap, behind_bitmap, validity),
            (Section::Counters, Kind::Bitmap, behind_bitmap + validity, counters),
        ];
        Self { sections, page_bytes }
    }

    /// How many there are without the seal.
    pub(crate) fn count(&self) -> u32 {
        self.sections.iter().map(|(.., pages)| pages).sum()
    }

    /// Which of them a page is, by its number among all.
    pub(crate) fn number(&self, kind: Kind, key: u32) -> Option<u32> {
        let mut before = 0;
        for (_, of_kind, first, pages) in &self.sections {
            if *of_kind == kind && (*first..first + pages).contains(&key) {
                return Some(before + key - first);
            }
            before += pages;
        }
        None
    }

    /// Whether a page is a seal.
    pub(crate) fn is_seal(kind: Kind, key: u32) -> bool {
        kind == Kind::Bitmap && key == SEAL
    }

    /// Section, kind, key and first byte of a page.
    pub(crate) fn page(&self, number: u32) -> Option<(Section, Kind, u32, u64)> {
        let mut number = number;
        for (section, kind, first, pages) in &self.sections {
            if number < *pages {
                return Some((*section, *kind, first + number, u64::from(number) * self.page_bytes));
            }
            number -= pages;
        }
        None
    }
}

/// Programs that a seal and the counters of so many blocks take.
pub(crate) fn counters_and_seal(geometry: &Geometry) -> u64 {
    (u64::from(geometry.blocks()) * 2).div_ceil(u64::from(geometry.page_bytes())) + 1
}

impl PageMapped {
    fn section(&self, section: Section) -> Option<&dyn Saved> {
        match (section, &self.mapping) {
            (Section::Table, AnyMapping::Paged(paged)) => Some(paged.saved_table()),
            (Section::Table, AnyMapping::Ram(_) | AnyMapping::Mu(_)) => None,
            (Section::Validity, _) => self.validity.saved(),
            (Section::Counters, _) => Some(&self.blocks),
        }
    }

    /// Takes a saved page's bytes.
    pub(super) fn restore_page(&mut self, section: Section, from: u64, page: &[u8]) {
        let saved: Option<&mut dyn Saved> = match (section, &mut self.mapping) {
            (Section::Table, AnyMapping::Paged(paged)) => Some(paged.saved_table_mut()),
            (Section::Table, AnyMapping::Ram(_) | AnyMapping::Mu(_)) => None,
            (Section::Validity, _) => self.validity.saved_mut(),
            (Section::Counters, _) => Some(&mut self.blocks),
        };
        if let Some(saved) = saved {
            saved.restore(from, page);
        }
    }

    /// The pages that a battery of this drive writes.
    pub(super) fn saved_pages(&self) -> SavedPages {
        let geometry = self.blocks.geometry();
        let bytes = |section| self.section(section).map_or(0, Saved::saved_bytes);
        let bytes = [bytes(Section::Table), bytes(Section::Validity), bytes(Section::Counters)];
        let behind_table = match &self.mapping {
            AnyMapping::Paged(paged) => paged.behind_table(),
            AnyMapping::Ram(_) | AnyMapping::Mu(_) => 0,
        };
        SavedPages::new(geometry, behind_table, self.validity.bitmap_parts(), bytes)
    }

    /// Whether what is in RAM is all that there is to know, so that it may be sealed.
    fn is_sound(&self) -> bool {
        !self.blocks.keeps(Barrier::DamageNotSealed)
            || !self.mapping.is_damaged() && !self.validity.is_damaged() && !self.blocks.counters.may_be_low
    }

    /// The power has failed: writes dirty entries, then all else that only RAM knows.
    pub(super) fn save<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        let stream = self.streams.mapping;
        let io = &mut MetaIo::new(nand, (&mut self.blocks, &mut self.durability), stream, Purpose::Battery, at);
        let mut part = Some(0);
        while let Some(from) = part {
            part = self.mapping.synchronize_next(io, from, &mut self.before)?;
        }
        self.mapping.write_dirty_nodes(io)?;
        // What was found to be stale just now, and what nobody has heard of yet: a request that was refused in the
        // middle may have left some.
        let mut stale = core::mem::take(&mut self.before);
        for page in &stale {
            self.blocks.counters.remove(self.blocks.geometry().block_of(*page));
        }
        while let Some(item) = self.blocks.news.next() {
            match item {
                Item::Erased(block) => self.validity.erased_on_battery(block),
                Item::Failed(page) => stale.push(page),
                _ => {}
            }
            self.blocks.news.heard();
        }
        let io = &mut MetaIo::new(
            nand,
            (&mut self.blocks, &mut self.durability),
            self.streams.validity,
            Purpose::Battery,
            at,
        );
        self.validity.save(io, &mut stale)?;
        self.before = stale;
        self.seal(nand, at)
    }

    /// Writes what RAM knows, and the seal. Everything else is on flash.
    pub(super) fn seal<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        let AnyMapping::Paged(paged) = &mut self.mapping else { return Ok(()) };
        let mut bytes = paged.lend_buffer();
        let written = if self.is_sound() { self.write_sealed(nand, &mut bytes, at) } else { Ok(()) };
        if let AnyMapping::Paged(paged) = &mut self.mapping {
            paged.return_buffer(bytes);
        }
        written
    }

    fn write_sealed<N: Nand>(&mut self, nand: &mut N, bytes: &mut [u8], at: Time) -> Result<(), FtlError> {
        let pages = self.saved_pages();
        let after = self.blocks.clock.seq();
        for number in 0..pages.count() {
            let Some((section, kind, key, from)) = pages.page(number) else { continue };
            if let Some(saved) = self.section(section) {
                saved.save(from, bytes);
            }
            self.append_saved(nand, kind, key, bytes, at)?;
        }
        bytes.fill(0);
        bytes[..8].copy_from_slice(&after.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.blocks.counters.live_total().to_le_bytes());
        // It says that all others are there.
        let at = at.max(self.blocks.clock.horizon());
        self.append_saved(nand, Kind::Bitmap, SEAL, bytes, at)
    }

    /// Such a page is of use for one recovery alone: it never counts as live.
    fn append_saved<N: Nand>(
        &mut self,
        nand: &mut N,
        kind: Kind,
        key: u32,
        bytes: &[u8],
        at: Time,
    ) -> Result<(), FtlError> {
        let io = &mut MetaIo::new(
            nand,
            (&mut self.blocks, &mut self.durability),
            self.streams.mapping,
            Purpose::Battery,
            at,
        );
        let version = io.next_version();
        let to = io.append(kind, key, version, bytes)?;
        io.drop_page(to);
        Ok(())
    }
}
