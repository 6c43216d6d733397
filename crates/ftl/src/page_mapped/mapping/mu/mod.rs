//! Extents in a µ-Tree (µ-FTL sections 4.2 and 4.3).
//!
//! The tree itself is the composition's: bitmap entries of the validity store may stand in it as well. It is lent with
//! the flash ([`MetaIo::tree`]).
//!
//! - **A request is an extent for each block that it goes to.** Its pages are written one by one, and what was written and goes
//!   on where the page before it ended gathers in RAM; the tree learns of it when the request is done, or with the next page
//!   that is somewhere else. Until then what RAM says counts.
//! - **Invalidation** cuts what is in the tree already: cases 0 to 3 of section 4.2.3 (`cut.rs`).
//! - **Trimmed and lost pages** are extents as well, which the paper does not have. Tombstone pages, which make trims
//!   survive, are made of them as they are of a table in RAM.
//!
//! **Power cuts**, of which the paper says nothing: what is in the tree is in the spare areas of the pages of the host's as
//! well, and in tombstone pages. So nothing in it has to be found again, no bitmap in it can be out of date, and its root
//! may be in the write cache. A recovery scans the spare areas, as that of a table in RAM does, and writes a new tree from
//! what it has found (`recovery/tree.rs`). A page of the tree that goes bad costs no data for the same reason: the drive
//! comes up anew. (What a collection could not read, and the tree says is lost, is the exception, as of a table in RAM after a
//! power cut: ARCHITECTURE.md, *What is not yet so*.)

mod cut;
mod extent;
mod lengths;
mod look;
mod needs;

pub(crate) use extent::{EXTENT_PAGES_MAX, Extent, PART_PAGES, Records, bitmap_key, parts_of_block};
pub(crate) use needs::bitmap_needs;

use lengths::Lengths;

use super::trim_map::{PENDING_MAX, TrimMap, regions};
use super::{Before, Place};
use crate::barriers::Barrier;
use crate::mu_tree::{Layout, MuTree, TreeError};
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page, Purpose, SpareRead};

/// How extents are cut and joined.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    /// Extents put into the tree, and those that went on where another one ended.
    put: u64,
    merged: u64,
    /// By case of section 4.2.3.
    cases: [u64; 4],
    tombstones_written: u64,
    /// What is in the tree by length.
    lengths: Lengths,
}

/// The mapping part.
#[derive(Clone)]
pub(crate) struct MuMapping {
    geometry: Geometry,
    records: Records,
    logical_pages: u32,
    /// Logical pages of a partition: no extent reaches into the next one.
    partition: u32,
    /// Written and not in the tree yet: what may still grow, and one that cannot any more.
    growing: Option<Extent>,
    grown: Option<Extent>,
    /// What [`MuMapping::prepare`] has found.
    prepared: Option<(LogicalPage, Place)>,
    pub(crate) trims: TrimMap,
    /// A page of the tree cannot be read.
    damaged: bool,
    tally: Tally,
}

/// The error of an operation that met a page of the tree which cannot be read: it is done once more when the drive has
/// come up anew.
pub(crate) const TREE_UNREADABLE: FtlError = FtlError::Unsupported("a page of the µ-Tree cannot be read");

/// A tree's error as one of the drive. A tree that is full has a page that is not what was written: it has room for what
/// there can be ([`MuMapping::logical_pages_max`]).
pub(crate) fn of_tree(error: TreeError<FtlError>) -> FtlError {
    match error {
        TreeError::Store(error) => error,
        TreeError::Unreadable(_) | TreeError::TooMany => TREE_UNREADABLE,
    }
}

/// Entries of the tree of a drive at the most.
fn entries_max(geometry: &Geometry, logical_pages: u32) -> u64 {
    u64::from(logical_pages) + u64::from(geometry.blocks()) * u64::from(parts_of_block(geometry))
}

