//! The blocks of a log-block FTL: which are free, how one is opened and programmed, what becomes of one that fails.
//!
//! Free blocks are in a [`FreePool`], as with page-mapped FTLs. What differs from these is who says where a page goes:
//! here it is the caller, page by page, because a page of a data block stands at its own offset.

use super::wear::SwapLevelling;
use crate::barriers::{Barrier, Barriers};
use crate::medium::{Clock, EPOCH, Failures, FreePool, NewPage, Phase};
use crate::{FtlError, RamLedger};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, EraseError, Geometry, Nand, Op, Page, ProgramError, Purpose, Spare, SpareRead, Time};

/// The purpose for which a block was opened. It is the label (`stream`) in the spare areas of all of its pages, so one
/// of them shows a recovery how to take the block. A log block may become a data block, but no block opened as a data
/// block was ever a log block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
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
    /// The meaning of a label, and whether a recovery wrote the page.
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

    /// The use of a block that was opened for it.
    fn used_for(self) -> Use {
        match self {
            Self::Log | Self::Hot | Self::Sequential => Use::Log,
            Self::Data => Use::Data,
            Self::Map => Use::Map,
            Self::Snapshot => Use::Fixed,
        }
    }

    /// Whether it is one of a log block, of whichever kind.
    pub(super) fn is_log(self) -> bool {
        matches!(self, Self::Log | Self::Hot | Self::Sequential)
    }
}

/// The use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) enum Use {
    /// Bad, or the description's, or held by a recovery, or a snapshot that is being written.
    Fixed,
    Free,
    Log,
    Data,
    Map,
}

#[derive(Clone, Debug, Preserve)]
pub(super) struct Pool {
    geometry: Geometry,
    uses: Vec<Use>,
    free: FreePool,
    pub(super) failures: Failures,
    /// Spare areas that this has read, for a recovery's report.
    pub(super) untold_spare_reads: u64,
    /// The die that the next block is taken from.
    turn: u32,
    pub(super) clock: Clock,
    pub(super) phase: Phase,
    barriers: Barriers,
    /// Where wear is levelled.
    pub(super) wear: Option<SwapLevelling>,
}

impl Pool {
    /// All blocks fixed; [`Pool::release`] puts the usable ones into the pool.
    pub(super) fn new(geometry: Geometry, barriers: Barriers) -> Self {
        Self {
            geometry,
            uses: vec![Use::Fixed; geometry.blocks() as usize],
            free: FreePool::new(geometry),
            failures: Failures::new(barriers),
            untold_spare_reads: 0,
            turn: 0,
            clock: Clock::new(geometry.dies(), 0, 0),
            phase: Phase::Serving,
            barriers,
            wear: None,
        }
    }

    /// A recovery has found these to be the highest on flash: both clocks skip ahead.
    pub(super) fn begin_session(&mut self, version_max: u64, seq_max: u64) {
        debug_assert!(self.phase.is_mounting() && version_max >= self.clock.version(), "the clocks go back");
        let epoch = if self.barriers.keeps(Barrier::ClocksSkip) { EPOCH } else { 0 };
        self.clock = Clock::new(self.geometry.dies(), version_max + epoch, seq_max + epoch);
    }

    /// How many blocks are free.
    #[inline]
    pub(super) fn free(&self) -> u32 {
        self.free.len()
    }

    pub(super) fn use_of(&self, block: Block) -> Use {
        self.uses[block.index()]
    }

    /// Sets the use of a block: a recovery has found it, or a log block has become a data block.
    pub(super) fn take(&mut self, block: Block, used_for: Use) {
        debug_assert!(used_for != Use::Free && self.use_of(block) != Use::Free, "{block} is free, or to be");
        self.uses[block.index()] = used_for;
    }

    /// No block is left.
    pub(super) fn full(&self) -> FtlError {
        self.failures.full()
    }

    /// Whether a program failed in a block.
    pub(super) fn is_failing(&self, block: Block) -> bool {
        self.failures.failing().contains(&block)
    }

