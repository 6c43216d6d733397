//! A drive's life in the soak: from a blank chip through cycles of requests, decay and power cuts. Everything is
//! checked after each.

use super::cycle::{Breaks, Cut, Cycle};
use crate::lab::beside;
use crate::lab::cut_nand::{CutFlash, CutNand, CutPoint};
use crate::lab::decay::decay;
use crate::lab::failure::{Checked, Failure, FailureKind, failure};
use crate::lab::host::write_pages;
use crate::lab::model::{Decayed, Expectation, InProgress, Model, tag};
use crate::lab::path::{Defect, Fault};
use crate::lab::power_fail::save;
use crate::lab::script::Request;
use crate::lab::subject::{Any, Promise, losses};
use crate::lab::verify::{Counted, compare, consistent, exactly, observe, read_pages, within_bound};
use phelsuma_ftl::{Ftl, FtlError, Step};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, SimNand, Time, Timing};
use std::sync::Arc;

/// The subject of a life.
#[derive(Clone, Debug)]
pub(crate) struct Species {
    pub(crate) geometry: Geometry,
    pub(crate) timing: Timing,
    pub(crate) ftl: Any,
}

/// What happened in a life, or in many.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    pub(crate) cycles: u64,
    /// Power cuts that met a program or an erase, and those of recoveries.
    pub(crate) cuts: u64,
    pub(crate) recovery_cuts: u64,
    pub(crate) decayed: u64,
    pub(crate) grown_bad: u64,
}

/// Before so many blocks are bad no drive may come to its end: its size is chosen so.
const BAD_BLOCKS_BORNE: u32 = 3;

/// Why a request is not done.
enum Stop {
    /// So many blocks have grown bad that the drive cannot be written any more. It can be read.
    EndOfLife,
    Found(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Found(failure)
    }
}

/// A drive in use.
pub(crate) struct Life<'a> {
    species: &'a Species,
    ftl: Box<dyn Ftl<CutNand>>,
    nand: CutNand,
    model: Model,
    at: Time,
    /// The number of the next request.
    write: u32,
    /// It cannot be written any more.
    pub(crate) is_over: bool,
    pub(crate) tally: Tally,
}

fn nothing_expected() -> Expectation {
    Expectation { model: Arc::new(Model::new(0)), in_progress: None }
}

impl<'a> Life<'a> {
    /// A blank drive, formatted.
    pub(crate) fn new(species: &'a Species) -> Result<Self, FtlError> {
        let sim = SimNand::new(&SimConfig { tagged: true, ..SimConfig::new(species.geometry, species.timing) });
        let mut nand = CutNand::new(sim, nothing_expected());
        let (ftl, at) = species.ftl.format(&mut nand, Time::ZERO)?;
        let model = Model::new(species.ftl.logical_pages()).that_loses(losses(species.ftl.as_ref()));
        Ok(Self { species, ftl, nand, model, at, write: 0, is_over: false, tally: Tally::default() })
    }

    /// The drive is filled, and in use for a while.
    pub(crate) fn fill(&mut self, requests: &[Request]) -> Checked<()> {
        for request in requests {
            match self.do_what_is_due() {
                Ok(true) => self.model.flushed(),
                Ok(false) => {}
                Err(Stop::Found(failure)) => return Err(failure),
                Err(Stop::EndOfLife) => return failure(FailureKind::Stuck, "a new drive is full".into()),
            }
            let number = self.write;
            self.write += 1;
            match self.request(request, number) {
                Ok(done) => self.at = done,
                Err(Stop::Found(failure)) => return Err(failure),
                Err(Stop::EndOfLife) => return failure(FailureKind::Stuck, "a new drive is full".into()),
            }
            self.model.acknowledged(request, number);
        }
        Ok(())
    }

    /// Whether anything is promised of it still, after the pages of metadata that have decayed. (Where user pages have,
    /// all that a life checks holds, whether promised or not.)
    pub(crate) fn is_promised(&self) -> bool {
        let decays = Fault::Defect(Defect::MetadataDecays);
        self.model.has_decayed() < Decayed::Validity || !matches!(self.species.ftl.promise(decays), Promise::Nothing(_))
    }

