//! The structures in RAM that a battery saves besides mapping entries.
//!
//! Without them the table on flash would have to be read at the next mount (GeckoFTL section 5.3: DFTL copies PVB to
//! flash before power runs out).
//!
//! They are cut into pages, each with a number, and written after everything else. The *seal* is the last of all. It
//! says after which moment in program order the others were written. They are true **only while nothing has been
//! programmed since**. A recovery believes the seal if no page on the drive is younger, and with it all pages between
//! that moment and itself. An erase alone changes nothing. A block that may be erased has no live pages, and if it held
//! saved pages they are missed. So only the state at the last power failure is ever believed. It does not matter
//! whether there was a warning, or how often the recovery is cut.
//!
//! These are saved:
//! - the directory of translation pages, or the root of their tree, as pages of the translation table behind the last;
//! - the bitmap in RAM (PVB), or the directory of the one in flash, as bitmap pages;
//! - the counters of live pages (BVC), which also say which blocks are free, behind them. RAM may hold a sample of
//!   them. Then those that are not in it are said to be in use, and the seal has the total of live pages.
//!
//! Where a structure is damaged, there is no seal: the recovery reads the table, and the damage is mended.

use super::store::SavedStore;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::{Blocks, Item};
use crate::medium::Saved;
use crate::page_mapped::durability::Durability;
use crate::page_mapped::mapping::{Mapping, PagedMapping};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::streams::Streams;
use crate::page_mapped::validity::AnyValidity;
use alloc::vec::Vec;
use phelsuma_nand::{Geometry, Kind, Nand, Page, Purpose, Time};

/// The structure that a saved page is a part of.
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

/// The structures that a battery saves, or a recovery restores: the parts of a drive that RAM alone has as a whole.
pub(super) struct InRam<'d, V> {
    pub(super) paged: &'d mut PagedMapping,
    pub(super) store: &'d mut V,
    pub(super) blocks: &'d mut Blocks,
}

impl<V: SavedStore> InRam<'_, V> {
    fn section(&self, section: Section) -> &dyn Saved {
        match section {
            Section::Table => self.paged.saved_table(),
            Section::Validity => self.store.saved(),
            Section::Counters => &*self.blocks,
        }
    }

    /// Takes a saved page's bytes.
    pub(super) fn restore_page(&mut self, section: Section, from: u64, page: &[u8]) {
        let saved: &mut dyn Saved = match section {
            Section::Table => self.paged.saved_table_mut(),
            Section::Validity => self.store.saved_mut(),
            Section::Counters => self.blocks,
        };
        saved.restore(from, page);
    }

    /// The pages that a battery of this drive writes.
    pub(super) fn saved_pages(&self) -> SavedPages {
        let bytes = |section| self.section(section).saved_bytes();
        let bytes = [bytes(Section::Table), bytes(Section::Validity), bytes(Section::Counters)];
        SavedPages::new(self.blocks.geometry(), self.paged.behind_table(), self.store.parts(), bytes)
    }

    /// Whether the state in RAM is complete, so that it may be sealed.
    fn is_sound(&self) -> bool {
        !self.blocks.keeps(Barrier::DamageNotSealed)
            || !self.paged.is_damaged() && !self.store.is_damaged() && !self.blocks.counters.may_be_low
    }
}

/// A drive of which the power has failed.
struct OnBattery<'d, V, N> {
    ram: InRam<'d, V>,
    durability: &'d mut Durability,
    streams: Streams,
    /// Pages found to be stale while the mapping was at work.
    before: &'d mut Vec<Page>,
    nand: &'d mut N,
    at: Time,
}

