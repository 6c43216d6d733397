//! The sweep: the workload runs once to count its operations, then once on each thread with the power cuts.
//!
//! `points.rs` says where the power is cut, and `branch.rs` branches there.

use super::config::{LabConfig, LabError, what_meets};
use super::defects::Defects;
use super::host::{Extras, run_uncut, run_workload, workload_watch};
use super::panics::quiet_in_branches;
use super::path::Fault;
use super::points::{CutPoints, Points};
use super::report::{CrashReport, Failed, report};
use super::seen::Seen;
use super::shared::Shared;
use super::shrink;
use super::subject::Subject;
use phelsuma_ftl::Config;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often a sweep reports its progress.
const BETWEEN_REPORTS: Duration = Duration::from_millis(250);

/// No workload has more write requests than these.
const WRITES_MAX: u32 = 10_000_000;

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

/// A crash experiment with options that are not part of every one.
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

    /// Finds a short way to the first failure, if there is one ([`Failed::script`]). That takes a few hundred
    /// experiments more.
    #[must_use]
    pub fn shortening(self) -> Self {
        Self { shortest: true, ..self }
    }

    /// Has its progress reported to a callback, a few times a second and at the end.
    #[must_use]
    pub fn telling(self, progress: &'a dyn Fn(Progress)) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// How many write requests the workload needs, so that it comes to so many programs and erases at the least. As a
    /// rule they are a few more than that.
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
                // The recoveries from the workload's own cuts are cut again and again.
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
