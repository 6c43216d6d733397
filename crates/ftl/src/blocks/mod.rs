//! Blocks: the free pool, the open blocks of each stream on each die, live counters, and the one way to program a page.
//!
//! Two rules that the rest relies on:
//! - **A block is erased right before its first program**, never on its way into the pool. So nothing that looks blank
//!   is trusted: a block whose erase was torn, or that was never erased, cannot be told from a good one in the pool,
//!   and need not be.
//! - **A block in the pool is safe to erase** from [`Blocks::pool_safe`] on: whatever replaced its pages is on flash by
//!   then.

mod blank;
mod counters;
mod deaths;
mod group_minima;
mod held;
mod multi_lri;
mod news;
mod notes;
mod sample;
mod sampling;
mod times;
mod wear;
mod young;

use blank::{Blank, Taken};
pub(crate) use counters::Counters;
pub(crate) use group_minima::GroupMinima;
pub(crate) use held::{Held, ScanFrom, held_blocks};
pub(crate) use multi_lri::MultiLri;
#[cfg(test)]
pub(crate) use notes::scene;
pub(crate) use notes::{GROUPS_MAX, Groups, Notes, View, WRITTEN_STREAMS_MAX, Wants};
pub(crate) use times::Moments;

use crate::barriers::{Barrier, Barriers};
use crate::medium::{Clock, EPOCH, NewPage, window};
use crate::{FtlError, RamLedger};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
pub(crate) use news::Item;
use news::News;
use phelsuma_nand::{Block, Geometry, Nand, Op, Page, ProgramError, Purpose, Spare, SpareRead, Time};
pub(crate) use wear::Wear;
pub(crate) use young::{Young, young_blocks};

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// A block being written.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    block: Block,
    next: u32,
    /// The seq of its first page.
    first_seq: u64,
    /// When its erase has completed.
    ready: Time,
}

/// Flash operations of whoever does not know of a recovery's steps, for its report.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) reads: u64,
    pub(crate) spare_reads: u64,
    pub(crate) programs: u64,
}