impl PageMapped {
    /// The power has failed: writes dirty entries, then all other state that is in RAM alone.
    pub(crate) fn save<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        let Self { mapping, validity, blocks, durability, streams, before, .. } = self;
        let Some(paged) = mapping.paged_mut() else { return Ok(()) };
        let streams = *streams;
        match validity {
            AnyValidity::Ram(store) => {
                OnBattery { ram: InRam { paged, store, blocks }, durability, streams, before, nand, at }.save()
            }
            AnyValidity::Flash(store) => {
                OnBattery { ram: InRam { paged, store, blocks }, durability, streams, before, nand, at }.save()
            }
            // No battery is there for these.
            AnyValidity::Gecko(_) | AnyValidity::Log(_) | AnyValidity::Mu(_) => Ok(()),
        }
    }
}

impl<V: SavedStore, N: Nand> OnBattery<'_, V, N> {
    fn save(mut self) -> Result<(), FtlError> {
        let InRam { paged, store, blocks } = &mut self.ram;
        let lent = (&mut **blocks, &mut *self.durability);
        let io = &mut MetaIo::new(self.nand, lent, self.streams.mapping, Purpose::Battery, self.at);
        let (mut part, mut written) = (Some(0), 0);
        while let Some(from) = part {
            part = paged.synchronize_next(io, from, self.before)?;
            written += u32::from(part.is_some());
            debug_assert!(part.is_none_or(|next| next > from), "the table is not gone through in order");
        }
        if io.keeps(Barrier::UnreadableNamed) {
            // Without it a recovery doubts more. Nothing that was written is lost by it.
            let _ = paged.write_unreadable(io, written);
        }
        paged.write_dirty_nodes(io)?;
        // Pages that were found to be stale just now, and those not reported yet: a request that was refused in the
        // middle may have left some.
        let mut stale = core::mem::take(self.before);
        for page in &stale {
            blocks.counters.remove(blocks.geometry().block_of(*page));
        }
        while let Some(item) = blocks.news.next() {
            match item {
                Item::Erased(block) => store.erased_on_battery(block),
                Item::Failed(page) => stale.push(page),
                _ => {}
            }
            blocks.news.heard();
        }
        let lent = (&mut **blocks, &mut *self.durability);
        let io = &mut MetaIo::new(self.nand, lent, self.streams.validity, Purpose::Battery, self.at);
        store.save(io, &mut stale)?;
        *self.before = stale;
        self.seal()
    }

    /// Writes the state in RAM, and the seal. Everything else is on flash.
    fn seal(&mut self) -> Result<(), FtlError> {
        debug_assert!(self.before.is_empty(), "a page that is stale is not told of");
        let mut bytes = self.ram.paged.lend_buffer();
        let written = if self.ram.is_sound() { self.write_sealed(&mut bytes) } else { Ok(()) };
        self.ram.paged.return_buffer(bytes);
        written
    }

    fn write_sealed(&mut self, bytes: &mut [u8]) -> Result<(), FtlError> {
        let pages = self.ram.saved_pages();
        let after = self.ram.blocks.clock.seq();
        for number in 0..pages.count() {
            let Some((section, kind, key, from)) = pages.page(number) else { continue };
            debug_assert_eq!(pages.number(kind, key), Some(number), "a recovery takes it for another page");
            self.ram.section(section).save(from, bytes);
            self.append(kind, key, bytes)?;
        }
        bytes.fill(0);
        bytes[..8].copy_from_slice(&after.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.ram.blocks.counters.live_total().to_le_bytes());
        // It says that all others are there.
        self.at = self.at.max(self.ram.blocks.clock.horizon());
        self.append(Kind::Bitmap, SEAL, bytes)
    }

    /// Such a page is of use for one recovery alone: it never counts as live.
    fn append(&mut self, kind: Kind, key: u32, bytes: &[u8]) -> Result<(), FtlError> {
        let lent = (&mut *self.ram.blocks, &mut *self.durability);
        let io = &mut MetaIo::new(self.nand, lent, self.streams.mapping, Purpose::Battery, self.at);
        let version = io.next_version();
        let to = io.append(kind, key, version, bytes)?;
        io.drop_page(to);
        Ok(())
    }
}
