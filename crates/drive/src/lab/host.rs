//! The host: runs the script against a drive, from a blank one on, and compares its reads with its writes.

use super::announced::cut_announced;
use super::branch::workload_watcher;
use super::config::{LabConfig, LabError};
use super::cut_nand::{CutNand, Watcher};
use super::defects::Defects;
use super::failure::{Failure, FailureKind};
use super::model::{Expectation, InProgress, Model, tag};
use super::panics::in_branch;
use super::points::{CutPoints, Operations};
use super::power_fail::save;
use super::script::{Request, Script};
use super::shared::Shared;
use super::subject::{Any, Subject, losses};
use super::verify::{Counted, compare, consistent, exactly, observe, read_pages, within_bound};
use phelsuma_ftl::{Ftl, FtlError, HostData, Step, WriteRequest};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, LogicalPage, Nand, SimNand, Time};
use std::sync::Arc;

/// What can be cut, and who does.
pub(crate) enum Watch {
    /// Programs and erases.
    Operations(Option<Watcher>),
    /// Requests, on a drive with a battery.
    Requests(Option<(Arc<Shared>, Arc<CutPoints>)>),
}

impl Watch {
    pub(crate) fn nobody(battery: bool) -> Self {
        if battery { Self::Requests(None) } else { Self::Operations(None) }
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

/// The result of the workload with no cuts but its own.
#[derive(Clone, Default, Debug)]
pub(crate) struct Uncut {
    /// Programs and erases, or requests on a drive with a battery; as far as it came.
    pub(crate) operations: Operations,
    /// Programs and erases in any case.
    pub(crate) flash_operations: Operations,
    /// By request: so many programs and erases come before it. One more entry stands for the end.
    pub(crate) begins: Vec<u32>,
    /// Power cuts of its own.
    pub(crate) restarts: u32,
    /// The longest recovery from one of those.
    pub(crate) worst_recovery: Time,
    /// The failure although nothing else was cut.
    pub(crate) failure: Option<Failure>,
}

/// Why the script did not come to its end.
pub(crate) enum Stop {
    /// The FTL does not do it, and nothing was cut so far.
    Refused(FtlError),
    /// A finding.
    Found(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Found(failure)
    }
}

/// Options that are not part of every experiment.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Extras {
    /// Programs that fail, spread evenly over the workload.
    pub(crate) program_failures: u32,
    /// Blocks that are bad from the factory.
    pub(crate) factory_bad: u32,
}

/// Runs the script without cuts, and checks everything when it is done.
pub(crate) fn run_uncut(
    config: &LabConfig<Any>,
    extras: Extras,
    script: Option<&Arc<Script>>,
) -> Result<Uncut, LabError> {
    let mut host = Host::new(config, extras, script)?;
    let watch = Watch::nobody(config.ftl.has_battery());
    let mut refused = None;
    let outcome = in_branch(|| {
        let done = host.run(extras, watch, None);
        match done.and_then(|()| Ok(host.look_at_everything("after the workload")?)) {
            Ok(()) => Ok(()),
            Err(Stop::Found(failure)) => Err(failure),
            Err(Stop::Refused(error)) => {
                refused = Some(error);
                Ok(())
            }
        }
    });
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(Uncut { failure: outcome.err(), ..host.uncut }),
    }
}

/// Runs the script, watched. It did come to its end unwatched.
pub(crate) fn run_workload(
    config: &LabConfig<Any>,
    extras: Extras,
    watch: Watch,
    defects: Option<&Defects>,
    script: Option<&Arc<Script>>,
) -> Result<(), LabError> {
    match Host::new(config, extras, script)?.run(extras, watch, defects) {
        Ok(()) => Ok(()),
        Err(Stop::Refused(error)) => Err(error.into()),
        Err(Stop::Found(failure)) => {
            debug_assert!(false, "watched it differs: {}", failure.message);
            Ok(())
        }
    }
}

/// Write `number` of an experiment, of so many pages from the first on. Each page has its own tag.
pub(crate) fn write_pages(
    ftl: &mut dyn Ftl<CutNand>,
    nand: &mut CutNand,
    subject: &dyn Subject,
    (first, pages): (u32, u32),
    number: u32,
    at: Time,
) -> Result<Time, FtlError> {
    // Hints are of pages: an FTL with hints gets each page in a request of its own.
    let each = if subject.is_oracle() { 1 } else { pages };
    let mut done = at;
    for page in (first..first + pages).step_by(each.max(1) as usize) {
        let data = HostData::Numbered(tag(number, page));
        let hint = subject.hint(page, number);
        let request = WriteRequest { first: LogicalPage(page), pages: each, data, hint };
        done = done.max(ftl.write(nand, &request, at)?);
    }
    Ok(done)
}