    /// One cycle.
    pub(crate) fn cycle(&mut self, cycle: &Cycle) -> Checked<()> {
        if let Some(decays) = &cycle.decays {
            let decayed = decay(&mut self.nand.sim, &mut self.model, self.species.ftl.as_ref(), decays);
            self.tally.decayed += u64::from(decayed);
        }
        let breaks = match cycle.breaks {
            Some(Breaks::AtProgram) => self.nand.break_last_programmed(),
            Some(Breaks::AtErase(number)) => {
                let block = Block(number % self.species.geometry.blocks());
                let is_good = !Nand::is_bad(&self.nand.sim, block);
                self.nand.sim.break_at_erase(block);
                is_good
            }
            None => false,
        };
        self.tally.grown_bad += u64::from(breaks);
        let announced = self.species.ftl.has_battery();
        let cut = (!announced).then(|| self.arm(&cycle.cut));
        let mut failed = None;
        let mut in_progress = None;
        for request in &cycle.requests {
            let due = self.do_what_is_due();
            failed = cut.as_ref().and_then(CutFlash::take);
            if failed.is_some() {
                break;
            }
            match due {
                Ok(true) => self.model.flushed(),
                Ok(false) => {}
                Err(Stop::Found(failure)) => return Err(failure),
                Err(Stop::EndOfLife) => {
                    self.is_over = true;
                    break;
                }
            }
            let number = self.write;
            self.write += 1;
            let done = self.request(request, number);
            failed = cut.as_ref().and_then(CutFlash::take);
            if failed.is_some() {
                in_progress = Some(InProgress { request: *request, tag: tag(number, 0) });
                break;
            }
            match done {
                Ok(done) => self.at = done,
                Err(Stop::Found(failure)) => return Err(failure),
                // What of it is done is as after a cut.
                Err(Stop::EndOfLife) => {
                    in_progress = Some(InProgress { request: *request, tag: tag(number, 0) });
                    self.is_over = true;
                    break;
                }
            }
            self.model.acknowledged(request, number);
        }
        self.nand.stop_watching();
        self.tally.cycles += 1;
        self.tally.cuts += u64::from(failed.is_some());
        let flash = match failed {
            Some(flash) => flash,
            None => {
                save(self.ftl.as_mut(), &mut self.nand, self.at)?;
                let mut flash = self.nand.sim.clone();
                flash.power_cycle();
                flash
            }
        };
        if announced {
            let between: Vec<Cut> = cycle.recovery_cuts.iter().map(|cut| cut.between_operations()).collect();
            self.power_on(flash, &between)?;
        } else {
            self.power_on(flash, &cycle.recovery_cuts)?;
        }
        let expectation = Expectation { model: Arc::new(self.model.clone()), in_progress };
        consistent(self.ftl.as_mut(), &mut self.nand, &self.model, "after recovery")?;
        let _ = observe(self.ftl.as_mut(), &mut self.nand, &expectation, &mut self.model, "after recovery")?;
        if cycle.overwrite && !self.is_over {
            self.overwrite()?;
        }
        Ok(())
    }

    /// The end: everything is written over twice and looked at.
    pub(crate) fn end(&mut self) -> Checked<()> {
        if self.is_over {
            return Ok(());
        }
        self.overwrite()?;
        self.overwrite()?;
        self.restart("in the end", None)
    }

    /// Everything is written over, one page after the other.
    fn overwrite(&mut self) -> Checked<()> {
        for page in 0..self.model.logical_pages() {
            let (request, number) = (Request::Write { first: page, pages: 1 }, self.write);
            self.write += 1;
            match self.request(&request, number) {
                Ok(done) => self.at = done,
                Err(Stop::Found(failure)) => return Err(failure),
                Err(Stop::EndOfLife) => {
                    self.is_over = true;
                    // As after a cut: a program that failed may have left the page all the same.
                    return self.restart("at the end of its life", Some(InProgress { request, tag: tag(number, 0) }));
                }
            }
            self.model.acknowledged(&request, number);
        }
        compare(self.ftl.as_mut(), &mut self.nand, &self.model, "after everything was written over")?;
        consistent(self.ftl.as_mut(), &mut self.nand, &self.model, "after everything was written over")
    }

    /// The power off and on again, and everything checked before and after. The request in progress failed: nothing of
    /// it shows while the power is on.
    fn restart(&mut self, when: &str, in_progress: Option<InProgress>) -> Checked<()> {
        compare(self.ftl.as_mut(), &mut self.nand, &self.model, when)?;
        save(self.ftl.as_mut(), &mut self.nand, self.at)?;
        let mut flash = self.nand.sim.clone();
        flash.power_cycle();
        self.power_on(flash, &[])?;
        let when = format!("{when}, off and on again,");
        let expectation = Expectation { model: Arc::new(self.model.clone()), in_progress };
        let _ = observe(self.ftl.as_mut(), &mut self.nand, &expectation, &mut self.model, &when)?;
        consistent(self.ftl.as_mut(), &mut self.nand, &self.model, &when)
    }

