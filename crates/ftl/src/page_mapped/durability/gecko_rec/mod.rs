//! GeckoRec: checkpoints while the drive serves, and a recovery from what they bound (GeckoFTL section 4.3 and appendix
//! C).
//!
//! This file is its part while the drive serves. Free blocks are held until they may be erased. Each flush of
//! Logarithmic Gecko writes down from where on a recovery has to scan.
//!
//! Entries that are in Gecko's buffer alone are lost when the power fails. A recovery finds them again by a comparison
//! of old translation pages with newer ones. So a block of stale translation pages is held until the buffer is flushed.
//! A block of stale user pages is held until it is on flash that nothing in it is live. Otherwise a recovery would have
//! to take it for a written one.

mod buffer;
mod covered;
mod dangling;
mod gathered;
mod live_counters;
mod log_reader;
mod lost;
mod metadata;
mod recover;
mod suspects;
mod translation;
mod written_last;

pub(super) use recover::recover;

use super::ScanFrom;
use crate::RamLedger;
use crate::barriers::{Barrier, Barriers};
use crate::blocks::Blocks;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry};

/// Marks between two flushes, at the most: those of one turn of the checkpoints' hand.
const MARKS_MAX: u32 = 8;

/// What GeckoRec keeps while the drive serves.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct GeckoRec {
    /// With whether it was reported to Gecko.
    held: Vec<(Block, bool)>,
    held_max: usize,
    scan_from: ScanFrom,
    /// While the drive is being mounted: the moment that the flush before the power failed had frozen.
    frozen: Option<u64>,
    /// While the pages that a synchronization made stale are not all reported to Gecko: the seq before that. A flush in
    /// between must not claim to cover them.
    reporting: Option<u64>,
    /// Since the last flush.
    synchronizations: u32,
    synchronizations_max: u32,
    /// Blocks of metadata wait for a flush after everything is reported that replaced their pages.
    holds_replaced: bool,
    marks: u32,
    barriers: Barriers,
}

impl GeckoRec {
    /// For a drive on which so many synchronizations may lie between two flushes.
    pub(crate) fn new(geometry: &Geometry, synchronizations_max: u32, barriers: Barriers) -> Self {
        Self {
            held: Vec::new(),
            held_max: held_blocks(geometry) as usize,
            scan_from: ScanFrom::default(),
            frozen: None,
            reporting: None,
            synchronizations: 0,
            synchronizations_max,
            holds_replaced: false,
            marks: 0,
            barriers,
        }
    }

    /// As it is, with a mapping log: a recovery reads its replaced runs.
    pub(crate) fn holding_replaced(self) -> Self {
        Self { holds_replaced: true, ..self }
    }

    /// A recovery begins to write. It scanned from there on, and the last flush had frozen that. Its flushes are to say
    /// the same until everything is reported to Gecko, and let nothing go.
    fn mounting(self, scan_from: ScanFrom, frozen: u64) -> Self {
        Self { scan_from, frozen: Some(frozen), ..self }
    }

    /// The recovery has reported everything to Gecko.
    pub(super) fn everything_is_told(&mut self) {
        debug_assert!(self.frozen.is_some(), "GeckoRec was not being mounted");
        self.frozen = None;
    }

    /// Whether the buffer should be flushed although it is not full: blocks wait for it, or a recovery would have to
    /// look back too far.
    #[inline]
    pub(super) fn wants_checkpoint(&self, blocks: &Blocks) -> bool {
        // A flush during a recovery would let nothing go, and be requested again at once.
        self.frozen.is_none()
            && (self.held.len() > self.held_max
                || self.synchronizations >= self.synchronizations_max
                || self.marks >= MARKS_MAX
                || !self.held.is_empty() && blocks.to_open() < blocks.critical())
    }

    /// A block in which nothing is live is held until a flush, if its pages are user pages, which Gecko keeps, or
    /// translation pages. Gecko's own are held by nothing.
    pub(super) fn release(&mut self, blocks: &mut Blocks, block: Block) {
        let stream = blocks.stream_of(block);
        let is_user = !blocks.is_metadata(stream);
        let is_translation = stream == blocks.first_of_metadata();
        if (is_user || is_translation) && self.barriers.keeps(Barrier::HeldUntilFlush) {
            self.held.push((block, is_translation));
            blocks.hold(block);
            if is_user {
                blocks.news.freed(block);
            }
        } else {
            blocks.release(block);
        }
    }

    /// It will now be reported to Gecko that nothing in a block is live.
    pub(super) fn heard_of(&mut self, block: Block) {
        let held = self.held.iter_mut().find(|(held, _)| *held == block);
        debug_assert!(held.is_some(), "{block} was let go before Gecko has heard of it");
        if let Some((_, is_heard_of)) = held {
            *is_heard_of = true;
        }
    }

    /// A translation page was synchronized as of `version`; the pages that it made stale are to be reported.
    pub(super) fn synchronized(&mut self, version: u64) {
        self.synchronizations += 1;
        self.reporting = Some(self.reporting.unwrap_or(u64::MAX).min(version - 1));
    }

    /// Everything was reported.
    pub(super) fn reported(&mut self) {
        self.reporting = None;
    }

    /// Everything before is in translation pages.
    pub(super) fn mark(&mut self, scan_from: ScanFrom) {
        debug_assert!(scan_from.after >= self.scan_from.after, "a mark goes back");
        self.scan_from = scan_from;
        self.marks += 1;
    }

    /// The moments for a flush now: when it has frozen the buffer, and from where on to scan.
    pub(super) fn flush_marks(&self, blocks: &Blocks) -> (u64, ScanFrom) {
        let reporting = self.reporting.filter(|_| self.barriers.keeps(Barrier::FlushSaysWhatItHeard));
        let frozen = self.frozen.unwrap_or(blocks.clock.seq()).min(reporting.unwrap_or(u64::MAX));
        debug_assert!(frozen <= blocks.clock.seq(), "a flush says that it has heard of what is not programmed");
        let scan_from = if self.barriers.keeps(Barrier::DirtyInRuns) { self.scan_from } else { ScanFrom::now(blocks) };
        (frozen, scan_from)
    }

    /// The buffer is on flash: blocks that were held for it go to the pool.
    pub(super) fn flushed(&mut self, blocks: &mut Blocks) {
        if self.frozen.is_some() {
            return;
        }
        (self.synchronizations, self.marks) = (0, 0);
        let holds = self.holds_replaced && self.barriers.keeps(Barrier::ReplacedRunsHeld);
        let waits = |block| holds && self.reporting.is_some() && blocks.is_metadata(blocks.stream_of(block));
        let goes = |(block, heard_of): &(Block, bool)| *heard_of && !waits(*block);
        let (heard_of, rest) = core::mem::take(&mut self.held).into_iter().partition(goes);
        self.held = rest;
        let heard_of: Vec<(Block, bool)> = heard_of;
        for (block, _) in heard_of {
            blocks.let_go(block);
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.held", self.held.capacity() as u64 * 5 + size_of::<Self>() as u64);
    }
}

/// Blocks that are held at the most before the buffer is flushed for their sake.
pub(crate) fn held_blocks(geometry: &Geometry) -> u32 {
    (geometry.blocks() / 256).clamp(1, 32)
}