/// The host, with its drive.
pub(crate) struct Host<'a> {
    pub(crate) subject: &'a dyn Subject,
    script: Arc<Script>,
    pub(crate) ftl: Box<dyn Ftl<CutNand>>,
    pub(crate) nand: CutNand,
    pub(crate) model: Model,
    pub(crate) at: Time,
    uncut: Uncut,
}

impl<'a> Host<'a> {
    /// With a blank drive, formatted; and another script than the workload's.
    fn new(config: &'a LabConfig<Any>, extras: Extras, script: Option<&Arc<Script>>) -> Result<Self, FtlError> {
        let LabConfig { geometry, timing, seed, .. } = *config;
        let sim = SimNand::new(&SimConfig { tagged: true, fingerprint: true, ..SimConfig::new(geometry, timing) });
        let subject = config.ftl.as_ref();
        let logical_pages = subject.logical_pages();
        let model = Model::new(logical_pages).that_loses(losses(subject));
        let expectation = Expectation { model: Arc::new(model.clone()), in_progress: None };
        let mut nand = CutNand::new(sim, expectation);
        for number in 0..u64::from(extras.factory_bad) {
            // Spread over the chips, one more or less by the seed.
            let blocks = u64::from(geometry.blocks());
            let block = (number * blocks / u64::from(extras.factory_bad) + seed % 3) % blocks;
            nand.sim.mark_bad(Block(block as u32));
        }
        let (ftl, at) = subject.format(&mut nand, Time::ZERO)?;
        nand.operations = 0;
        let script = script.map_or_else(|| Arc::new(config.script()), Arc::clone);
        Ok(Self { subject, script, ftl, nand, model, at, uncut: Uncut::default() })
    }

    /// Runs the script.
    fn run(&mut self, extras: Extras, watch: Watch, defects: Option<&Defects>) -> Result<(), Stop> {
        let (of_requests, cutter) = match watch {
            Watch::Operations(watcher) => {
                if let Some(watcher) = watcher {
                    self.nand.watch(watcher, self.nand.operations);
                }
                (false, None)
            }
            Watch::Requests(cutter) => (true, cutter),
        };
        for number in 0..self.requests() {
            if self.script.begins_part(number, extras.program_failures) {
                self.nand.break_last_programmed();
            }
            self.uncut.begins.push(self.nand.operations);
            if let Some(defects) = defects {
                defects.at_request(self, number);
            }
            let done = self.step(number);
            let of = |operations: u32| if of_requests { number as u32 + 1 } else { operations };
            for (counted, so_far) in [
                (&mut self.uncut.operations, of(self.nand.operations)),
                (&mut self.uncut.flash_operations, self.nand.operations),
            ] {
                if number >= self.script.preconditioning {
                    counted.workload = so_far - counted.preconditioning;
                } else {
                    counted.preconditioning = so_far;
                }
            }
            done?;
            if let Some((shared, points)) = &cutter {
                cut_announced(shared, points, number as u32, self.ftl.as_ref(), &self.nand, &self.model, self.at);
            }
        }
        self.uncut.begins.push(self.nand.operations);
        self.nand.stop_watching();
        Ok(())
    }

    /// How many requests the script has.
    pub(crate) fn requests(&self) -> usize {
        self.script.requests.len()
    }

    /// Request `number` of the script.
    pub(crate) fn step(&mut self, number: usize) -> Result<(), Stop> {
        let request = self.script.requests[number];
        let number = number as u32;
        if self.ftl.due().is_some_and(|due| due <= self.at) {
            self.nand.expectation = self.expectation(None);
            self.do_what_is_due(number)?;
            self.model.flushed();
        }
        let in_progress = InProgress { request, tag: tag(number, 0) };
        self.nand.expectation = self.expectation(Some(in_progress));
        self.request(&request, number)?;
        self.model.acknowledged(&request, number);
        Ok(())
    }

