//! What blocks ask of the block log, and what they report to it.

use super::{BlockLog, FoundLog, Region, reserved_max};
use crate::RamLedger;
use crate::blocks::Blocks;
use crate::medium::{Holds, HoldsOfBlocks};
use phelsuma_nand::{Block, Kind};

impl Blocks {
    /// Whether a block belongs to the region of the log.
    pub(crate) fn is_of_log(&self, block: Block) -> bool {
        self.for_mounts.region.contains(block)
    }

    /// The region of the log; an empty one without a log.
    pub(crate) fn region(&self) -> Region {
        self.for_mounts.region
    }

    /// The drive has a log in this region.
    pub(crate) fn set_region(&mut self, region: Region) {
        self.for_mounts.region = region;
    }

    /// Pages of the log that were written; none without a log.
    pub(crate) fn log_pages(&self) -> Option<u64> {
        self.for_mounts.log.as_ref().map(|log| log.pages)
    }

    /// What the log's table says of a block, if there is a log.
    pub(crate) fn logged(&self, block: Block) -> Option<Holds> {
        self.for_mounts.log.as_ref().map(|log| log.holds.of(block))
    }

    /// The drive goes on with the log that a mount has found, over blocks that hold this.
    pub(crate) fn go_on_with_log(&mut self, holds: HoldsOfBlocks, found: FoundLog) {
        debug_assert!(self.for_mounts.log.is_none(), "there are two logs");
        if let Some(chain) = &found.chain {
            // So the next page is not needed soon.
            chain.reserved.iter().rev().for_each(|block| self.pool.bring_forward(*block));
        }
        let anew = if found.chain.is_none() { self.clock.next_version() } else { 0 };
        self.for_mounts.log = Some(BlockLog::new(&self.geometry, holds, found, anew));
    }

    /// A block was erased.
    pub(in crate::blocks) fn log_erased(&mut self, block: Block) {
        if let Some(log) = &mut self.for_mounts.log {
            log.holds.set(block, Holds::Nothing);
        }
    }

    /// The first page of a block was programmed.
    pub(in crate::blocks) fn log_begun(&mut self, block: Block, kind: Kind) {
        if let Some(log) = &mut self.for_mounts.log {
            log.holds.set(block, Holds::of(kind));
        }
    }

    pub(in crate::blocks) fn ram_of_log(&self, ledger: &mut RamLedger) {
        if let Some(log) = &self.for_mounts.log {
            ledger.structure("block_log.table", log.holds.bytes() as u64);
            ledger.structure("block_log.page", u64::from(self.geometry.page_bytes()));
            let lists = u64::from(reserved_max(&self.geometry)) + log.failing.capacity() as u64;
            ledger.index("index.block_log", lists * 4 + size_of::<BlockLog>() as u64);
        }
    }
}
