//! Page-mapped FTLs: any page anywhere, as a composition of four parts.
//!
//! *Mapping* says where each logical page is, *validity* which physical pages are live, *victim* which block is
//! collected next, *placement* to which stream a page is written. The composition owns the blocks and does everything
//! that touches flash; the parts own none.

mod check;
mod collect;
mod directory;
mod durability;
mod integrity;
mod look;
mod mapping;
mod mending;
mod meta_io;
mod move_buffer;
mod needs;
mod placement;
mod recount;
mod recovery;
mod sampling;
pub(crate) mod saved;
mod shape;
mod sorting;
mod validity;
mod victim;
mod wear;

use crate::barriers::{Barrier, Barriers};
use crate::blocks::{Blocks, Item, Wear};
use crate::config::{MappingPart, MetadataPart, PowerPart, ValidityPart, VictimPart, WearPart};
use crate::ftl::{Ftl, Hint, ReadSink, Shape, Step, WriteRequest};
use crate::medium::host_read::{self, FindPages, Sought};
use crate::medium::marks::{PointsBack, SpareMarks};
use crate::medium::{Clock, FirstPages, NewPage, anchor};
use crate::mu_tree::MuTree;
use crate::{BlockLook, Counter, ExtentLook, Finding, FtlError, GeckoLook, PageParts, RamLedger};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use durability::{Durability, GeckoRec, ScanFrom, Scheme, Young};
use integrity::Integrity;
use mapping::{AnyMapping, Before, LastPlace, Mapping, MuMapping, PagedMapping, Place, RamMapping};
use mending::partition_of;
use meta_io::MetaIo;
use move_buffer::MoveBuffer;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};
use placement::Placement;
use sampling::Sampling;
use shape::{Streams, cache_entries, layout_of_tree};
use sorting::{Sorting, placement_of};
use validity::{AnyValidity, BitmapCache, FlashBitmap, LogarithmicGecko, PageValidityLog, RamBitmap, Tuning, Validity};
use victim::{Chain, CostAge, DChoices, DualGreedy, Fifo, Greedy, Oracle, Sampled, StaticQuota, Victim};

/// An FTL of this family.
type Config = crate::Config<PageParts>;

/// What a page-mapped FTL counts besides flash operations.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    collections: u64,
    pages_moved: u64,
    pages_lost_moving: u64,
    emergency_collections: u64,
    metadata_collections: u64,
    metadata_pages_moved: u64,
    metadata_fallbacks: u64,
    unreadable_reads: u64,
    wear_collections: u64,
    wear_pages_moved: u64,
    choices: u64,
    blocks_examined: u64,
    blocks_examined_max: u64,
    trees_written_anew: u64,
    /// RAM that this took while it lasted, in bytes.
    mending_bytes: u64,
}

/// A page-mapped FTL.
#[derive(Clone)]
pub(crate) struct PageMapped {
    barriers: Barriers,
    shape: Shape,
    battery: bool,
    /// With fewer blocks free nothing is written but by the battery. None without one.
    least_free: u32,
    mapping: AnyMapping,
    validity: AnyValidity,
    victim: Box<dyn Victim>,
    placement: Box<dyn Placement>,
    sorting: Sorting,
    blocks: Blocks,
    durability: Durability,
    /// Where the live pages of a sample of the blocks are counted alone.
    sampling: Option<Sampling>,
    streams: Streams,
    anchors: Vec<Block>,
    live: Vec<u16>,
    moving: MoveBuffer,
    /// When dirty entries are written that need not go.
    integrity: Integrity,
    /// Pages found to be stale while the mapping was at work; empty between requests.
    before: Vec<Page>,
    /// Blocks looked at for the choice of the victim.
    examined: u32,
    /// When the live pages were last counted anew, in program order (`recount.rs`).
    recounted: Option<u64>,
    tally: Tally,
    /// The index that mapping and validity may share.
    tree: Option<MuTree>,
    /// What the drive comes up with once more if a page of the tree goes bad.
    mended_with: Option<Box<Config>>,
    /// What counters had come to before it came up anew, where they began anew with it.
    carried: Vec<Counter>,
    /// Blocks without a live page that wait for a pending trim.
    died: Vec<Block>,
}

