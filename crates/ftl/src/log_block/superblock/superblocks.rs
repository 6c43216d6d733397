//! A SUPERBLOCK FTL: its state, and how a user page is written.

use super::super::kept::Kept;
use super::super::map_blocks::MapBlocks;
use super::super::order::Order;
use super::super::pool::{Pool, Role};
use super::super::shape::LogConfig;
use super::super::tally::Tally;
use super::cache::MapCache;
use super::layout::{SuperblockLayout, SuperblockSizes};
use super::page_map::NOWHERE;
use super::state::Superblock;
use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::config::SuperblockParts;
use crate::ftl::Shape;
use crate::medium::NewPage;
use crate::medium::{bad_blocks, usable_blocks};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Page, Purpose, Time};

/// A SUPERBLOCK FTL.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
pub(in super::super) struct Superblocks {
    pub(super) barriers: Barriers,
    pub(super) geometry: Geometry,
    pub(super) shape: Shape,
    pub(super) layout: SuperblockLayout,
    /// Update blocks that there may be, and that there are.
    pub(super) updates_most: u32,
    pub(super) updates: u32,
    pub(super) pool: Pool,
    /// Map pages: a part for each superblock.
    pub(super) map: MapBlocks,
    pub(super) superblocks: Vec<Superblock>,
    /// Superblocks that have update blocks, in the order in which they were written last.
    pub(super) written: Order,
    pub(super) cache: MapCache,
    pub(super) tally: Tally,
    pub(super) counts: SuperblockCounts,
    /// A page on its way.
    pub(super) bytes: Vec<u8>,
    /// Pages that a collection has moved: where in the superblock, from where and to where. Empty but for the length of
    /// one.
    pub(super) moved: Vec<(u32, u16, u16)>,
    /// Version and seq of the newest page found so far, by page of the superblock whose map is being read.
    pub(super) newest: Vec<(u64, u64)>,
    /// Suspect pages that a recovery has read. Where it has no block to write them to anew, they are read from here.
    pub(super) kept: Kept,
    /// The same of map pages: superblock, version, bytes.
    pub(super) kept_maps: Vec<(u32, u64, Vec<u8>)>,
    pub(super) anchors: Vec<Block>,
}

/// Counts besides merges. Sums since the mount.
#[derive(Clone, Copy, Default, Debug, Preserve)]
pub(super) struct SuperblockCounts {
    /// Maps that were not in RAM when they were needed.
    pub(super) map_misses: u64,
    /// Maps whose page could not be read, made anew from spare areas.
    pub(super) maps_rebuilt: u64,
    /// Spare areas read for maps; a recovery puts them into its report.
    pub(super) spare_reads: u64,
    /// Update blocks that superblocks gave up for others.
    pub(super) updates_taken: u64,
}

impl Superblocks {
    /// Whether a drive of this shape has room for it, with so many blocks for the description and so many bad ones.
    pub(in super::super) fn fits(
        geometry: &Geometry,
        config: &LogConfig,
        parts: SuperblockParts,
        described: u32,
        bad: u32,
    ) -> Result<(), FtlError> {
        SuperblockSizes::that_fit(geometry, config, parts, described, bad).map(drop)
    }

    /// A blank drive on flash that is erased, but for the description in `anchors`.
    pub(in super::super) fn blank<N: Nand>(
        nand: &N,
        config: &LogConfig,
        parts: SuperblockParts,
        anchors: Vec<Block>,
    ) -> Result<Self, FtlError> {
        let geometry = *nand.geometry();
        // Erasing may have found more of them.
        let bad = bad_blocks(nand);
        let sizes = SuperblockSizes::that_fit(&geometry, config, parts, anchors.len() as u32, bad)?;
        let mut ftl = Self::empty(&geometry, config, parts, &sizes, anchors);
        ftl.pool.failures.found_bad(bad);
        for block in usable_blocks(nand, &ftl.anchors) {
            ftl.pool.release(block);
        }
        Ok(ftl)
    }

    /// A drive with nothing in it and nothing in the pool.
    pub(super) fn empty(
        geometry: &Geometry,
        config: &LogConfig,
        parts: SuperblockParts,
        sizes: &SuperblockSizes,
        anchors: Vec<Block>,
    ) -> Self {
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
            counts: SuperblockCounts::default(),
            bytes: Vec::new(),
            moved: Vec::new(),
            newest: Vec::new(),
            kept: Kept::default(),
            kept_maps: Vec::new(),
            anchors,
        }
    }

    /// Its blocks.
    pub(in super::super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Where a page stands that a superblock's map names.
    #[inline]
    pub(super) fn page_of(&self, superblock: u32, entry: u16) -> Page {
        let (slot, index) = self.slot_of(entry);
        self.geometry.page(self.superblocks[superblock as usize].get(slot).block, index)
    }

    /// The slot that an entry of a map names, and the page in it.
    #[inline]
    pub(super) fn slot_of(&self, entry: u16) -> (usize, u32) {
        let pages = self.layout.pages_per_block;
        ((u32::from(entry) / pages) as usize, u32::from(entry) % pages)
    }

    #[inline]
    pub(super) fn entry_of(&self, slot: usize, index: u32) -> u16 {
        debug_assert!(slot as u32 * self.layout.pages_per_block + index < u32::from(NOWHERE), "a place has no number");
        (slot as u32 * self.layout.pages_per_block + index) as u16
    }

    /// Blocks that a superblock has beyond those that its logical pages fill.
    pub(super) fn updates_of(&self, superblock: u32) -> u32 {
        self.superblocks[superblock as usize].len().saturating_sub(self.layout.blocks_in(superblock))
    }

    /// The number of a superblock's blocks has changed: it had so many update blocks `before`.
    pub(super) fn recount(&mut self, superblock: u32, before: u32) {
        let now = self.updates_of(superblock);
        debug_assert!(self.updates >= before, "fewer update blocks than superblock {superblock} had");
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
    pub(super) fn write_page<N: Nand>(
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
            debug_assert!(
                self.kept.0.is_empty() && self.kept_maps.is_empty(),
                "what a recovery has read is not written"
            );
            let (slot, ready) = self.make_room(nand, superblock, at)?;
            let (held, ready) = self.load(nand, superblock, ready);
            at = ready;
            // Made right before the program: a map page in between would make it stale.
            let version = self.pool.clock.next_version();
            let page = NewPage::of(Kind::User, key, version, content);
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
            debug_assert!(member.live <= member.next, "more pages are live than were written: {member:?}");
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
    pub(super) fn append<N: Nand>(
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
