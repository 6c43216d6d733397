//! Who is going to read a flash. The less there can be, the less has to be kept.

use super::SimNand;
use crate::state::Preserve;

/// Who is going to read the flash from now on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Preserve)]
pub enum Readers {
    /// An FTL that serves, and nobody else: no power cut, no fault, no reader from outside. Metadata that the FTL calls
    /// [stale](crate::Nand::stale) are let go.
    Service,
    /// Besides a recovery, after a power cut that meets no operation. No page can be torn. So no CRC is calculated
    /// until then.
    Recovery,
    /// Anyone. Faults can be asked for.
    Anyone,
}

impl SimNand {
    /// From now on these read the flash, and nobody else. A chip set begins with [`Readers::Anyone`].
    ///
    /// Programs and reads take the same time, and reads give the same data, whoever it is.
    pub fn expect(&mut self, readers: Readers) {
        self.readers = readers;
        self.some_crcs_missing |= readers < Readers::Anyone;
        if readers == Readers::Service {
            self.payload.hold_live_alone();
        }
    }

    /// How often data were read that had been let go. Where there is one such read, the readers were
    /// others than those [expected](Self::expect).
    pub fn reads_in_vain(&self) -> u64 {
        self.reads_in_vain
    }
}
