//! Blocks that are free but must not be erased yet, and what the next flush of Logarithmic Gecko is to write down for a
//! recovery (GeckoFTL section 4.3 and appendix C.2).
//!
//! What only Gecko's buffer knows is lost when the power fails, and found again by holding old translation pages against
//! newer ones. So a block of stale translation pages is held until the buffer is flushed. A block of stale user pages is
//! held as well, until it is on flash that nothing in it is live: a recovery would have to take it for a written one.

use super::Blocks;
use crate::RamLedger;
use crate::barriers::{Barrier, Barriers};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry};

/// From where on a recovery has to scan: everything before is in translation pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ScanFrom {
    /// The seq after which user pages may be unknown to their translation pages.
    pub(crate) after: u64,
    /// The lowest seq of the first page of a block that was open then: those written later have higher ones.
    pub(crate) oldest_open: u64,
}

impl ScanFrom {
    /// No page is so young.
    pub(crate) const NOTHING: Self = Self { after: u64::MAX - 1, oldest_open: u64::MAX };

    /// From where on both are looked at.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { after: self.after.min(other.after), oldest_open: self.oldest_open.min(other.oldest_open) }
    }
}

/// Marks between two flushes, at the most: those of one turn of the checkpoints' hand.
const MARKS_MAX: u32 = 8;

#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// With whether Gecko has heard of it.
    blocks: Vec<(Block, bool)>,
    most: usize,
    pub(crate) scan_from: ScanFrom,
    /// While a recovery is at work: what the flush before the power failed had frozen.
    pub(crate) frozen: Option<u64>,
    /// While Gecko has not heard of all that a synchronization made stale: the seq before that. A flush in between must
    /// not say that it has.
    reporting: Option<u64>,
    /// Since the last flush.
    synchronizations: u32,
    synchronizations_max: u32,
    marks: u32,
    barriers: Barriers,
}

impl Held {
    /// For a drive on which so many synchronizations may lie between two flushes.
    pub(crate) fn new(geometry: &Geometry, synchronizations_max: u32, barriers: Barriers) -> Self {
        Self {
            blocks: Vec::new(),
            most: held_blocks(geometry) as usize,
            scan_from: ScanFrom::default(),
            frozen: None,
            reporting: None,
            synchronizations: 0,
            synchronizations_max,
            marks: 0,
            barriers,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the buffer should be flushed although it is not full.
    pub(crate) fn wants_flush(&self) -> bool {
        // A flush during a recovery would let nothing go, and be asked for again at once.
        self.frozen.is_none()
            && (self.blocks.len() > self.most
                || self.synchronizations >= self.synchronizations_max
                || self.marks >= MARKS_MAX)
    }

    /// Whether a flush would let anything go.
    pub(crate) fn can_let_go(&self) -> bool {
        self.frozen.is_none() && !self.blocks.is_empty()
    }

    pub(crate) fn push(&mut self, block: Block, heard_of: bool) {
        self.blocks.push((block, heard_of));
    }

    /// Gecko is going to hear of it now.
    pub(crate) fn heard_of(&mut self, block: Block) {
        if let Some(entry) = self.blocks.iter_mut().find(|(b, _)| *b == block) {
            entry.1 = true;
        }
    }

    /// A translation page was synchronized as of `version`; what it made stale is to be reported.
    pub(crate) fn synchronized(&mut self, version: u64) {
        self.synchronizations += 1;
        self.reporting = Some(self.reporting.unwrap_or(u64::MAX).min(version - 1));
    }

    /// Everything was reported.
    pub(crate) fn reported(&mut self) {
        self.reporting = None;
    }

    /// What a flush is to say that it had frozen when the last program was `seq`.
    pub(crate) fn freezes(&self, seq: u64) -> u64 {
        let reporting = self.reporting.filter(|_| self.barriers.keeps(Barrier::FlushSaysWhatItHeard));
        self.frozen.unwrap_or(seq).min(reporting.unwrap_or(u64::MAX))
    }

    pub(crate) fn mark(&mut self, scan_from: ScanFrom) {
        self.scan_from = scan_from;
        self.marks += 1;
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.held", self.blocks.capacity() as u64 * 5 + size_of::<Self>() as u64);
    }
}

/// Blocks that are held at the most before the buffer is flushed for their sake.
pub(crate) fn held_blocks(geometry: &Geometry) -> u32 {
    (geometry.blocks() / 256).clamp(1, 32)
}

impl Blocks {
    /// The buffer is on flash: what was held for it goes to the pool.
    pub(crate) fn flushed(&mut self) {
        if let Some(young) = &mut self.young {
            young.flushed();
        }
        let Some(held) = self.held.as_mut().filter(|held| held.frozen.is_none()) else { return };
        held.synchronizations = 0;
        held.marks = 0;
        let (heard_of, rest) = core::mem::take(&mut held.blocks).into_iter().partition(|(_, heard_of)| *heard_of);
        held.blocks = rest;
        let heard_of: Vec<(Block, bool)> = heard_of;
        for (block, _) in heard_of {
            self.release_now(block);
        }
    }

    /// From where on a recovery would have to scan that began with what is written from now on.
    pub(crate) fn scan_from_now(&self) -> ScanFrom {
        ScanFrom { after: self.clock.seq(), oldest_open: self.oldest_open() }
    }

    /// The lowest seq of the first page of a block of user data that is open; of the next page to come where none is.
    pub(super) fn oldest_open(&self) -> u64 {
        let user = usize::from(self.metadata_from) * self.geometry.dies() as usize;
        let open = self.open[..user].iter().flatten().filter(|open| open.next > 0);
        open.map(|open| open.first_seq).min().unwrap_or(self.clock.seq() + 1)
    }
}
