//! The ground that all log-block FTLs but SUPERBLOCK stand on: data blocks, log blocks, map blocks and trims, and the
//! ways between them.
//!
//! - **Data blocks.** Each logical block has one or none; a page stands at its own offset. A page that was never
//!   written is a hole: chips take pages in ascending order and let some be left out. Only the first page is never left
//!   out: where it would be, zeros are written there, with a version that no page has ([`HOLE`]). So a block whose
//!   first spare area is blank is blank.
//! - **Log blocks** take the host's pages in whatever way the scheme says ([`super::scheme`]).
//! - **The newest version** of a page is where the table of log pages says, in the data block otherwise. Newest is by
//!   version, never by program order.

use super::data_map::{DataMap, MapEntry};
use super::fetch::Fetched;
use super::kept::Kept;
use super::layout::LogicalLayout;
use super::log::Log;
use super::log_index::LogIndex;
use super::map_blocks::MapBlocks;
use super::pool::{Pool, Role};
use super::shape::HybridSizes;
use super::tally::Tally;
use super::trims::TrimTable;
use crate::barriers::{Barrier, Barriers};
use crate::ftl::Shape;
use crate::medium::host_read::{FindPages, Sought};
use crate::medium::{NewPage, Phase};
use crate::{FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Content, Geometry, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Spare, Time};

#[derive(Clone, Preserve)]
#[preserve(in_place)]
pub(super) struct Ground<I> {
    pub(super) barriers: Barriers,
    pub(super) geometry: Geometry,
    pub(super) shape: Shape,
    pub(super) layout: LogicalLayout,
    pub(super) log_blocks_most: u32,
    /// Free blocks that merges may take before they give any back.
    pub(super) merge_blocks: u32,
    pub(super) pool: Pool,
    pub(super) data: DataMap,
    pub(super) map: MapBlocks,
    pub(super) trims: TrimTable,
    pub(super) log: Log<I>,
    pub(super) tally: Tally,
    /// A page on its way.
    pub(super) bytes: Vec<u8>,
    /// Suspect pages that a recovery has read: it may have been the last time that they read well.
    pub(super) kept: Kept,
    /// Data blocks of logical blocks that were trimmed, with the part of the map that does not say so yet. Where that
    /// could not be written they stay here until it is.
    pub(super) unmapped: Vec<(u32, Block)>,
    /// While a recovery holds log blocks that may count again: none of them has a page of a lower seq.
    pub(super) held_since: Option<u64>,
    /// The seq of the program, since the mount or right before it, behind which a snapshot says everything.
    pub(super) sealed: Option<u64>,
}

/// What became of a copy.
pub(super) enum Copied {
    Done,
    /// There was nothing to copy.
    Nothing,
    /// The program failed: nothing more can be written to the block.
    Failed,
}

impl<I: LogIndex> Ground<I> {
    pub(super) fn new(geometry: &Geometry, sizes: &HybridSizes, barriers: Barriers, index: I) -> Self {
        let logical_blocks = sizes.logical_blocks;
        Self {
            barriers,
            geometry: *geometry,
            shape: sizes.shape,
            layout: sizes.layout,
            log_blocks_most: sizes.log_blocks,
            merge_blocks: sizes.merge_blocks,
            pool: Pool::new(*geometry, barriers),
            data: DataMap::new(geometry, logical_blocks, index.logical_blocks_most()),
            map: MapBlocks::new(geometry, logical_blocks, sizes.trim_pages),
            trims: TrimTable::new(geometry, sizes.trim_pages, logical_blocks),
            log: Log::new(geometry, sizes.layout, logical_blocks, index),
            tally: Tally::default(),
            bytes: Vec::new(),
            kept: Kept::default(),
            unmapped: Vec::new(),
            held_since: None,
            sealed: None,
        }
    }

    /// The logical block of a logical page, and where in it the page stands.
    #[inline]
    pub(super) fn split(&self, key: u32) -> (u32, u32) {
        self.layout.split(key)
    }

    /// Pages of a logical block: the last one may be shorter.
    #[inline]
    pub(super) fn pages_in(&self, logical_block: u32) -> u32 {
        self.layout.pages_in(logical_block, self.shape.logical_pages)
    }

    /// Why merges are done: by a request, by a recovery, or to level wear.
    fn purpose(&self) -> Purpose {
        self.pool.phase.purpose(if self.is_levelling() { Purpose::Wear } else { Purpose::Merge })
    }

    /// Where the newest version of a logical page is.
    #[inline]
    fn newest(&self, key: u32) -> Sought {
        let (logical_block, offset) = self.split(key);
        if let Some(page) = self.log.place(key) {
            return Sought::At(page);
        }
        match self.data.block(logical_block) {
            Some(block) if !self.trims.is_trimmed(logical_block, offset) => {
                Sought::AtIfWritten(self.geometry.page(block, offset))
            }
            _ => Sought::Nowhere,
        }
    }

