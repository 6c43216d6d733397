//! SUPERBLOCK (Kang et al. 2006, as µ-FTL section 3 and LAST++ sections 2.2 and 5.2 have it): N adjacent logical blocks
//! are a *superblock*, which is mapped to a few physical blocks; inside of it pages stand anywhere.
//!
//! - A superblock has as many blocks as it fills, and *update blocks* beyond those, of which the drive has a number
//!   (`log.blocks`). What the host writes goes to the superblock's *hot* block, page after page.
//! - When that is full and no update block is to be had, blocks are collected: those with the fewest live pages of this
//!   superblock, or those of the one that was written least recently of all that have update blocks, whichever costs
//!   less. Live pages that a collection moves go to the superblock's *cold* block ([`collect`]).
//! - A block in which nothing is live is given back without a copy. So what is written sequentially costs a map page
//!   for each block, and no more: each block that fills replaces an old one, as in a switch merge.
//! - Which block a page stands in, the spare area of the page says, and a page of the map for all that is older
//!   ([`page_map`]). RAM caches some superblocks' maps ([`cache`]); one that it has forgotten is read from its map page
//!   and from the spare areas of what was written since.
//!
//! Faithful: superblock mapping, page maps in spare areas with a bounded cache, update blocks that N logical blocks
//! share, hot and cold pages apart, victims by utilization. Simplified: Kang's three levels of page tables in each
//! spare area need larger ones than this house's; map pages stand in for them, one for each block that is given back.
//! What the papers here say of how Kang's scheme chooses the superblock that has to give up an update block is nothing;
//! here it is by what it costs.
//!
//! Superblocks share no block and no page of the map, so each survives a power cut by itself ([`recovery`]).

mod cache;
mod check;
mod collect;
mod layout;
mod look;
mod map;
mod page_map;
mod recovery;
mod state;

use super::ground::Kept;
use super::lane::Lane;
use super::map_blocks::MapBlocks;
use super::order::Order;
use super::pool::{Pool, Role};
use super::tally::Tally;
use super::{Config, bad_blocks};
use crate::barriers::{Barrier, Barriers};
use crate::config::SuperblockParts;
use crate::ftl::{Ftl, HostPage, ReadSink, Shape, WriteRequest};
use crate::medium::marks::SpareMarks;
use crate::medium::{NewPage, Owned, anchor};
use crate::{ANCHOR_BLOCKS, BlockLook, Counter, Finding, FtlError, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use cache::MapCache;
use layout::{Layout, Sizes};
use page_map::NOWHERE;
use phelsuma_nand::{Block, Content, Geometry, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Spare, Time};
use state::{Member, Superblock};

/// A SUPERBLOCK FTL.
#[derive(Clone)]
pub(crate) struct Superblocks {
    barriers: Barriers,
    geometry: Geometry,
    shape: Shape,
    layout: Layout,
    /// Update blocks that there may be, and that there are.
    updates_most: u32,
    updates: u32,
    pool: Pool,
    /// Map pages: a part for each superblock.
    map: MapBlocks,
    superblocks: Vec<Superblock>,
    /// Superblocks that have update blocks, in the order in which they were written last.
    written: Order,
    cache: MapCache,
    tally: Tally,
    counts: Counts,
    /// A page on its way.
    bytes: Vec<u8>,
    /// Pages that a collection has moved: where in the superblock, from where and to where. Empty but for the length of
    /// one.
    moved: Vec<(u32, u16, u16)>,
    /// Version and seq of the newest page found so far, by page of the superblock whose map is being read.
    newest: Vec<(u64, u64)>,
    /// Pages that a recovery has read and that may have been in flight. Where it has no block to write them to anew, they
    /// are read from here.
    kept: Kept,
    /// The same of map pages: superblock, version, bytes.
    kept_maps: Vec<(u32, u64, Vec<u8>)>,
    /// A recovery has not yet written anew all map pages that may have been in flight: no map block is emptied.
    map_is_unsure: bool,
    anchors: Vec<Block>,
}

/// What is counted besides merges. Sums since the drive came up.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    /// Maps that were not in RAM when they were needed.
    map_misses: u64,
    /// Maps whose page could not be read, made anew from spare areas.
    maps_rebuilt: u64,
    /// Spare areas read for maps; a recovery puts them into its report.
    spare_reads: u64,
    /// Update blocks that superblocks gave up for others.
    updates_taken: u64,
}

