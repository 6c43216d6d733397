//! The report of a crash experiment.

use super::failure::{Failure, FailureKind};
use super::host::Uncut;
use super::path::Path;
use super::points::CutPoints;
use super::shared::Shared;
use super::subject::Promise;
use super::taken_back::TakenBackReport;
use phelsuma_nand::Time;
use serde::Serialize;
use std::sync::atomic::Ordering;

/// How many failures are shown.
const SHOWN_MAX: usize = 10;

/// A branch that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// The workload that it is a branch of.
    pub workload: &'static str,
    /// With this seed.
    pub seed: u64,
    /// What replays it, with this workload; `uncut` is the workload itself. It takes the same factory-bad blocks, and
    /// where recoveries were cut again and again the same number of times.
    pub id: Path,
    /// `lost`, `corrupt`, `stuck` or `panic`.
    pub kind: FailureKind,
    /// The finding.
    pub message: String,
    /// Requests that lead to the same kind of failure, a line each, as few as were found. It is of the first failure
    /// alone, and on request.
    pub script: Vec<String>,
}

/// The findings of a crash experiment, or of several of one FTL together.
#[derive(Clone, Debug, Serialize)]
pub struct CrashReport {
    /// `phelsuma.crash/1`.
    pub schema: &'static str,
    /// The FTL.
    pub ftl: String,
    /// Whether it gets hints that no real FTL has.
    pub oracle: bool,
    /// The workload; none where several are counted together.
    pub workload: Option<&'static str>,
    /// Seed of workload and faults.
    pub seed: u64,
    /// Write requests of the workload.
    pub writes: u32,
    /// Power cuts of the workload itself.
    pub restarts: u32,
    /// Programs and erases of preconditioning and workload, or with a battery their requests: ids count them from 0.
    pub operations: u32,
    /// Those of them that fill the drive until collection is at work, before the workload.
    pub preconditioning_operations: u32,
    /// Operations at which the power was cut.
    pub cut_points: u32,
    /// Those of them that are before the workload.
    pub preconditioning_cut_points: u32,
    /// Defects that befell the drive in use: operations that failed, and pages that decayed.
    pub defects: u64,
    /// Cuts with the drive in use, behind a defect or not: cut points times faults (and fates of operations beside).
    pub cuts: u64,
    /// Cuts during recoveries.
    pub nested_cuts: u64,
    /// Cuts whose flash and expectations equalled another's, which was checked.
    pub covered_by_equality: u64,
    /// Branches that mounted with flash and pages that equalled another's, which was checked from there on.
    pub joined_after_recovery: u64,
    /// Branches that lost acknowledged data. Those that fail after they have joined are one, here and below.
    pub lost: u64,
    /// Branches with data that were never written there, or structures that contradict each other.
    pub corrupt: u64,
    /// Branches that do not mount or cannot be written.
    pub stuck: u64,
    /// Branches in which the FTL panicked.
    pub panics: u64,
    /// Branches that lost data or got stuck, and in which the design promises nothing.
    pub not_promised: u64,
    /// What cuts took back that was acknowledged and not flushed, of an FTL that does not promise to keep it; none of
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<TakenBackReport>,
    /// The longest recovery, in simulated microseconds.
    pub worst_recovery_us: f64,
    /// The id that replays the first failure.
    pub replay: Option<Path>,
    /// How deep cuts were nested: 1 is the workload alone.
    pub depth: u32,
    /// The faults tried.
    pub faults: Vec<&'static str>,
    /// The first failures, in the order of their cuts.
    pub failures: Vec<Failed>,
    /// The same of branches in which nothing else was promised.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures_not_promised: Vec<Failed>,
}

impl CrashReport {
    /// Whether any branch failed.
    pub fn failed(&self) -> bool {
        self.lost + self.corrupt + self.stuck + self.panics > 0
    }
}

/// The findings of the experiments on one FTL, a workload each; `phelsuma.crash/1`.
#[derive(Clone, Debug, Serialize)]
pub struct CrashReports {
    /// All of them together: counts added up, and the longest recovery of all.
    #[serde(flatten)]
    pub sum: CrashReport,
    /// The subject of the cuts, in a line: FTL, flash, logical pages. An id is of this one.
    pub of: String,
    /// Each alone, in the order in which they were done.
    pub workloads: Vec<CrashReport>,
}

