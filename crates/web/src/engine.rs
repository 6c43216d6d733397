//! A drive with its history: it goes on by steps, and back to any of them.
//!
//! A step is a request of the host, or what whoever watches did ([`Act`]). All else follows from the settings. So a
//! step of the past is reached again from the last copy before it.

use crate::act::{Act, plug};
use crate::history::History;
use crate::recorder::Recorder;
use crate::requests::Requests;
use crate::settings::Settings;
use phelsuma_drive::lab::{Bench, BenchError, Met, Plug, Recovered, Request};
use phelsuma_ftl::{Config, FtlError, Hint};
use phelsuma_nand::{FlashStats, Geometry, Purpose};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the host asked since the fill, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub(crate) struct Asked {
    pub(crate) requests: u64,
    pub(crate) written: u64,
    pub(crate) read: u64,
    pub(crate) trimmed: u64,
}

/// All that changes with steps.
pub(crate) struct Moving {
    pub(crate) bench: Bench,
    pub(crate) step: u64,
    pub(crate) asked: Asked,
    /// The flash's counts when the fill was done.
    pub(crate) counted_from: FlashStats,
    /// Hits and misses of the mapping's cache then. A recovery counts them anew.
    pub(crate) cached_from: [u64; 2],
    pub(crate) plug: Option<Plug>,
    pub(crate) met: Vec<(Met, &'static str)>,
    /// How often the power failed.
    pub(crate) fails: u32,
    /// The request after which a drive with a battery was told of the last cut.
    pub(crate) told_after: Option<u64>,
    pub(crate) recovered: Option<Recovered>,
    pub(crate) workload: String,
    /// Whether another workload came after that of the settings.
    pub(crate) has_changed: bool,
    /// Requests that were taken of it.
    pub(crate) taken: u64,
    /// What the laboratory would report, once there is something: the drive goes no further.
    pub(crate) wrong: Option<String>,
    pub(crate) ended: bool,
}

impl Moving {
    /// Hits and misses of the mapping's cache, since the drive came up.
    fn cached(&self) -> [u64; 2] {
        let mut cached = [0; 2];
        for counter in self.bench.ftl().counters() {
            let at = ["cache_hits", "cache_misses"].iter().position(|known| *known == counter.name);
            if let Some(at) = at {
                cached[at] += counter.value;
            }
        }
        cached
    }

    /// The same since the fill, or since the power came on behind it.
    pub(crate) fn cached_since(&self) -> [u64; 2] {
        let cached = self.cached();
        [0, 1].map(|n| cached[n].saturating_sub(self.cached_from[n]))
    }

    fn copy(&self) -> Self {
        Self {
            bench: self.bench.copy(),
            step: self.step,
            asked: self.asked,
            counted_from: self.counted_from,
            cached_from: self.cached_from,
            plug: self.plug,
            met: self.met.clone(),
            fails: self.fails,
            told_after: self.told_after,
            recovered: self.recovered.clone(),
            workload: self.workload.clone(),
            has_changed: self.has_changed,
            taken: self.taken,
            wrong: self.wrong.clone(),
            ended: self.ended,
        }
    }
}

/// A drive that is looked at. Its history begins where it is filled: nothing is done to it before.
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) config: Arc<Config>,
    pub(crate) geometry: Geometry,
    pub(crate) now: Moving,
    requests: Requests,
    /// Steps of the fill.
    pub(crate) fill: u64,
    acts: BTreeMap<u64, Act>,
    history: History<Moving>,
    /// The last step that was ever reached with these acts.
    pub(crate) furthest: u64,
    pub(crate) recorder: Option<Arc<Mutex<Recorder>>>,
}

