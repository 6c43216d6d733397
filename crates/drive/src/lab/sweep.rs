//! The sweep: the workload runs once to count its operations, then once on each thread, with the power cut where
//! `points.rs` says and branched there as `branch.rs` does.

use super::branch::{Shared, workload_watcher};
use super::defects::Defects;
use super::host::{Extras, Watch, run_uncut, run_workload};
use super::panics::quiet_in_branches;
use super::path::{Fault, Path};
use super::points::{CutPoints, Points};
use super::report::{CrashReport, Failed, report};
use super::script::{Plan, Script};
use super::seen::Seen;
use super::shrink;
use super::subject::{Any, Subject, described, entries_drawn_for};
use super::workload::Workload;
use phelsuma_ftl::{Config, FtlError};
use phelsuma_nand::{Geometry, Timing};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often somebody who asked for it is told how far a sweep is.
const BETWEEN_REPORTS: Duration = Duration::from_millis(250);

/// No workload has more write requests than these.
const WRITES_MAX: u32 = 10_000_000;

/// A crash experiment on an FTL of this house, or on any other [`Subject`].
#[derive(Clone, Debug)]
pub struct LabConfig<F = Config> {
    /// The chip set's shape.
    pub geometry: Geometry,
    /// How long its operations take.
    pub timing: Timing,
    /// The FTL.
    pub ftl: F,
    /// What the host asks for.
    pub workload: Workload,
    /// Write requests of the workload, those that fill the drive before it not counted.
    pub writes: u32,
    /// Where the power is cut.
    pub points: Points,
    /// Which faults are tried.
    pub faults: Vec<Fault>,
    /// How deep cuts are nested: 1 cuts the workload alone, 2 the recoveries from that as well, and so on to 3.
    pub depth: u32,
    /// Seed of the workload and of faults that leave a choice.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

impl<F: Subject + Clone + 'static> LabConfig<F> {
    /// The FTL and the flash that it is on, in a line.
    pub fn describe(&self) -> String {
        described(&self.ftl, &self.geometry, &self.timing)
    }

    /// Of the faults those that can meet this FTL: announced cuts where it has a battery, else all others; and defects.
    ///
    /// # Errors
    /// What cannot be tried: nothing meets it, it survives no cut, or cuts nested as deep as this.
    pub fn what_meets_it(&self) -> Result<Vec<Fault>, LabError> {
        what_meets(&self.ftl, &self.faults, self.depth)
    }

    /// The same experiment; which type of FTL it is on is nobody's business from here on.
    fn on_any(&self) -> LabConfig<Any> {
        let Self { geometry, timing, workload, writes, depth, seed, threads, .. } = *self;
        let (points, faults) = (self.points.clone(), self.faults.clone());
        let ftl = Arc::new(self.ftl.clone());
        LabConfig { geometry, timing, ftl, workload, writes, points, faults, depth, seed, threads }
    }
}

/// Of `faults` those that can meet `ftl`.
fn what_meets(ftl: &dyn Subject, faults: &[Fault], depth: u32) -> Result<Vec<Fault>, LabError> {
    if !(1..=3).contains(&depth) {
        return Err(LabError::Depth(depth));
    }
    if let Some(why) = ftl.why_not_survivable() {
        return Err(LabError::NotPromised(ftl.name().into(), why));
    }
    let battery = ftl.has_battery();
    let (defects, mut cuts): (Vec<Fault>, Vec<Fault>) = faults.iter().partition(|fault| fault.is_defect());
    if battery && cuts == Fault::all() {
        cuts = vec![Fault::Announced];
    }
    cuts.retain(|fault| (*fault == Fault::Announced) == battery);
    cuts.extend(defects);
    if cuts.is_empty() {
        let why = if battery { "it has a battery, and only cuts that are announced" } else { "it has no battery" };
        return Err(LabError::NoFault(ftl.name().into(), why));
    }
    Ok(cuts)
}

impl LabConfig<Any> {
    /// What the host does.
    pub(crate) fn script(&self) -> Script {
        let subject = self.ftl.as_ref();
        Script::new(&Plan {
            workload: self.workload,
            physical_pages: self.geometry.pages(),
            logical_pages: subject.logical_pages(),
            cache_entries: entries_drawn_for(subject),
            writes: self.writes,
            seed: self.seed,
        })
    }
}