/// The blocks of a drive.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    geometry: Geometry,
    /// What was done since a recovery asked last; nobody else does.
    pub(crate) untold: Counts,
    uses: Vec<BlockUse>,
    /// The stream that a block was last written by.
    streams: Vec<u8>,
    /// A program failed here: retire the block when it has been emptied.
    failing: Vec<Block>,
    /// Emptied after a failure, and to be marked bad once this moment has come: a recovery does not read bad blocks, so
    /// what replaced their pages must be on flash by then. A cut before that forgets the failure, and the next erase or
    /// program meets it again.
    retiring: Vec<(Block, Time)>,
    pub(crate) counters: Counters,
    pool: Vec<VecDeque<Block>>,
    /// Free blocks that are not in the pool, but blank.
    blank: Vec<Blank>,
    free: u32,
    /// When what replaced the pages of every block in the pool is on flash. The pool is a queue, so by the time a block
    /// is erased this has long come, unless next to nothing is free.
    pool_safe: Time,
    /// By stream, then by die.
    open: Vec<Option<OpenBlock>>,
    turn: Vec<u32>,
    pub(crate) clock: Clock,
    pub(crate) bad: u32,
    critical: u32,
    /// What has happened that the parts have not heard of.
    pub(crate) news: News,
    /// The first stream of metadata; all above it are, too.
    metadata_from: u8,
    /// Whether metadata blocks are candidates for collection like others.
    collects_metadata: bool,
    /// Written metadata blocks that are no candidates: they wait until all of their pages are stale (GeckoFTL
    /// section 4.2).
    waiting: Vec<Block>,
    /// Free blocks that must not be erased yet, where there are such.
    pub(crate) held: Option<Held>,
    /// Those that a recovery has to look at, where a page validity log is to survive power cuts.
    pub(crate) young: Option<Young>,
    /// A recovery is at work: what it writes says so.
    pub(crate) recovering: bool,
    /// What is written goes to one die as long as there is room: a recovery that is cut leaves its open blocks
    /// part-filled.
    pub(crate) on_one_die: bool,
    /// Pages of metadata that a recovery has read, and that may have been in flight: it may have been the last time that
    /// they read well.
    pub(crate) read_before: Vec<(Page, Spare, Vec<u8>)>,
    /// Where wear is levelled.
    pub(crate) wear: Option<Wear>,
    /// What is noted of blocks for policies that ask for it.
    pub(crate) notes: Notes,
    /// Nothing is written any more, see [`Blocks::stop_writing`].
    stopped: bool,
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
        let slots = usize::from(streams) * geometry.dies() as usize;
        Self {
            geometry,
            untold: Counts::default(),
            uses: vec![BlockUse::Fixed; geometry.blocks() as usize],
            streams: vec![0; geometry.blocks() as usize],
            failing: Vec::new(),
            retiring: Vec::new(),
            counters: Counters::new(geometry.blocks()),
            pool: vec![VecDeque::new(); geometry.dies() as usize],
            blank: Vec::new(),
            free: 0,
            pool_safe: Time::ZERO,
            open: vec![None; slots],
            turn: vec![0; usize::from(streams)],
            clock,
            bad: 0,
            critical: critical_blocks(&geometry),
            news: News::default(),
            metadata_from,
            collects_metadata,
            waiting: Vec::new(),
            held: None,
            young: None,
            recovering: false,
            on_one_die: false,
            read_before: Vec::new(),
            wear: None,
            notes: Notes::default(),
            stopped: false,
            barriers,
        }
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

    /// Free blocks, those included that will be when Gecko's buffer is flushed.
    #[inline]
    pub(crate) fn free(&self) -> u32 {
        match &self.held {
            None => self.free,
            Some(held) => self.free + held.len() as u32,
        }
    }

    /// Whether there is no block left to open.
    pub(crate) fn is_pool_empty(&self) -> bool {
        self.free == 0
    }

    /// Whether Gecko's buffer should be flushed although it is not full.
    #[inline]
    pub(crate) fn wants_flush(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.wants_flush() || held.can_let_go() && self.free < self.critical)
            || self.young.as_ref().is_some_and(Young::wants_flush)
    }

    /// Whether it is written, or being written: not free, bad, or on its way there.
    pub(crate) fn is_in_use(&self, block: Block) -> bool {
        matches!(self.use_of(block), BlockUse::Open | BlockUse::Closed | BlockUse::Victim)
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

    /// A block has no live pages: it goes into the pool, or is held until it may.
    pub(crate) fn release(&mut self, block: Block) {
        let stream = self.stream_of(block);
        if self.young.is_some() && stream < self.metadata_from {
            // Should the power fail before it is erased, the log knows.
            self.news.freed(block);
            return self.release_now(block);
        }
        let holds = stream <= self.metadata_from && self.barriers.keeps(Barrier::HeldUntilFlush);
        let Some(held) = self.held.as_mut().filter(|_| holds) else {
            return self.release_now(block);
        };
        // Whose pages they are: Gecko keeps user pages alone.
        held.push(block, stream == self.metadata_from);
        if stream < self.metadata_from {
            self.news.freed(block);
        }
        self.counters.freed(block);
        self.notes.taken(block);
        if let Some(at) = self.waiting.iter().position(|b| *b == block) {
            self.waiting.swap_remove(at);
        }
        self.uses[block.index()] = BlockUse::Held;
    }

    /// Puts a block without live pages into the pool; it may be erased once every program so far has completed.
    pub(crate) fn release_now(&mut self, block: Block) {
        // What is held is not counted any more.
        debug_assert_eq!(self.counters.known(block).unwrap_or(0), 0, "{block} has live pages");
        self.counters.freed(block);
        self.notes.taken(block);
        if let Some(at) = self.waiting.iter().position(|b| *b == block) {
            self.waiting.swap_remove(at);
        }
        if let Some(at) = self.failing.iter().position(|b| *b == block) {
            self.failing.swap_remove(at);
            // Bad blocks are not read by a recovery: what replaced its pages has to be on flash first.
            self.uses[block.index()] = BlockUse::Fixed;
            let safe = if self.barriers.keeps(Barrier::RetiredWhenSafe) { self.clock.horizon() } else { Time::ZERO };
            self.retiring.push((block, safe));
            return;
        }
        self.uses[block.index()] = BlockUse::Free;
        self.pool[self.geometry.die_of(block) as usize].push_back(block);
        self.free += 1;
        self.pool_safe = self.pool_safe.max(self.clock.horizon());
    }

    /// Whether metadata blocks are candidates for collection like others.
    pub(crate) fn collects_metadata(&self) -> bool {
        self.collects_metadata
    }

    /// Whether `stream` holds metadata.
    pub(crate) fn is_metadata(&self, stream: u8) -> bool {
        stream >= self.metadata_from
    }

    /// A block is written: a candidate from now on, or one that waits until all of its pages are stale.
    pub(crate) fn close(&mut self, block: Block, stream: u8) {
        self.uses[block.index()] = BlockUse::Closed;
        self.streams[block.index()] = stream;
        if stream < self.metadata_from
            && let Some(young) = &mut self.young
        {
            young.closed(block, self.clock.seq());
        }
        let candidate = self.collects_metadata || !self.is_metadata(stream);
        self.counters.closed(block, self.is_metadata(stream), candidate);
        if candidate {
            self.notes.closed(block, self.counters.live(block));
            self.news.closed(block);
        } else {
            self.waiting.push(block);
            self.look_if_emptied(block);
        }
    }

    /// A block that held metadata and holds none that is live, but must not be erased before the next flush.
    pub(crate) fn hold(&mut self, block: Block, stream: u8) {
        self.uses[block.index()] = BlockUse::Held;
        self.streams[block.index()] = stream;
        if let Some(held) = &mut self.held {
            held.push(block, true);
        }
    }

    fn look_if_emptied(&mut self, block: Block) {
        if self.is_emptied(block) {
            self.news.emptied(block);
        }
    }

    /// A metadata page is stale. What was written in its place need not be on flash yet: no block is erased before.
    pub(crate) fn drop_metadata(&mut self, page: Page) {
        let block = self.geometry.block_of(page);
        self.counters.remove(block);
        self.lost_a_page(block);
        if self.collects_metadata || self.is_candidate(block) {
            self.news.lowered(block);
        }
        if !self.collects_metadata {
            self.look_if_emptied(block);
        }
    }

    /// Whether a written block has no live page.
    pub(crate) fn is_emptied(&self, block: Block) -> bool {
        self.counters.live(block) == 0 && self.use_of(block) == BlockUse::Closed
    }

    /// Written metadata blocks that wait until all of their pages are stale.
    pub(crate) fn waiting(&self) -> &[Block] {
        &self.waiting
    }

    /// Makes a written block the victim.
    pub(crate) fn begin_collection(&mut self, block: Block) {
        debug_assert_eq!(self.use_of(block), BlockUse::Closed);
        debug_assert!(self.counters.known(block).is_some(), "{block} is collected and not counted");
        self.uses[block.index()] = BlockUse::Victim;
        self.counters.taken(block);
        self.notes.taken(block);
        if let Some(at) = self.waiting.iter().position(|b| *b == block) {
            self.waiting.swap_remove(at);
        }
    }

    /// Marks those bad whose pages are safe elsewhere at `at`.
    fn retire_what_is_safe<N: Nand>(&mut self, nand: &mut N, at: Time) {
        while let Some(n) = self.retiring.iter().position(|(_, safe)| *safe <= at) {
            let (block, _) = self.retiring.swap_remove(n);
            self.retire(nand, block);
        }
    }

    fn retire<N: Nand>(&mut self, nand: &mut N, block: Block) {
        nand.mark_bad(block);
        self.uses[block.index()] = BlockUse::Fixed;
        self.bad += 1;
    }

    /// No block is left. Those that failed a program are bad as well, though nothing on flash says so yet.
    pub(crate) fn full(&self) -> FtlError {
        FtlError::Full { bad_blocks: self.bad + (self.failing.len() + self.retiring.len()) as u32 }
    }

    /// Whether nothing is written any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Nothing is written any more until the drive comes up anew: a recovery had no block for what must be on flash before
    /// anything else is.
    pub(crate) fn stop_writing(&mut self) {
        self.stopped = true;
        for slot in 0..self.open.len() {
            if let Some(open) = self.open[slot].take() {
                self.close(open.block, (slot / self.geometry.dies() as usize) as u8);
            }
        }
    }

    /// Opens a block for `stream` on `die`, or on the next one that has any: erased, at the earliest when the pool is
    /// safe.
    fn open_block<N: Nand>(
        &mut self,
        nand: &mut N,
        die: u32,
        stream: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<OpenBlock, FtlError> {
        if self.stopped {
            return Err(self.full());
        }
        loop {
            let Some(taken) = self.take_free(nand, die, stream, at) else { return Err(self.full()) };
            let Taken { block, at, erased } = taken;
            self.free -= 1;
            if !self.barriers.keeps(Barrier::EraseBeforeUse) {
                let first = self.geometry.page(block, 0);
                self.untold.spare_reads += 1;
                if nand.read_spare(first, Op::new(at, purpose)).0 == SpareRead::Erased {
                    self.uses[block.index()] = BlockUse::Open;
                    return Ok(OpenBlock { block, next: 0, first_seq: 0, ready: at });
                }
            }
            let erased = match erased {
                Some(erased) => Some(erased),
                None => self.erase_free(nand, block, purpose, at)?,
            };
            if let Some(ready) = erased {
                self.uses[block.index()] = BlockUse::Open;
                return Ok(OpenBlock { block, next: 0, first_seq: 0, ready });
            }
        }
    }

    /// The open slot of `stream` whose turn it is, with room for a page. Streams write to their dies in turn; when free
    /// blocks are scarce they stay with what is open.
    #[inline]
    fn slot<N: Nand>(&mut self, nand: &mut N, stream: u8, purpose: Purpose, at: Time) -> Result<usize, FtlError> {
        let dies = self.geometry.dies();
        let base = usize::from(stream) * dies as usize;
        let mut die = 0;
        if dies > 1 {
            let turn = &mut self.turn[usize::from(stream)];
            die = *turn;
            *turn = if die + 1 == dies { 0 } else { die + 1 };
            if self.open[base + die as usize].is_none() && (self.emergency() || self.on_one_die) {
                die = (0..dies).find(|d| self.open[base + *d as usize].is_some()).unwrap_or(die);
            }
        }
        let slot = base + die as usize;
        if self.open[slot].is_none() {
            let opened = self.open_block(nand, die, stream, erase_purpose(purpose), at)?;
            self.streams[opened.block.index()] = stream;
            self.counters.opened(opened.block);
            self.open[slot] = Some(opened);
        }
        Ok(slot)
    }

    /// Programs a page at the end of `stream`: where it is, and when it is safe. A page that the chip fails to program
    /// is written again elsewhere, and its block retired once it is empty.
    #[inline]
    pub(crate) fn append<N: Nand>(
        &mut self,
        nand: &mut N,
        stream: u8,
        page: &NewPage<'_>,
        purpose: Purpose,
        at: Time,
    ) -> Result<(Page, Time), FtlError> {
        if !self.retiring.is_empty() {
            self.retire_what_is_safe(nand, at);
        }
        loop {
            let slot = self.slot(nand, stream, purpose, at)?;
            let Some(open) = &mut self.open[slot] else { return Err(self.full()) };
            let earliest = at.max(open.ready);
            let (seq, start) = self.clock.next_program(earliest);
            let start = if self.barriers.keeps(Barrier::WindowKept) { start } else { earliest };
            if open.next == 0 {
                open.first_seq = seq;
                self.notes.begun(open.block);
            }
            let marks = match &self.wear {
                Some(wear) => page.marks.with_erase_count((open.next == 0).then(|| wear.opened())),
                None => page.marks,
            };
            let spare = Spare {
                kind: page.kind,
                stream: if self.recovering && self.barriers.keeps(Barrier::CopiesLabelled) {
                    RECOVERY_STREAM
                } else {
                    stream
                },
                key: page.key,
                version: page.version,
                seq,
                data_crc: page.data_crc,
                aux: marks.aux(),
            };
            let block = open.block;
            let to = self.geometry.page(block, open.next);
            open.next += 1;
            let full = open.next == self.geometry.pages_per_block();
            match nand.program(to, page.content, &spare, Op::new(start, purpose)) {
                Ok(done) => {
                    self.clock.programmed(done);
                    self.counters.add(block);
                    if full {
                        self.open[slot] = None;
                        self.close(block, stream);
                    }
                    return Ok((to, done));
                }
                Err(ProgramError::Failed(_)) if !self.barriers.keeps(Barrier::FailedWrittenAgain) => {
                    self.clock.programmed(start);
                    self.counters.add(block);
                    if full {
                        self.open[slot] = None;
                        self.close(block, stream);
                    }
                    return Ok((to, start));
                }
                Err(ProgramError::Failed(_) | ProgramError::Bad(_)) => {
                    self.clock.programmed(start);
                    self.open[slot] = None;
                    self.failing.push(block);
                    self.news.failed(to);
                    self.close(block, stream);
                }
                Err(error) => {
                    // A read that misses goes on after such an error, and there is no page behind the last.
                    if full {
                        self.open[slot] = None;
                        self.close(block, stream);
                    }
                    return Err(error.into());
                }
            }
        }
    }

    /// The stream to write a user page to that is meant for `stream`: where next to nothing is free, no further block is
    /// opened as long as any of the users' streams has one.
    #[inline]
    pub(crate) fn stream_with_room(&self, stream: u8) -> u8 {
        if !self.emergency() {
            return stream;
        }
        let dies = self.geometry.dies() as usize;
        let is_open = |stream: u8| self.open[usize::from(stream) * dies..][..dies].iter().any(Option::is_some);
        if is_open(stream) { stream } else { (0..self.metadata_from).find(|other| is_open(*other)).unwrap_or(stream) }
    }

    /// A block that failed a program and should be emptied.
    pub(crate) fn failing(&self) -> Option<Block> {
        self.failing.iter().copied().find(|b| self.use_of(*b) == BlockUse::Closed)
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        let blocks = u64::from(self.geometry.blocks());
        self.counters.ram(ledger);
        ledger.structure("blocks.use", blocks / 4);
        ledger.structure("blocks.free_pool", blocks.div_ceil(8));
        let queues: usize = self.pool.iter().map(VecDeque::capacity).sum();
        ledger.index("index.free_pool_queue", (queues * size_of::<Block>() + self.bytes_of_blank()) as u64);
        ledger.index("index.block_use_and_stream", blocks * 2 - blocks / 4);
        let lists = self.failing.capacity() + self.waiting.capacity() + 3 * self.retiring.capacity();
        ledger.index("index.failing_and_waiting", (lists * size_of::<Block>()) as u64);
        self.news.ram(ledger);
        self.notes.ram(ledger);
        if let Some(held) = &self.held {
            held.ram(ledger);
        }
        if let Some(young) = &self.young {
            young.ram(ledger);
        }
        ledger
            .structure("blocks.open", (self.open.len() * size_of::<Option<OpenBlock>>() + self.turn.len() * 4) as u64);
        self.clock.ram(ledger);
        self.ram_of_wear(ledger);
    }
}

/// Opening a block is charged to whoever needs it; an erase for the host's own page counts as collection's.
fn erase_purpose(purpose: Purpose) -> Purpose {
    if purpose == Purpose::Host { Purpose::Gc } else { purpose }
}

/// Free blocks below which streams stop opening blocks on further dies, and every victim is the emptiest block.
///
/// A power cut leaves a part-filled block behind, and so does the next one. Collecting the emptiest blocks first, a run
/// of cuts can grow the number of such blocks only while less than half as much is written between two of them as
/// between the two before: by the logarithm of a block's pages. Besides, between two cuts the drive may open a block
/// for tombstones and a recovery may hold blocks back, and with several dies a recovery copies as many pages as can
/// have been in flight, each of which the next cut may meet.
pub(crate) fn critical_blocks(geometry: &Geometry) -> u32 {
    let copies = if geometry.dies() == 1 { 0 } else { window(geometry.dies()) as u32 };
    4 + geometry.pages_per_block().next_power_of_two().trailing_zeros() + copies
}
