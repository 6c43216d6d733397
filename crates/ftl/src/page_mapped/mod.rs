//! Page-mapped FTLs: any page anywhere, as a composition of four parts.
//!
//! *Mapping* says where each logical page is, *validity* which physical pages are live, *victim* which block is
//! collected next, *placement* to which stream a page is written. The composition owns the blocks and does everything
//! that touches flash; the parts own none.

mod collect;
mod mapping;
mod move_buffer;
mod placement;
mod recovery;
mod trim_map;
mod validity;
mod victim;

use crate::blocks::{BlockUse, Blocks, Clock, NewPage, critical_blocks};
use crate::config::{Barrier, Barriers, MappingPart, PlacementPart, ValidityPart, VictimPart};
use crate::ftl::{Ftl, HostData, HostPage, ReadSink, Shape, WriteRequest};
use crate::{ANCHOR_BLOCKS, Config, FtlError, RamLedger, anchor};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use mapping::{Mapping, Place, RamTable};
use move_buffer::MoveBuffer;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Time};
use placement::{HostGc, OneStream, Placement};
use trim_map::{PENDING_MAX, TrimMap, regions};
use validity::{RamBitmap, Validity};
use victim::{DChoices, Fifo, Greedy, Victim};

/// What a page-mapped FTL counts besides flash operations.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    collections: u64,
    pages_moved: u64,
    pages_lost_moving: u64,
    emergency_collections: u64,
    tombstones_written: u64,
    unreadable_reads: u64,
}

/// A page-mapped FTL.
pub(crate) struct PageMapped {
    barriers: Barriers,
    shape: Shape,
    mapping: Box<dyn Mapping>,
    validity: Box<dyn Validity>,
    victim: Box<dyn Victim>,
    placement: Box<dyn Placement>,
    blocks: Blocks,
    trims: TrimMap,
    trim_stream: u8,
    anchors: Vec<Block>,
    live: Vec<u16>,
    moving: MoveBuffer,
    tally: Tally,
}

impl PageMapped {
    /// Makes a blank drive.
    pub(crate) fn format<N: Nand>(nand: &mut N, config: &Config, at: Time) -> Result<(Self, Time), FtlError> {
        let geometry = *nand.geometry();
        let bad = |nand: &N| (0..geometry.blocks()).filter(|b| nand.is_bad(Block(*b))).count() as u32;
        Self::shape_that_fits(&geometry, config, bad(nand))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        // Erasing may have found more of them.
        Self::shape_that_fits(&geometry, config, bad(nand))?;
        let mut ftl = Self::empty(&geometry, config, anchors, Clock::new(geometry.dies(), 0, 0));
        ftl.blocks.bad = bad(nand);
        for block in ftl.usable_blocks(nand) {
            ftl.blocks.release(nand, block);
        }
        Ok((ftl, done))
    }

    /// How the flash is divided.
    fn shape_of(geometry: &Geometry, config: &Config) -> Shape {
        let streams = u32::from(placement_of(config).streams()) + 1;
        let open_blocks = streams * geometry.dies();
        Shape {
            logical_pages: config.logical_pages,
            reserve_blocks: critical_blocks(geometry) + open_blocks + 1,
            open_blocks,
            fixed_blocks: ANCHOR_BLOCKS,
            metadata_programs_per_collection: PENDING_MAX,
        }
    }

    /// Pages that user data can take on a drive with so many bad blocks, and leave collection something to gain.
    fn usable_pages(geometry: &Geometry, shape: &Shape, bad: u32) -> u64 {
        // Each region may have a live tombstone page besides its user pages; counted as if the drive were all logical
        // pages, so that what fits does not depend on what was asked for.
        let most = u32::try_from(geometry.pages()).unwrap_or(u32::MAX);
        let tombstones = regions(geometry, most).div_ceil(geometry.pages_per_block()) + 1;
        let taken = shape.reserve_blocks + shape.open_blocks + shape.fixed_blocks + bad + tombstones;
        u64::from(geometry.blocks().saturating_sub(taken)) * u64::from(geometry.pages_per_block())
    }

