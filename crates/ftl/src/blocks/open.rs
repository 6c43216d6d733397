//! The blocks being written: of each stream one on each die, and the one way to program a page.

use super::free_block::Taken;
use super::slc::Slc;
use super::{BlockUse, Blocks, RECOVERY_STREAM, Watch};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::{NewPage, Phase};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Nand, Op, Page, ProgramError, Purpose, Spare, SpareRead, Time};

/// A block is open for too long after the programs of so many blocks for each slot of the users'.
const BLOCKS_FOR_A_SLOT: u64 = 32;

/// A block being written.
#[derive(Clone, Copy, Debug, Preserve)]
struct OpenBlock {
    block: Block,
    next: u32,
    /// The seq of its first page.
    first_seq: u64,
    /// When its erase has completed.
    ready: Time,
}

/// The dies over which a stream spreads its writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) enum Spread {
    /// It goes to all dies in turn.
    AllDies,
    /// Where few blocks are free, it goes to one die as long as there is room: a recovery that is cut leaves its open
    /// blocks part-filled.
    OneDie,
}

/// The open blocks.
#[derive(Clone, Debug, Preserve)]
pub(super) struct OpenBlocks {
    /// By stream, then by die.
    slots: Vec<Option<OpenBlock>>,
    /// By stream: the die that is next.
    turn: Vec<u32>,
    pub(super) spread: Spread,
    /// After so many programs a block is open for too long, where that is bounded.
    longest: Option<u64>,
    taken_over: u64,
    /// The SLC cache, if there is one.
    pub(super) slc: Option<Slc>,
    /// Writes are copies of a recovery, and are labelled so.
    pub(super) labels_copies: bool,
}

impl OpenBlocks {
    pub(super) fn new(geometry: &Geometry, streams: u8) -> Self {
        Self {
            slots: vec![None; usize::from(streams) * geometry.dies() as usize],
            turn: vec![0; usize::from(streams)],
            spread: Spread::AllDies,
            longest: None,
            taken_over: 0,
            slc: None,
            labels_copies: false,
        }
    }

    /// How many blocks of a stream are open, and whether the one that is written next is.
    pub(super) fn of_stream(&self, stream: u8, dies: u32) -> (u32, bool) {
        let of_stream = &self.slots[usize::from(stream) * dies as usize..][..dies as usize];
        let next = self.turn[usize::from(stream)] as usize;
        (of_stream.iter().flatten().count() as u32, of_stream[next].is_some())
    }

    /// Their RAM.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Option<OpenBlock>>() + self.turn.len() * 4
    }
}

impl Blocks {
    /// Nothing is written any more until the next mount: a recovery had no block for what must be on flash before
    /// anything else is.
    pub(crate) fn stop_writing(&mut self, watch: &mut impl Watch) {
        self.phase = Phase::ReadOnly;
        for slot in 0..self.open.slots.len() {
            if let Some(open) = self.open.slots[slot] {
                self.close_slot(watch, slot, open.block);
            }
        }
    }

    /// The lowest seq of the first page of a block of user data that is open; of the next page to come where none is.
    pub(crate) fn oldest_open(&self) -> u64 {
        let user = usize::from(self.metadata.from) * self.geometry.dies() as usize;
        let open = self.open.slots[..user].iter().flatten().filter(|open| open.next > 0);
        open.map(|open| open.first_seq).min().unwrap_or(self.clock.seq() + 1)
    }

    /// Opens a block for `stream` on `die`, or on the next one that has any: erased, at the earliest when the pool is
    /// safe.
    fn open_block<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        die: u32,
        stream: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<OpenBlock, FtlError> {
        if self.phase.is_read_only() {
            return Err(self.full());
        }
        loop {
            let Some(taken) = self.take_free(nand, watch, die, stream, at) else { return Err(self.full()) };
            let Taken { block, at, erased } = taken;
            debug_assert_eq!(self.use_of(block), BlockUse::Free, "{block} is opened");
            let at = self.reserve(nand, watch, block, at)?;
            if !self.barriers.keeps(Barrier::EraseBeforeUse) {
                let first = self.geometry.page(block, 0);
                watch.looked_at_free_block();
                if nand.read_spare(first, Op::new(at, purpose)).0 == SpareRead::Erased {
                    return Ok(self.opened(nand, block, stream, at));
                }
            }
            let erased = match erased {
                Some(erased) => Some(erased),
                None => self.erase_free(nand, watch, block, purpose, at)?,
            };
            if let Some(ready) = erased {
                return Ok(self.opened(nand, block, stream, ready));
            }
        }
    }