    /// The merge version of a logical block, or a bound that does as well ([`merge_versions`](super::merge_versions)).
    pub(super) fn merge_version(&self, logical_block: u32) -> u64 {
        let of_trims = || self.trims.entry(logical_block).map(|entry| entry.merged);
        self.data.version(logical_block).or_else(of_trims).unwrap_or(self.pool.clock.version())
    }

    /// A page of a logical block in a log block is live from now on: the bound is kept, if it is not yet.
    #[inline]
    fn enter_version(&mut self, logical_block: u32, version: u64) {
        if self.log.live_of(logical_block) == 1 && self.data.version(logical_block).is_none() {
            let bound = self.trims.entry(logical_block).map_or(version - 1, |entry| entry.merged);
            self.data.keep_version(logical_block, bound);
        }
    }

    /// A logical block has another data block, or none, and another merge version.
    pub(super) fn set_entry(&mut self, logical_block: u32, entry: MapEntry) {
        self.data.set(logical_block, entry);
        self.trims.set_merged(logical_block, entry.version);
    }

    /// The drive is mounted. The RAM that merge versions took until now, in bytes.
    pub(super) fn end_mount(&mut self) -> u64 {
        let Self { data, trims, log, .. } = self;
        trims.end_mount(|logical_block| data.version(logical_block).unwrap_or(0));
        data.end_mount(|logical_block| log.live_of(logical_block) > 0)
    }

    /// Nothing is written any more until the next mount: a recovery had no block for what must be on flash before
    /// anything else is. The blocks that it holds back stay held.
    pub(super) fn stop_writing(&mut self) {
        debug_assert!(self.pool.phase.is_mounting(), "a drive that serves its host becomes read only");
        self.pool.phase = Phase::ReadOnly;
        // Trims from before pages that count, which the table goes on naming until they are certain, are of no more
        // use.
        let places: Vec<u32> = self.log.places().map(|(key, _)| key).collect();
        for key in places {
            let (logical_block, offset) = self.split(key);
            self.trims.clear(logical_block, offset);
        }
    }

    /// Whether another log block may be opened: what merges and the next recovery may take is left.
    pub(super) fn has_room_for_log_block(&self) -> bool {
        self.log.len() < self.log_blocks_most && self.pool.free() > self.shape.reserve_blocks
    }

    /// A new log block: its slot, and when it can be written.
    pub(super) fn open_log_block<N: Nand>(
        &mut self,
        nand: &mut N,
        owner: u32,
        at: Time,
    ) -> Result<(u32, Time), FtlError> {
        self.open_log_block_as(nand, owner, Role::Log, None, at)
    }

    /// A new log block of some kind, on a channel if that has a free block.
    pub(super) fn open_log_block_as<N: Nand>(
        &mut self,
        nand: &mut N,
        owner: u32,
        role: Role,
        channel: Option<u32>,
        at: Time,
    ) -> Result<(u32, Time), FtlError> {
        if self.pool.free() <= self.shape.reserve_blocks {
            // Merges have given back all that there was.
            return Err(self.pool.full());
        }
        let (block, ready) = self.pool.open_on(nand, role, channel, self.purpose(), at)?;
        Ok((self.log.open(block, owner, role, self.pool.clock.seq() + 1), ready))
    }

    /// The host's page is written at `index` of a log block; none where the program failed, and the log block is
    /// closed.
    ///
    /// Its version is made here, right before the program: a merge in between would make it stale.
    pub(super) fn append<N: Nand>(
        &mut self,
        nand: &mut N,
        slot: u32,
        index: u32,
        key: u32,
        content: Content<'_>,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let (logical_block, offset) = self.split(key);
        let page = NewPage::of(Kind::User, key, self.pool.clock.next_version(), content);
        debug_assert!(
            self.data.version(logical_block).is_none_or(|merged| page.version > merged),
            "page {key} is older than the last merge"
        );
        debug_assert_eq!(self.pool.phase, Phase::Serving, "the host writes");
        let end = self.geometry.pages_per_block();
        let state = self.log.get_mut(slot);
        debug_assert!(!state.closed && index >= state.next && index < end);
        state.in_place &= state.owner == logical_block && index == offset && index == state.next;
        state.next = index + 1;
        let (to, role) = (self.geometry.page(state.block, index), state.role);
        match self.pool.program(nand, to, role, &page, Purpose::Host, at)? {
            Some(done) => {
                self.log.get_mut(slot).used += 1;
                self.log.set(key, to);
                self.enter_version(logical_block, page.version);
                self.trims.clear(logical_block, offset);
                Ok(Some(done))
            }
            None if !self.barriers.keeps(Barrier::FailedWrittenAgain) => Ok(Some(at)),
            None => {
                self.log.get_mut(slot).closed = true;
                Ok(None)
            }
        }
    }