/// Lends the flash to the mapping: the fields that it needs are borrowed one by one.
macro_rules! mapping_io {
    ($self:ident, $nand:expr, $at:expr) => {
        &mut MetaIo::new(
            $nand,
            (&mut $self.blocks, &mut $self.durability),
            $self.streams.mapping,
            $self.mapping.purpose(),
            $at,
        )
        .with_tree(&mut $self.tree)
    };
}

/// Lends the flash to the validity store.
macro_rules! validity_io {
    ($self:ident, $nand:expr, $at:expr) => {
        &mut MetaIo::new(
            $nand,
            (&mut $self.blocks, &mut $self.durability),
            $self.streams.validity,
            Purpose::Validity,
            $at,
        )
        .with_tree(&mut $self.tree)
    };
}

pub(crate) use {mapping_io, validity_io};

impl PageMapped {
    /// Makes a blank drive.
    pub(crate) fn format<N: Nand>(nand: &mut N, config: &Config, at: Time) -> Result<(Self, Time), FtlError> {
        let geometry = *nand.geometry();
        let bad = |nand: &N| (0..geometry.blocks()).filter(|b| nand.is_bad(Block(*b))).count() as u32;
        Self::shape_that_fits(&geometry, config, bad(nand))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        // Erasing may have found more of them.
        Self::shape_that_fits(&geometry, config, bad(nand))?;
        let mut ftl = Self::empty(&geometry, config, anchors, Clock::new(geometry.dies(), 0, 0))?;
        ftl.blocks.found_bad(bad(nand));
        if let Some(wear) = &mut ftl.blocks.wear {
            wear.formatted();
        }
        for block in ftl.usable_blocks(nand) {
            ftl.blocks.release(block);
        }
        ftl.keep_sample(None);
        ftl.blocks.note_first_pages(&FirstPages::default(), 0);
        Ok((ftl, done))
    }