    /// Has the power fail.
    fn arm(&mut self, cut: &Cut) -> CutFlash {
        let cut = *cut;
        self.nand.cut_at(cut.operation, move |point| left_by(point, &cut))
    }

    /// Brings the drive up from `flash`, cut short by these.
    fn power_on(&mut self, mut flash: SimNand, cuts: &[Cut]) -> Checked<()> {
        for cut in cuts.iter().map(Some).chain([None]) {
            self.nand = CutNand::new(flash, nothing_expected());
            let armed = cut.map(|cut| self.arm(cut));
            let before = Counted::on(&self.nand.sim);
            let recovered = self.species.ftl.recover(&mut self.nand, Time::ZERO);
            self.nand.stop_watching();
            match (armed.as_ref().and_then(CutFlash::take), recovered) {
                (Some(cut), _) => {
                    self.tally.recovery_cuts += 1;
                    flash = cut;
                }
                (None, Ok((ftl, report))) => {
                    within_bound(&before, &self.nand.sim, &report)?;
                    (self.ftl, self.at) = (ftl, report.done);
                    return Ok(());
                }
                (None, Err(error)) => {
                    return failure(FailureKind::Stuck, format!("the drive does not come up: {error}"));
                }
            }
        }
        failure(FailureKind::Stuck, "a recovery with nothing to cut is cut".into())
    }

    /// The FTL's due work. Whether there was any.
    fn do_what_is_due(&mut self) -> Result<bool, Stop> {
        if self.ftl.due().is_none_or(|due| due > self.at) {
            return Ok(false);
        }
        match self.ftl.background_step(&mut self.nand, self.at) {
            Ok(Step::Did(done)) => self.at = self.at.max(done),
            Ok(Step::Nothing) => {
                let message = "something is due, and nothing is done".into();
                return Err(Failure { kind: FailureKind::Stuck, message }.into());
            }
            Err(FtlError::Full { bad_blocks }) if self.may_end(bad_blocks) => return Err(Stop::EndOfLife),
            Err(error) => {
                let message = format!("what is due fails: {error}");
                return Err(Failure { kind: FailureKind::Stuck, message }.into());
            }
        }
        Ok(true)
    }

    /// Whether an FTL that counts so many bad blocks may give up: it need not be believed.
    fn may_end(&self, bad_blocks: u32) -> bool {
        let all = (0..self.species.geometry.blocks()).map(Block);
        let bad = all.filter(|block| Nand::is_bad(&self.nand.sim, *block)).count() as u32;
        bad_blocks.min(bad) >= BAD_BLOCKS_BORNE
    }

    fn request(&mut self, request: &Request, number: u32) -> Result<Time, Stop> {
        let (ftl, nand, at) = (self.ftl.as_mut(), &mut self.nand, self.at);
        let done = match *request {
            Request::Write { first, pages } => {
                write_pages(ftl, nand, self.species.ftl.as_ref(), (first, pages), number, at)
            }
            Request::Trim { first, pages } => ftl.trim(nand, LogicalPage(first), pages, at),
            Request::Flush => ftl.flush(nand, at),
            Request::Close => ftl.close(nand, at),
            Request::Read { first, pages } => match read_pages(ftl, nand, first, pages, at) {
                Ok((found, done)) => {
                    exactly(&self.model, first, &found, "while the power is on")?;
                    Ok(done)
                }
                Err(error) => Err(error),
            },
            Request::Cut => Ok(at),
        };
        done.map_err(|error| match error {
            FtlError::Full { bad_blocks } if self.may_end(bad_blocks) => Stop::EndOfLife,
            error => Failure { kind: FailureKind::Stuck, message: format!("{request:?} fails: {error}") }.into(),
        })
    }
}

fn left_by(point: &CutPoint<'_>, cut: &Cut) -> SimNand {
    let fates = beside::choices(point.beside);
    let wanted = (cut.seed >> 32) as u16 % fates;
    // Not every combination can be; that all is done can.
    for fate in (wanted..fates).chain([0]) {
        let mut flash = point.flash.clone();
        flash.power_cycle();
        if beside::apply(&mut flash, point.beside, fate, cut.seed) {
            point.change.cut(&mut flash, cut.program, cut.erase, cut.seed);
            return flash;
        }
    }
    point.flash.clone()
}