    /// A drive of its own that is where this one is, at rest.
    pub(crate) fn fork(&self) -> Host<'a> {
        let (ftl, mut nand) = self.copies();
        nand.operations = self.nand.operations;
        Host {
            subject: self.subject,
            script: Arc::clone(&self.script),
            ftl,
            nand,
            model: self.model.clone(),
            at: self.at,
            uncut: Uncut { restarts: self.uncut.restarts, ..Uncut::default() },
        }
    }

    pub(crate) fn expectation(&self, in_progress: Option<InProgress>) -> Expectation {
        Expectation { model: Arc::new(self.model.clone()), in_progress }
    }

    /// The FTL's due work, before request `number`.
    fn do_what_is_due(&mut self, number: u32) -> Result<(), Stop> {
        match self.ftl.background_step(&mut self.nand, self.at) {
            Ok(Step::Did(done)) => {
                self.at = self.at.max(done);
                Ok(())
            }
            Ok(Step::Nothing) => {
                let message = format!("something is due before request {number}, and nothing is done");
                Err(Failure { kind: FailureKind::Stuck, message }.into())
            }
            Err(error) => self.refused(error),
        }
    }

    fn refused(&self, error: FtlError) -> Result<(), Stop> {
        if self.uncut.restarts == 0 {
            return Err(Stop::Refused(error));
        }
        let message = format!("after {} power cuts of the workload: {error}", self.uncut.restarts);
        Err(Failure { kind: FailureKind::Stuck, message }.into())
    }

    fn request(&mut self, request: &Request, number: u32) -> Result<(), Stop> {
        let done = match *request {
            Request::Write { first, pages } => self.write(first, pages, number),
            Request::Trim { first, pages } => self.ftl.trim(&mut self.nand, LogicalPage(first), pages, self.at),
            Request::Flush => self.ftl.flush(&mut self.nand, self.at),
            Request::Close => self.ftl.close(&mut self.nand, self.at),
            Request::Read { first, pages } => {
                match read_pages(self.ftl.as_mut(), &mut self.nand, first, pages, self.at) {
                    Ok((found, done)) => {
                        exactly(&self.model, first, &found, &format!("while the power is on (request {number})"))?;
                        Ok(done)
                    }
                    Err(error) => Err(error),
                }
            }
            Request::Cut => Ok(self.restart(number)?),
        };
        match done {
            Ok(done) => {
                self.at = done;
                Ok(())
            }
            Err(error) => self.refused(error),
        }
    }

    fn write(&mut self, first: u32, pages: u32, number: u32) -> Result<Time, FtlError> {
        write_pages(self.ftl.as_mut(), &mut self.nand, self.subject, (first, pages), number, self.at)
    }

    /// A power cut of the script's own, and the recovery from it; the moment that one is done. The pages are checked on
    /// a copy. Reading everything would fill a cache with it, and one drive would be like the other after each cut.
    fn restart(&mut self, number: u32) -> Result<Time, Failure> {
        let before = self.uncut.restarts;
        self.uncut.restarts += 1;
        save(self.ftl.as_mut(), &mut self.nand, self.at)?;
        self.nand.restart();
        let counted = Counted::on(&self.nand.sim);
        let (ftl, report) = self.subject.recover(&mut self.nand, self.at).map_err(|error| Failure {
            kind: FailureKind::Stuck,
            message: format!("the drive does not come up after {before} power cuts of the workload and one: {error}"),
        })?;
        within_bound(&counted, &self.nand.sim, &report)?;
        self.ftl = ftl;
        self.uncut.worst_recovery = self.uncut.worst_recovery.max(Time(report.done.0.saturating_sub(self.at.0)));
        let when = format!("after recovery {before} of the workload (request {number})");
        let expectation = self.expectation(None);
        let (mut ftl, mut nand) = self.copies();
        consistent(ftl.as_mut(), &mut nand, &self.model, &when)?;
        let _ = observe(ftl.as_mut(), &mut nand, &expectation, &mut self.model, &when)?;
        Ok(report.done)
    }

    fn copies(&self) -> (Box<dyn Ftl<CutNand>>, CutNand) {
        (self.ftl.copy(), CutNand::new(self.nand.sim.clone(), self.expectation(None)))
    }

    /// Whether everything is there, with the power on.
    pub(crate) fn look_at_everything(&self, when: &str) -> Result<(), Failure> {
        let (mut ftl, mut nand) = self.copies();
        compare(ftl.as_mut(), &mut nand, &self.model, when)?;
        consistent(ftl.as_mut(), &mut nand, &self.model, when)
    }
}