impl MuMapping {
    pub(crate) fn new(geometry: &Geometry, layout: Layout, logical_pages: u32, partition: u32) -> Self {
        Self {
            geometry: *geometry,
            records: Records::of_bits(layout.record_bits()),
            logical_pages,
            partition,
            growing: None,
            grown: None,
            prepared: None,
            trims: TrimMap::new(geometry, logical_pages),
            damaged: false,
            tally: Tally::default(),
        }
    }

    /// How nodes lie in the pages of a drive of this shape, with records of so many bits, or where that is 0 of as many as it
    /// takes to name a page.
    ///
    /// # Errors
    /// Pages are too small for nodes, or a page number does not fit records.
    pub(crate) fn layout(geometry: &Geometry, record_bits: u32) -> Result<Layout, FtlError> {
        let pages = geometry.page_numbers() as u64;
        let fits = |bits: u32| pages <= Records::of_bits(bits).physical_pages_max();
        let page_bytes = geometry.page_bytes() as usize;
        let layout = match record_bits {
            40 => Layout::wide(page_bytes),
            0 if !fits(32) => Layout::wide(page_bytes),
            _ => Layout::new(page_bytes),
        };
        let layout = layout.ok_or(FtlError::Unsupported("pages of this size are too small for a µ-Tree"))?;
        match layout.record_bits() {
            bits if fits(bits) => Ok(layout),
            40 => Err(FtlError::Unsupported("page numbers of a µ-Tree have 31 bits: 8 TiB of pages of 4 KiB")),
            _ => Err(FtlError::Unsupported(
                "records of 32 bits have 25 for a page: 128 GiB of pages of 4 KiB (mapping.record-bits=40 has more)",
            )),
        }
    }

    /// Logical pages of a drive of this shape at the most: in the worst case each is an extent of its own, and the tree has
    /// room for that however they came.
    pub(crate) fn logical_pages_max(geometry: &Geometry, layout: Layout) -> u64 {
        layout.capacity().saturating_sub(entries_max(geometry, 0))
    }

    /// What the tree says of it, or that it cannot be read.
    fn ask<'a, N: Nand, R>(
        &mut self,
        io: &mut MetaIo<'a, N>,
        ask: impl FnOnce(&mut MuTree, &mut MetaIo<'a, N>) -> Result<R, TreeError<FtlError>>,
    ) -> Result<R, FtlError> {
        let answer = io.tree(ask).map_err(of_tree);
        self.damaged |= matches!(answer, Err(TREE_UNREADABLE));
        answer
    }

    /// What is in the tree at or before `key`.
    fn floor<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Result<Option<Extent>, FtlError> {
        let found = self.ask(io, |tree, io| tree.floor(io, key))?;
        Ok(found.and_then(|entry| self.records.extent(entry)))
    }

    /// What is in the tree at or behind `key`.
    fn ceiling<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Result<Option<Extent>, FtlError> {
        let found = self.ask(io, |tree, io| tree.ceiling(io, key))?;
        Ok(found.and_then(|entry| self.records.extent(entry)))
    }

    /// Where `key` is, if RAM knows because it was just written.
    pub(super) fn cached(&self, key: LogicalPage) -> Option<Place> {
        let of = |extent: &Option<Extent>| extent.as_ref().and_then(|extent| extent.place_of(key.0));
        of(&self.growing).or_else(|| of(&self.grown))
    }

    /// The extent that `key` is in, or what of its neighbourhood is nowhere: a page at least.
    fn find<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Result<Extent, FtlError> {
        match self.floor(io, key)?.filter(|extent| extent.end() > key) {
            Some(extent) => Ok(extent),
            None => {
                let next = self.ceiling(io, key)?.map_or(self.logical_pages, |next| next.first);
                let pages = next.saturating_sub(key).clamp(1, EXTENT_PAGES_MAX);
                Ok(Extent { first: key, place: Place::Nowhere, pages })
            }
        }
    }

