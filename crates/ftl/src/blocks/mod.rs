//! Blocks: the free pool, the open blocks of each stream on each die, live counters, and the one way to program a page.
//!
//! Two rules that the rest relies on:
//! - **A block is erased right before its first program**, never on its way into the pool. So nothing that looks blank
//!   is trusted. A block in the pool may have a torn erase, or none. It looks like a good one, and that does not
//!   matter.
//! - **A block in the pool is safe to erase** from a moment on that the pool states ([`FreePool::safe`]). All pages
//!   that replaced its pages are on flash by then.

mod blank;
mod block_log;
mod counters;
mod free_block;
mod group_minima;
mod multi_lri;
mod news;
mod notes;
mod open;
mod release;
mod sample;
mod sampling;
mod slc;
mod slc_blocks;
mod times;
mod unread;
mod view;
mod watch;
mod wear;

use block_log::BlockLog;
pub(crate) use block_log::{BlockLogPage, FoundChain, FoundLog, Region, pages_of_table, region_blocks};
pub use counters::Counters;
use free_block::Blank;
pub use group_minima::GroupMinima;
pub use multi_lri::MultiLri;
pub(crate) use notes::Notes;
pub use notes::Wants;
#[cfg(test)]
pub(crate) use notes::scene;
use phelsuma_nand::state::Preserve;
pub(crate) use times::Moments;
pub use view::View;

use crate::barriers::{Barrier, Barriers};
use crate::medium::{Clock, EPOCH, Failures, FreePool, Phase, window};
use crate::{FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
pub(crate) use news::Item;
use news::News;
use open::OpenBlocks;
pub(crate) use open::Spread;
use phelsuma_nand::{Block, Geometry};
pub(crate) use slc::Slc;
pub(crate) use watch::Watch;
pub(crate) use wear::Wear;

/// The use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
#[repr(u8)]
pub(crate) enum BlockUse {
    /// In the free pool.
    Free,
    /// Nothing in it is live, and it must not be erased yet.
    Held,
    /// Being written.
    Open,
    /// Written; a candidate for collection.
    Closed,
    /// Being collected.
    Victim,
    /// Never used: it is bad, or holds the drive's description.
    Fixed,
}

/// Blocks of metadata: those of the last streams.
#[derive(Clone, Debug, Preserve)]
struct Metadata {
    /// The first of their streams.
    from: u8,
    /// Whether they are candidates for collection like others.
    collected: bool,
    /// Written ones that are no candidates: they wait until all of their pages are stale (GeckoFTL section 4.2).
    waiting: Vec<Block>,
}

/// What is written so that mounts are short.
#[derive(Clone, Default, Debug, Preserve)]
struct ForMounts {
    /// Where the block log stands, if there is one.
    region: Region,
    log: Option<BlockLog>,
}

/// The blocks of a drive.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Blocks {
    geometry: Geometry,
    uses: Vec<BlockUse>,
    /// The stream that began a block, or will, or did last.
    streams: Vec<u8>,
    pub(crate) counters: Counters,
    pool: FreePool,
    /// Free blocks that are not in the pool, but blank.
    blank: Vec<Blank>,
    /// Free blocks that must not be erased yet: how many.
    held: u32,
    failures: Failures,
    open: OpenBlocks,
    pub(crate) clock: Clock,
    /// Free blocks below which nothing but making more counts.
    critical: u32,
    /// Events that were not yet passed on to the parts.
    pub(crate) news: News,
    metadata: Metadata,
    phase: Phase,
    /// Where wear is levelled.
    pub(crate) wear: Option<Wear>,
    /// What is written so that mounts are short.
    for_mounts: ForMounts,
    /// Notes on blocks, for policies that need them.
    pub(crate) notes: Notes,
    barriers: Barriers,
}

/// The label in spare areas of pages that recovery copied: their originals may be unsound.
pub(crate) const RECOVERY_STREAM: u8 = 0xff;

impl Blocks {
    /// All blocks fixed; [`Blocks::release`] puts the usable ones into the pool.
    /// Streams from `metadata_from` on hold metadata.
    pub(crate) fn new(
        geometry: Geometry,
        streams: u8,
        metadata_from: u8,
        collects_metadata: bool,
        clock: Clock,
        barriers: Barriers,
    ) -> Self {
        Self {
            geometry,
            uses: vec![BlockUse::Fixed; geometry.blocks() as usize],
            streams: vec![0; geometry.blocks() as usize],
            counters: Counters::new(geometry.blocks()),
            pool: FreePool::new(geometry),
            blank: Vec::with_capacity(critical_blocks(&geometry) as usize),
            held: 0,
            failures: Failures::new(barriers),
            open: OpenBlocks::new(&geometry, streams),
            clock,
            critical: critical_blocks(&geometry),
            news: News::default(),
            metadata: Metadata { from: metadata_from, collected: collects_metadata, waiting: Vec::new() },
            phase: Phase::Serving,
            wear: None,
            for_mounts: ForMounts::default(),
            notes: Notes::default(),
            barriers,
        }
    }

    /// The rules that are kept.
    pub(crate) fn barriers(&self) -> Barriers {
        self.barriers
    }

    /// Whether the rule is kept: only a test double forgets one.
    pub(crate) fn keeps(&self, barrier: Barrier) -> bool {
        self.barriers.keeps(barrier)
    }

