//! A drive driven by hand, with a plug: each request when its driver says so, a power cut at any operation of it.
//!
//! A sweep tries every cut of a script that is known before. Here nothing is known before: whoever drives looks at the
//! drive, decides, and goes on with it after the recovery. The host's model and the checks are those of a sweep.

use super::beside;
use super::cut_nand::{Change, CutNand, CutPoint};
use super::failure::{Checked, Failure, FailureKind};
use super::host::write_pages;
use super::model::{Expectation, InProgress, Model, tag};
use super::path::Fault;
use super::plug::{Met, Plug};
use super::power_fail::save;
use super::script::Request;
use super::subject::{Subject, losses};
use super::taken_back::{Taken, TakenBack};
use super::verify::{Counted, consistent, exactly, observe, read_pages, verify, within_bound};
use phelsuma_ftl::{Ftl, FtlError, Hint, HostData, RecoveryReport, Step, WriteRequest};
use phelsuma_nand::sim::{EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{Event, Geometry, LogicalPage, Nand, Observer, Page, Purpose, SimNand, Spare, Time, Timing};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests that a bench serves at the most: their numbers are those of the laboratory's tags, and its checks have some.
pub const BENCH_REQUESTS_MAX: u32 = (1 << 30) - 2;

/// What a recovery came to.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Its steps and their bound.
    pub report: RecoveryReport,
    /// Acknowledged pages, not flushed, that read as they did before.
    pub older: u32,
    /// Acknowledged pages, not flushed, that are read errors.
    pub unreadable: u32,
    /// Logical pages that were read and compared.
    pub checked: u32,
}

/// A finding: what the laboratory would report as a failure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Wrong {
    /// Which kind it is.
    pub kind: FailureKind,
    /// What it is, in a line.
    pub message: String,
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self { kind: failure.kind, message: failure.message }
    }
}