    /// A drive with nothing in it and nothing in the pool.
    fn empty(geometry: &Geometry, config: &Config, anchors: Vec<Block>, clock: Clock) -> Result<Self, FtlError> {
        let shape = Self::shape_of(geometry, config)?;
        let composition = &config.composition;
        let logical_pages = config.logical_pages;
        let mapping = match composition.mapping {
            MappingPart::RamTable => AnyMapping::Ram(RamMapping::new(geometry, logical_pages)),
            MappingPart::MuTree { .. } => {
                let layout = layout_of_tree(geometry, config)?;
                AnyMapping::Mu(MuMapping::new(geometry, layout, logical_pages, partition_of(config)))
            }
            MappingPart::Paged { cache_entries: asked, on_miss, dirty, directory } => {
                let entries = cache_entries(logical_pages, asked);
                let barriers = config.barriers();
                let mut paged = PagedMapping::new(geometry, logical_pages, entries, on_miss, directory, barriers);
                paged.limit_dirty(dirty, composition.power);
                AnyMapping::Paged(paged)
            }
        };
        let mut validity = match composition.validity {
            ValidityPart::RamBitmap => AnyValidity::Ram(RamBitmap::new(geometry)),
            ValidityPart::FlashBitmap => AnyValidity::Flash(FlashBitmap::new(geometry)),
            ValidityPart::MuTree { bitmap_cache } => {
                AnyValidity::Mu(BitmapCache::new(geometry, layout_of_tree(geometry, config)?, bitmap_cache))
            }
            ValidityPart::Gecko { size_ratio, partitions, merge } => {
                let tuning = Tuning::new(geometry, size_ratio, partitions, merge)?;
                AnyValidity::Gecko(LogarithmicGecko::new(geometry, tuning, config.barriers()))
            }
            ValidityPart::PageValidityLog => {
                AnyValidity::Log(PageValidityLog::new(geometry, logical_pages, config.barriers()))
            }
        };
        let victim: Box<dyn Victim> = match composition.victim {
            VictimPart::Greedy => Box::new(Greedy::new(geometry.blocks())),
            VictimPart::Fifo => Box::new(Fifo::default()),
            VictimPart::DChoices { d } => Box::new(DChoices::new(d, geometry.pages_per_block(), config.seed)),
            VictimPart::Sampled { .. } => Box::new(Sampled),
            VictimPart::DualGreedy => Box::new(DualGreedy),
            VictimPart::CostBenefit => Box::new(CostAge::cost_benefit()),
            VictimPart::CostBenefitSealed => Box::new(CostAge::cost_benefit_sealed()),
            VictimPart::Midas => Box::new(Chain::new(geometry.blocks())),
            VictimPart::StaticQuota => Box::new(StaticQuota),
            VictimPart::Oracle => Box::new(Oracle),
            VictimPart::Cat { wear } => Box::new(CostAge::cost_age_times(wear)),
        };
        let sampling = match composition.victim {
            VictimPart::Sampled { blocks, looks } => Some(Sampling::new(geometry.blocks(), blocks, looks)),
            _ => None,
        };
        let placement = placement_of(composition.placement, logical_pages);
        let sorting = Sorting::of(placement.asks());
        let streams = Streams::of(geometry, config);
        let collects_metadata = composition.metadata == MetadataPart::Collected;
        let mut blocks =
            Blocks::new(*geometry, streams.count, streams.mapping, collects_metadata, clock, config.barriers());
        blocks.note(victim.wants().or(placement.wants()));
        if validity.is_on_flash() {
            blocks.news.tell_of_erases();
        }
        if let (WearPart::Levelling { threshold, looks }, Some(cold)) = (composition.wear, streams.cold) {
            blocks.wear = Some(Wear::new(cold, looks, threshold));
        }
        let mut mapping = mapping;
        if placement.asks().fetches {
            mapping.fetch_for_placement();
        }
        let mut scheme = Scheme::Nothing;
        if composition.power == PowerPart::GeckoRec
            && let (AnyMapping::Paged(paged), Some(buffer_entries)) = (&mut mapping, validity.tell_of_leaving())
        {
            paged.take_checkpoints(ScanFrom::default());
            scheme = Scheme::GeckoRec(GeckoRec::new(geometry, buffer_entries, config.barriers()));
        }
        if composition.power == PowerPart::Synchronize
            && let (AnyMapping::Paged(paged), Some(_)) = (&mut mapping, validity.tell_of_leaving())
        {
            paged.name_trimmed();
            scheme = Scheme::Pointing(Young::new(geometry, config.barriers()));
        }
        Ok(Self {
            barriers: config.barriers(),
            shape,
            battery: composition.has_battery(),
            least_free: Self::least_free(geometry, config)?,
            mapping,
            validity,
            victim,
            placement,
            sorting,
            blocks,
            durability: Durability::new(scheme),
            sampling,
            streams,
            anchors,
            live: Vec::with_capacity(geometry.pages_per_block() as usize),
            moving: MoveBuffer::new(),
            integrity: Integrity::of(composition, geometry.pages_per_block()),
            before: Vec::new(),
            examined: 0,
            recounted: None,
            tally: Tally::default(),
            tree: Self::tree_of(geometry, config)?,
            carried: Vec::new(),
            died: Vec::new(),
            mended_with: matches!(composition.mapping, MappingPart::MuTree { .. }).then(|| Box::new(config.clone())),
        })
    }

    /// Every block that is neither bad nor the description's.
    fn usable_blocks<N: Nand>(&self, nand: &N) -> Vec<Block> {
        (0..nand.geometry().blocks()).map(Block).filter(|b| !nand.is_bad(*b) && !self.anchors.contains(b)).collect()
    }

