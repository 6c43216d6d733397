//! The blocks of a log-block FTL: which are free, how one is opened and programmed, what becomes of one that fails.
//!
//! As with page-mapped FTLs ([`Blocks`](crate::blocks::Blocks)) a block is erased right before its first program and
//! never on its way into the pool, and the pool is safe to erase from a moment on. What differs is who says where a page
//! goes: here it is the caller, page by page, because a page of a data block stands at its own offset.

use super::wear::Wear;
use crate::barriers::{Barrier, Barriers};
use crate::medium::{Clock, EPOCH, NewPage};
use crate::{FtlError, RamLedger};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, EraseError, Geometry, Nand, Op, Page, ProgramError, Purpose, Spare, SpareRead, Time};

/// What a block was opened for. It is the label (`stream`) in the spare areas of all of its pages, so a recovery knows
/// from one of them how to take the block: a log block may become a data block, but no block opened as a data block was
/// ever a log block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Role {
    /// A log block. It counts even if no map page names it.
    Log = 0,
    /// The destination of a full merge. Until a map page names it, it is nothing.
    Data = 1,
    /// Map pages and trims.
    Map = 2,
    /// A random log block of LAST++'s hot partition; those of the cold one are [`Role::Log`].
    Hot = 3,
    /// A sequential log block of LAST++.
    Sequential = 4,
    /// Pages of a snapshot. They hold nothing that counts once anything was programmed behind them.
    Snapshot = 5,
}

/// The bit in a label that says that a recovery wrote the page.
const BY_RECOVERY: u8 = 0x80;

impl Role {
    /// What a label says, and whether a recovery wrote the page.
    pub(super) fn of(label: u8) -> (Option<Self>, bool) {
        let role = match label & !BY_RECOVERY {
            0 => Some(Self::Log),
            1 => Some(Self::Data),
            2 => Some(Self::Map),
            3 => Some(Self::Hot),
            4 => Some(Self::Sequential),
            5 => Some(Self::Snapshot),
            _ => None,
        };
        (role, label & BY_RECOVERY != 0)
    }

    /// Whether it is one of a log block, of whichever kind.
    pub(super) fn is_log(self) -> bool {
        matches!(self, Self::Log | Self::Hot | Self::Sequential)
    }
}

/// What a block is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// Bad, or the description's, or held by a recovery, or a snapshot that is being written.
    Fixed,
    Free,
    Log,
    Data,
    Map,
}

#[derive(Clone, Debug)]
pub(super) struct Pool {
    geometry: Geometry,
    uses: Vec<Use>,
    /// Free blocks, by die.
    queues: Vec<VecDeque<Block>>,
    free: u32,
    /// The die that the next block is taken from.
    turn: u32,
    /// When what replaced the pages of every block in the pool is on flash.
    safe: Time,
    /// A program failed here: retire the block when it has been emptied.
    failing: Vec<Block>,
    /// Emptied after a failure, to be marked bad at that moment: then what replaced its pages is on flash.
    retiring: Vec<(Block, Time)>,
    pub(super) clock: Clock,
    pub(super) bad: u32,
    /// A recovery is at work: what it writes says so.
    pub(super) recovering: bool,
    /// Spare areas that this has read, for the recovery's report: who forgets a barrier looks at blocks before it takes them.
    pub(super) untold_spare_reads: u64,
    /// Nothing is written any more, see [`Ground::stop_writing`](super::ground::Ground::stop_writing).
    pub(super) stopped: bool,
    barriers: Barriers,
    /// Where wear is levelled.
    pub(super) wear: Option<Wear>,
}

impl Pool {
    /// All blocks fixed; [`Pool::release`] puts the usable ones into the pool.
    pub(super) fn new(geometry: Geometry, barriers: Barriers) -> Self {
        Self {
            geometry,
            uses: vec![Use::Fixed; geometry.blocks() as usize],
            queues: vec![VecDeque::new(); geometry.dies() as usize],
            free: 0,
            turn: 0,
            safe: Time::ZERO,
            failing: Vec::new(),
            retiring: Vec::new(),
            clock: Clock::new(geometry.dies(), 0, 0),
            bad: 0,
            recovering: false,
            untold_spare_reads: 0,
            stopped: false,
            barriers,
            wear: None,
        }
    }

