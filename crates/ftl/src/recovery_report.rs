//! The report of a recovery, step by step.

use alloc::vec::Vec;
use phelsuma_nand::Time;

/// One named step of a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryStep {
    /// The purpose of the step.
    pub name: &'static str,
    /// Pages read in full.
    pub reads: u64,
    /// Spare areas read alone.
    pub spare_reads: u64,
    /// Pages programmed. Failed programs, and those for the blocks that they spoilt, need not be among them.
    pub programs: u64,
    /// Simulated time that the step took, in nanoseconds.
    pub nanos: u64,
}

/// The most that a recovery can cost, whatever is on the flash and however many power cuts came before: operations of
/// all steps together. It usually costs far less. The laboratory checks the bound after each cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryBound {
    /// Pages read in full.
    pub reads: u64,
    /// Spare areas read alone.
    pub spare_reads: u64,
    /// Pages programmed.
    pub programs: u64,
}

impl Default for RecoveryBound {
    /// Nothing is said.
    fn default() -> Self {
        Self { reads: u64::MAX, spare_reads: u64::MAX, programs: u64::MAX }
    }
}

/// A recovery as a table of named steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecoveryReport {
    /// The steps, in order.
    pub steps: Vec<RecoveryStep>,
    /// The most that they can come to.
    pub bound: RecoveryBound,
    /// When the drive was ready for its first request.
    pub done: Time,
    /// RAM that it took for itself while it lasted, in bytes.
    pub scratch_bytes: u64,
    /// Dangling mapping entries: read errors until written again.
    pub lost_entries: u64,
    /// Last pages of blocks that were read in full.
    pub last_pages: u64,
    /// Those whose data were not what their spare area says: torn by this cut, or by an earlier one.
    pub last_pages_bad: u64,
    /// Of a drive with a battery, whether what it saved when the power failed last was found. Where it was not, only the
    /// table on flash counts: that is all there is to know of a drive that was closed or is blank, and of no other.
    pub battery_saved: Option<bool>,
}

impl RecoveryReport {
    /// All steps together.
    pub fn total(&self) -> RecoveryBound {
        let sum = |of: fn(&RecoveryStep) -> u64| self.steps.iter().map(of).sum();
        RecoveryBound { reads: sum(|s| s.reads), spare_reads: sum(|s| s.spare_reads), programs: sum(|s| s.programs) }
    }

    /// Whether the steps came to no more than was stated.
    pub fn is_within_bound(&self) -> bool {
        let (total, bound) = (self.total(), self.bound);
        total.reads <= bound.reads && total.spare_reads <= bound.spare_reads && total.programs <= bound.programs
    }
}
