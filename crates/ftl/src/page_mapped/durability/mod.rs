//! How a drive survives a power cut.
//!
//! A scheme has a share in serving the host, and it mounts the drive when the power is back. The share is this file's: the
//! composition, the blocks and the parts call these hooks, and know no scheme by name.
//!
//! | when | hook |
//! | --- | --- |
//! | a user page is going to be programmed | [`Durability::points_back`], [`Durability::begin_reporting`] |
//! | everything that became stale is reported | [`Durability::reported`] |
//! | nothing is live in a block | [`Durability::release`] |
//! | a block is written, or erased | [`Watch`] |
//! | a translation page is written, a store is flushed | [`Durability::synchronized`], [`Durability::flush_marks`], [`Durability::flushed`] |
//! | is a checkpoint due | [`Durability::wants_checkpoint`] |

mod gecko_rec;
mod mounting;
mod scan_from;
mod synchronize;

pub(crate) use gecko_rec::{GeckoRec, held_blocks};
pub(crate) use mounting::{Counts, Mounting};
pub(crate) use scan_from::ScanFrom;
pub(crate) use synchronize::{Young, young_blocks};

use crate::RamLedger;
use crate::blocks::{Blocks, Watch};
use alloc::boxed::Box;
use phelsuma_nand::{Block, Geometry};

/// What a drive's scheme keeps in RAM while it serves.
#[derive(Clone, Debug)]
pub(crate) enum Scheme {
    /// Nothing: what is on flash says all, or nothing is promised.
    Nothing,
    /// Checkpoints and GeckoRec.
    GeckoRec(GeckoRec),
    /// Synchronization, with a page validity log.
    Pointing(Young),
}

/// How a drive survives a power cut: what its scheme keeps, and what a recovery keeps in mind while it is at work.
#[derive(Clone, Debug)]
pub(crate) struct Durability {
    scheme: Scheme,
    mounting: Option<Box<Mounting>>,
}

impl Durability {
    pub(crate) fn new(scheme: Scheme) -> Self {
        Self { scheme, mounting: None }
    }

    /// The scheme begins its share.
    pub(crate) fn begin(&mut self, scheme: Scheme) {
        self.scheme = scheme;
    }

    /// A recovery is at work from now on.
    pub(crate) fn begin_mounting(&mut self) {
        self.mounting = Some(Box::default());
    }

    /// What the recovery that is at work keeps in mind, if one is.
    #[inline]
    pub(crate) fn mounting(&mut self) -> Option<&mut Mounting> {
        self.mounting.as_deref_mut()
    }

    /// The recovery has come to its end.
    pub(crate) fn mounted(&mut self) {
        self.mounting = None;
    }

    /// GeckoRec's share, if that is the scheme.
    pub(crate) fn gecko_rec(&mut self) -> Option<&mut GeckoRec> {
        match &mut self.scheme {
            Scheme::GeckoRec(gecko_rec) => Some(gecko_rec),
            Scheme::Nothing | Scheme::Pointing(_) => None,
        }
    }

    /// Whether user pages name in their spare areas what they made stale, so that a recovery can tell the validity store.
    #[inline]
    pub(crate) fn points_back(&self) -> bool {
        matches!(self.scheme, Scheme::Pointing(_))
    }

    /// What is programmed after `seq` makes pages stale of which the validity store is going to hear.
    #[inline]
    pub(crate) fn begin_reporting(&mut self, blocks: &Blocks, seq: u64) {
        if let Scheme::Pointing(young) = &mut self.scheme {
            young.begin_reporting(ScanFrom { after: seq, oldest_open: blocks.oldest_open() });
        }
    }

    /// The validity store has heard of all that was made stale.
    #[inline]
    pub(crate) fn reported(&mut self) {
        match &mut self.scheme {
            Scheme::Nothing => {}
            Scheme::GeckoRec(gecko_rec) => gecko_rec.reported(),
            Scheme::Pointing(young) => young.reported(),
        }
    }