    /// A recovery has found these to be the highest on flash: both clocks skip ahead.
    pub(super) fn begin_session(&mut self, version_max: u64, seq_max: u64) {
        let epoch = if self.barriers.keeps(Barrier::ClocksSkip) { EPOCH } else { 0 };
        self.clock = Clock::new(self.geometry.dies(), version_max + epoch, seq_max + epoch);
    }

    pub(super) fn free(&self) -> u32 {
        self.free
    }

    pub(super) fn use_of(&self, block: Block) -> Use {
        self.uses[block.index()]
    }

    /// A recovery has found what a block is used for.
    pub(super) fn take(&mut self, block: Block, used_for: Use) {
        self.uses[block.index()] = used_for;
    }

    /// No block is left. Those that failed a program are bad as well, though nothing on flash says so yet.
    pub(super) fn full(&self) -> FtlError {
        FtlError::Full { bad_blocks: self.bad + (self.failing.len() + self.retiring.len()) as u32 }
    }

    /// Whether a program failed in a block.
    pub(super) fn is_failing(&self, block: Block) -> bool {
        self.failing.contains(&block)
    }

    /// A block holds nothing that counts: it may be erased once every program so far has completed.
    pub(super) fn release(&mut self, block: Block) {
        if let Some(at) = self.failing.iter().position(|b| *b == block) {
            self.failing.swap_remove(at);
            self.uses[block.index()] = Use::Fixed;
            let safe = if self.barriers.keeps(Barrier::RetiredWhenSafe) { self.clock.horizon() } else { Time::ZERO };
            self.retiring.push((block, safe));
            return;
        }
        debug_assert_ne!(self.use_of(block), Use::Free, "{block} is released twice");
        self.uses[block.index()] = Use::Free;
        self.queues[self.geometry.die_of(block) as usize].push_back(block);
        self.free += 1;
        self.safe = self.safe.max(self.clock.horizon());
    }

    fn retire_what_is_safe<N: Nand>(&mut self, nand: &mut N, at: Time) {
        while let Some(n) = self.retiring.iter().position(|(_, safe)| *safe <= at) {
            let (block, _) = self.retiring.swap_remove(n);
            self.retire(nand, block);
        }
    }

    fn retire<N: Nand>(&mut self, nand: &mut N, block: Block) {
        nand.mark_bad(block);
        self.uses[block.index()] = Use::Fixed;
        self.bad += 1;
    }

    fn dies_of(&self, channel: u32) -> impl Iterator<Item = u32> + use<> {
        (channel..self.geometry.dies()).step_by(self.geometry.channels() as usize)
    }

    /// The die that the next block is taken from: of a channel the one with the most of them, if there is any there;
    /// otherwise they take turns.
    pub(super) fn next_die(&self, channel: Option<u32>) -> Option<u32> {
        let own = channel.and_then(|channel| self.dies_of(channel).max_by_key(|die| self.queues[*die as usize].len()));
        if let Some(die) = own.filter(|die| !self.queues[*die as usize].is_empty()) {
            return Some(die);
        }
        let dies = self.geometry.dies();
        (0..dies).map(|d| (self.turn + d) % dies).find(|d| !self.queues[*d as usize].is_empty())
    }

    /// The free blocks of a die, those that have been free for longest first.
    pub(super) fn free_on(&self, die: u32) -> &VecDeque<Block> {
        &self.queues[die as usize]
    }

    fn take_free(&mut self, die: u32) -> Option<Block> {
        let queue = &mut self.queues[die as usize];
        match &self.wear {
            None => queue.pop_front(),
            Some(wear) => queue.remove(wear.choice(queue)?),
        }
    }

    /// An erased block and the moment from which it can be programmed.
    pub(super) fn open<N: Nand>(
        &mut self,
        nand: &mut N,
        role: Role,
        purpose: Purpose,
        at: Time,
    ) -> Result<(Block, Time), FtlError> {
        self.open_on(nand, role, None, purpose, at)
    }

