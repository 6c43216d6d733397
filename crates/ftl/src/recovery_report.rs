//! What a recovery did, step by step.

use alloc::vec::Vec;
use phelsuma_nand::Time;

/// One named step of a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryStep {
    /// What the step is for.
    pub name: &'static str,
    /// Pages read in full.
    pub reads: u64,
    /// Spare areas read alone.
    pub spare_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Simulated time that the step took, in nanoseconds.
    pub nanos: u64,
}

/// A recovery as a table of named steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecoveryReport {
    /// The steps, in order.
    pub steps: Vec<RecoveryStep>,
    /// When the drive was ready for its first request.
    pub done: Time,
    /// RAM that it took for itself while it lasted, in bytes.
    pub scratch_bytes: u64,
    /// Last pages of blocks that were read in full.
    pub last_pages: u64,
    /// Those whose data were not what their spare area says: torn by this cut, or by an earlier one.
    pub last_pages_bad: u64,
}
