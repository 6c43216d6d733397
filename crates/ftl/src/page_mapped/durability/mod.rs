//! How a drive survives a power cut.
//!
//! A scheme has a share in serving the host, and it mounts the drive when the power is back. The share is this file's:
//! requests, collection and blocks call these hooks, and name no scheme. Schemes are named where parts are put together
//! (`compose.rs`, `shape.rs`), and by a mapping that keeps entries for one.
//!
//! | when | hook |
//! | --- | --- |
//! | a user page is going to be programmed | [`Durability::points_back`], [`Durability::begin_reporting`] |
//! | everything that became stale is reported | [`Durability::reported`] |
//! | a page was moved out of a victim | [`Durability::moved`] |
//! | a victim is going to be released | [`Durability::flushes_before_release`], [`Durability::moved_to_flush`] |
//! | nothing is live in a block | [`Durability::needs_checkpoint_before`], [`Durability::release`] |
//! | a block is written, or erased | [`Watch`] |
//! | a translation page is written | [`Durability::synchronized`], [`Durability::mark`] |
//! | the validity store is flushed | [`Durability::flush_marks`], [`Durability::flushed`] |
//! | is a flush of it due | [`Durability::wants_checkpoint`] |
//! | may a request write | [`Durability::holds_back`] |
//!
//! What takes flash as well stands in `hooks.rs` of the composition.

mod battery;
mod common;
mod fast;
mod gecko_rec;
mod integrity;
mod mounting;
mod recover;
mod scan;
mod scan_from;
mod synchronize;

pub(crate) use battery::{Battery, OF_ONE_TRIM, counters_and_seal};
pub(crate) use fast::FastRecovery;
pub(crate) use gecko_rec::{GeckoRec, held_blocks};
pub(crate) use integrity::{FlushCause, Integrity};
pub(crate) use mounting::{Mounting, Unreported};
pub(crate) use recover::recover;
pub(crate) use scan_from::ScanFrom;
pub(crate) use synchronize::{Synchronizing, YoungBlocks, young_blocks};

use crate::RamLedger;
use crate::blocks::{Blocks, Watch};
use alloc::boxed::Box;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry};

/// The schemes, with what each keeps in RAM while the drive serves.
#[derive(Clone, Debug, Preserve)]
pub(crate) enum Survival {
    /// No power cut is survived, or a recovery has yet to find out what to keep.
    Nothing,
    /// The spare areas on flash say all.
    Scan,
    Battery(Battery),
    GeckoRec(GeckoRec),
    Synchronize(Synchronizing),
    Fast(FastRecovery),
}

/// How a drive survives a power cut: its scheme, and the state of a recovery while it is at work.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Durability {
    scheme: Survival,
    /// When dirty entries are written that need not go.
    pub(crate) integrity: Integrity,
    mounting: Option<Box<Mounting>>,
}

impl Durability {
    pub(crate) fn new(scheme: Survival, integrity: Integrity) -> Self {
        Self { scheme, integrity, mounting: None }
    }

    /// The scheme begins its share.
    pub(crate) fn begin(&mut self, scheme: Survival) {
        debug_assert!(self.mounting.is_some(), "a scheme changes while the drive serves");
        self.scheme = scheme;
    }

    /// A recovery is at work from now on.
    pub(crate) fn begin_mounting(&mut self) {
        debug_assert!(self.mounting.is_none(), "a recovery begins twice");
        self.mounting = Some(Box::default());
    }

    /// The state of the recovery that is at work, if one is.
    #[inline]
    pub(crate) fn mounting(&mut self) -> Option<&mut Mounting> {
        self.mounting.as_deref_mut()
    }

    /// The recovery has come to its end.
    pub(crate) fn mounted(&mut self) {
        debug_assert!(self.mounting.is_some(), "no recovery is at work");
        self.mounting = None;
    }

    /// A recovery has reported everything to the validity store.
    pub(crate) fn everything_is_told(&mut self) {
        debug_assert!(self.mounting.is_some(), "the drive serves already");
        if let Survival::GeckoRec(gecko_rec) = &mut self.scheme {
            gecko_rec.everything_is_told();
        }
    }

    /// Whether translation pages are flushed before a victim is released.
    pub(crate) fn flushes_before_release(&self) -> bool {
        matches!(self.scheme, Survival::Fast(_))
    }

    /// A translation page of pages that were moved out of victims, not flushed yet.
    pub(crate) fn moved_to_flush(&self) -> Option<u32> {
        match &self.scheme {
            Survival::Fast(fast) => fast.next(),
            _ => None,
        }
    }

    /// That one is flushed.
    pub(crate) fn moved_flushed(&mut self) {
        if let Survival::Fast(fast) = &mut self.scheme {
            fast.flushed();
        }
    }

    /// The victim is released.
    pub(crate) fn victim_released(&mut self) {
        if let Survival::Fast(fast) = &mut self.scheme {
            fast.released();
        }
    }

    /// Whether a battery saves the state that is in RAM alone.
    pub(crate) fn has_battery(&self) -> bool {
        matches!(self.scheme, Survival::Battery(_))
    }

    /// Whether so few blocks are free that nothing is written but by a battery.
    pub(crate) fn holds_back(&self, blocks: &Blocks) -> bool {
        matches!(&self.scheme, Survival::Battery(battery) if battery.holds_back(blocks))
    }