    /// A recovery has found these to be the highest on flash: both clocks skip ahead.
    pub(crate) fn begin_session(&mut self, version_max: u64, seq_max: u64) {
        let epoch = if self.barriers.keeps(Barrier::ClocksSkip) { EPOCH } else { 0 };
        self.clock = Clock::new(self.geometry.dies(), version_max + epoch, seq_max + epoch);
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// A recovery is at work from now on. Its copies are labelled and spread like this; without, it writes as a drive
    /// does that serves.
    pub(crate) fn begin_mounting(&mut self, copies: Option<Spread>) {
        debug_assert!(self.phase == Phase::Serving, "a drive is mounted twice");
        self.phase = Phase::Mounting;
        self.open.labels_copies = copies.is_some();
        self.open.spread = copies.unwrap_or(Spread::AllDies);
    }

    /// A recovery has come to its end.
    pub(crate) fn mounted(&mut self) {
        let used_as = |usage: BlockUse| self.uses.iter().filter(|other| **other == usage).count();
        debug_assert_eq!(used_as(BlockUse::Free), self.to_open() as usize, "blocks are free and not to be had");
        debug_assert_eq!(used_as(BlockUse::Held), self.held as usize, "blocks are held and not counted");
        self.slc_mounted();
        self.phase = self.phase.mounted();
        self.open.labels_copies = false;
        self.open.spread = Spread::AllDies;
    }

    /// Whether a recovery is at work.
    pub(crate) fn is_mounting(&self) -> bool {
        self.phase.is_mounting()
    }

    /// Whether nothing is written any more, see [`Blocks::stop_writing`].
    pub(crate) fn is_read_only(&self) -> bool {
        self.phase.is_read_only()
    }

    /// Free blocks, those included that are held.
    #[inline]
    pub(crate) fn free(&self) -> u32 {
        self.to_open() + self.held
    }

    /// Free blocks that may be opened now.
    #[inline]
    pub(crate) fn to_open(&self) -> u32 {
        self.pool.len() + self.blank.len() as u32
    }

    /// Whether it is written, or being written: not free, bad, or on its way there.
    pub(crate) fn is_in_use(&self, block: Block) -> bool {
        matches!(self.use_of(block), BlockUse::Open | BlockUse::Closed | BlockUse::Victim)
    }

    /// Blocks that are marked bad.
    pub(crate) fn bad(&self) -> u32 {
        self.failures.bad()
    }

    /// So many were marked bad at the mount.
    pub(crate) fn found_bad(&mut self, bad: u32) {
        self.failures.found_bad(bad);
    }

    /// No block is left. Those that failed a program are bad as well, though nothing on flash says so yet.
    pub(crate) fn full(&self) -> FtlError {
        self.failures.full()
    }

    /// A block that failed a program and should be emptied.
    pub(crate) fn failing(&self) -> Option<Block> {
        self.failures.failing().iter().copied().find(|b| self.use_of(*b) == BlockUse::Closed)
    }

    /// Whether a program failed in a block that is not marked bad yet.
    pub(crate) fn has_failed(&self, block: Block) -> bool {
        self.failures.not_bad_yet().any(|failed| failed == block)
    }

    /// Whether metadata blocks are candidates for collection like others.
    pub(crate) fn collects_metadata(&self) -> bool {
        self.metadata.collected
    }

    /// The first stream of metadata.
    pub(crate) fn first_of_metadata(&self) -> u8 {
        self.metadata.from
    }

    /// Whether `stream` holds metadata.
    pub(crate) fn is_metadata(&self, stream: u8) -> bool {
        stream >= self.metadata.from
    }

    /// Written metadata blocks that wait until all of their pages are stale.
    pub(crate) fn waiting(&self) -> &[Block] {
        &self.metadata.waiting
    }

    /// Whether so few blocks are free that nothing but making more counts.
    pub(crate) fn emergency(&self) -> bool {
        self.free() < self.critical
    }

    /// Free blocks below which [`Blocks::emergency`] is.
    pub(crate) fn critical(&self) -> u32 {
        self.critical
    }

    pub(crate) fn use_of(&self, block: Block) -> BlockUse {
        self.uses[block.index()]
    }

    pub(crate) fn stream_of(&self, block: Block) -> u8 {
        self.streams[block.index()]
    }

    /// With counters of so many bytes, packed.
    pub(crate) fn ram(&self, counter_bytes: u64, ledger: &mut RamLedger) {
        let blocks = u64::from(self.geometry.blocks());
        self.counters.ram(counter_bytes, ledger);
        ledger.structure("blocks.use", blocks / 4);
        self.pool.ram(ledger);
        ledger.index("index.blank_blocks", self.bytes_of_blank() as u64);
        ledger.index("index.block_use_and_stream", blocks * 2 - blocks / 4);
        let lists = self.failures.bytes() + self.metadata.waiting.capacity() * size_of::<Block>();
        ledger.index("index.failing_and_waiting", lists as u64);
        self.news.ram(ledger);
        self.notes.ram(ledger);
        ledger.structure("blocks.open", self.open.bytes() as u64);
        self.clock.ram(ledger);
        if let Some(slc) = self.slc() {
            ledger.structure("blocks.slc", slc.bytes() as u64);
        }
        self.ram_of_wear(ledger);
        self.ram_of_log(ledger);
    }
}

/// Free blocks below which streams stop opening blocks on further dies, and every victim is the emptiest block.
///
/// A power cut leaves a part-filled block behind, and so does the next one. Collection takes the emptiest blocks first.
/// So a run of cuts can grow the number of such blocks only while the writes between two cuts more than halve each
/// time. So the number is the logarithm of a block's pages.
///
/// Besides, between two cuts the drive may open a block for tombstones, and a recovery may hold blocks back. With
/// several dies a recovery copies as many pages as can have been in flight, each of which the next cut may meet.
pub(crate) fn critical_blocks(geometry: &Geometry) -> u32 {
    let copies = if geometry.dies() == 1 { 0 } else { window(geometry.dies()) as u32 };
    4 + geometry.pages_per_block().next_power_of_two().trailing_zeros() + copies
}