/// Why a bench did not do what it was asked.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BenchError {
    /// The FTL refuses.
    #[error("{0}")]
    Refused(#[from] FtlError),
    /// A finding.
    #[error("{0}")]
    Found(#[from] Wrong),
    /// The power is off.
    #[error("the power is off")]
    Off,
    /// The power is on.
    #[error("the power is on")]
    On,
    /// The drive has served as many requests as a bench has numbers for.
    #[error("a drive on a bench serves {BENCH_REQUESTS_MAX} requests and no more")]
    Worn,
}

impl From<Failure> for BenchError {
    fn from(failure: Failure) -> Self {
        Self::Found(failure.into())
    }
}

/// A listener that hears nothing once the power is off: the FTL finishes its call on a chip that is not looked at.
#[derive(Clone)]
struct UntilOff {
    inner: Arc<Mutex<dyn Observer>>,
    is_off: Arc<AtomicBool>,
}

impl UntilOff {
    fn hear(&self, what: impl FnOnce(&mut dyn Observer)) {
        if !self.is_off.load(Ordering::Relaxed) {
            what(&mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Observer for UntilOff {
    fn observe(&mut self, event: &Event) {
        self.hear(|inner| inner.observe(event));
    }

    fn programmed(&mut self, page: Page, spare: &Spare, purpose: Purpose) {
        self.hear(|inner| inner.programmed(page, spare, purpose));
    }
}

/// A drive, its host's expectations, and a plug.
pub struct Bench {
    subject: Arc<dyn Subject>,
    ftl: Box<dyn Ftl<CutNand>>,
    nand: CutNand,
    model: Model,
    at: Time,
    served: u32,
    /// What may be found when the power is on again; none while it is on.
    off: Option<Expectation>,
    is_off: Arc<AtomicBool>,
    listener: Option<UntilOff>,
}

impl Bench {
    /// A blank drive, formatted.
    ///
    /// # Errors
    /// [`FtlError::DoesNotFit`], or what the flash refuses.
    pub fn format(subject: Arc<dyn Subject>, geometry: Geometry, timing: Timing) -> Result<Self, FtlError> {
        let sim = SimNand::new(&SimConfig { tagged: true, ..SimConfig::new(geometry, timing) });
        let model = Model::new(subject.logical_pages()).that_loses(losses(subject.as_ref()));
        let expectation = Expectation { model: Arc::new(Model::new(0)), in_progress: None };
        let mut nand = CutNand::new(sim, expectation);
        let (ftl, at) = subject.format(&mut nand, Time::ZERO)?;
        nand.operations = 0;
        Ok(Self { subject, ftl, nand, model, at, served: 0, off: None, is_off: Arc::default(), listener: None })
    }

    /// Another drive in the same state, that goes its own way. It has no listener.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut nand = CutNand::new(self.nand.sim.clone(), self.nand.expectation.clone());
        nand.operations = self.nand.operations;
        Self {
            subject: Arc::clone(&self.subject),
            ftl: self.ftl.copy(),
            nand,
            model: self.model.clone(),
            at: self.at,
            served: self.served,
            off: self.off.clone(),
            is_off: Arc::new(AtomicBool::new(self.off.is_some())),
            listener: None,
        }
    }

    /// From now on `observer` hears of each operation of the flash, or nobody does.
    pub fn listen(&mut self, observer: Option<Arc<Mutex<dyn Observer>>>) {
        let is_off = Arc::clone(&self.is_off);
        self.listener = observer.map(|inner| UntilOff { inner, is_off });
        self.connect();
    }

    /// A chip that came in the place of another is listened to as that was.
    fn connect(&mut self) {
        self.nand.sim.observe(self.listener.clone().map(|listener| Box::new(listener) as Box<dyn Observer>));
    }

    /// The flash.
    pub fn nand(&self) -> &SimNand {
        &self.nand.sim
    }

    /// The FTL, and a copy of the flash for what it may read there for an onlooker.
    pub fn look(&self) -> (&dyn Ftl<CutNand>, CutNand) {
        (self.ftl.as_ref(), CutNand::new(self.nand.sim.clone(), self.nand.expectation.clone()))
    }

    /// The FTL.
    pub fn ftl(&self) -> &dyn Ftl<CutNand> {
        self.ftl.as_ref()
    }

    /// When the last request was complete, in simulated time.
    pub fn now(&self) -> Time {
        self.at
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.off.is_none()
    }

    /// Programs and erases since the drive was formatted or mounted.
    pub fn operations(&self) -> u32 {
        self.nand.operations
    }

    /// Whether `page` holds data of the host's.
    pub fn holds_data(&self, page: u32) -> bool {
        self.model.now(page) != 0
    }

    /// Serves a request. `hint` goes with each page of a write; without one the host says what it says in a sweep.
    ///
    /// # Errors
    /// What the FTL refuses. A read that is not what was written is [`BenchError::Found`].
    pub fn submit(&mut self, request: &Request, hint: Option<Hint>) -> Result<(), BenchError> {
        self.may_serve()?;
        self.do_what_is_due()?;
        self.serve(request, hint)?;
        self.acknowledge(request);
        Ok(())
    }

    /// Serves a request, with the power failing at an operation of it. None: the request came to its end before the
    /// plug's moment, and the power is on. What of its operations passed is counted.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn submit_until(
        &mut self,
        request: &Request,
        hint: Option<Hint>,
        plug: &mut Plug,
    ) -> Result<Option<Met>, BenchError> {
        self.may_serve()?;
        self.do_what_is_due()?;
        let in_progress = InProgress { request: *request, tag: tag(self.served, 0) };
        let expectation = Expectation { model: Arc::new(self.model.clone()), in_progress: Some(in_progress) };
        let armed = self.armed(plug, request);
        let served = self.serve(request, hint);
        if let Some(met) = self.disarm(&armed, plug) {
            self.off = Some(expectation);
            self.served += 1;
            return Ok(Some(met));
        }
        served?;
        self.acknowledge(request);
        Ok(None)
    }

    /// The power fails with nothing in flight; a battery saves what is in RAM alone.
    ///
    /// # Errors
    /// [`BenchError::Found`]: the battery does not suffice.
    pub fn pull(&mut self) -> Result<(), BenchError> {
        if !self.is_on() {
            return Err(BenchError::Off);
        }
        save(self.ftl.as_mut(), &mut self.nand, self.at)?;
        self.nand.power_cycle();
        self.nand.operations = 0;
        self.off = Some(Expectation { model: Arc::new(self.model.clone()), in_progress: None });
        self.is_off.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The power is on again: the drive recovers, and every logical page is compared with what the host may expect.
    ///
    /// # Errors
    /// [`BenchError::Found`] where the drive does not mount, or not as the host may expect.
    pub fn recover(&mut self) -> Result<Recovered, BenchError> {
        let Some(expectation) = self.off.clone() else { return Err(BenchError::On) };
        self.is_off.store(false, Ordering::Relaxed);
        let counted = Counted::on(&self.nand.sim);
        let (ftl, report) = self.subject.recover(&mut self.nand, Time::ZERO).map_err(|error| Failure {
            kind: FailureKind::Stuck,
            message: format!("the drive does not come up: {error}"),
        })?;
        within_bound(&counted, &self.nand.sim, &report)?;
        self.off = None;
        self.ftl = ftl;
        self.at = report.done;
        let taken = self.compare(&expectation)?;
        let checked = self.model.logical_pages();
        Ok(Recovered { report, older: taken.older, unreadable: taken.unreadable, checked })
    }

    /// The power is on again, and fails at an operation of the recovery. None: the recovery came to its end, and is
    /// undone: [`recover`](Self::recover) does it.
    ///
    /// # Errors
    /// [`BenchError::On`].
    pub fn recover_until(&mut self, plug: &mut Plug) -> Result<Option<Met>, BenchError> {
        if self.is_on() {
            return Err(BenchError::On);
        }
        let before = self.nand.sim.clone();
        self.nand.operations = 0;
        self.is_off.store(false, Ordering::Relaxed);
        let armed = self.armed(plug, &Request::Cut);
        // How it ends on a chip that is not looked at does not matter.
        let _ = self.subject.recover(&mut self.nand, Time::ZERO);
        let met = self.disarm(&armed, plug);
        if met.is_none() {
            self.put(before);
        }
        self.is_off.store(true, Ordering::Relaxed);
        Ok(met)
    }

    /// Everything that a sweep checks of a branch, on a copy that the power fails on now: recovered twice, written over
    /// twice, and read after each.
    ///
    /// # Errors
    /// The finding.
    pub fn examine(&self) -> Result<(), Wrong> {
        let mut copy = self.copy();
        if copy.is_on() {
            save(copy.ftl.as_mut(), &mut copy.nand, copy.at)?;
            copy.nand.power_cycle();
        }
        let model = Expectation { model: Arc::new(copy.model.clone()), in_progress: None };
        let expectation = copy.off.take().unwrap_or(model);
        let counted = Counted::on(&copy.nand.sim);
        let (ftl, report) = copy.subject.recover(&mut copy.nand, Time::ZERO).map_err(|error| Failure {
            kind: FailureKind::Stuck,
            message: format!("the drive does not come up: {error}"),
        })?;
        within_bound(&counted, &copy.nand.sim, &report)?;
        let taken_back = TakenBack::default();
        let subject = Arc::clone(&copy.subject);
        Ok(verify(&mut copy.nand, ftl, subject.as_ref(), &expectation, &taken_back, &mut |_| false)?)
    }

    fn may_serve(&self) -> Result<(), BenchError> {
        match (&self.off, self.served) {
            (Some(_), _) => Err(BenchError::Off),
            (None, BENCH_REQUESTS_MAX..) => Err(BenchError::Worn),
            _ => Ok(()),
        }
    }

    fn do_what_is_due(&mut self) -> Result<(), BenchError> {
        let mut has_done = false;
        while self.ftl.due().is_some_and(|due| due <= self.at) {
            match self.ftl.background_step(&mut self.nand, self.at)? {
                Step::Did(done) => self.at = self.at.max(done),
                Step::Nothing => break,
            }
            has_done = true;
        }
        if has_done {
            self.model.flushed();
        }
        Ok(())
    }

    fn serve(&mut self, request: &Request, hint: Option<Hint>) -> Result<(), BenchError> {
        let at = self.at;
        let done = match *request {
            Request::Write { first, pages } => match hint {
                None => {
                    let subject = self.subject.as_ref();
                    write_pages(self.ftl.as_mut(), &mut self.nand, subject, (first, pages), self.served, at)?
                }
                Some(hint) => {
                    let data = HostData::Numbered(tag(self.served, first));
                    let request = WriteRequest { first: LogicalPage(first), pages, data, hint };
                    self.ftl.write(&mut self.nand, &request, at)?
                }
            },
            Request::Trim { first, pages } => self.ftl.trim(&mut self.nand, LogicalPage(first), pages, at)?,
            Request::Flush => self.ftl.flush(&mut self.nand, at)?,
            Request::Close => self.ftl.close(&mut self.nand, at)?,
            Request::Read { first, pages } => {
                let (found, done) = read_pages(self.ftl.as_mut(), &mut self.nand, first, pages, at)?;
                exactly(&self.model, first, &found, "while the power is on")?;
                done
            }
            Request::Cut => at,
        };
        self.at = done;
        Ok(())
    }

    fn acknowledge(&mut self, request: &Request) {
        self.model.acknowledged(request, self.served);
        self.served += 1;
    }

    /// Reads every page on a copy: reading would fill a cache with what the host did not ask for.
    fn compare(&mut self, expectation: &Expectation) -> Checked<Taken> {
        let (mut ftl, mut nand) = (self.ftl.copy(), CutNand::new(self.nand.sim.clone(), expectation.clone()));
        consistent(ftl.as_mut(), &mut nand, &expectation.model, "after recovery")?;
        let mut model = expectation.model.as_ref().clone();
        let taken = observe(ftl.as_mut(), &mut nand, expectation, &mut model, "after recovery")?;
        self.model = model;
        Ok(taken)
    }

    /// Has the power fail at the plug's moment.
    fn armed(&mut self, plug: &Plug, request: &Request) -> Armed {
        let (plug, request, is_off) = (*plug, *request, Arc::clone(&self.is_off));
        let armed = Armed::default();
        let kept = Arc::clone(&armed.0);
        let left = Arc::clone(&armed.1);
        left.store(plug.skip, Ordering::Relaxed);
        let operations = self.nand.operations;
        let watcher = move |point: &CutPoint<'_>| {
            let fits = match (plug.fault, point.change) {
                (Fault::Program(_), Change::Program { .. }) | (Fault::Erase(_), Change::Erase { .. }) => {
                    plug.moment.is(point.change, &request)
                }
                _ => false,
            };
            if !fits || is_off.load(Ordering::Relaxed) {
                return;
            }
            let passes = left.load(Ordering::Relaxed);
            if passes > 0 {
                left.store(passes - 1, Ordering::Relaxed);
                return;
            }
            let (program, erase) = match plug.fault {
                Fault::Program(fault) => (fault, EraseFault::NotStarted),
                Fault::Erase(fault) => (ProgramFault::NotStarted, fault),
                Fault::Announced | Fault::Defect(_) => return,
            };
            // As a sweep has it, so that its id names the same branch.
            let seed = plug.seed ^ u64::from(point.operation) << 8;
            let mut flash = point.flash.clone();
            // What an earlier cut left unstable lets go now; what this one leaves lasts until the next.
            flash.power_cycle();
            if !beside::apply(&mut flash, point.beside, 0, seed) {
                return;
            }
            point.change.cut(&mut flash, program, erase, seed);
            let (page, kind, key) = match point.change {
                Change::Program { page, spare, .. } => (page.0, Some(spare.kind), spare.key),
                Change::Erase { block } => (flash.geometry().page(*block, 0).0, None, block.0),
            };
            is_off.store(true, Ordering::Relaxed);
            let found = Met { operation: point.operation, page, kind, key };
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((found, flash));
        };
        self.nand.watch(Box::new(watcher), operations);
        armed
    }

    /// The flash that the cut left comes in the place of the chip, if there was a cut.
    fn disarm(&mut self, armed: &Armed, plug: &mut Plug) -> Option<Met> {
        self.nand.stop_watching();
        plug.skip = armed.1.load(Ordering::Relaxed);
        let (met, flash) = armed.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.put(flash);
        Some(met)
    }

    fn put(&mut self, flash: SimNand) {
        self.nand.sim = flash;
        self.nand.operations = 0;
        self.connect();
    }
}

/// What a cut met and the flash as it left it, once there was one; and how many operations are to pass before.
#[derive(Default)]
struct Armed(Arc<Mutex<Option<(Met, SimNand)>>>, Arc<AtomicU32>);
