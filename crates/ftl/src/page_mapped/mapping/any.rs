//! One of the mapping parts, chosen when the drive is put together.

use super::{Before, Judgement, LastPlace, Mapping, MuMapping, PagedMapping, Place, RamMapping};
use crate::config::MappingPart;
use crate::mu_tree::MuTree;
use crate::page_mapped::meta_io::MetaIo;
use crate::{Config, Counter, ExtentLook, FtlError, PageParts, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page, Purpose, Time};

/// The mapping part that a drive has.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is used for every page")]
pub(crate) enum AnyMapping {
    /// The whole table in RAM.
    Ram(RamMapping),
    /// Translation pages on flash, a directory and a cache in RAM.
    Paged(PagedMapping),
    /// Extents in a µ-Tree on flash.
    Mu(MuMapping),
}

/// Calls the one that it is.
macro_rules! each {
    ($mapping:expr, $part:ident => $ask:expr) => {
        match $mapping {
            AnyMapping::Ram($part) => $ask,
            AnyMapping::Paged($part) => $ask,
            AnyMapping::Mu($part) => $ask,
        }
    };
}

impl AnyMapping {
    /// The one that a drive is to have. Its extents, if it has any, reach into no other partition of so many pages.
    ///
    /// # Errors
    /// Pages are too small for nodes of a tree, or their numbers too large.
    pub(crate) fn of(geometry: &Geometry, config: &Config<PageParts>, partition: u32) -> Result<Self, FtlError> {
        let logical_pages = config.logical_pages;
        Ok(match config.composition.mapping {
            MappingPart::RamTable => RamMapping::new(geometry, logical_pages).into(),
            MappingPart::MuTree { record_bits, .. } => {
                let layout = MuMapping::layout(geometry, record_bits)?;
                MuMapping::new(geometry, layout, logical_pages, partition).into()
            }
            MappingPart::Paged { on_miss, evict, prefetch, condense, log, dirty, directory, .. } => {
                let room = config.composition.mapping.cache_room(logical_pages);
                let entries = PagedMapping::cache_entries_of(room, evict);
                let (how, barriers) = ((on_miss, evict), config.barriers());
                let mut paged = PagedMapping::new(geometry, logical_pages, entries, how, directory, barriers);
                paged.limit_dirty(dirty, config.composition.power);
                paged.prefetch(prefetch);
                paged.condense(geometry.dies(), condense, room);
                if log > 0 {
                    paged.keep_log(geometry, log);
                }
                paged.into()
            }
        })
    }
}

impl AnyMapping {
    /// The demand-paged mapping, if it is one.
    pub(crate) fn paged_mut(&mut self) -> Option<&mut PagedMapping> {
        match self {
            Self::Ram(_) | Self::Mu(_) => None,
            Self::Paged(paged) => Some(paged),
        }
    }
}

impl From<RamMapping> for AnyMapping {
    fn from(ram: RamMapping) -> Self {
        Self::Ram(ram)
    }
}

impl From<PagedMapping> for AnyMapping {
    fn from(paged: PagedMapping) -> Self {
        Self::Paged(paged)
    }
}

impl From<MuMapping> for AnyMapping {
    fn from(mu: MuMapping) -> Self {
        Self::Mu(mu)
    }
}

/// The error for a recovery of another mapping.
const ANOTHER: FtlError = FtlError::Unsupported("there is no recovery like this for an FTL with this mapping");

impl TryFrom<AnyMapping> for RamMapping {
    type Error = FtlError;

    fn try_from(mapping: AnyMapping) -> Result<Self, FtlError> {
        if let AnyMapping::Ram(ram) = mapping { Ok(ram) } else { Err(ANOTHER) }
    }
}

impl TryFrom<AnyMapping> for PagedMapping {
    type Error = FtlError;

    fn try_from(mapping: AnyMapping) -> Result<Self, FtlError> {
        if let AnyMapping::Paged(paged) = mapping { Ok(paged) } else { Err(ANOTHER) }
    }
}

impl TryFrom<AnyMapping> for MuMapping {
    type Error = FtlError;

    fn try_from(mapping: AnyMapping) -> Result<Self, FtlError> {
        if let AnyMapping::Mu(mu) = mapping { Ok(mu) } else { Err(ANOTHER) }
    }
}

impl Mapping for AnyMapping {
    #[inline]
    fn purpose(&self) -> Purpose {
        each!(self, own => own.purpose())
    }

    fn kind(&self) -> Kind {
        each!(self, own => own.kind())
    }

    #[inline]
    fn is_lazy(&self) -> bool {
        each!(self, own => own.is_lazy())
    }

    #[inline]
    fn requested(&mut self, pages: Range<u32>) {
        each!(self, own => own.requested(pages));
    }

