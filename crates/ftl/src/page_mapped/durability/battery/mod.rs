//! A battery keeps the flash going while what RAM alone knows is saved (DFTL and µ-FTL as GeckoFTL section 5.3 takes them).
//!
//! While the drive serves, the blocks that the battery may need are used for nothing else.

use crate::barriers::{Barrier, Barriers};
use crate::blocks::Blocks;

/// What a battery asks of a drive that serves.
#[derive(Clone, Debug)]
pub(crate) struct Battery {
    /// With fewer blocks free nothing is written but by the battery.
    least_free: u32,
    barriers: Barriers,
}

impl Battery {
    pub(crate) fn new(least_free: u32, barriers: Barriers) -> Self {
        Self { least_free, barriers }
    }

    /// Whether so few blocks are free that nothing is written but by the battery.
    pub(super) fn holds_back(&self, blocks: &Blocks) -> bool {
        blocks.free() < self.least_free && self.barriers.keeps(Barrier::BatteryFindsRoom)
    }
}