    /// Reads a page to copy it; none where it is not there.
    fn fetch<N: Nand>(&mut self, nand: &mut N, key: u32, from: Page, may_be_hole: bool, at: Time) -> Option<Fetched> {
        let purpose = self.purpose();
        if let Some((_, spare, data)) = self.kept.get(from)
            && self.barriers.keeps(Barrier::SuspectsReadOnce)
        {
            return Some(Fetched::of(data.content(), spare, &mut self.bytes, at));
        }
        self.tally.reads += 1;
        let (read, ready) = nand.read(from, Op::new(at, purpose));
        match read {
            PageRead::Erased if may_be_hole => None,
            PageRead::Written { spare, .. } if may_be_hole && is_hole(&spare, key) => None,
            PageRead::Written { content, spare, .. } if spare.kind == Kind::User && spare.key == key => {
                Some(Fetched::of(content, &spare, &mut self.bytes, ready))
            }
            _ => {
                self.tally.pages_lost_moving += 1;
                Some(Fetched::lost(self.pool.clock.version(), ready))
            }
        }
    }

    /// Copies the newest version of a logical page to `index` of the block that `open` gives, where `next` is the next
    /// page to program: with zeros in front where it would be the block's first program, and not at its beginning.
    pub(super) fn copy_newest<N: Nand>(
        &mut self,
        nand: &mut N,
        key: u32,
        role: Role,
        to: &mut Destination,
        at: Time,
    ) -> Result<Copied, FtlError> {
        let (logical_block, offset) = self.split(key);
        let (from, may_be_hole) = match self.newest(key) {
            Sought::At(page) => (page, false),
            Sought::AtIfWritten(page) => (page, true),
            Sought::Nowhere | Sought::Lost => return Ok(Copied::Nothing),
        };
        let Some(fetched) = self.fetch(nand, key, from, may_be_hole, at) else { return Ok(Copied::Nothing) };
        let purpose = self.purpose();
        let (block, ready) = match to.block {
            Some(block) => (block, fetched.ready),
            None => {
                let (block, ready) = self.pool.open_on(nand, role, self.layout.home(logical_block), purpose, at)?;
                to.block = Some(block);
                (block, ready.max(fetched.ready))
            }
        };
        let first = self.layout.key(logical_block, 0);
        if !to.begun && offset > 0 && self.write_zeros(nand, block, first, role, ready)?.is_none() {
            return Ok(Copied::Failed);
        }
        to.begun = true;
        let page = fetched.page(key, &self.bytes);
        debug_assert!(
            page.version <= self.pool.clock.version(),
            "a copy of {key} is younger than all that was written"
        );
        self.tally.programs += 1;
        let to = self.geometry.page(block, offset);
        Ok(match self.pool.program(nand, to, role, &page, purpose, ready)? {
            Some(_) => {
                self.tally.page_copies += 1;
                Copied::Done
            }
            None => Copied::Failed,
        })
    }

    /// Writes a block's first page as zeros: it is not there, and the block must not look blank. None where that fails.
    ///
    /// Its data are never read: [`is_hole`] asks the spare area alone. Flash that keeps bytes has a page of zeros there,
    /// whose CRC is another.
    pub(super) fn write_zeros<N: Nand>(
        &mut self,
        nand: &mut N,
        block: Block,
        key: u32,
        role: Role,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let content = Content::Hollow(0);
        let page = NewPage::of(Kind::User, key, HOLE, content);
        let to = self.geometry.page(block, 0);
        self.tally.programs += 1;
        self.pool.program(nand, to, role, &page, self.purpose(), at)
    }

    /// Gives an emptied log block back. While trims are pending, a page in it may be the last acknowledged version of
    /// one that was trimmed: without it a power cut would bring an older one back.
    pub(super) fn release_log_block<N: Nand>(&mut self, nand: &mut N, slot: u32, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        if self.barriers.keeps(Barrier::TrimsBeforeReuse) {
            done = self.write_trims(nand, done)?;
            // The same of logical blocks whose trim failed.
            while let Some((part, _)) = self.unmapped.first() {
                done = self.write_part(nand, *part, done)?;
            }
        }
        debug_assert!(
            !self.barriers.keeps(Barrier::TrimsBeforeReuse) || self.trims.pending().next().is_none(),
            "a log block is given back before what was trimmed in it is"
        );
        let block = self.log.close(slot);
        self.pool.release(block);
        self.tally.freed_blocks += 1;
        Ok(done)
    }