    /// Passes on what has happened to blocks.
    #[inline]
    fn hear_news<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.blocks.news.is_empty() { Ok(()) } else { self.pass_on_news(nand, at) }
    }

    #[inline(never)]
    fn pass_on_news<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        while let Some(item) = self.blocks.news.next() {
            match item {
                Item::Closed(block) => self.victim.closed(&self.blocks.counters, block),
                Item::Lowered(block) => self.victim.invalidated(&self.blocks.counters, block),
                Item::Erased(_) if !self.barriers.keeps(Barrier::ErasesReported) => {}
                Item::Erased(block) => self.validity.erased(validity_io!(self, nand, at), block)?,
                Item::Freed(_) if !self.barriers.keeps(Barrier::FreedReported) => {}
                Item::Freed(block) => {
                    self.durability.freed_is_told(block);
                    self.validity.freed(validity_io!(self, nand, at), block)?;
                }
                Item::Failed(_) if !self.barriers.keeps(Barrier::FailuresReported) => {}
                Item::Failed(page) => self.validity.failed(validity_io!(self, nand, at), page)?,
                Item::Emptied(block) => self.release_if_emptied(block),
            }
            self.blocks.news.heard();
        }
        Ok(())
    }

    fn release_if_emptied(&mut self, block: Block) {
        if self.blocks.is_emptied(block) {
            if self.blocks.is_candidate(block) {
                self.blocks.begin_collection(block);
                self.victim.taken(&self.blocks.counters, block);
            }
            self.durability.release(&mut self.blocks, block);
        }
    }

    /// Flushes Gecko's buffer where blocks wait for it, or a recovery would have to look back too far.
    #[inline]
    fn flush_if_wanted<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.durability.wants_checkpoint(&self.blocks) {
            self.hear_news(nand, at)?;
            self.validity.checkpoint(validity_io!(self, nand, at))?;
            self.hear_news(nand, at)?;
        }
        Ok(())
    }

    /// A user page is live no longer.
    #[inline]
    fn drop_user_page<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> Result<(), FtlError> {
        // A table on flash may name any page, with a checksum that fits.
        let is_there = self.blocks.geometry().contains(page);
        if !is_there || self.points_back() && self.validity.is_damaged() && self.is_mapped(nand, page, at) {
            return Ok(());
        }
        self.drop_count(page);
        let told = self.validity.invalidate(validity_io!(self, nand, at), page);
        self.give_back_if_dead(page);
        told
    }

    /// Whether a page is some logical page's, which an entry that is out of date for a part of the table that was lost says
    /// to be stale.
    #[cold]
    fn is_mapped<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> bool {
        match nand.read_spare(page, Op::new(at, Purpose::Translation)).0 {
            SpareRead::Written(spare) if spare.kind == Kind::User && spare.key < self.shape.logical_pages => {
                self.mapping.peek(mapping_io!(self, nand, at), LogicalPage(spare.key)) == Place::At(page)
            }
            _ => false,
        }
    }

    #[inline]
    fn drop_count(&mut self, page: Page) {
        let block = self.blocks.geometry().block_of(page);
        self.blocks.counters.remove(block);
        self.blocks.died(page);
        self.blocks.lost_a_page(block);
        self.victim.invalidated(&self.blocks.counters, block);
    }

    /// Passes on what the mapping has done: the pages that it found to be stale, and what happened to blocks.
    #[inline]
    fn settle<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        // Erases first: a flush of Gecko's buffer that a stale page brings about must know of all of them.
        self.hear_news(nand, at)?;
        while let Some(page) = self.before.pop() {
            self.drop_user_page(nand, page, at)?;
            self.hear_news(nand, at)?;
        }
        self.durability.reported();
        self.flush_if_wanted(nand, at)
    }

    /// Whether user pages name in their spare areas what they made stale, so that a recovery can tell the validity store.
    #[inline]
    fn points_back(&self) -> bool {
        self.durability.points_back()
    }

    /// What the spare area of a user page is to say that is programmed now, and that takes the place of `before`. A flush
    /// of the validity store does not say that it has heard of that before it has.
    #[inline]
    fn point_back(&mut self, before: LastPlace) -> SpareMarks {
        if !self.points_back() || !self.barriers.keeps(Barrier::PagesPointBack) {
            return SpareMarks::NONE;
        }
        self.durability.begin_reporting(&self.blocks, self.blocks.clock.seq());
        SpareMarks::point_back(match before {
            LastPlace::Nowhere => PointsBack::Nowhere,
            LastPlace::At(page) => PointsBack::At(page),
            LastPlace::Mislaid => {
                // A stale page that is never reported: from now on only the mapping tells what is live.
                self.validity.set_damaged();
                PointsBack::AtMislaid
            }
        })
    }
}

