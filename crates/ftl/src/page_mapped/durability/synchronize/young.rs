//! User blocks that were written since the last flush of a page validity log.
//!
//! Entries that are in the log's buffer alone are lost when the power fails. But each user page says in its spare area
//! which page it made stale. So a recovery finds the entries again in the pages written since the flush. None of their
//! blocks may be erased before the next flush. GeckoFTL (section 5.3) says of IB-FTL that its recovery scans the log.
//! It does not mention the entries that were not on flash yet.

use crate::RamLedger;
use crate::barriers::Barrier;
use crate::blocks::Blocks;
use crate::page_mapped::durability::ScanFrom;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry};

/// The record of user blocks while reports to a page validity log are missing.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct YoungBlocks {
    /// Those that are closed, with the seq of the last program then.
    closed: Vec<(Block, u64)>,
    most: usize,
    /// While reports of stale pages are missing: from where on they are.
    reporting: Option<ScanFrom>,
}

impl YoungBlocks {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let most = young_blocks(geometry) as usize;
        Self { closed: Vec::with_capacity(most + 2), most, reporting: None }
    }

    /// A block of user pages is closed; the last program was `seq`.
    pub(crate) fn closed(&mut self, block: Block, seq: u64) {
        self.closed.push((block, seq));
    }

    /// Whether a recovery would have to look at a block.
    pub(crate) fn contains(&self, block: Block) -> bool {
        self.closed.iter().any(|(other, _)| *other == block)
    }

    /// Whether the log should be flushed although its buffer is not full: a recovery would have much to look at.
    pub(crate) fn wants_checkpoint(&self) -> bool {
        self.closed.len() > self.most && self.reporting.is_none()
    }

    /// Programs after `from` made pages stale that will be reported to the log.
    #[inline]
    pub(crate) fn begin_reporting(&mut self, from: ScanFrom) {
        self.reporting.get_or_insert(from);
    }

    /// All reports were made.
    #[inline]
    pub(crate) fn reported(&mut self) {
        self.reporting = None;
    }

    /// From where on a recovery has to look if the log is flushed now.
    pub(crate) fn freezes(&self, blocks: &Blocks) -> ScanFrom {
        let reporting = self.reporting.filter(|_| blocks.keeps(Barrier::FlushSaysWhatItHeard));
        reporting.unwrap_or_else(|| ScanFrom::now(blocks))
    }

    /// The log is on flash.
    pub(crate) fn flushed(&mut self) {
        let reporting = self.reporting;
        self.closed.retain(|(_, seq)| reporting.is_some_and(|from| *seq > from.after));
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        let closed = self.closed.capacity() * size_of::<(Block, u64)>();
        ledger.structure("blocks.young", (closed + size_of::<Self>()) as u64);
    }
}

/// Such blocks that are closed, at the most, before the log is flushed for their sake.
pub(crate) fn young_blocks(geometry: &Geometry) -> u32 {
    (geometry.blocks() / 128).clamp(2, 32)
}