impl Superblocks {
    /// Makes a blank drive.
    pub(crate) fn format<N: Nand>(
        nand: &mut N,
        config: &Config,
        parts: SuperblockParts,
        at: Time,
    ) -> Result<(Self, Time), FtlError> {
        let geometry = *nand.geometry();
        Self::fits(&geometry, config, parts, ANCHOR_BLOCKS, bad_blocks(nand))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        Ok((Self::blank(nand, config, parts, anchors)?, done))
    }

    /// Whether a drive of this shape has room for it, with so many blocks for the description and so many bad ones.
    pub(super) fn fits(
        geometry: &Geometry,
        config: &Config,
        parts: SuperblockParts,
        described: u32,
        bad: u32,
    ) -> Result<(), FtlError> {
        Sizes::that_fit(geometry, config, parts, described, bad).map(drop)
    }

    /// A blank drive on flash that is erased, but for the description in `anchors`.
    pub(super) fn blank<N: Nand>(
        nand: &N,
        config: &Config,
        parts: SuperblockParts,
        anchors: Vec<Block>,
    ) -> Result<Self, FtlError> {
        let geometry = *nand.geometry();
        // Erasing may have found more of them.
        let bad = bad_blocks(nand);
        let sizes = Sizes::that_fit(&geometry, config, parts, anchors.len() as u32, bad)?;
        let mut ftl = Self::empty(&geometry, config, parts, &sizes, anchors);
        ftl.pool.bad = bad;
        for block in ftl.usable_blocks(nand) {
            ftl.pool.release(block);
        }
        Ok(ftl)
    }

    /// A drive with nothing in it and nothing in the pool.
    fn empty(geometry: &Geometry, config: &Config, parts: SuperblockParts, sizes: &Sizes, anchors: Vec<Block>) -> Self {
        let (layout, barriers) = (sizes.layout, config.barriers());
        let superblocks = layout.superblocks();
        let maps = if parts.maps == 0 { sizes.updates.max(8) } else { parts.maps };
        Self {
            barriers,
            geometry: *geometry,
            shape: sizes.shape,
            layout,
            updates_most: sizes.updates,
            updates: 0,
            pool: Pool::new(*geometry, barriers),
            map: MapBlocks::of_parts(geometry, superblocks),
            superblocks: (0..superblocks).map(|_| Superblock::new(layout.slots(), layout.pages_per_block)).collect(),
            written: Order::default(),
            cache: MapCache::new(&layout, maps.min(superblocks).max(1)),
            tally: Tally::default(),
            counts: Counts::default(),
            bytes: Vec::new(),
            moved: Vec::new(),
            newest: Vec::new(),
            kept: Kept::default(),
            kept_maps: Vec::new(),
            map_is_unsure: false,
            anchors,
        }
    }

    /// Its blocks.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Every block that is neither bad nor the description's.
    fn usable_blocks<N: Nand>(&self, nand: &N) -> Vec<Block> {
        (0..nand.geometry().blocks()).map(Block).filter(|b| !nand.is_bad(*b) && !self.anchors.contains(b)).collect()
    }

    /// Where a page stands that a superblock's map names.
    #[inline]
    fn page_of(&self, superblock: u32, entry: u16) -> Page {
        let (slot, index) = self.slot_of(entry);
        self.geometry.page(self.superblocks[superblock as usize].get(slot).block, index)
    }

    /// The slot that an entry of a map names, and the page in it.
    #[inline]
    fn slot_of(&self, entry: u16) -> (usize, u32) {
        let pages = self.layout.pages_per_block;
        ((u32::from(entry) / pages) as usize, u32::from(entry) % pages)
    }