impl PageMapped {
    /// Whether so few blocks are free that nothing is written but by the battery.
    fn below_batterys_needs(&self) -> bool {
        self.battery && self.blocks.free() < self.least_free && self.barriers.keeps(Barrier::BatteryFindsRoom)
    }

    /// Where a logical page is, and when that is known.
    #[inline]
    fn find<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Place, Time) {
        match self.mapping.cached(key) {
            Some(place) => (place, at),
            None => self.find_on_flash(nand, key, at),
        }
    }

    /// Where a logical page is whose entry no cache holds. Caching it may evict another, whose synchronization programs
    /// a page: so this is the one kind of read that needs the reserve.
    #[inline(never)]
    fn find_on_flash<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Place, Time) {
        // A drive that cannot be written any more can still be read: what only concerns writing is no error here. An
        // entry that must go may be synchronized for it, but so is no more than the battery would otherwise have to.
        if self.blocks.free() < self.shape.reserve_blocks && self.mapping.lookups_program() {
            let _ = self.make_space(nand, at);
            if self.below_batterys_needs() {
                // Nodes of a tree may be written more than once: what the battery needs is not touched.
                let io = mapping_io!(self, nand, at);
                let place = self.mapping.peek(io, key);
                return (place, io.read_done());
            }
        }
        let io = mapping_io!(self, nand, at);
        let mut place = self.mapping.lookup(io, key, &mut self.before);
        let mut found = io.read_done();
        if self.mapping.is_unreadable()
            && let Ok(at) = self.mend(nand, at)
        {
            let io = mapping_io!(self, nand, at);
            place = self.mapping.lookup(io, key, &mut self.before);
            found = io.read_done();
        }
        let _ = self.settle(nand, at);
        (place, found)
    }
}

/// What requests do.
impl PageMapped {
    fn write_pages<N: Nand>(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        let page_bytes = self.blocks.geometry().page_bytes();
        request.check(&self.shape, page_bytes)?;
        let mut done = at;
        for index in 0..request.pages {
            let key = LogicalPage(request.first.0 + index);
            self.level_wear(nand, at)?;
            if self.blocks.free() < self.shape.reserve_blocks {
                self.make_space(nand, at)?;
            }
            let content = request.data.page(index, page_bytes);
            let io = mapping_io!(self, nand, at);
            self.mapping.prepare(io, key, true, &mut self.before)?;
            // What an entry leaves the cache for is on flash before the room that it makes is used.
            let fetched = io.read_done();
            done = done.max(io.done());
            self.settle(nand, at)?;
            let (stream, at) = self.stream_for_host(nand, key, request.hint, at, fetched);
            let before = if self.points_back() { self.mapping.last_place(key) } else { LastPlace::Nowhere };
            let page = NewPage {
                kind: Kind::User,
                key: key.0,
                version: self.blocks.clock.next_version(),
                content,
                data_crc: content.crc(),
                marks: self.point_back(before),
            };
            let (to, safe) = self.blocks.append(nand, &mut self.durability, stream, &page, Purpose::Host, at)?;
            self.validity.validate(to);
            if let Hint::Death(left) = request.hint {
                self.blocks.note_death(to, Some(left));
            }
            let heard = self.hear_news(nand, at);
            // It is there, whatever became of the news.
            if let Before::Known(Place::At(old)) = self.mapping.written(key, to) {
                self.drop_user_page(nand, old, at)?;
            }
            heard?;
            self.hear_news(nand, at)?;
            self.durability.reported();
            done = done.max(safe).max(self.written_by_host(nand, key, at)?);
        }
        self.put_what_was_written(nand, at)?;
        Ok(done.max(self.request_written(nand, at)?))
    }

