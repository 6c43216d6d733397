//! What a crash experiment found.

use super::branch::Shared;
use super::points::{CutPoints, Operations};
use super::verify::FailureKind;
use phelsuma_nand::Time;
use serde::Serialize;
use std::sync::atomic::Ordering;

/// How many failures are shown.
const SHOWN_MAX: usize = 10;

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
    /// Programs and erases of preconditioning and workload: ids count them from 0.
    pub operations: u32,
    /// Those of them that fill the drive until collection is at work, before the workload.
    pub preconditioning_operations: u32,
    /// Operations at which the power was cut.
    pub cut_points: u32,
    /// Those of them that are before the workload.
    pub preconditioning_cut_points: u32,
    /// Cuts with the drive in use: cut points times faults (and fates of operations beside).
    pub cuts: u64,
    /// Cuts during recoveries.
    pub nested_cuts: u64,
    /// Cuts whose flash and expectations equalled another's, which was checked.
    pub covered_by_equality: u64,
    /// Branches that came up with flash and pages that equalled another's, which was checked from there on.
    pub joined_after_recovery: u64,
    /// Branches that lost acknowledged data. Those that fail after they have joined are one, here and below.
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

/// What a sweep found.
pub(crate) fn report(shared: &Shared, operations: Operations, points: &CutPoints) -> CrashReport {
    let (config, counts) = (&shared.config, &shared.counts);
    let found = shared.seen.failures(&config.faults);
    let count = |kind| found.iter().filter(|(_, f)| f.kind == kind).count() as u64;
    let failures: Vec<Failed> = found
        .iter()
        .take(SHOWN_MAX)
        .map(|(path, f)| Failed { id: path.to_string(), kind: f.kind.name(), message: f.message.clone() })
        .collect();
    let mut faults: Vec<&'static str> = config.faults.iter().map(|f| f.name()).collect();
    faults.sort_unstable();
    faults.dedup();
    CrashReport {
        schema: "phelsuma.crash/1",
        ftl: config.ftl.name.clone(),
        seed: config.seed,
        writes: config.writes,
        operations: operations.preconditioning + operations.workload,
        preconditioning_operations: operations.preconditioning,
        cut_points: points.count(),
        preconditioning_cut_points: points.of_preconditioning(),
        cuts: counts.cuts.load(Ordering::Relaxed),
        nested_cuts: counts.nested.load(Ordering::Relaxed),
        covered_by_equality: counts.covered.load(Ordering::Relaxed),
        joined_after_recovery: counts.joined.load(Ordering::Relaxed),
        lost: count(FailureKind::Lost),
        corrupt: count(FailureKind::Corrupt),
        stuck: count(FailureKind::Stuck),
        panics: count(FailureKind::Panic),
        not_promised: 0,
        worst_recovery_us: Time(counts.worst_recovery.load(Ordering::Relaxed)).micros(),
        replay: failures.first().map(|f| f.id.clone()),
        depth: config.depth,
        faults,
        failures,
    }
}
