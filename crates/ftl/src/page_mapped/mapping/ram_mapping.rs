//! The mapping table in RAM with what makes its trims survive: tombstone pages.

use super::ram_table::RamTable;
use super::trim_map::{PENDING_MAX, TrimMap, regions};
use super::{Before, Judgement, Mapping, Place};
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::needs::Needs;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page, Purpose, Time};

/// How many logical pages one trim takes at a time: a quarter of a page's bytes, as entries of a translation page would
/// be. The list of pages that they make stale must not grow with the request.
pub(crate) fn trim_reach(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / 4
}

/// The table in RAM, and the directory of tombstone pages.
#[derive(Clone, Preserve)]
pub(crate) struct RamMapping {
    table: RamTable,
    pub(crate) trims: TrimMap,
    trim_reach: u32,
    tombstones_written: u64,
}

impl RamMapping {
    pub(crate) fn new(geometry: &Geometry, logical_pages: u32) -> Self {
        Self {
            table: RamTable::new(logical_pages),
            trims: TrimMap::new(geometry, logical_pages),
            trim_reach: trim_reach(geometry),
            tombstones_written: 0,
        }
    }

    /// Its needs of flash on a drive of so many logical pages: a tombstone a region, and in a collection those that are
    /// pending.
    pub(crate) fn needs(geometry: &Geometry, logical_pages: u32) -> Needs {
        let live_pages = regions(geometry, logical_pages).into();
        Needs { live_pages, programs: PENDING_MAX.into(), ..Needs::default() }
    }

    /// Where `key` is.
    #[inline]
    pub(crate) fn get(&self, key: LogicalPage) -> Place {
        self.table.lookup(key)
    }

    /// `key` is at `to` from now on; where it was before.
    #[inline]
    pub(crate) fn set(&mut self, key: LogicalPage, to: Place) -> Place {
        self.table.set(key, to)
    }

    /// Writes the tombstone page of one region anew, or drops it where nothing in the region is trimmed any more.
    fn write_tombstone<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, region: u32) -> Result<(), FtlError> {
        let mut to = None;
        if self.make_bitmap(region) {
            io.keep_blank()?;
            let version = io.next_version();
            to = Some(io.append(Kind::Tombstone, region, version, &self.trims.bitmap)?);
            self.tombstones_written += 1;
        }
        if let Some(before) = self.trims.set_page(region, to) {
            io.drop_page(before);
        }
        Ok(())
    }

    /// Fills the bitmap with the trims of `region` in the table; whether any page of it is trimmed.
    fn make_bitmap(&mut self, region: u32) -> bool {
        self.trims.bitmap.fill(0);
        let mut any = false;
        for (bit, page) in self.trims.pages_of(region).enumerate() {
            if self.table.lookup(LogicalPage(page)) == Place::Trimmed {
                self.trims.bitmap[bit / 8] |= 1 << (bit % 8);
                any = true;
            }
        }
        any
    }
}

impl Mapping for RamMapping {
    fn purpose(&self) -> Purpose {
        Purpose::Trim
    }

    fn kind(&self) -> Kind {
        Kind::Tombstone
    }

    #[inline]
    fn lookup<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, key: LogicalPage, _before: &mut Vec<Page>) -> Place {
        self.get(key)
    }

    fn peek<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        self.get(key)
    }

    #[inline]
    fn cached(&mut self, key: LogicalPage, now: Time) -> Option<(Place, Time)> {
        Some((self.get(key), now))
    }

    #[inline]
    fn in_table(&self, key: LogicalPage) -> Option<Place> {
        Some(self.get(key))
    }

    #[inline]
    fn prepare<N: Nand>(
        &mut self,
        _io: &mut MetaIo<'_, N>,
        _key: LogicalPage,
        _by_host: bool,
        _before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        Ok(())
    }

    #[inline]
    fn known(&self, key: LogicalPage) -> Option<Place> {
        Some(self.get(key))
    }

    #[inline]
    fn written(&mut self, key: LogicalPage, to: Page) -> Before {
        Before::Known(self.set(key, Place::At(to)))
    }

    #[inline]
    fn moved(&mut self, key: LogicalPage, place: Place) {
        let before = self.set(key, place);
        debug_assert!(matches!(before, Place::At(_)), "{key} is moved and was in no victim");
    }

    #[inline]
    fn judge(&mut self, key: LogicalPage, page: Page) -> Judgement {
        if self.get(key) == Place::At(page) { Judgement::Live } else { Judgement::Stale }
    }

    fn owner_of<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        self.table.owner_of(page)
    }

    fn trim_reach(&self, key: LogicalPage) -> u32 {
        let end = self.trims.pages_of(self.trims.region_of(key)).end;
        (end - key.0).min(self.trim_reach)
    }

    /// Discards logical pages of one region; durable when the pending trims are written.
    fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let region = self.trims.region_of(LogicalPage(pages.start));
        debug_assert!(pages.end <= self.trims.pages_of(region).end, "a trim reaches into another region");
        for key in pages.map(LogicalPage) {
            let old = match self.table.lookup(key) {
                Place::At(old) => Some(old),
                Place::Lost => None,
                Place::Nowhere | Place::Trimmed => continue,
            };
            if self.trims.pending_count() >= PENDING_MAX && !self.trims.is_pending(region) {
                self.write_pending_trims(io, before)?;
            }
            self.table.set(key, Place::Trimmed);
            before.extend(old);
            self.trims.mark_pending(region);
        }
        Ok(())
    }

    #[inline]
    fn has_pending_trims(&self) -> bool {
        self.trims.pending_count() > 0
    }

    fn has_tombstones(&self) -> bool {
        self.trims.any_page()
    }

    /// Writes the tombstones of all pending regions. Not before everything so far is on flash: a tombstone leaves out
    /// pages that have been rewritten since, and must not outlive the rewriting.
    fn write_pending_trims<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        _before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        io.barrier(Barrier::TombstonesAfterRewrites);
        while let Some(region) = self.trims.take_pending() {
            if let Err(error) = self.write_tombstone(io, region) {
                self.trims.mark_pending(region);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes the tombstone pages that stand in `victim` anew, from the table.
    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        io.barrier(Barrier::TombstonesAfterRewrites);
        let geometry = *io.geometry();
        let before = self.tombstones_written;
        for region in 0..self.trims.regions() {
            if self.trims.page_of(region).is_some_and(|p| geometry.block_of(p) == victim) {
                self.write_tombstone(io, region)?;
            }
        }
        Ok(self.tombstones_written - before)
    }

    fn metadata_pages<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>) -> Vec<Page> {
        (0..self.trims.regions()).filter_map(|region| self.trims.page_of(region)).collect()
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.table", self.table.bytes());
        self.trims.ram(ledger);
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("tombstones_written", self.tombstones_written));
    }
}