    /// Whether the validity store should be flushed although its buffer is not full.
    #[inline]
    pub(crate) fn wants_checkpoint(&self, blocks: &Blocks) -> bool {
        match &self.scheme {
            Scheme::Nothing => false,
            Scheme::GeckoRec(gecko_rec) => gecko_rec.wants_checkpoint(blocks),
            Scheme::Pointing(young) => young.wants_checkpoint(),
        }
    }

    /// Whether the validity store must be flushed before a block is released.
    pub(crate) fn needs_checkpoint_before(&self, block: Block) -> bool {
        matches!(&self.scheme, Scheme::Pointing(young) if young.contains(block))
    }

    /// A block has no live pages: it goes into the pool, or is held until it may.
    pub(crate) fn release(&mut self, blocks: &mut Blocks, block: Block) {
        match &mut self.scheme {
            Scheme::GeckoRec(gecko_rec) => gecko_rec.release(blocks, block),
            Scheme::Pointing(_) if !blocks.is_metadata(blocks.stream_of(block)) => {
                // Should the power fail before it is erased, the log knows.
                blocks.news.freed(block);
                blocks.release(block);
            }
            Scheme::Nothing | Scheme::Pointing(_) => blocks.release(block),
        }
    }

    /// The validity store is going to hear now that nothing in a block is live.
    pub(crate) fn freed_is_told(&mut self, block: Block) {
        if let Scheme::GeckoRec(gecko_rec) = &mut self.scheme {
            gecko_rec.heard_of(block);
        }
    }

    /// A translation page was synchronized as of `version`.
    #[inline]
    pub(crate) fn synchronized(&mut self, blocks: &Blocks, version: u64) {
        match &mut self.scheme {
            Scheme::Nothing => {}
            Scheme::GeckoRec(gecko_rec) => gecko_rec.synchronized(version),
            Scheme::Pointing(_) => self.begin_reporting(blocks, version - 1),
        }
    }

    /// Everything before is in translation pages.
    pub(crate) fn mark(&mut self, scan_from: ScanFrom) {
        if let Scheme::GeckoRec(gecko_rec) = &mut self.scheme {
            gecko_rec.mark(scan_from);
        }
    }

    /// The moments that a recovery would need to know of if the validity store were flushed now: when it is frozen, and
    /// from where on to scan.
    pub(crate) fn flush_marks(&self, blocks: &Blocks) -> (u64, ScanFrom) {
        match &self.scheme {
            Scheme::Nothing => (blocks.clock.seq(), ScanFrom::default()),
            Scheme::GeckoRec(gecko_rec) => gecko_rec.flush_marks(blocks),
            Scheme::Pointing(young) => {
                let from = young.freezes(blocks);
                (from.after, from)
            }
        }
    }

    /// The buffer of the validity store is on flash.
    pub(crate) fn flushed(&mut self, blocks: &mut Blocks) {
        match &mut self.scheme {
            Scheme::Nothing => {}
            Scheme::GeckoRec(gecko_rec) => gecko_rec.flushed(blocks),
            Scheme::Pointing(young) => young.flushed(),
        }
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        match &self.scheme {
            Scheme::Nothing => {}
            Scheme::GeckoRec(gecko_rec) => gecko_rec.ram(ledger),
            Scheme::Pointing(young) => young.ram(ledger),
        }
    }
}

impl Watch for Durability {
    fn written(&mut self, block: Block, seq: u64) {
        if let Scheme::Pointing(young) = &mut self.scheme {
            young.closed(block, seq);
        }
    }

    fn erased(&mut self, geometry: &Geometry, block: Block) {
        if let Some(mounting) = &mut self.mounting {
            mounting.erased(geometry, block);
        }
    }

    fn looked_at_free_block(&mut self) {
        if let Some(mounting) = &mut self.mounting {
            mounting.counts.spare_reads += 1;
        }
    }
}