    /// How the flash is divided, or why it cannot be.
    fn shape_that_fits(geometry: &Geometry, config: &Config, bad: u32) -> Result<Shape, FtlError> {
        let shape = Self::shape_of(geometry, config);
        let usable_pages = Self::usable_pages(geometry, &shape, bad);
        if config.logical_pages == 0 || u64::from(config.logical_pages) > usable_pages {
            return Err(FtlError::DoesNotFit {
                logical_pages: config.logical_pages,
                reserve_blocks: shape.reserve_blocks,
                open_blocks: shape.open_blocks,
                usable_pages,
                // Rounded down, so that what is printed fits.
                largest_ratio: (usable_pages as u128 * 10_000 / u128::from(geometry.pages())) as f64 / 10_000.0,
            });
        }
        Ok(shape)
    }

    /// A drive with nothing in it and nothing in the pool.
    fn empty(geometry: &Geometry, config: &Config, anchors: Vec<Block>, clock: Clock) -> Self {
        let shape = Self::shape_of(geometry, config);
        let composition = &config.composition;
        let mapping = match composition.mapping {
            MappingPart::RamTable => Box::new(RamTable::new(config.logical_pages)),
        };
        let validity = match composition.validity {
            ValidityPart::RamBitmap => Box::new(RamBitmap::new(geometry)),
        };
        let victim: Box<dyn Victim> = match composition.victim {
            VictimPart::Greedy => Box::new(Greedy::new(geometry.blocks())),
            VictimPart::Fifo => Box::new(Fifo::default()),
            VictimPart::DChoices { d } => Box::new(DChoices::new(d, config.seed)),
        };
        let placement = placement_of(config);
        let trim_stream = placement.streams();
        Self {
            barriers: config.barriers(),
            shape,
            mapping,
            validity,
            victim,
            placement,
            blocks: Blocks::new(*geometry, trim_stream + 1, clock, config.barriers()),
            trims: TrimMap::new(geometry, config.logical_pages),
            trim_stream,
            anchors,
            live: Vec::with_capacity(geometry.pages_per_block() as usize),
            moving: MoveBuffer::new(),
            tally: Tally::default(),
        }
    }

    /// Every block that is neither bad nor the description's.
    fn usable_blocks<N: Nand>(&self, nand: &N) -> Vec<Block> {
        (0..nand.geometry().blocks()).map(Block).filter(|b| !nand.is_bad(*b) && !self.anchors.contains(b)).collect()
    }

    fn check_range(&self, first: LogicalPage, pages: u32) -> Result<(), FtlError> {
        let last = u64::from(first.0) + u64::from(pages);
        if last > u64::from(self.shape.logical_pages) {
            return Err(FtlError::OutOfRange {
                first: u64::from(first.0),
                last: last - 1,
                logical_pages: self.shape.logical_pages,
            });
        }
        Ok(())
    }

    /// Tells the victim policy of blocks that have been closed.
    #[inline]
    fn hear_of_closed(&mut self) {
        while let Some(block) = self.blocks.take_closed() {
            self.victim.closed(&self.blocks.counters, block);
        }
    }

    /// A page that was live is so no longer.
    #[inline]
    fn drop_user_page(&mut self, page: Page) {
        self.validity.invalidate(page);
        self.drop_count(page);
    }

    #[inline]
    fn drop_count(&mut self, page: Page) {
        let block = self.blocks.geometry().block_of(page);
        self.blocks.counters.remove(block);
        self.victim.invalidated(&self.blocks.counters, block);
    }

    /// Writes the tombstone pages of all pending regions. Not before everything so far is on flash: a tombstone page
    /// leaves out what has been rewritten since, and must not outlive the rewriting.
    fn write_pending_trims<N: Nand>(
        &mut self,
        nand: &mut N,
        label: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let at = at.max(self.blocks.clock.horizon());
        while let Some(region) = self.trims.take_pending() {
            done = done.max(self.write_tombstone(nand, region, label, purpose, at)?);
        }
        Ok(done)
    }