    #[inline]
    fn entry_of(&self, slot: usize, index: u32) -> u16 {
        (slot as u32 * self.layout.pages_per_block + index) as u16
    }

    /// Blocks that a superblock has beyond those that its logical pages fill.
    fn updates_of(&self, superblock: u32) -> u32 {
        self.superblocks[superblock as usize].len().saturating_sub(self.layout.blocks_in(superblock))
    }

    /// The number of a superblock's blocks has changed: it had so many update blocks `before`.
    fn recount(&mut self, superblock: u32, before: u32) {
        let now = self.updates_of(superblock);
        self.updates = self.updates - before + now;
        if now == 0 {
            if before > 0 {
                self.written.remove(superblock);
            }
        } else if before == 0 {
            self.written.touch(superblock);
        }
    }

    /// Writes a page of the host's; when it is safe.
    fn write_page<N: Nand>(
        &mut self,
        nand: &mut N,
        key: u32,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let (superblock, offset) = self.layout.split(key);
        let mut at = at;
        // Each round that fails closes a block.
        loop {
            let (slot, ready) = self.make_room(nand, superblock, at)?;
            let (held, ready) = self.load(nand, superblock, ready);
            at = ready;
            // Made right before the program: a map page in between would make it stale.
            let version = self.pool.clock.next_version();
            let page =
                NewPage { kind: Kind::User, key, version, content, data_crc: content.crc(), marks: SpareMarks::NONE };
            let written = self.append(nand, superblock, slot, &page, Purpose::Host, at)?;
            let Some((index, done)) = written else {
                if !self.barriers.keeps(Barrier::FailedWrittenAgain) {
                    return Ok(at);
                }
                continue;
            };
            let entry = self.entry_of(slot, index);
            let old = core::mem::replace(&mut self.cache.get_mut(held)[offset as usize], entry);
            if old != NOWHERE {
                let (slot, _) = self.slot_of(old);
                self.superblocks[superblock as usize].get_mut(slot).live -= 1;
            }
            let (block, pages) = (key / self.layout.pages_per_block, self.layout.pages_per_block);
            let member = self.superblocks[superblock as usize].get_mut(slot);
            member.live += 1;
            let is_in_place = key % pages == index && (index == 0 || member.in_place == Some(block));
            member.in_place = is_in_place.then_some(block);
            if is_in_place && member.live == pages {
                self.tally.switch_merges += 1;
            }
            if self.updates_of(superblock) > 0 {
                self.written.touch(superblock);
            }
            return Ok(done);
        }
    }

    /// A page is written to a slot that has room: which one it is there, and when it is safe. None where the program
    /// failed, and the block is closed.
    fn append<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        slot: usize,
        page: &NewPage<'_>,
        purpose: Purpose,
        at: Time,
    ) -> Result<Option<(u32, Time)>, FtlError> {
        let member = self.superblocks[superblock as usize].get_mut(slot);
        debug_assert!(!member.closed && member.next < self.layout.pages_per_block);
        let index = member.next;
        member.next += 1;
        let to = self.geometry.page(member.block, index);
        let done = self.pool.program(nand, to, Role::Log, page, purpose, at)?;
        if done.is_none() {
            self.superblocks[superblock as usize].get_mut(slot).closed = true;
        }
        Ok(done.map(|done| (index, done)))
    }
}