impl Engine {
    /// A drive as the settings have it, formatted and blank.
    ///
    /// # Errors
    /// A drive that cannot be, in a line.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        Self::made(settings).map_err(|(error, _)| error)
    }

    /// The same with the largest ratio that fits, where that of the settings is too large.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn fitting(settings: &Settings) -> Result<Self, String> {
        let mut settings = settings.clone();
        loop {
            let (error, largest) = match Self::made(&settings) {
                Ok(made) => return Ok(made),
                Err((error, largest)) => (error, largest.map(|largest| (largest * 1e3).floor() / 1e3)),
            };
            match largest {
                // What metadata take grows with the logical pages: it is smaller then, and may still not suffice.
                Some(largest) if largest > 0.0 && largest < settings.ratio => settings.ratio = largest,
                Some(largest) if largest <= 0.0 => {
                    let pages = settings.geometry()?.pages();
                    return Err(format!("{pages} pages of flash are too few for {} at any ratio", settings.ftl));
                }
                _ => return Err(error),
            }
        }
    }

    /// Or why not, and the largest ratio that fits where the ratio is why.
    fn made(settings: &Settings) -> Result<Self, (String, Option<f64>)> {
        let plain = |error: String| (error, None);
        let geometry = settings.geometry().map_err(plain)?;
        let config = Arc::new(settings.config(&geometry).map_err(plain)?);
        let requests = Requests::new(settings, &config, &geometry, &settings.workload, false).map_err(plain)?;
        let bench = Bench::format(Arc::clone(&config) as _, geometry, Settings::timing());
        let bench = bench.map_err(|error| match error {
            FtlError::DoesNotFit { largest_ratio, .. } => (error.to_string(), Some(largest_ratio)),
            _ => (error.to_string(), None),
        })?;
        let now = Moving {
            counted_from: *bench.nand().stats(),
            cached_from: [0; 2],
            bench,
            step: 0,
            asked: Asked::default(),
            plug: None,
            met: Vec::new(),
            fails: 0,
            told_after: None,
            recovered: None,
            workload: settings.workload.clone(),
            has_changed: false,
            taken: 0,
            wrong: None,
            ended: false,
        };
        let (history, fill) = (History::new(0, now.copy()), requests.fill());
        let settings = settings.clone();
        let (acts, furthest, recorder) = (BTreeMap::new(), 0, None);
        Ok(Self { settings, config, geometry, now, requests, fill, acts, history, furthest, recorder })
    }

    /// Goes on by so many steps at the most; how many it did. It stops where the power fails, where the workload ends,
    /// and where something is wrong.
    pub(crate) fn run(&mut self, steps: u64) -> Result<u64, String> {
        let from = self.now.step;
        while self.now.step - from < steps && self.may_go_on() {
            if self.acts.contains_key(&self.now.step) {
                self.step()?;
                continue;
            }
            // Nothing is to be looked up until the next act, copy, or end.
            let act = self.acts.range(self.now.step..).next().map_or(u64::MAX, |(at, _)| at - self.now.step);
            // So is the end of the fill.
            let fill = self.fill.checked_sub(self.now.step).filter(|left| *left > 0).unwrap_or(u64::MAX);
            let left = (steps - (self.now.step - from)).min(fill);
            for _ in 0..left.min(act).min(self.history.until_due(self.now.step).max(1)) {
                self.ask_next()?;
                self.now.step += 1;
                if !self.may_go_on() {
                    break;
                }
            }
            self.stepped();
        }
        Ok(self.now.step - from)
    }

    /// One step, and the flash operations of it.
    pub(crate) fn step_recorded(&mut self) -> Result<(), String> {
        let recorder = Arc::new(Mutex::new(Recorder::default()));
        self.now.bench.listen(Some(Arc::clone(&recorder) as _));
        let done = if self.may_go_on() || self.acts.contains_key(&self.now.step) { self.step() } else { Ok(()) };
        self.now.bench.listen(None);
        self.recorder = Some(recorder);
        done
    }

    /// Does something now, instead of what came next when the drive was here before; recorded.
    pub(crate) fn act(&mut self, act: Act) -> Result<(), String> {
        act.check(self.config.logical_pages, self.settings.seed)?;
        if !self.is_filled() {
            return Err("the drive is not filled yet".into());
        }
        match &act {
            Act::Workload { workload } => {
                let requests = Requests::new(&self.settings, &self.config, &self.geometry, workload, true)?;
                drop(requests);
            }
            Act::Pull if !self.now.bench.is_on() => return Err(BenchError::Off.to_string()),
            Act::Recover | Act::RecoverUntil { .. } if self.now.bench.is_on() => {
                return Err(BenchError::On.to_string());
            }
            Act::Arm { .. } if self.config.has_battery() => {
                return Err("a drive with a battery is told that the power fails: requests come to their end".into());
            }
            _ if act.request().is_some() && !self.now.bench.is_on() => return Err(BenchError::Off.to_string()),
            _ => {}
        }
        if let (Act::Arm { .. } | Act::Pull, Some(why)) = (&act, self.config.composition.why_not_survivable()) {
            return Err(format!("{} does not survive power cuts: {why}", self.config.name));
        }
        self.forget();
        self.acts.insert(self.now.step, act);
        self.step_recorded()
    }

    /// Goes on to where the next request collects or merges, and not past it; whether one does among so many.
    pub(crate) fn seek(&mut self, steps: u64) -> Result<bool, String> {
        let collected = |engine: &Self| {
            let stats = engine.now.bench.nand().stats();
            [Purpose::Gc, Purpose::Merge].map(|purpose| stats.of(purpose))
        };
        for _ in 0..steps {
            let before = collected(self);
            if self.run(1)? == 0 {
                return Ok(false);
            }
            if collected(self) != before {
                self.go_to(self.now.step - 1)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to any step that was reached before, from the end of the fill on.
    pub(crate) fn go_to(&mut self, step: u64) -> Result<(), String> {
        self.reach(step.min(self.furthest))
    }

    /// How much the host has done: its requests and changes of its workload, from the fill on. Two drives of one host are
    /// level where this is equal, whatever befell each of them besides.
    pub(crate) fn host(&self) -> u64 {
        self.host_at(self.now.step)
    }

    /// How much it had done at that step.
    pub(crate) fn host_at(&self, step: u64) -> u64 {
        step - self.acts.range(..step).filter(|(_, act)| !act.is_of_host()).count() as u64
    }

    /// Goes to where the host has done so much, and behind what befell the drive there.
    pub(crate) fn go_to_host(&mut self, done: u64) -> Result<(), String> {
        let mut step = done;
        for (at, _) in self.acts.iter().filter(|(_, act)| !act.is_of_host()) {
            if *at > step {
                break;
            }
            step += 1;
        }
        self.reach(step)
    }

    /// What came behind this step is to come no more.
    pub(crate) fn forget(&mut self) {
        self.acts.split_off(&self.now.step);
        self.history.forget_behind(self.now.step);
        self.furthest = self.now.step;
    }

    fn reach(&mut self, step: u64) -> Result<(), String> {
        let step = step.max(self.history.first());
        if step < self.now.step {
            let (_, copy) = self.history.before(step).ok_or("the beginning is gone")?;
            self.now = copy.copy();
            self.requests = self.requests_of(&self.now)?;
        }
        while self.now.step < step {
            if self.run(step - self.now.step)? == 0 {
                // An act that does not go on: the power is off, and it comes next.
                if !self.acts.contains_key(&self.now.step) {
                    break;
                }
                self.step()?;
            }
        }
        Ok(())
    }

    fn requests_of(&self, moving: &Moving) -> Result<Requests, String> {
        let (settings, workload) = (&self.settings, &moving.workload);
        let mut requests = Requests::new(settings, &self.config, &self.geometry, workload, moving.has_changed)?;
        requests.pass_over(moving.taken)?;
        Ok(requests)
    }

    /// Whether the drive is filled.
    pub(crate) fn is_filled(&self) -> bool {
        self.now.step >= self.fill
    }

    /// Whether there is a next step: without power there is one where the power comes on next.
    pub(crate) fn may_go_on(&self) -> bool {
        let comes_on = matches!(self.acts.get(&self.now.step), Some(Act::Recover | Act::RecoverUntil { .. }));
        (self.now.bench.is_on() || comes_on) && self.now.wrong.is_none() && !self.now.ended
    }

    fn step(&mut self) -> Result<(), String> {
        match self.acts.get(&self.now.step).cloned() {
            Some(act) => self.perform(&act)?,
            None => self.ask_next()?,
        }
        self.now.step += 1;
        self.stepped();
        Ok(())
    }

    fn stepped(&mut self) {
        if self.now.step == self.fill && self.history.first() < self.fill {
            self.now.counted_from = *self.now.bench.nand().stats();
            self.now.cached_from = self.now.cached();
            self.now.asked = Asked::default();
            self.history = History::new(self.fill, self.now.copy());
        }
        self.furthest = self.furthest.max(self.now.step);
        if self.history.is_due(self.now.step) {
            self.history.keep(self.now.step, self.now.copy());
        }
    }

    fn ask_next(&mut self) -> Result<(), String> {
        let next = self.requests.next()?;
        self.now.taken = self.requests.taken();
        let Some((request, hint)) = next else {
            self.now.ended = true;
            return Ok(());
        };
        if request == Request::Cut {
            // The laboratory's workload cuts the power itself: off and on in one step.
            self.now.fails += 1;
            let done = self.now.bench.pull().and_then(|()| self.now.bench.recover());
            return self.recovered(done);
        }
        self.ask(&request, hint)
    }

    #[inline]
    fn ask(&mut self, request: &Request, hint: Option<Hint>) -> Result<(), String> {
        let done = match self.now.plug.as_mut() {
            None => self.now.bench.submit(request, hint),
            Some(plug) => self.now.bench.submit_until(request, hint, plug).map(|met| {
                if let Some(met) = met {
                    self.now.met = vec![(met, plug.fault.name())];
                    self.now.recovered = None;
                }
            }),
        };
        if !self.now.bench.is_on() {
            self.now.plug = None;
            self.now.fails += 1;
        }
        let asked = &mut self.now.asked;
        asked.requests += 1;
        match *request {
            Request::Write { pages, .. } => asked.written += u64::from(pages),
            Request::Read { pages, .. } => asked.read += u64::from(pages),
            Request::Trim { pages, .. } => asked.trimmed += u64::from(pages),
            Request::Flush | Request::Close | Request::Cut => {}
        }
        self.came_to(done)
    }

    fn perform(&mut self, act: &Act) -> Result<(), String> {
        let seed = self.settings.seed;
        if let Some(request) = act.request() {
            return self.ask(&request, Some(Hint::None));
        }
        let bench = &mut self.now.bench;
        match act {
            Act::Workload { workload } => {
                self.settings.host(workload)?;
                let moving = &mut self.now;
                (moving.workload, moving.has_changed, moving.taken) = (workload.clone(), true, 0);
                moving.ended = false;
                self.requests = self.requests_of(&self.now)?;
            }
            Act::Arm { moment, skip, fault } => self.now.plug = Some(plug(moment, *skip, fault, seed)?),
            Act::Disarm => self.now.plug = None,
            Act::Pull => {
                let done = bench.pull();
                (self.now.plug, self.now.recovered) = (None, None);
                self.now.met.clear();
                self.now.fails += 1;
                self.now.told_after = self.now.taken.checked_sub(1).filter(|_| self.config.has_battery());
                return self.came_to(done);
            }
            Act::Recover => {
                let done = bench.recover();
                return self.recovered(done);
            }
            Act::RecoverUntil { moment, skip, fault } => {
                let mut plug = plug(moment, *skip, fault, seed)?;
                let met = bench.recover_until(&mut plug).map_err(|error| error.to_string())?;
                self.now.met.extend(met.map(|met| (met, plug.fault.name())));
            }
            Act::Write { .. } | Act::Read { .. } | Act::Trim { .. } | Act::Flush => {}
        }
        Ok(())
    }

    fn recovered(&mut self, done: Result<Recovered, BenchError>) -> Result<(), String> {
        let (recovered, done) = match done {
            Ok(recovered) => {
                self.now.cached_from = [0; 2];
                (Some(recovered), Ok(()))
            }
            Err(error) => (None, Err(error)),
        };
        self.now.recovered = recovered;
        self.came_to(done)
    }

    /// A finding stays with the drive: it is what there is to see. All else that fails is an error.
    fn came_to(&mut self, done: Result<(), BenchError>) -> Result<(), String> {
        match done {
            Ok(()) => Ok(()),
            Err(BenchError::Found(wrong)) => {
                self.now.wrong = Some(wrong.to_string());
                Ok(())
            }
            Err(BenchError::Refused(error)) => {
                self.now.wrong = Some(format!("stuck: {error}"));
                Ok(())
            }
            Err(other) => Err(other.to_string()),
        }
    }

    /// The operations of the last step that was recorded.
    pub(crate) fn recorded(&self) -> (usize, u64, Vec<u8>) {
        let Some(recorder) = &self.recorder else { return (0, 0, Vec::new()) };
        let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        (recorder.len(), recorder.left_out(), recorder.bytes())
    }

    /// Why the host has no more requests, once it has none.
    pub(crate) fn why_ended(&self) -> Option<String> {
        self.now.ended.then(|| self.requests.why_ended())
    }

    /// What whoever watches did, by step.
    pub(crate) fn acts(&self) -> impl Iterator<Item = (u64, &Act)> {
        self.acts.iter().map(|(step, act)| (*step, act))
    }
}