    /// Where `key` is; lost if the tree cannot be read.
    pub(super) fn lookup<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        if let Some(place) = self.cached(key) {
            return place;
        }
        match self.floor(io, key.0) {
            Ok(extent) => extent.and_then(|extent| extent.place_of(key.0)).unwrap_or(Place::Nowhere),
            Err(_) => Place::Lost,
        }
    }

    /// Finds out where `key` is, and has the tree know what cannot grow with it.
    pub(super) fn prepare<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Result<(), FtlError> {
        self.put_grown(io)?;
        let goes_on = self.growing.is_some_and(|growing| growing.end() == key.0);
        if !goes_on {
            self.put_all(io)?;
        }
        let place = self.lookup(io, key);
        if self.damaged {
            return Err(TREE_UNREADABLE);
        }
        self.prepared = Some((key, place));
        Ok(())
    }

    /// Where `key`, which is prepared, is.
    pub(super) fn known(&self, key: LogicalPage) -> Option<Place> {
        self.cached(key).or_else(|| self.prepared.filter(|(prepared, _)| *prepared == key).map(|(_, place)| place))
    }

    /// `key`, which is prepared, is at `to` from now on.
    pub(super) fn written(&mut self, key: LogicalPage, to: Place) -> Before {
        let before = self.known(key).unwrap_or(Place::Nowhere);
        self.prepared = None;
        match &mut self.growing {
            Some(growing) if growing.goes_on(&self.geometry, self.partition, key, to) => growing.pages += 1,
            growing => {
                let before = growing.replace(Extent { first: key.0, place: to, pages: 1 });
                debug_assert!(self.grown.is_none() || before.is_none());
                self.grown = before.or(self.grown);
            }
        }
        Before::Known(before)
    }

    /// How many extents these places come to, in the order of the pages that they are of.
    pub(crate) fn extents_of(&self, places: impl Iterator<Item = Place>) -> u64 {
        let (mut extents, mut growing) = (0, None::<Extent>);
        for (key, place) in (0..).map(LogicalPage).zip(places).filter(|(_, place)| *place != Place::Nowhere) {
            match &mut growing {
                Some(growing) if growing.goes_on(&self.geometry, self.partition, key, place) => growing.pages += 1,
                growing => {
                    *growing = Some(Extent { first: key.0, place, pages: 1 });
                    extents += 1;
                }
            }
        }
        extents
    }

    /// A recovery has found `key` here; in the order of keys, and nothing is in the tree yet.
    pub(crate) fn found<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        place: Place,
    ) -> Result<(), FtlError> {
        self.put_grown(io)?;
        self.written(key, place);
        Ok(())
    }

    fn put_grown<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if let Some(grown) = self.grown {
            self.put(io, grown)?;
            self.grown = None;
        }
        Ok(())
    }

    /// The tree learns of everything that was written.
    pub(crate) fn put_all<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.put_grown(io)?;
        if let Some(growing) = self.growing {
            self.put(io, growing)?;
            self.growing = None;
        }
        Ok(())
    }

    /// Whose page `page` is. Looks at everything.
    pub(super) fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        let holds = |extent: &Extent| match extent.place {
            Place::At(first) => page.0.checked_sub(first.0).filter(|index| *index < extent.pages),
            _ => None,
        };
        let mut next = Some(0);
        while let Some(extent) = next.and_then(|key| self.ceiling(io, key).ok().flatten()) {
            if let Some(owner) = holds(&extent).map(|index| LogicalPage(extent.first + index))
                && self.cached(owner).is_none()
            {
                return Some(owner);
            }
            next = extent.first.checked_add(1);
        }
        let in_ram = self.growing.iter().chain(&self.grown);
        in_ram.filter_map(|extent| holds(extent).map(|index| LogicalPage(extent.first + index))).next()
    }

    /// As [`RamMapping::trim_reach`](super::RamMapping::trim_reach), and no more updates of the tree at a time than a collection
    /// makes.
    pub(super) fn trim_reach(&self, key: LogicalPage) -> u32 {
        let end = self.trims.pages_of(self.trims.region_of(key)).end;
        (end - key.0).min(super::ram_mapping::trim_reach(&self.geometry)).min(self.geometry.pages_per_block())
    }

    /// Discards logical pages of one region; durable when the pending trims are written.
    pub(super) fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.put_all(io)?;
        let region = self.trims.region_of(LogicalPage(pages.start));
        let mut key = pages.start;
        while key < pages.end {
            let found = self.find(io, key)?;
            let Some(piece) = found.cut(key, pages.end) else { break };
            key = piece.end();
            if let Place::Nowhere | Place::Trimmed = piece.place {
                continue;
            }
            if self.trims.pending_count() >= PENDING_MAX && !self.trims.is_pending(region) {
                self.write_pending(io)?;
            }
            // Of more than one partition, so of more than one extent.
            let mut first = piece.first;
            while first < piece.end() {
                let end = piece.end().min((first / self.partition + 1).saturating_mul(self.partition));
                let put = self.put(io, Extent { first, place: Place::Trimmed, pages: end - first });
                // What could not be programmed is in the write cache: if the tree says trimmed, it is.
                if put.is_ok() || self.is_trimmed(io, first..end) {
                    self.trims.mark_pending(region);
                    if let Some(Extent { place: Place::At(page), pages, .. }) = piece.cut(first, end) {
                        before.extend((page.0..page.0 + pages).map(Page));
                    }
                }
                put?;
                first = end;
            }
        }
        Ok(())
    }

    /// Whether an extent of the tree says so of all of them.
    fn is_trimmed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: Range<u32>) -> bool {
        let found = self.floor(io, pages.start).ok().flatten();
        found.is_some_and(|extent| extent.place == Place::Trimmed && extent.end() >= pages.end)
    }

    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        self.trims.pending_count() > 0
    }

    /// As [`RamMapping::write_pending`](super::RamMapping::write_pending).
    pub(crate) fn write_pending<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<u64, FtlError> {
        self.put_all(io)?;
        io.barrier(Barrier::TombstonesAfterRewrites);
        let written = self.tally.tombstones_written;
        while let Some(region) = self.trims.take_pending() {
            if let Err(error) = self.write_tombstone(io, region) {
                self.trims.mark_pending(region);
                return Err(error);
            }
        }
        Ok(self.tally.tombstones_written - written)
    }

    /// Writes the tombstone page of one region anew, or drops it where nothing in the region is trimmed any more.
    fn write_tombstone<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, region: u32) -> Result<(), FtlError> {
        let mut to = None;
        if self.make_bitmap(io, region)? {
            let bitmap = &self.trims.bitmap;
            to = Some(io.for_purpose(Purpose::Trim, |io| {
                io.keep_blank()?;
                let version = io.next_version();
                io.append(Kind::Tombstone, region, version, bitmap)
            })?);
            self.tally.tombstones_written += 1;
        }
        if let Some(before) = self.trims.set_page(region, to) {
            io.drop_page(before);
        }
        Ok(())
    }

    /// Fills the bitmap with what the tree says of `region`; whether any page of it is trimmed.
    fn make_bitmap<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, region: u32) -> Result<bool, FtlError> {
        let pages = self.trims.pages_of(region);
        // An extent in it may begin before it.
        let before = self.floor(io, pages.start)?;
        let (records, trims) = (self.records, &mut self.trims);
        trims.bitmap.fill(0);
        let mut any = false;
        let mut mark = |extent: Option<Extent>| {
            let piece = extent.and_then(|extent| extent.cut(pages.start, pages.end));
            let Some(piece) = piece.filter(|piece| piece.place == Place::Trimmed) else { return };
            any = true;
            for bit in piece.first - pages.start..piece.end() - pages.start {
                trims.bitmap[bit as usize / 8] |= 1 << (bit % 8);
            }
        };
        mark(before);
        let read = io.tree(|tree, io| tree.for_each(io, pages.clone(), |entry| mark(records.extent(entry))));
        let read = read.map_err(of_tree);
        self.damaged |= matches!(read, Err(TREE_UNREADABLE));
        read.map(|()| any)
    }

    /// Moves what is live in a victim: tombstone pages are written anew, and leaves of the tree with their paths.
    pub(super) fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        self.put_all(io)?;
        io.barrier(Barrier::TombstonesAfterRewrites);
        let geometry = self.geometry;
        let mut moved = 0;
        for region in 0..self.trims.regions() {
            if self.trims.page_of(region).is_some_and(|page| geometry.block_of(page) == victim) {
                self.write_tombstone(io, region)?;
                moved += 1;
            }
        }
        let mut unreadable = None;
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(victim, index);
            match io.read_spare(page) {
                SpareRead::Written(spare) if spare.kind == Kind::Tree => {}
                SpareRead::Written(_) | SpareRead::Erased => continue,
                SpareRead::Unreadable => {
                    unreadable = Some(page);
                    continue;
                }
            }
            match io.tree(|tree, io| tree.relocate(io, page.0)) {
                Ok(is_live) => moved += u64::from(is_live),
                Err(TreeError::Unreadable(at)) if at == page.0 => unreadable = Some(page),
                Err(TreeError::Unreadable(_) | TreeError::TooMany) => {
                    self.damaged = true;
                    return Err(TREE_UNREADABLE);
                }
                Err(TreeError::Store(error)) => return Err(error),
            }
        }
        // What cannot be read counts only if it is live.
        if unreadable.is_some() && self.metadata_pages(io).iter().any(|page| geometry.block_of(*page) == victim) {
            self.damaged = true;
        }
        if self.damaged { Err(TREE_UNREADABLE) } else { Ok(moved) }
    }

    /// The live pages that it keeps on flash: tombstones, and the tree with all that is in it.
    pub(super) fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let tombstones = (0..self.trims.regions()).filter_map(|region| self.trims.page_of(region));
        let mut pages: Vec<Page> = tombstones.collect();
        let nodes_max = self.geometry.pages() * crate::mu_tree::HEIGHT_MAX as u64;
        match self.ask(io, |tree, io| tree.walk(io, nodes_max)) {
            Ok(walk) => {
                debug_assert_eq!(walk.fault, None);
                pages.extend(walk.pages.into_iter().map(Page));
            }
            Err(_) => self.damaged = true,
        }
        pages
    }

    /// The pages on flash of a tree that was not finished.
    pub(crate) fn pages_of_tree<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let tombstones: Vec<Page> = (0..self.trims.regions()).filter_map(|region| self.trims.page_of(region)).collect();
        let mut pages = self.metadata_pages(io);
        pages.retain(|page| !tombstones.contains(page));
        pages
    }

    /// Whether a page of the tree cannot be read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.growing_extents", 3 * 12);
        ledger.index("index.extent_lengths", size_of::<Lengths>() as u64);
        self.trims.ram(ledger);
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("tombstones_written", self.tally.tombstones_written));
        out.push(Counter::sum("extents_put", self.tally.put));
        out.push(Counter::sum("extents_merged", self.tally.merged));
        let names = ["extents_deleted", "extents_split", "extents_cut_right", "extents_cut_left"];
        out.extend(names.iter().zip(self.tally.cases).map(|(name, count)| Counter::sum(name, count)));
        self.tally.lengths.counters(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_40_bits_where_a_page_number_takes_more_than_25() {
        let of = |gib: u64, bits: u32| {
            let geometry = Geometry::new(4096, 128, gib << 11, 1, 1).unwrap();
            MuMapping::layout(&geometry, bits).map(|layout| layout.record_bits())
        };
        assert_eq!((of(127, 0), of(128, 0), of(2048, 0)), (Ok(32), Ok(40), Ok(40)));
        assert_eq!((of(1, 32), of(1, 40)), (Ok(32), Ok(40)));
        assert!(matches!(of(128, 32), Err(FtlError::Unsupported(_))));
    }
}