impl<N: Nand> Ftl<N> for Superblocks {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        let page_bytes = self.geometry.page_bytes();
        request.check(&self.shape, page_bytes)?;
        if self.pool.stopped {
            return Err(self.pool.full());
        }
        let mut done = at;
        for index in 0..request.pages {
            let content = request.data.page(index, page_bytes);
            done = done.max(self.write_page(nand, request.first.0 + index, content, at)?);
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
        self.shape.check_range(first, pages)?;
        let mut done = at;
        for index in 0..pages {
            let key = LogicalPage(first.0 + index);
            let (superblock, offset) = self.layout.split(key.0);
            let (held, known) = self.load(nand, superblock, at);
            done = done.max(known);
            let entry = self.cache.get(held)[offset as usize];
            if entry == NOWHERE {
                sink.page(key, HostPage::Zeros);
                continue;
            }
            let page = self.page_of(superblock, entry);
            if let Some((_, _, data)) = self.kept.0.iter().find(|(kept, ..)| *kept == page) {
                sink.page(key, HostPage::Data(data.content()));
                continue;
            }
            let (read, ready) = nand.read(page, Op::new(known, cause));
            done = done.max(ready);
            let read = match read {
                PageRead::Written { content, spare, .. } if !self.barriers.keeps(Barrier::HostDataVerified) => {
                    Some((content, spare))
                }
                read => read.verified(),
            };
            let is_sought = |spare: &Spare| spare.kind == Kind::User && spare.key == key.0;
            match read {
                Some((content, spare)) if is_sought(&spare) || !self.barriers.keeps(Barrier::OwnerChecked) => {
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

    /// Trimmed pages are on flash when this returns: a map page for each superblock that has any.
    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.shape.check_range(first, pages)?;
        if self.pool.stopped {
            return Err(self.pool.full());
        }
        let (mut done, mut next, end) = (at, first.0, first.0 + pages);
        while next < end {
            let (superblock, offset) = self.layout.split(next);
            let until = self.layout.pages_in(superblock).min(offset + (end - next));
            next += until - offset;
            done = self.trim_pages(nand, superblock, offset..until, done)?;
        }
        Ok(done)
    }

    fn flush(&mut self, _nand: &mut N, at: Time) -> Result<Time, FtlError> {
        Ok(at.max(self.pool.clock.horizon()))
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let (blocks, pages) = (u64::from(self.geometry.blocks()), u64::from(self.layout.pages_per_block));
        let slots = u64::from(self.layout.slots()) * self.superblocks.len() as u64;
        // Of each block of a superblock which one it is, and three counts of pages.
        let packed = (slots * (bits(blocks) + 3 * bits(pages + 1) + 1)).div_ceil(8);
        ledger.structure("superblock.blocks", packed);
        let held = slots * size_of::<Option<Member>>() as u64;
        ledger
            .index("index.superblocks", held + (self.superblocks.capacity() * size_of::<Superblock>()) as u64 - packed);
        self.cache.ram(&self.layout, &mut ledger);
        self.map.ram(&mut ledger);
        self.pool.ram(&mut ledger);
        self.written.ram(&mut ledger);
        let newest = self.newest.capacity() * size_of::<(u64, u64)>();
        let moved = self.moved.capacity() * size_of::<(u32, u16, u16)>();
        ledger.index("buffer.page", (self.bytes.capacity() + newest + moved) as u64);
        let kept = self.kept.0.capacity() * size_of::<(Page, Spare, Owned)>();
        let kept_maps = self.kept_maps.iter().map(|(.., bytes)| size_of::<(u32, u64, Vec<u8>)>() + bytes.capacity());
        let kept_bytes = self.kept.0.iter().map(|(.., data)| match data.content() {
            Content::Bytes(bytes) => bytes.len(),
            Content::Hollow(_) => 0,
        });
        ledger.index("buffer.kept", (kept + kept_bytes.chain(kept_maps).sum::<usize>()) as u64);
        ledger.index("index.anchors", self.anchors.capacity() as u64 * 4);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = Vec::new();
        self.tally.counters(&mut counters);
        counters.push(Counter::sum("superblock_map_misses", self.counts.map_misses));
        counters.push(Counter::sum("superblock_maps_rebuilt", self.counts.maps_rebuilt));
        counters.push(Counter::sum("superblock_updates_taken", self.counts.updates_taken));
        counters.push(Counter::level("log_blocks", u64::from(self.updates)));
        counters.push(Counter::level("free_blocks", u64::from(self.pool.free())));
        counters.push(Counter::level("bad_blocks", u64::from(self.pool.bad)));
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        self.blocks_seen(first, out);
        true
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        // Asking changes what is cached: that is left to the copy.
        self.clone().findings(nand, &Lane::whole(&self.geometry))
    }
}