    fn opened<N: Nand>(&mut self, nand: &mut N, block: Block, stream: u8, ready: Time) -> OpenBlock {
        self.uses[block.index()] = BlockUse::Open;
        if let Some(slc) = &self.open.slc {
            nand.set_one_bit(block, (slc.stream == stream).then_some(slc.pages));
        }
        OpenBlock { block, next: 0, first_seq: 0, ready }
    }

    /// Bounds for how long a block of the users' is open: for the programs of 32 blocks for each of their slots, or of a
    /// quarter of the drive. A recovery that looks at the pages written last looks for them in all blocks begun since the
    /// oldest that was open.
    pub(crate) fn bound_open(&mut self) {
        let blocks = (self.user_slots() * BLOCKS_FOR_A_SLOT).min(u64::from(self.geometry.blocks()) / 4);
        self.open.longest = Some(blocks * u64::from(self.geometry.pages_per_block()));
    }

    /// An estimate of the blocks that are begun while a block of the users' is open; 0 where that is not bounded. They may
    /// be more: then GeckoRec reads first pages once more.
    pub(crate) fn begun_while_open(&self) -> u64 {
        let blocks = |pages| pages / u64::from(self.geometry.pages_per_block()) + 3 * self.user_slots();
        self.open.longest.map_or(0, blocks)
    }

    /// Blocks that were taken over, where that is done.
    pub(crate) fn taken_over(&self) -> Option<u64> {
        self.open.longest.map(|_| self.open.taken_over)
    }

    fn user_slots(&self) -> u64 {
        u64::from(self.metadata.from) * u64::from(self.geometry.dies())
    }

    /// The users' block on a die that has been open for too long, for `stream` to write on. The stream that began it
    /// begins another one with its next page, and takes it back only if it is open twice as long.
    fn take_over(&mut self, stream: u8, die: u32) -> Option<OpenBlock> {
        let longest = self.open.longest.filter(|_| !self.is_metadata(stream) && self.keeps(Barrier::OpenBounded))?;
        let begun = self.clock.seq().checked_sub(longest)?;
        let dies = self.geometry.dies() as usize;
        let users = 0..self.user_slots() as usize;
        let too_long = |slot: &usize| {
            let open = self.open.slots[*slot].filter(|open| open.next > 0 && open.first_seq < begun);
            let is_own = |open: &OpenBlock| self.streams[open.block.index()] == stream;
            open.filter(|open| !is_own(open) || open.first_seq + longest < begun).map(|open| (open.first_seq, *slot))
        };
        let (_, slot) = users.skip(die as usize).step_by(dies).filter_map(|slot| too_long(&slot)).min()?;
        self.open.taken_over += 1;
        self.open.slots[slot].take()
    }

