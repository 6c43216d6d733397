//! Extents in a µ-Tree (µ-FTL sections 4.2 and 4.3).
//!
//! The tree itself is the composition's: bitmap entries of the validity store may stand in it as well. It is lent with
//! the flash ([`MetaIo::tree`]).
//!
//! - **A request is an extent for each block that it goes to.** Its pages are written one by one. Pages that go on
//!   where the page before them ended gather in RAM. The tree is updated when the request is done, or with the next
//!   page that is elsewhere. Until then RAM counts.
//! - **Invalidation** cuts extents that are in the tree already: cases 0 to 3 of section 4.2.3 (`cut.rs`).
//! - **Trimmed and lost pages** are extents as well, which the paper does not have. Tombstones, which make trims
//!   survive, are made of them as they are of a table in RAM.
//!
//! **Power cuts**, which the paper does not mention: the content of the tree is in the spare areas of user pages as
//! well, and in tombstones. So nothing in it has to be found again, and no bitmap in it can be out of date. Its root
//! may be in the write cache. A recovery scans the spare areas, as that of a table in RAM does, and writes a new tree
//! from them (`durability/scan/tree.rs`). A page of the tree that goes bad costs no data for the same reason: the drive
//! mounts anew. (The exception is a page that a collection could not read and that the tree has as lost. The same
//! exception holds for a table in RAM after a power cut: docs/LIMITATIONS.md.)

mod cut;
mod extent;
mod lengths;
mod look;
mod needs;
mod part;

pub(crate) use extent::{EXTENT_PAGES_MAX, Extent, PART_PAGES, Records, bitmap_key, parts_of_block};
pub(crate) use needs::bitmap_needs;

use lengths::Lengths;
use phelsuma_nand::state::Preserve;

use super::trim_map::{PENDING_MAX, TrimMap, regions};
use super::{Before, Mapping, Place};
use crate::FtlError;
use crate::mu_tree::{Layout, MuTree, TreeError};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Geometry, Kind, LogicalPage, Nand, Page, Purpose};

/// How extents are cut and joined.
#[derive(Clone, Copy, Default, Debug, Preserve)]
struct Tally {
    /// Extents put into the tree, and those that went on where another one ended.
    put: u64,
    merged: u64,
    /// By case of section 4.2.3.
    cases: [u64; 4],
    tombstones_written: u64,
    /// The extents in the tree by length.
    lengths: Lengths,
}

/// The mapping part.
#[derive(Clone, Preserve)]
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

/// The error of an operation that met an unreadable page of the tree: it is repeated when the drive has mounted anew.
pub(crate) const TREE_UNREADABLE: FtlError = FtlError::Unsupported("a page of the µ-Tree cannot be read");

/// A tree's error as one of the drive. A full tree has a page with other content than was written: it has room for
/// every possible entry ([`MuMapping::logical_pages_max`]).
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

    /// How nodes lie in the pages of a drive of this shape, with records of so many bits. With 0 they have as many as
    /// it takes to name a page.
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

    /// Logical pages of a drive of this shape at the most: in the worst case each is an extent of its own, and the tree
    /// has room for that however they came.
    pub(crate) fn logical_pages_max(geometry: &Geometry, layout: Layout) -> u64 {
        layout.capacity().saturating_sub(entries_max(geometry, 0))
    }

    /// The tree's entry for it, or that it cannot be read.
    fn ask<'a, N: Nand, R>(
        &mut self,
        io: &mut MetaIo<'a, N>,
        ask: impl FnOnce(&mut MuTree, &mut MetaIo<'a, N>) -> Result<R, TreeError<FtlError>>,
    ) -> Result<R, FtlError> {
        let answer = io.tree(ask).map_err(of_tree);
        self.damaged |= matches!(answer, Err(TREE_UNREADABLE));
        answer
    }

    /// The entry in the tree at or before `key`.
    fn floor<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Result<Option<Extent>, FtlError> {
        let found = self.ask(io, |tree, io| tree.floor(io, key))?;
        Ok(found.and_then(|entry| self.records.extent(entry)))
    }

    /// The entry in the tree at or behind `key`.
    fn ceiling<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Result<Option<Extent>, FtlError> {
        let found = self.ask(io, |tree, io| tree.ceiling(io, key))?;
        Ok(found.and_then(|entry| self.records.extent(entry)))
    }

    /// Where `key` is, if RAM has it because it was just written.
    fn gathered(&self, key: LogicalPage) -> Option<Place> {
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
    fn place<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        if let Some(place) = self.gathered(key) {
            return place;
        }
        match self.floor(io, key.0) {
            Ok(extent) => extent.and_then(|extent| extent.place_of(key.0)).unwrap_or(Place::Nowhere),
            Err(_) => Place::Lost,
        }
    }

    /// `key`, which is prepared, is at `to` from now on.
    fn enter(&mut self, key: LogicalPage, to: Place) -> Before {
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
        debug_assert!(self.growing.is_none_or(|growing| growing.end() <= key.0), "{key} is found out of order");
        self.enter(key, place);
        Ok(())
    }

    fn put_grown<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if let Some(grown) = self.grown {
            self.put(io, grown)?;
            self.grown = None;
        }
        Ok(())
    }

    /// Everything that was written goes into the tree.
    pub(crate) fn put_all<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.put_grown(io)?;
        if let Some(growing) = self.growing {
            self.put(io, growing)?;
            self.growing = None;
        }
        Ok(())
    }

    /// Whether an extent of the tree says so of all of them.
    fn is_trimmed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: Range<u32>) -> bool {
        let found = self.floor(io, pages.start).ok().flatten();
        found.is_some_and(|extent| extent.place == Place::Trimmed && extent.end() >= pages.end)
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

    /// Fills the bitmap with the trims of `region` in the tree; whether any page of it is trimmed.
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

    /// The pages on flash of a tree that was not finished.
    pub(crate) fn pages_of_tree<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let tombstones: Vec<Page> = (0..self.trims.regions()).filter_map(|region| self.trims.page_of(region)).collect();
        let mut pages = self.metadata_pages(io);
        pages.retain(|page| !tombstones.contains(page));
        pages
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