impl CrashReports {
    /// Of one workload or several, on what [`LabConfig::describe`](super::LabConfig::describe) says; none at all gives
    /// none.
    pub fn of(of: String, workloads: Vec<CrashReport>) -> Option<Self> {
        let (first, others) = workloads.split_first()?;
        let sum = others.iter().fold(first.clone(), |mut sum, other| {
            sum.add(other);
            sum
        });
        Some(Self { sum, of, workloads })
    }
}

impl CrashReport {
    fn add(&mut self, other: &Self) {
        self.workload = None;
        self.restarts += other.restarts;
        self.operations += other.operations;
        self.preconditioning_operations += other.preconditioning_operations;
        self.cut_points += other.cut_points;
        self.preconditioning_cut_points += other.preconditioning_cut_points;
        self.defects += other.defects;
        self.cuts += other.cuts;
        self.nested_cuts += other.nested_cuts;
        self.covered_by_equality += other.covered_by_equality;
        self.joined_after_recovery += other.joined_after_recovery;
        self.lost += other.lost;
        self.corrupt += other.corrupt;
        self.stuck += other.stuck;
        self.panics += other.panics;
        self.not_promised += other.not_promised;
        if let (Some(taken), Some(others)) = (&mut self.taken_back, &other.taken_back) {
            *taken = taken.and(others);
        }
        self.worst_recovery_us = self.worst_recovery_us.max(other.worst_recovery_us);
        self.writes += other.writes;
        self.failures.extend(other.failures.iter().cloned());
        self.failures.truncate(SHOWN_MAX);
        self.failures_not_promised.extend(other.failures_not_promised.iter().cloned());
        self.failures_not_promised.truncate(SHOWN_MAX);
        self.replay = self.failures.first().map(|f| f.id.clone());
    }
}

/// The findings of a sweep.
pub(crate) fn report(shared: &Shared, uncut: &Uncut, points: &CutPoints) -> CrashReport {
    let (config, counts) = (&shared.config, &shared.counts);
    let promised = |path: &Path| {
        let by = path.0.iter().flat_map(|cut| config.faults.iter().filter(|fault| cut.is(**fault)));
        by.map(|fault| config.ftl.promise(*fault)).all(|promise| !matches!(promise, Promise::Nothing(_)))
    };
    let (found, not_promised): (Vec<_>, Vec<_>) = shared
        .seen
        .failures(&config.faults)
        .into_iter()
        .partition(|(path, failure)| failure.kind.is_never_excused() || promised(path));
    let count = |kind| found.iter().filter(|(_, f)| f.kind == kind).count() as u64;
    let first = |found: &[(Path, Failure)]| -> Vec<Failed> {
        let shown = found.iter().take(SHOWN_MAX).map(|(path, f)| Failed {
            workload: config.workload.name(),
            seed: config.seed,
            id: path.clone(),
            kind: f.kind,
            message: f.message.clone(),
            script: Vec::new(),
        });
        shown.collect()
    };
    let failures = first(&found);
    let mut faults: Vec<&'static str> = config.faults.iter().map(|f| f.name()).collect();
    faults.sort_unstable();
    faults.dedup();
    CrashReport {
        schema: "phelsuma.crash/1",
        ftl: config.ftl.name().into(),
        oracle: config.ftl.is_oracle(),
        workload: Some(config.workload.name()),
        seed: config.seed,
        writes: config.writes,
        restarts: uncut.restarts,
        operations: uncut.operations.preconditioning + uncut.operations.workload,
        preconditioning_operations: uncut.operations.preconditioning,
        cut_points: points.count(),
        preconditioning_cut_points: points.of_preconditioning(),
        defects: counts.defects.load(Ordering::Relaxed),
        cuts: counts.cuts.load(Ordering::Relaxed),
        nested_cuts: counts.nested.load(Ordering::Relaxed),
        covered_by_equality: counts.covered.load(Ordering::Relaxed),
        joined_after_recovery: counts.joined.load(Ordering::Relaxed),
        lost: count(FailureKind::Lost),
        corrupt: count(FailureKind::Corrupt),
        stuck: count(FailureKind::Stuck),
        panics: count(FailureKind::Panic),
        not_promised: not_promised.len() as u64,
        taken_back: config.ftl.may_lose_what_is_not_flushed().then(|| TakenBackReport::of(counts.taken_back.all())),
        worst_recovery_us: Time(counts.worst_recovery.load(Ordering::Relaxed).max(uncut.worst_recovery.0)).micros(),
        replay: failures.first().map(|f| f.id.clone()),
        depth: config.depth,
        faults,
        failures,
        failures_not_promised: first(&not_promised),
    }
}
