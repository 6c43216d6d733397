//! Page-mapped FTLs: any page anywhere, as a composition of four parts.
//!
//! *Mapping* says where each logical page is, *validity* which physical pages are live, *victim* which block is
//! collected next, *placement* to which stream a page is written. The composition owns the blocks and does everything
//! that touches flash; the parts own none.

mod check;
mod collect;
mod mapping;
mod move_buffer;
mod placement;
mod recovery;
mod shape;
mod trim_map;
mod trims;
mod validity;
mod victim;

use crate::blocks::{Blocks, Clock, NewPage};
use crate::config::{Barrier, Barriers, MappingPart, PlacementPart, ValidityPart, VictimPart};
use crate::ftl::{Ftl, HostData, HostPage, ReadSink, Shape, WriteRequest};
use crate::{Config, FtlError, RamLedger, anchor};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use mapping::{Mapping, Place, RamTable};
use move_buffer::MoveBuffer;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Time};
use placement::{HostGc, OneStream, Placement};
use trim_map::{PENDING_MAX, TrimMap};
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
            ftl.blocks.release(block);
        }
        Ok((ftl, done))
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
            VictimPart::DChoices { d } => Box::new(DChoices::new(d, geometry.pages_per_block(), config.seed)),
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
        self.findings(nand)
    }
}