    fn trim_pages<N: Nand>(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        self.shape.check_range(first, pages)?;
        let mut done = at;
        let end = first.0 + pages;
        let mut next = first.0;
        while next < end {
            let until = next + self.mapping.trim_reach(LogicalPage(next)).min(end - next);
            if self.blocks.free() < self.shape.reserve_blocks {
                // A drive that is full takes a trim from what is left of its reserve: it is what makes room. What the
                // battery needs is not touched; and a translation page may open a block, and one more if that fails.
                let made = self.make_space(nand, at);
                if self.below_batterys_needs() {
                    made?;
                }
            }
            let io = mapping_io!(self, nand, at);
            let trimmed = self.mapping.trim(io, next..until, &mut self.before);
            done = done.max(io.done());
            if self.points_back() && self.mapping.is_damaged() {
                // What was mislaid may be among what was trimmed.
                self.validity.set_damaged();
            }
            self.settle(nand, at)?;
            trimmed?;
            next = until;
        }
        Ok(done.max(self.write_trims_through(nand, at)?))
    }

    fn make_durable<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.mapping.has_pending_trims() && self.barriers.keeps(Barrier::TrimsAtFlush) {
            self.make_space(nand, at)?;
            self.mapping.write_pending_trims(mapping_io!(self, nand, at))?;
            self.hear_news(nand, at)?;
            self.give_back_died();
        }
        let flushed = self.flush_for_host(nand, at)?;
        Ok(flushed.max(self.blocks.clock.horizon()))
    }

    fn make_all_durable<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut part = Some(0);
        while let Some(from) = part {
            if self.blocks.free() < self.shape.reserve_blocks {
                // Where nothing can be gained, the reserve is for this.
                let _ = self.make_space(nand, at);
            }
            part = self.mapping.synchronize_next(mapping_io!(self, nand, at), from, &mut self.before)?;
            self.settle(nand, at)?;
        }
        self.validity.flush(validity_io!(self, nand, at))?;
        self.hear_news(nand, at)?;
        Ok(at.max(self.blocks.clock.horizon()))
    }
}

impl<N: Nand> FindPages<N> for PageMapped {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }

    #[inline]
    fn find(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Sought, Time) {
        let (place, found) = Self::find(self, nand, key, at);
        match place {
            Place::At(page) => (Sought::At(page), found),
            // What is not read is answered at once.
            Place::Lost => (Sought::Lost, at),
            Place::Nowhere | Place::Trimmed => (Sought::Nowhere, at),
        }
    }

    fn count_unreadable(&mut self) {
        self.tally.unreadable_reads += 1;
    }
}