/// Why an experiment could not be done.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum LabError {
    /// The FTL does not do the workload even with the power on.
    #[error("without any power cut: {0}")]
    Workload(#[from] FtlError),
    /// The id names a cut that does not happen with this configuration.
    #[error("no branch {0} in this experiment (another workload, seed, FTL, geometry or number of writes?)")]
    NoSuchBranch(Path),
    /// Nothing to try.
    #[error("depth {0}: must be from 1 to 3")]
    Depth(u32),
    /// The FTL is not made to survive a power cut.
    #[error("{0} does not survive power cuts: {1}")]
    NotPromised(String, &'static str),
    /// None of the faults asked for can meet this FTL.
    #[error("none of these faults meets {0}: {1}")]
    NoFault(String, &'static str),
}

/// How far a sweep is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Cut points that are done, with all that follows from them.
    pub done: u32,
    /// Out of so many.
    pub of: u32,
    /// Branches so far.
    pub branches: u64,
}

/// A crash experiment with what is not part of every one.
pub struct Sweep<'a, F = Config> {
    config: &'a LabConfig<F>,
    extras: Extras,
    again: u32,
    shortest: bool,
    progress: Option<&'a dyn Fn(Progress)>,
}

impl<'a, F: Subject + Clone + 'static> Sweep<'a, F> {
    /// The experiment as configured.
    pub fn new(config: &'a LabConfig<F>) -> Self {
        Self { config, extras: Extras::default(), again: 0, shortest: false, progress: None }
    }

    /// So many programs of the workload fail besides, spread evenly over it: each time it is a block that is open for
    /// writing, and the block is bad from then on.
    #[must_use]
    pub fn with_program_failures(self, program_failures: u32) -> Self {
        Self { extras: Extras { program_failures, ..self.extras }, ..self }
    }

    /// So many blocks, spread over the chips, are bad from the factory.
    #[must_use]
    pub fn with_factory_bad(self, factory_bad: u32) -> Self {
        Self { extras: Extras { factory_bad, ..self.extras }, ..self }
    }

    /// Each recovery from a cut of the workload is cut besides at each of its operations, so many times in a row: the
    /// next recovery at the same, and so on. These count as nested cuts.
    #[must_use]
    pub fn cutting_recoveries_again(self, again: u32) -> Self {
        Self { again, ..self }
    }

    /// Finds a short way to the first failure, if there is one ([`Failed::script`]). That takes a few hundred experiments
    /// more.
    #[must_use]
    pub fn shortening(self) -> Self {
        Self { shortest: true, ..self }
    }

    /// Has somebody told how far it is, a few times a second and at the end.
    #[must_use]
    pub fn telling(self, progress: &'a dyn Fn(Progress)) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// How many write requests the workload has to have, so that it comes to so many programs and erases at the least; a
    /// few more than that, as a rule.
    ///
    /// # Errors
    /// [`LabError::Workload`]: it does not run even without cuts.
    pub fn writes_for(&self, operations: u32) -> Result<u32, LabError> {
        let mut config = self.config.on_any();
        config.writes = (operations / 256).max(1);
        loop {
            let came_to = run_uncut(&config, self.extras, None)?.flash_operations.workload;
            if came_to >= operations || config.writes >= WRITES_MAX {
                return Ok(config.writes);
            }
            let wanted = u64::from(config.writes) * u64::from(operations) / u64::from(came_to.max(1));
            // Twice as many at the most: the drive need not be in its steady state yet.
            let more = (wanted + wanted / 50 + 1).min(u64::from(config.writes) * 2);
            config.writes = (more as u32).min(WRITES_MAX);
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`LabError`]: the workload does not run even without cuts, or the id replays nothing.
    pub fn run(&self) -> Result<CrashReport, LabError> {
        let (mut config, mut again) = (self.config.on_any(), self.again);
        if let Points::Replay(path) = &config.points {
            config.depth = path.cuts().max(1);
            config.threads = 1;
            if path.0.len() > 1 {
                // What is cut again and again are recoveries from the workload's cuts.
                again = 0;
            }
        }
        config.faults = what_meets(config.ftl.as_ref(), &config.faults, config.depth)?;
        quiet_in_branches();
        // Once without cuts but those of the workload itself: how many operations there are.
        let uncut = run_uncut(&config, self.extras, None)?;
        let points = if uncut.failure.is_some() { &Points::Some(0) } else { &config.points };
        let has = |of: fn(&Fault) -> bool| config.faults.iter().any(of);
        let or_none = |has: bool| if has { points.clone() } else { Points::Some(0) };
        let defect_points = or_none(has(|fault| fault.is_defect()));
        let defect_points = Arc::new(CutPoints::new(&defect_points, uncut.flash_operations));
        let points = or_none(has(|fault| !fault.is_defect()));
        let points = Arc::new(CutPoints::new(&points, uncut.operations));
        let shared = Arc::new(Shared { config, again, seen: Seen::new(), counts: Default::default() });
        match &uncut.failure {
            // What comes of cuts in a workload that fails without them says nothing.
            Some(failure) => shared.seen.fail_uncut(failure.clone()),
            None => self.cut_everywhere(&shared, &points, &defect_points, Arc::new(uncut.begins.clone()))?,
        }
        let mut report = report(&shared, &uncut, &points);
        if self.shortest
            && let Some(failed) = report.failures.first_mut()
        {
            failed.script = self.shortest_to(&shared, failed);
        }
        if let Points::Replay(path) = &self.config.points
            && !report.failed()
            && report.defects + report.cuts + report.nested_cuts < path.0.len() as u64
        {
            return Err(LabError::NoSuchBranch(path.clone()));
        }
        Ok(report)
    }

    /// A short way to what failed.
    fn shortest_to(&self, shared: &Shared, failed: &Failed) -> Vec<String> {
        let script = shared.config.script();
        shrink::shortest(&shared.config, self.extras, &script, &failed.id, failed.kind).unwrap_or_default()
    }

    fn cut_everywhere(
        &self,
        shared: &Arc<Shared>,
        points: &Arc<CutPoints>,
        defect_points: &Arc<CutPoints>,
        begins: Arc<Vec<u32>>,
    ) -> Result<(), LabError> {
        let extras = self.extras;
        std::thread::scope(|scope| {
            // Closed when the last thread has ended.
            let (running, ended) = channel::<()>();
            let workers: Vec<_> = (0..shared.config.threads.max(1))
                .map(|_| {
                    let running = running.clone();
                    let defects = (defect_points.count() > 0).then(|| Defects {
                        shared: Arc::clone(shared),
                        points: Arc::clone(defect_points),
                        begins: Arc::clone(&begins),
                    });
                    scope.spawn(move || {
                        let _running = running;
                        let watch = workload_watch(shared, points);
                        run_workload(&shared.config, extras, watch, defects.as_ref(), None)
                    })
                })
                .collect();
            drop(running);
            while ended.recv_timeout(BETWEEN_REPORTS) == Err(RecvTimeoutError::Timeout) {
                self.tell(shared, &[points, defect_points]);
            }
            self.tell(shared, &[points, defect_points]);
            workers
                .into_iter()
                .try_for_each(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(drop))
        })
    }

    fn tell(&self, shared: &Shared, points: &[&CutPoints]) {
        if let Some(progress) = self.progress {
            let counts = &shared.counts;
            progress(Progress {
                done: counts.points_done.load(Ordering::Relaxed),
                of: points.iter().map(|points| points.count()).sum(),
                branches: counts.cuts.load(Ordering::Relaxed) + counts.nested.load(Ordering::Relaxed),
            });
        }
    }
}

/// Cuts the workload where the points are, as the FTL's power fails.
pub(crate) fn workload_watch(shared: &Arc<Shared>, points: &Arc<CutPoints>) -> Watch {
    let (shared, points) = (Arc::clone(shared), Arc::clone(points));
    match shared.config.ftl.has_battery() {
        true => Watch::Requests(Some((shared, points))),
        false => Watch::Operations(Some(workload_watcher(shared, points))),
    }
}