    /// Pages of a logical block are trimmed: those in front of `until`, from `offset` on.
    pub(super) fn trim_pages<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: u32,
        offsets: core::ops::Range<u32>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let layout = self.layout;
        let has_data_block = self.data.block(logical_block).is_some();
        if !has_data_block && self.log.live_of(logical_block) == 0 {
            return Ok(done);
        }
        if let Some(oldest) = self.trims.in_the_way_of(logical_block) {
            done = self.full_merge(nand, oldest, done)?;
        }
        // As it is now: live pages may go with these.
        let merged = self.merge_version(logical_block);
        let version = self.pool.clock.next_version();
        let log = &mut self.log;
        let trimmed =
            offsets.filter(|offset| log.remove(layout.key(logical_block, *offset)).is_some() || has_data_block);
        let trimmed: Vec<u32> = trimmed.collect();
        if self.log.live_of(logical_block) == 0 {
            self.data.forget_version(logical_block);
        }
        if !trimmed.is_empty() {
            self.trims.set(logical_block, trimmed.into_iter(), version, merged);
        }
        Ok(done)
    }

    /// Nothing of a logical block is there any more. Its data block is released when the part of the map that is given
    /// back says so.
    pub(super) fn unmap(&mut self, logical_block: u32) -> u32 {
        let part = self.data.part_of(logical_block);
        self.unmapped.extend(self.data.block(logical_block).map(|block| (part, block)));
        let version = self.pool.clock.next_version();
        debug_assert!(
            self.data.version(logical_block).is_none_or(|merged| version > merged),
            "merge versions only rise"
        );
        self.set_entry(logical_block, MapEntry { block: None, version });
        self.forget_log_pages(logical_block);
        self.trims.drop(logical_block);
        part
    }

    /// No page of a logical block in a log block counts any more.
    pub(super) fn forget_log_pages(&mut self, logical_block: u32) {
        for offset in 0..self.pages_in(logical_block) {
            if self.log.live_of(logical_block) == 0 {
                break;
            }
            self.log.remove(self.layout.key(logical_block, offset));
        }
        self.data.forget_version(logical_block);
        debug_assert_eq!(self.log.live_of(logical_block), 0, "pages of {logical_block} count after a merge");
        self.outdate_copies(logical_block, 0);
    }

    /// What stands in a logical block's own log block from page `from` on may not be the newest any more, if it was
    /// copied: the logical block was merged or unmapped, or that page was written to another log block. It cannot
    /// become a data block.
    pub(super) fn outdate_copies(&mut self, logical_block: u32, from: u32) {
        if self.log.index.holds_copies()
            && let Some(slot) = self.log.index.own_log_block(logical_block)
            && from < self.log.get(slot).next
            && self.barriers.keeps(Barrier::PartialMergesOfNewest)
        {
            self.log.get_mut(slot).in_place = false;
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        self.data.ram(&self.geometry, ledger);
        self.log.ram(self.log_blocks_most, ledger);
        self.map.ram(ledger);
        self.trims.ram(ledger);
        self.pool.ram(ledger);
        ledger.index("buffer.page", self.bytes.capacity() as u64);
        ledger.index("buffer.kept", self.kept.bytes() as u64);
        ledger.index("index.unmapped", (self.unmapped.capacity() * size_of::<(u32, Block)>()) as u64);
    }
}

impl<I: LogIndex, N: Nand> FindPages<N> for Ground<I> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }

    #[inline]
    fn find(&mut self, _nand: &mut N, key: LogicalPage, at: Time) -> (Sought, Time) {
        (self.newest(key.0), at)
    }

    #[inline]
    fn kept(&self, page: Page) -> Option<Content<'_>> {
        self.kept.get(page).map(|(_, _, data)| data.content())
    }

    #[inline]
    fn is_hole(spare: &Spare, key: LogicalPage) -> bool {
        is_hole(spare, key.0)
    }

    fn count_unreadable(&mut self) {
        self.tally.unreadable_reads += 1;
    }
}

/// A block that copies go to.
#[derive(Clone, Copy, Default)]
pub(super) struct Destination {
    /// None until there is something to copy.
    pub(super) block: Option<Block>,
    /// Its first page is programmed.
    pub(super) begun: bool,
}

/// The version of zeros that stand at the beginning of a block in the place of a page that is not there. It is older
/// than any merge, so it never counts in a log block.
const HOLE: u64 = 0;

/// Whether what stands in a logical page's place says that the page is not there.
fn is_hole(spare: &Spare, key: u32) -> bool {
    spare.kind == Kind::User && spare.key == key && spare.version == HOLE
}