impl<N: Nand> Ftl<N> for PageMapped {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, |ftl, nand, at| ftl.write_pages(nand, request, at))
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
        host_read::read(self, nand, (first, pages), cause, at, sink)
    }

    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, |ftl, nand, at| ftl.trim_pages(nand, first, pages, at))
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, Self::make_durable)
    }

    fn is_safe_when_flushed(&self) -> bool {
        self.integrity.is_safe_when_flushed()
    }

    fn due(&self) -> Option<Time> {
        self.integrity.due()
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        Ok(self.flush_what_is_due(nand, at)?.map_or(Step::Nothing, Step::Did))
    }

    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, Self::make_all_durable)
    }

    fn power_fail(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if !self.battery || !self.barriers.keeps(Barrier::BatterySaves) {
            return Ok(at);
        }
        self.save(nand, at)?;
        Ok(at.max(self.blocks.clock.horizon()))
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    fn warm(&self, nand: &N, pages: &[LogicalPage]) {
        if self.mapping.warm(nand, pages, pages.len()) {
            return;
        }
        // Loads that do not wait for each other: first the entries, then the bits of the pages they name.
        let mut old = [Page(0); 16];
        for chunk in pages.chunks(old.len()) {
            for (old, page) in old.iter_mut().zip(chunk) {
                let known = page.0 < self.shape.logical_pages;
                *old = match if known { self.mapping.in_table(*page) } else { None } {
                    Some(Place::At(page)) => page,
                    _ => Page(0),
                };
            }
            let live = old.iter().filter(|page| self.validity.touch(**page)).count();
            core::hint::black_box(live);
        }
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        self.mapping.ram(&mut ledger);
        self.validity.ram(&mut ledger);
        self.victim.ram(&mut ledger);
        self.placement.ram(&mut ledger);
        self.blocks.ram(&mut ledger);
        self.durability.ram(&mut ledger);
        self.integrity.ram(&mut ledger);
        self.ram_of_tree(&mut ledger);
        ledger.index("buffer.live_pages", self.live.capacity() as u64 * 2);
        let page_bytes = self.blocks.geometry().page_bytes().into();
        ledger.index("buffer.moving", self.moving.bytes(page_bytes));
        ledger.index("buffer.before", (self.before.capacity() + self.died.capacity()) as u64 * 4);
        ledger.index("index.anchors", self.anchors.capacity() as u64 * 4);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = vec![
            Counter::sum("collections", self.tally.collections),
            Counter::sum("pages_moved", self.tally.pages_moved),
            Counter::sum("pages_lost_moving", self.tally.pages_lost_moving),
            Counter::sum("emergency_collections", self.tally.emergency_collections),
            Counter::sum("metadata_collections", self.tally.metadata_collections),
            Counter::sum("metadata_pages_moved", self.tally.metadata_pages_moved),
            Counter::sum("metadata_fallbacks", self.tally.metadata_fallbacks),
            Counter::sum("unreadable_reads", self.tally.unreadable_reads),
            Counter::sum("victim_choices", self.tally.choices),
            Counter::sum("blocks_examined", self.tally.blocks_examined),
            Counter::level("blocks_examined_max", self.tally.blocks_examined_max),
            Counter::level("free_blocks", u64::from(self.blocks.free())),
            Counter::level("bad_blocks", u64::from(self.blocks.bad())),
        ];
        self.mapping.counters(&mut counters);
        self.integrity.counters(&mut counters);
        self.validity.counters(&mut counters);
        self.counters_of_tree(&mut counters);
        self.placement.counters(&mut counters);
        if let Some(wear) = &self.blocks.wear {
            wear::counters(&self.tally, wear, &mut counters);
        }
        if let Some(sampling) = &self.sampling {
            sampling.counters(&mut counters);
        }
        for carried in &self.carried {
            counters.iter_mut().filter(|counter| counter.name == carried.name).for_each(|c| c.value += carried.value);
        }
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        self.blocks_seen(first, out);
        true
    }

    fn look_at_gecko(&self) -> Option<GeckoLook> {
        self.validity.look()
    }

    fn look_at_extents(&self, nand: &mut N) -> Option<Vec<ExtentLook>> {
        self.tree.as_ref().and_then(|tree| self.mapping.extents(nand, tree))
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        // Asking counts, and finds pages that cannot be read: both are left to the copy.
        self.clone().findings(nand)
    }
}