    /// The same on a channel, if that has one left.
    pub(super) fn open_on<N: Nand>(
        &mut self,
        nand: &mut N,
        role: Role,
        channel: Option<u32>,
        purpose: Purpose,
        at: Time,
    ) -> Result<(Block, Time), FtlError> {
        if !self.retiring.is_empty() {
            self.retire_what_is_safe(nand, at);
        }
        loop {
            // Trims and merges give blocks back only when a map page says so: the last one is for that. A recovery may
            // take it: without its merges the drive could be read alone.
            let is_kept = self.free == 1 && role != Role::Map && !self.recovering;
            if is_kept && self.barriers.keeps(Barrier::LastBlockForMap) {
                return Err(self.full());
            }
            let dies = self.geometry.dies();
            let Some(block) = self.next_die(channel).and_then(|die| self.take_free(die)) else {
                return Err(self.full());
            };
            if channel.is_none() {
                self.turn = (self.geometry.die_of(block) + 1) % dies;
            }
            self.free -= 1;
            self.uses[block.index()] = match role {
                Role::Log | Role::Hot | Role::Sequential => Use::Log,
                Role::Data => Use::Data,
                Role::Map => Use::Map,
                Role::Snapshot => Use::Fixed,
            };
            if !self.barriers.keeps(Barrier::EraseBeforeUse) {
                let first = self.geometry.page(block, 0);
                self.untold_spare_reads += 1;
                if nand.read_spare(first, Op::new(at, purpose)).0 == SpareRead::Erased {
                    return Ok((block, at));
                }
            }
            let safe = if self.barriers.keeps(Barrier::ErasedWhenSafe) { at.max(self.safe) } else { at };
            match nand.erase(block, Op::new(safe, purpose)) {
                Ok(ready) => {
                    if let Some(wear) = &mut self.wear {
                        wear.erased(block);
                    }
                    return Ok((block, ready));
                }
                Err(EraseError::Failed(_) | EraseError::Bad(_)) => self.retire(nand, block),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Programs a page; none where the chip fails to. Nothing more may be written to its block then, which is retired
    /// when it is released.
    #[inline]
    pub(super) fn program<N: Nand>(
        &mut self,
        nand: &mut N,
        to: Page,
        role: Role,
        page: &NewPage<'_>,
        purpose: Purpose,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let (seq, start) = self.clock.next_program(at);
        let start = if self.barriers.keeps(Barrier::WindowKept) { start } else { at };
        let labelled = self.recovering && self.barriers.keeps(Barrier::CopiesLabelled);
        let spare = Spare {
            kind: page.kind,
            stream: role as u8 | if labelled { BY_RECOVERY } else { 0 },
            key: page.key,
            version: page.version,
            seq,
            data_crc: page.data_crc,
            aux: match &self.wear {
                Some(wear) if self.geometry.index_of(to) == 0 => {
                    page.marks.with_erase_count(Some(wear.erases_of(self.geometry.block_of(to)))).aux()
                }
                _ => page.marks.aux(),
            },
        };
        match nand.program(to, page.content, &spare, Op::new(start, purpose)) {
            Ok(done) => {
                self.clock.programmed(done);
                Ok(Some(done))
            }
            Err(ProgramError::Failed(_) | ProgramError::Bad(_)) => {
                self.clock.programmed(start);
                let block = self.geometry.block_of(to);
                if !self.failing.contains(&block) {
                    self.failing.push(block);
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let blocks = u64::from(self.geometry.blocks());
        ledger.structure("blocks.use", (blocks * 3).div_ceil(8));
        ledger.structure("blocks.free_pool", blocks.div_ceil(8));
        let queues: usize = self.queues.iter().map(VecDeque::capacity).sum();
        ledger.index("index.free_pool_queue", (queues * size_of::<Block>()) as u64);
        ledger.index("index.block_use", blocks - (blocks * 3).div_ceil(8));
        let lists = self.failing.capacity() + 3 * self.retiring.capacity();
        if let Some(wear) = &self.wear {
            wear.ram(ledger);
        }
        ledger.index("index.failing", (lists * size_of::<Block>()) as u64);
        self.clock.ram(ledger);
    }
}