    /// A block holds nothing that counts: it may be erased once every program so far has completed.
    pub(super) fn release(&mut self, block: Block) {
        debug_assert_ne!(self.use_of(block), Use::Free, "{block} is released twice");
        if self.failures.emptied(block, self.clock.horizon()) {
            self.uses[block.index()] = Use::Fixed;
            return;
        }
        self.uses[block.index()] = Use::Free;
        self.free.put(block, self.clock.horizon());
    }

    fn dies_of(&self, channel: u32) -> impl Iterator<Item = u32> + use<> {
        (channel..self.geometry.dies()).step_by(self.geometry.channels() as usize)
    }

    /// The first of the free blocks of a die to be taken, those that have been free for longest first.
    pub(super) fn free_on(&self, die: u32) -> &VecDeque<Block> {
        self.free.first_on(die)
    }

    /// The die that the next block is taken from: of a channel the one with the most of them, if there is any there;
    /// otherwise they take turns.
    pub(super) fn next_die(&self, channel: Option<u32>) -> Option<u32> {
        let own = channel.and_then(|channel| self.dies_of(channel).max_by_key(|die| self.free.len_on(*die)));
        own.filter(|die| self.free.len_on(*die) > 0).or_else(|| self.free.die_from(self.turn))
    }

    fn take_free(&mut self, die: u32) -> Option<Block> {
        let place = match &self.wear {
            None => 0,
            Some(wear) => wear.choice(self.free.first_on(die))?,
        };
        self.free.take(die, place)
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
        debug_assert!(!self.phase.is_read_only(), "a block is opened on a drive that is read only");
        self.failures.retire_what_is_safe(nand, at);
        loop {
            // Trims and merges give blocks back only when a map page says so: the last one is for that. A recovery may
            // take it: without its merges the drive could be read alone.
            let is_kept = self.free() == 1 && role != Role::Map && !self.phase.is_mounting();
            if is_kept && self.barriers.keeps(Barrier::LastBlockForMap) {
                return Err(self.full());
            }
            let Some(block) = self.next_die(channel).and_then(|die| self.take_free(die)) else {
                return Err(self.full());
            };
            if channel.is_none() {
                self.turn = (self.geometry.die_of(block) + 1) % self.geometry.dies();
            }
            debug_assert_eq!(self.use_of(block), Use::Free, "{block} was in the pool");
            self.uses[block.index()] = role.used_for();
            if !self.barriers.keeps(Barrier::EraseBeforeUse) {
                let first = self.geometry.page(block, 0);
                self.untold_spare_reads += 1;
                if nand.read_spare(first, Op::new(at, purpose)).0 == SpareRead::Erased {
                    return Ok((block, at));
                }
            }
            let safe = if self.barriers.keeps(Barrier::ErasedWhenSafe) { at.max(self.free.safe()) } else { at };
            match nand.erase(block, Op::new(safe, purpose)) {
                Ok(ready) => {
                    if let Some(wear) = &mut self.wear {
                        wear.erased(block);
                    }
                    return Ok((block, ready));
                }
                Err(EraseError::Failed(_) | EraseError::Bad(_)) => {
                    self.failures.retire(nand, block);
                    self.uses[block.index()] = Use::Fixed;
                }
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
        debug_assert!(!self.phase.is_read_only(), "{to} is programmed on a drive that is read only");
        debug_assert_eq!(self.use_of(self.geometry.block_of(to)), role.used_for(), "{to} is programmed as {role:?}");
        let (seq, start) = self.clock.next_program(at);
        let start = if self.barriers.keeps(Barrier::WindowKept) { start } else { at };
        let labelled = self.phase.is_mounting() && self.barriers.keeps(Barrier::CopiesLabelled);
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
                self.failures.failed(self.geometry.block_of(to));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let blocks = u64::from(self.geometry.blocks());
        ledger.structure("blocks.use", (blocks * 3).div_ceil(8));
        self.free.ram(ledger);
        ledger.index("index.block_use", blocks - (blocks * 3).div_ceil(8));
        if let Some(wear) = &self.wear {
            wear.ram(ledger);
        }
        ledger.index("index.failing", self.failures.bytes() as u64);
        self.clock.ram(ledger);
    }
}