    /// The open slot of `stream` whose turn it is, with room for a page. Streams write to their dies in turn. When free
    /// blocks are scarce they stay with the open blocks.
    #[inline]
    fn slot<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        stream: u8,
        purpose: Purpose,
        at: Time,
    ) -> Result<usize, FtlError> {
        let dies = self.geometry.dies();
        let base = usize::from(stream) * dies as usize;
        let mut die = 0;
        if dies > 1 {
            let turn = &mut self.open.turn[usize::from(stream)];
            die = *turn;
            *turn = if die + 1 == dies { 0 } else { die + 1 };
            let is_open = |die: u32| self.open.slots[base + die as usize].is_some();
            let is_scarce = match self.open.spread {
                Spread::AllDies => self.emergency(),
                Spread::OneDie => self.free() < self.critical + 2 * dies,
            };
            if !is_open(die) && is_scarce {
                die = (0..dies).find(|d| is_open(*d)).unwrap_or(die);
            }
        }
        let slot = base + die as usize;
        if self.open.slots[slot].is_none() {
            self.open.slots[slot] = self.take_over(stream, die);
        }
        if self.open.slots[slot].is_none() {
            let opened = self.open_block(nand, watch, die, stream, erase_purpose(purpose), at)?;
            self.streams[opened.block.index()] = stream;
            self.counters.opened(opened.block);
            self.open.slots[slot] = Some(opened);
        }
        Ok(slot)
    }

    /// Programs a page at the end of `stream`: where it is, and when it is safe. A page that the chip fails to program
    /// is written again elsewhere, and its block retired once it is empty.
    #[inline]
    pub(crate) fn append<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        stream: u8,
        page: &NewPage<'_>,
        purpose: Purpose,
        at: Time,
    ) -> Result<(Page, Time), FtlError> {
        debug_assert!(usize::from(stream) < self.open.turn.len(), "there is no stream {stream}");
        self.failures.retire_what_is_safe(nand, at);
        loop {
            let slot = self.slot(nand, watch, stream, purpose, at)?;
            let Some(open) = &mut self.open.slots[slot] else { return Err(self.full()) };
            debug_assert!(!self.phase.is_read_only(), "a drive is written that is read only");
            let earliest = at.max(open.ready);
            let (seq, start) = self.clock.next_program(earliest);
            let start = if self.barriers.keeps(Barrier::WindowKept) { start } else { earliest };
            if open.next == 0 {
                open.first_seq = seq;
                self.notes.begun(open.block);
            }
            debug_assert!(open.next == 0 || seq > open.first_seq, "seq goes back");
            let (block, index) = (open.block, open.next);
            let to = self.geometry.page(block, index);
            open.next += 1;
            let written = open.next;
            let spare = self.spare(page, stream, seq, index);
            let end = self.end_of(block);
            debug_assert!(index < end, "{block} is written beyond its end");
            let full = written == end;
            match nand.program(to, page.content, &spare, Op::new(start, purpose)) {
                Ok(done) => {
                    self.clock.programmed(done);
                    self.counters.add(block);
                    if index == 0 {
                        self.log_begun(block, page.kind);
                    }
                    debug_assert!(
                        u32::from(self.counters.live(block)) <= written,
                        "{block} has more live pages than pages"
                    );
                    if full {
                        self.close_slot(watch, slot, block);
                        // Those of an SLC block that are left out hold nothing.
                        if end < self.geometry.pages_per_block() {
                            self.news.failed(self.geometry.page(block, end));
                        }
                    }
                    return Ok((to, done));
                }
                Err(ProgramError::Failed(_)) if !self.barriers.keeps(Barrier::FailedWrittenAgain) => {
                    self.clock.programmed(start);
                    self.counters.add(block);
                    if full {
                        self.close_slot(watch, slot, block);
                    }
                    return Ok((to, start));
                }
                Err(ProgramError::Failed(_) | ProgramError::Bad(_)) => {
                    self.clock.programmed(start);
                    self.failures.failed(block);
                    self.news.failed(to);
                    self.close_slot(watch, slot, block);
                }
                Err(error) => {
                    // A read that misses goes on after such an error, and there is no page behind the last.
                    if full {
                        self.close_slot(watch, slot, block);
                    }
                    return Err(error.into());
                }
            }
        }
    }

    /// The spare area of the page that is written at this place of a block.
    #[inline]
    fn spare(&self, page: &NewPage<'_>, stream: u8, seq: u64, index: u32) -> Spare {
        let marks = match &self.wear {
            Some(wear) => {
                debug_assert!(index > 0 || wear.opened() > 0, "a block is written that was never erased");
                page.marks.with_erase_count((index == 0).then(|| wear.opened()))
            }
            None => page.marks,
        };
        let labelled = self.open.labels_copies && self.barriers.keeps(Barrier::CopiesLabelled);
        Spare {
            kind: page.kind,
            stream: if labelled { RECOVERY_STREAM } else { stream },
            key: page.key,
            version: page.version,
            seq,
            data_crc: page.data_crc,
            aux: marks.aux(),
        }
    }

    /// The block's stream is that of its first page, which a mount reads.
    fn close_slot(&mut self, watch: &mut impl Watch, slot: usize, block: Block) {
        self.open.slots[slot] = None;
        self.close(watch, block, self.streams[block.index()]);
    }

    /// Whether the next page of a stream goes to a block that is open.
    pub(crate) fn is_next_open(&self, stream: u8) -> bool {
        self.open.of_stream(stream, self.geometry.dies()).1
    }

    /// The stream to write a user page to that is meant for `stream`: where next to nothing is free, no further block
    /// is opened as long as any of the users' streams has one.
    #[inline]
    pub(crate) fn stream_with_room(&self, stream: u8) -> u8 {
        if !self.emergency() {
            return stream;
        }
        let dies = self.geometry.dies() as usize;
        let is_open = |stream: u8| self.open.slots[usize::from(stream) * dies..][..dies].iter().any(Option::is_some);
        if is_open(stream) { stream } else { (0..self.metadata.from).find(|other| is_open(*other)).unwrap_or(stream) }
    }
}

/// Opening a block is charged to the stream that needs it; an erase for the host's own page counts as collection's.
fn erase_purpose(purpose: Purpose) -> Purpose {
    if purpose == Purpose::Host { Purpose::Gc } else { purpose }
}
