//! What a crash experiment found.

use serde::Serialize;

/// A branch that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// The id that replays it.
    pub id: String,
    /// `lost`, `corrupt`, `stuck` or `panic`.
    pub kind: &'static str,
    /// What was found.
    pub message: String,
}

/// What a crash experiment found; `phelsuma.crash/1`.
#[derive(Clone, Debug, Serialize)]
pub struct CrashReport {
    /// `phelsuma.crash/1`.
    pub schema: &'static str,
    /// The FTL.
    pub ftl: String,
    /// Seed of workload and faults.
    pub seed: u64,
    /// Write requests of the workload.
    pub writes: u32,
    /// Programs and erases of the workload.
    pub operations: u32,
    /// Cuts in the workload: operations times faults (and fates of operations beside).
    pub cuts: u64,
    /// Cuts during recoveries.
    pub nested_cuts: u64,
    /// Cuts whose flash and expectations equalled another's, which was checked.
    pub covered_by_equality: u64,
    /// Branches that came up with flash and pages that equalled another's, which was checked from there on.
    pub joined_after_recovery: u64,
    /// Branches that lost acknowledged data.
    pub lost: u64,
    /// Branches with data that were never written there, or structures that contradict each other.
    pub corrupt: u64,
    /// Branches that do not come up or cannot be written.
    pub stuck: u64,
    /// Branches in which the FTL panicked.
    pub panics: u64,
    /// Branches in which the design promises nothing.
    pub not_promised: u64,
    /// The longest recovery, in simulated microseconds.
    pub worst_recovery_us: f64,
    /// The id that replays the first failure.
    pub replay: Option<String>,
    /// How deep cuts were nested: 1 is the workload alone.
    pub depth: u32,
    /// The faults tried.
    pub faults: Vec<&'static str>,
    /// The first failures, in the order of their cuts.
    pub failures: Vec<Failed>,
}

impl CrashReport {
    /// Whether any branch failed.
    pub fn failed(&self) -> bool {
        self.lost + self.corrupt + self.stuck + self.panics > 0
    }
}