    /// Writes the tombstone page of one region anew, or drops it where nothing in the region is trimmed any more.
    fn write_tombstone<N: Nand>(
        &mut self,
        nand: &mut N,
        region: u32,
        label: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let mut to = None;
        if self.trims.make_bitmap(self.mapping.as_ref(), region) {
            let content = phelsuma_nand::Content::Bytes(&self.trims.bitmap);
            let page = NewPage {
                kind: Kind::Tombstone,
                key: region,
                version: self.blocks.clock.next_version(),
                content,
                data_crc: content.crc(),
            };
            let (written, safe) = self.blocks.append(nand, self.trim_stream, label, &page, purpose, at)?;
            self.tally.tombstones_written += 1;
            to = Some(written);
            done = safe;
            self.hear_of_closed();
        }
        if let Some(before) = self.trims.set_page(region, to) {
            self.drop_count(before);
        }
        Ok(done)
    }
}

fn placement_of(config: &Config) -> Box<dyn Placement> {
    match config.composition.placement {
        PlacementPart::OneStream => Box::new(OneStream),
        PlacementPart::HostGc => Box::new(HostGc),
    }
}

impl<N: Nand> Ftl<N> for PageMapped {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        self.check_range(request.first, request.pages)?;
        let page_bytes = self.blocks.geometry().page_bytes();
        if let HostData::Bytes(bytes) = request.data
            && bytes.len() as u64 != u64::from(request.pages) * u64::from(page_bytes)
        {
            return Err(FtlError::Length { given: bytes.len(), pages: request.pages, page_bytes });
        }
        let mut done = at;
        for index in 0..request.pages {
            let key = LogicalPage(request.first.0 + index);
            if self.blocks.free() < self.shape.reserve_blocks {
                self.make_space(nand, at)?;
            }
            let content = request.data.page(index, page_bytes);
            let page = NewPage {
                kind: Kind::User,
                key: key.0,
                version: self.blocks.clock.next_version(),
                content,
                data_crc: content.crc(),
            };
            let stream = self.placement.host();
            let (to, safe) = self.blocks.append(nand, stream, stream, &page, Purpose::Host, at)?;
            self.validity.validate(to);
            if let Place::At(old) = self.mapping.set(key, Place::At(to)) {
                self.drop_user_page(old);
            }
            self.hear_of_closed();
            done = done.max(safe);
        }
        Ok(done)
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        self.check_range(first, pages)?;
        let mut done = at;
        for index in 0..pages {
            let key = LogicalPage(first.0 + index);
            let page = match self.mapping.lookup(key) {
                Place::At(page) => page,
                Place::Lost => {
                    self.tally.unreadable_reads += 1;
                    sink.page(key, HostPage::Unreadable);
                    continue;
                }
                Place::Nowhere | Place::Trimmed => {
                    sink.page(key, HostPage::Zeros);
                    continue;
                }
            };
            let (read, ready) = nand.read(page, Op::new(at, cause));
            done = done.max(ready);
            match PageRead::verified(read) {
                Some((content, spare)) if spare.kind == Kind::User && spare.key == key.0 => {
                    sink.page(key, HostPage::Data(content));
                }
                _ => {
                    self.tally.unreadable_reads += 1;
                    sink.page(key, HostPage::Unreadable);
                }
            }
        }
        Ok(done)
    }

    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.check_range(first, pages)?;
        let mut done = at;
        for key in (first.0..first.0 + pages).map(LogicalPage) {
            let old = match self.mapping.lookup(key) {
                Place::At(old) => Some(old),
                Place::Lost => None,
                Place::Nowhere | Place::Trimmed => continue,
            };
            let region = self.trims.region_of(key);
            if self.trims.pending_count() >= PENDING_MAX {
                self.make_space(nand, at)?;
                done = done.max(self.write_pending_trims(nand, self.trim_stream, Purpose::Trim, at)?);
            }
            self.mapping.set(key, Place::Trimmed);
            if let Some(old) = old {
                self.drop_user_page(old);
            }
            self.trims.mark_pending(region);
        }
        Ok(done)
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        if self.trims.pending_count() > 0 && !self.barriers.forget(Barrier::TrimsAtFlush) {
            self.make_space(nand, at)?;
            done = self.write_pending_trims(nand, self.trim_stream, Purpose::Trim, at)?;
        }
        Ok(done.max(self.blocks.clock.horizon()))
    }

    fn warm(&self, pages: &[LogicalPage]) {
        // Loads that do not wait for each other: first the entries, then the bits of the pages they name.
        let mut old = [Page(0); 16];
        for chunk in pages.chunks(old.len()) {
            for (old, page) in old.iter_mut().zip(chunk) {
                let known = page.0 < self.shape.logical_pages;
                *old = match if known { self.mapping.lookup(*page) } else { Place::Nowhere } {
                    Place::At(page) => page,
                    _ => Page(0),
                };
            }
            let live = old.iter().filter(|page| self.validity.is_live(**page)).count();
            core::hint::black_box(live);
        }
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        self.mapping.ram(&mut ledger);
        self.validity.ram(&mut ledger);
        self.victim.ram(&mut ledger);
        self.blocks.ram(&mut ledger);
        self.trims.ram(&mut ledger);
        ledger.index("buffer.live_pages", self.live.capacity() as u64 * 2);
        ledger.index("buffer.moving", self.moving.bytes());
        ledger
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("collections", self.tally.collections),
            ("pages_moved", self.tally.pages_moved),
            ("pages_lost_moving", self.tally.pages_lost_moving),
            ("emergency_collections", self.tally.emergency_collections),
            ("tombstones_written", self.tally.tombstones_written),
            ("unreadable_reads", self.tally.unreadable_reads),
            ("free_blocks", u64::from(self.blocks.free())),
            ("bad_blocks", u64::from(self.blocks.bad)),
        ]
    }

    fn check(&self, nand: &mut N) -> Vec<String> {
        let mut findings = Vec::new();
        let geometry = *nand.geometry();
        let mut live = vec![0u16; geometry.blocks() as usize];
        let mut mapped: Vec<Page> = Vec::new();
        for key in (0..self.shape.logical_pages).map(LogicalPage) {
            if let Place::At(page) = self.mapping.lookup(key) {
                mapped.push(page);
                live[geometry.block_of(page).index()] += 1;
                match nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
                    phelsuma_nand::SpareRead::Written(s) if s.kind == Kind::User && s.key == key.0 => {}
                    other => findings.push(format!("{key} is mapped to {page}, whose spare area says {other:?}")),
                }
            }
        }
        mapped.sort_unstable();
        let mut of_block = Vec::new();
        let mut valid: Vec<Page> = Vec::new();
        for block in (0..geometry.blocks()).map(Block) {
            of_block.clear();
            self.validity.live_in(block, &mut of_block);
            valid.extend(of_block.iter().map(|i| geometry.page(block, u32::from(*i))));
        }
        if mapped != valid {
            findings.push(format!("{} pages are mapped and {} valid, or not the same ones", mapped.len(), valid.len()));
        }
        for region in 0..self.trims.regions() {
            if let Some(page) = self.trims.page_of(region) {
                live[geometry.block_of(page).index()] += 1;
            }
        }
        let mut free = 0;
        for block in (0..geometry.blocks()).map(Block) {
            let counted = self.blocks.counters.live(block);
            if counted != live[block.index()] {
                findings.push(format!("{block} has {} live pages and {counted} counted", live[block.index()]));
            }
            let use_of = self.blocks.use_of(block);
            free += u32::from(use_of == BlockUse::Free);
            if self.blocks.counters.is_candidate(block) != (use_of == BlockUse::Closed) {
                findings.push(format!("{block} is {use_of:?}, and being a candidate disagrees"));
            }
            if use_of == BlockUse::Free && live[block.index()] > 0 {
                findings.push(format!("{block} is free with {} live pages", live[block.index()]));
            }
        }
        if free != self.blocks.free() {
            findings.push(format!("{free} blocks are free and {} counted", self.blocks.free()));
        }
        findings
    }
}
