//! A battery powers the flash while the state that is in RAM alone is saved (DFTL and µ-FTL as GeckoFTL section 5.3 has
//! them).
//!
//! While the drive serves, the blocks that the battery may need are used for nothing else.

mod recover;
mod restore;
mod save;
mod store;

pub(super) use recover::recover;

use crate::barriers::{Barrier, Barriers};
use crate::blocks::Blocks;
use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// Blocks that a trim may open: one for a translation page, and one more if that fails.
pub(crate) const OF_ONE_TRIM: u32 = 2;

/// A battery's requirements of a drive that serves.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Battery {
    /// With fewer blocks free nothing is written but by the battery.
    least_free: u32,
    barriers: Barriers,
}

impl Battery {
    pub(crate) fn new(least_free: u32, barriers: Barriers) -> Self {
        debug_assert!(least_free > 0, "a battery saves nothing without a free block");
        Self { least_free, barriers }
    }

    /// Whether so few blocks are free that nothing is written but by the battery.
    pub(super) fn holds_back(&self, blocks: &Blocks) -> bool {
        blocks.free() < self.least_free && self.barriers.keeps(Barrier::BatteryFindsRoom)
    }

    /// The same without the blocks of one trim.
    pub(super) fn holds_all(&self, blocks: &Blocks) -> bool {
        blocks.free() + OF_ONE_TRIM < self.least_free && self.barriers.keeps(Barrier::BatteryFindsRoom)
    }
}

/// Programs that a seal and the counters of so many blocks take.
pub(crate) fn counters_and_seal(geometry: &Geometry) -> u64 {
    (u64::from(geometry.blocks()) * 2).div_ceil(u64::from(geometry.page_bytes())) + 1
}
