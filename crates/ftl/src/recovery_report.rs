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
    /// Pages programmed. Programs that failed, and what was done about the blocks that they spoilt, need not be among them.
    pub programs: u64,
    /// Simulated time that the step took, in nanoseconds.
    pub nanos: u64,
}

/// What a recovery comes to at the most, whatever is on the flash and however many power cuts came before: operations of
/// all steps together. What it usually comes to is far less; that this holds the laboratory looks at after each cut.
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
    /// What they come to at the most.
    pub bound: RecoveryBound,
    /// When the drive was ready for its first request.
    pub done: Time,
    /// RAM that it took for itself while it lasted, in bytes.
    pub scratch_bytes: u64,
    /// Mapping entries that name what is gone: read errors until written again.
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
