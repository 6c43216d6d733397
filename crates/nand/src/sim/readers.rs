//! Who is going to read a flash. The less there can be, the less has to be kept.

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