    /// Whether a battery may need all that are free, and has none for what one trim takes.
    pub(crate) fn holds_all(&self, blocks: &Blocks) -> bool {
        matches!(&self.scheme, Survival::Battery(battery) if battery.holds_all(blocks))
    }

    /// The young blocks of a page validity log, if there is one.
    #[inline]
    fn young(&mut self) -> Option<&mut YoungBlocks> {
        match &mut self.scheme {
            Survival::Synchronize(Synchronizing::ByLog(young)) => Some(young),
            _ => None,
        }
    }

    /// Whether user pages name in their spare areas what they made stale, so that a recovery can report it to the
    /// validity store.
    #[inline]
    pub(crate) fn points_back(&self) -> bool {
        matches!(self.scheme, Survival::Synchronize(Synchronizing::ByLog(_)))
    }

    /// Programs after `seq` make pages stale that will be reported to the validity store.
    #[inline]
    pub(crate) fn begin_reporting(&mut self, blocks: &Blocks, seq: u64) {
        if let Some(young) = self.young() {
            young.begin_reporting(ScanFrom { after: seq, oldest_open: blocks.oldest_open() });
        }
    }

    /// A collection has moved a page whose entry stands in this part of the mapping.
    #[inline]
    pub(crate) fn moved(&mut self, part: impl FnOnce() -> u32) {
        if let Survival::Fast(fast) = &mut self.scheme {
            fast.moved(part());
        }
    }

    /// All stale pages were reported to the validity store.
    #[inline]
    pub(crate) fn reported(&mut self) {
        match &mut self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.reported(),
            Survival::Synchronize(Synchronizing::ByLog(young)) => young.reported(),
            _ => {}
        }
    }

    /// Whether the validity store should be flushed although its buffer is not full.
    #[inline]
    pub(crate) fn wants_checkpoint(&self, blocks: &Blocks) -> bool {
        match &self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.wants_checkpoint(blocks),
            Survival::Synchronize(Synchronizing::ByLog(young)) => young.wants_checkpoint(),
            _ => false,
        }
    }

    /// Whether the validity store must be flushed before a block is released.
    pub(crate) fn needs_checkpoint_before(&self, block: Block) -> bool {
        matches!(&self.scheme, Survival::Synchronize(Synchronizing::ByLog(young)) if young.contains(block))
    }

    /// A block has no live pages: it goes into the pool, or is held until it may.
    pub(crate) fn release(&mut self, blocks: &mut Blocks, block: Block) {
        match &mut self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.release(blocks, block),
            Survival::Synchronize(Synchronizing::ByLog(_)) if !blocks.is_metadata(blocks.stream_of(block)) => {
                // Should the power fail before it is erased, it is in the log.
                blocks.news.freed(block);
                blocks.release(block);
            }
            _ => blocks.release(block),
        }
    }

    /// It will now be reported to the validity store that nothing in a block is live.
    pub(crate) fn freed_is_told(&mut self, block: Block) {
        if let Survival::GeckoRec(gecko_rec) = &mut self.scheme {
            gecko_rec.heard_of(block);
        }
    }

    /// A translation page was synchronized as of `version`.
    #[inline]
    pub(crate) fn synchronized(&mut self, blocks: &Blocks, version: u64) {
        match &mut self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.synchronized(version),
            Survival::Synchronize(Synchronizing::ByLog(_)) => self.begin_reporting(blocks, version - 1),
            _ => {}
        }
    }

    /// Everything before is in translation pages.
    pub(crate) fn mark(&mut self, scan_from: ScanFrom) {
        if let Survival::GeckoRec(gecko_rec) = &mut self.scheme {
            gecko_rec.mark(scan_from);
        }
    }

    /// The moments that a recovery would need if the validity store were flushed now: when it is frozen, and from where
    /// on to scan.
    pub(crate) fn flush_marks(&self, blocks: &Blocks) -> (u64, ScanFrom) {
        match &self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.flush_marks(blocks),
            Survival::Synchronize(Synchronizing::ByLog(young)) => {
                let from = young.freezes(blocks);
                (from.after, from)
            }
            _ => (blocks.clock.seq(), ScanFrom::default()),
        }
    }

    /// The buffer of the validity store is on flash.
    pub(crate) fn flushed(&mut self, blocks: &mut Blocks) {
        match &mut self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.flushed(blocks),
            Survival::Synchronize(Synchronizing::ByLog(young)) => young.flushed(),
            _ => {}
        }
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        let mut moved = 0;
        match &self.scheme {
            Survival::GeckoRec(gecko_rec) => gecko_rec.ram(ledger),
            Survival::Synchronize(Synchronizing::ByLog(young)) => young.ram(ledger),
            Survival::Fast(fast) => moved = fast.bytes(),
            _ => {}
        }
        self.integrity.ram(moved, ledger);
    }
}

impl Watch for Durability {
    fn written(&mut self, block: Block, seq: u64) {
        if let Some(young) = self.young() {
            young.closed(block, seq);
        }
    }

    fn erased(&mut self, geometry: &Geometry, block: Block) {
        if let Some(mounting) = &mut self.mounting {
            mounting.erased(geometry, block);
        }
    }

    fn wrote_besides(&mut self) {
        if let Some(mounting) = &mut self.mounting {
            mounting.counts.programs += 1;
        }
    }

    fn looked_at_free_block(&mut self) {
        if let Some(mounting) = &mut self.mounting {
            mounting.counts.spare_reads += 1;
        }
    }
}