    #[inline]
    fn lookup<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage, before: &mut Vec<Page>) -> Place {
        each!(self, own => own.lookup(io, key, before))
    }

    #[inline]
    fn lookups_program(&self) -> bool {
        each!(self, own => own.lookups_program())
    }

    fn places_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32, places: &mut Vec<(LogicalPage, Page)>) {
        each!(self, own => own.places_of(io, part, places))
    }

    fn peek<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        each!(self, own => own.peek(io, key))
    }

    #[inline]
    fn cached(&mut self, key: LogicalPage, now: Time) -> Option<(Place, Time)> {
        each!(self, own => own.cached(key, now))
    }

    #[inline]
    fn in_table(&self, key: LogicalPage) -> Option<Place> {
        each!(self, own => own.in_table(key))
    }

    #[inline]
    fn warm<N: Nand>(&self, nand: &N, entered: impl Iterator<Item = LogicalPage> + Clone, by_host: bool) -> bool {
        each!(self, own => own.warm(nand, entered, by_host))
    }

    #[inline]
    fn prepare<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        by_host: bool,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        each!(self, own => own.prepare(io, key, by_host, before))
    }

    #[inline]
    fn known(&self, key: LogicalPage) -> Option<Place> {
        each!(self, own => own.known(key))
    }

    fn fetch_for_placement(&mut self, fetches: bool) {
        each!(self, own => own.fetch_for_placement(fetches))
    }

    #[inline]
    fn last_place(&self, key: LogicalPage) -> LastPlace {
        each!(self, own => own.last_place(key))
    }

    #[inline]
    fn written(&mut self, key: LogicalPage, to: Page) -> Before {
        each!(self, own => own.written(key, to))
    }

    #[inline]
    fn request_written<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        each!(self, own => own.request_written(io))
    }

    #[inline]
    fn moved(&mut self, key: LogicalPage, place: Place) {
        each!(self, own => own.moved(key, place))
    }

    #[inline]
    fn judge(&mut self, key: LogicalPage, page: Page) -> Judgement {
        each!(self, own => own.judge(key, page))
    }

    fn victim_given_up(&mut self) {
        each!(self, own => own.victim_given_up());
    }

    #[inline]
    fn judges_by_flash(&self) -> bool {
        each!(self, own => own.judges_by_flash())
    }

    fn look_up_for_judging<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, keys: impl Iterator<Item = LogicalPage>) {
        each!(self, own => own.look_up_for_judging(io, keys))
    }

    fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        each!(self, own => own.owner_of(io, page))
    }

    #[inline]
    fn marks_lost(&self) -> bool {
        each!(self, own => own.marks_lost())
    }

    fn trim_reach(&self, key: LogicalPage) -> u32 {
        each!(self, own => own.trim_reach(key))
    }

    fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        each!(self, own => own.trim(io, pages, before))
    }

    #[inline]
    fn has_pending_trims(&self) -> bool {
        each!(self, own => own.has_pending_trims())
    }

    #[inline]
    fn has_tombstones(&self) -> bool {
        each!(self, own => own.has_tombstones())
    }

    fn write_pending_trims<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, before: &mut Vec<Page>) -> Result<(), FtlError> {
        each!(self, own => own.write_pending_trims(io, before))
    }

    fn parts(&self) -> u32 {
        each!(self, own => own.parts())
    }

    #[inline]
    fn part_of(&self, key: LogicalPage) -> u32 {
        each!(self, own => own.part_of(key))
    }

    #[inline]
    fn is_dirty(&self, part: u32) -> bool {
        each!(self, own => own.is_dirty(part))
    }

    fn synchronize_part<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        each!(self, own => own.synchronize_part(io, part, before))
    }

    fn lose_unreadable<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: &[LogicalPage],
        before: &mut Vec<Page>,
    ) -> Result<bool, FtlError> {
        each!(self, own => own.lose_unreadable(io, keys, before))
    }

    fn synchronize_next<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        from: u32,
        before: &mut Vec<Page>,
    ) -> Result<Option<u32>, FtlError> {
        each!(self, own => own.synchronize_next(io, from, before))
    }

    #[inline]
    fn is_damaged(&self) -> bool {
        each!(self, own => own.is_damaged())
    }

    #[inline]
    fn is_unreadable(&self) -> bool {
        each!(self, own => own.is_unreadable())
    }

    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        each!(self, own => own.relocate(io, victim))
    }

    #[inline]
    fn programs_to_move(&self) -> u32 {
        each!(self, own => own.programs_to_move())
    }

    fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        each!(self, own => own.metadata_pages(io))
    }

    fn unidentified<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, unsure: bool) -> Vec<Page> {
        each!(self, own => own.unidentified(io, unsure))
    }

    fn part_amiss<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Option<u32> {
        each!(self, part => part.part_amiss(io))
    }

    fn extents<N: Nand>(&self, nand: &mut N, tree: &MuTree) -> Option<Vec<ExtentLook>> {
        each!(self, own => own.extents(nand, tree))
    }

    fn ram(&self, ledger: &mut RamLedger) {
        each!(self, own => own.ram(ledger))
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        each!(self, own => own.counters(out))
    }
}
