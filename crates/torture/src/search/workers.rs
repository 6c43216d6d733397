//! Workers, each with an image of its own, until all states are checked or the budget is used up.

use super::explain::{self, Described, Failure};
use super::keep::keep;
use super::known::Results;
use super::names::{self, Names};
use super::queue::Queue;
use super::shrink::{Fails, shrink};
use crate::config::Config;
use crate::error::{Outcome, TortureError};
use crate::model::{Cursor, Identity, Lost, Run, State, moments};
use crate::sys::folders::Scratch;
use crate::view::{FailureKind, Verdict, View};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What came of the states of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) moments: u64,
    /// The states that are allowed, if all were in the plans.
    pub(crate) is_complete: bool,
    /// The logarithm, to base 10, of the subsets that are allowed.
    pub(crate) allowed_log10: f64,
    pub(crate) checked: u64,
    pub(crate) equal: u64,
    pub(crate) left_out: u64,
    pub(crate) failed: BTreeMap<FailureKind, u64>,
    pub(crate) unexplained: u64,
    pub(crate) failures: Vec<Failure>,
    pub(crate) seconds: f64,
    /// All planned states were checked.
    pub(crate) is_done: bool,
    /// No power cut is needed for the failure.
    pub(crate) fails_complete: bool,
    /// Files that could not be written, and why.
    pub(crate) unwritten: Vec<String>,
}

/// A failure is made small for so long in any case.
const SHRINK_MIN: Duration = Duration::from_secs(30);

struct Shared<'r> {
    queue: Queue<'r>,
    results: Results,
    error: Option<TortureError>,
    is_done: bool,
    unwritten: Vec<String>,
}

struct Worker<'a, 'r> {
    config: &'a Config,
    run: &'r Run,
    shared: &'a Mutex<Shared<'r>>,
    view: View<'a>,
    cursor: Cursor<'r>,
    stop: &'a AtomicBool,
    /// Of all moments.
    cuts: &'a [u32],
    ends: Option<Instant>,
    watch: &'a (dyn Fn(u64, u64) + Sync),
}

/// Checks the states of a run. `watch` is told how many were checked, and how many are wrong.
pub(crate) fn check_all(
    config: &Config,
    run: &Run,
    scratch: &Scratch,
    stop: &AtomicBool,
    watch: &(dyn Fn(u64, u64) + Sync),
) -> Outcome<Counts> {
    let began = Instant::now();
    let queue = Queue::new(run, config.policy, config.depth, config.budget);
    let mut counts = Counts {
        moments: queue.moments() as u64,
        is_complete: queue.is_complete,
        allowed_log10: log10_of_sum(&queue.allowed_log2),
        ..Counts::default()
    };
    if let Some(mut failure) = complete(config, run, scratch, stop)? {
        failure.state.explanation = vec![ALSO_COMPLETE.to_string()];
        (counts.checked, counts.fails_complete) = (1, true);
        counts.failed.insert(failure.kind, 1);
        counts.failures.push(failure);
        counts.seconds = began.elapsed().as_secs_f64();
        return Ok(counts);
    }
    let shared =
        Mutex::new(Shared { queue, results: Results::default(), error: None, is_done: false, unwritten: Vec::new() });
    let cuts: Vec<u32> = moments(run, config.policy).iter().map(|moment| moment.cut).collect();
    let ends = config.budget.time.map(|time| began + time);
    std::thread::scope(|scope| {
        for number in 0..config.jobs.max(1) {
            let (shared, cuts) = (&shared, cuts.as_slice());
            scope.spawn(move || {
                let ended = View::new(config, scratch, &format!("worker{number}")).and_then(|view| {
                    let cursor = Cursor::new(run, config.policy);
                    Worker { config, run, shared, view, cursor, stop, cuts, ends, watch }.work()
                });
                if let Err(error) = ended {
                    lock(shared).error.get_or_insert(error);
                }
            });
        }
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = shared.error {
        return Err(error);
    }
    counts.checked = shared.results.checked;
    counts.equal = shared.results.equal;
    counts.left_out = shared.results.left_out;
    counts.failed = shared.results.wrong.into_iter().collect();
    counts.unexplained = shared.results.unexplained;
    counts.failures = shared.results.failures.into_iter().map(|(_, failure)| failure).collect();
    counts.failures.sort_by_key(|failure| (failure.kind, failure.lost.len(), failure.cut));
    counts.seconds = began.elapsed().as_secs_f64();
    counts.is_done = shared.is_done;
    counts.unwritten = shared.unwritten;
    Ok(counts)
}

/// Says that a failure is none of a power cut.
pub(crate) const ALSO_COMPLETE: &str = "the check fails on the complete drive as well: it, or the workload, is wrong";

/// The failure of the drive as it was after the workload and an unmount, if it fails: no power cut has made that one.
fn complete(config: &Config, run: &Run, scratch: &Scratch, stop: &AtomicBool) -> Outcome<Option<Failure>> {
    let state = State { cut: run.events.len() as u32, lost: Lost::new() };
    if stop.load(Ordering::Relaxed) || config.budget.time.is_some_and(|time| time.is_zero()) {
        return Ok(None);
    }
    let view = View::new(config, scratch, "worker0")?;
    let mut cursor = Cursor::new(run, config.policy);
    cursor.set(&state);
    view.put(&cursor)?;
    match view.check(run, &state, stop)? {
        Verdict::Right => Ok(None),
        Verdict::Wrong(kind, output) => {
            let (described, _) = explain::of_state(run, config, &state, &Names::default());
            Ok(Some(Failure::new(kind, described, output)))
        }
        // The workers stop too.
        Verdict::Open => Ok(None),
    }
}

/// What came of one state.
pub(crate) struct Replayed {
    pub(crate) described: Described,
    /// In what way it fails, and what the check said.
    pub(crate) wrong: Option<(FailureKind, String)>,
    pub(crate) unwritten: Vec<String>,
}

/// Checks one state, and describes it whatever comes of it. Its image is kept.
pub(crate) fn check_one(
    config: &Config,
    run: &Run,
    scratch: &Scratch,
    state: &State,
    stop: &AtomicBool,
) -> Outcome<Replayed> {
    let view = View::new(config, scratch, "worker0")?;
    let mut cursor = Cursor::new(run, config.policy);
    cursor.set(state);
    view.put(&cursor)?;
    let wrong = match view.check(run, state, stop)? {
        Verdict::Right => None,
        Verdict::Wrong(kind, output) => Some((kind, output)),
        Verdict::Open => return Err(TortureError::Stopped),
    };
    let names = names::of_state(&view, run, config, state, true, stop)?;
    let (mut described, _) = explain::of_state(run, config, state, &names);
    described.kept = explain::kept(run, config.policy, state, &names);
    let mut unwritten = Vec::new();
    if let Some(folder) = &config.keep_failing {
        match keep(&cursor, run.shape.size, folder, &described.id) {
            Ok(path) => described.image = Some(path),
            Err(error) => unwritten.push(error.to_string()),
        }
    }
    Ok(Replayed { described, wrong, unwritten })
}

/// How a check ended and what it said first, which tells one failure from another where no file is known.
fn without_digits(output: &str) -> String {
    output.lines().take(2).flat_map(str::chars).filter(|character| !character.is_ascii_digit()).collect()
}

/// Many sums of powers of two, as a power of ten.
fn log10_of_sum(powers: &[u64]) -> f64 {
    let largest = powers.iter().copied().max().unwrap_or(0);
    let rest: f64 = powers.iter().map(|power| (-((largest - power) as f64)).exp2()).sum();
    largest as f64 * 2f64.log10() + rest.max(1.0).log10()
}

fn lock<'m, T>(mutex: &'m Mutex<T>) -> MutexGuard<'m, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of cuts with everything kept: one that fails, at or before `cut`, and the one before it, which does not; none where
/// no such one was found. It halves, as there may be thousands.
fn earlier(cuts: &[u32], cut: u32, fails: &mut Fails<'_>) -> Outcome<(Option<u32>, u32)> {
    let (mut from, mut until) = (0, cuts.partition_point(|other| *other < cut));
    let (mut passes, mut earliest) = (None, cut);
    while from < until {
        let middle = from + (until - from) / 2;
        let state = State { cut: cuts.get(middle).copied().unwrap_or(cut), lost: Lost::new() };
        match fails(&state)? {
            Some(true) => (until, earliest) = (middle, state.cut),
            Some(false) => (from, passes) = (middle + 1, Some(state.cut)),
            None => return Ok((None, earliest)),
        }
    }
    Ok((passes, earliest))
}

impl Worker<'_, '_> {
    fn work(mut self) -> Outcome {
        while let Some((state, identity)) = self.next() {
            let Some((kind, output)) = self.judge(&state, identity)? else { return Ok(()) };
            if let Some(kind) = kind
                && !self.explained(kind, &state, output)?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The next one that is new.
    fn next(&mut self) -> Option<(State, Identity)> {
        loop {
            let state = {
                let mut shared = lock(self.shared);
                let is_enough = self.config.budget.states.is_some_and(|states| shared.results.begun >= states);
                if shared.error.is_some() || is_enough || self.is_over() {
                    return None;
                }
                match shared.queue.next() {
                    Some(state) if self.run.tears(&state, &self.config.format.filesystem.superblock()) => {
                        shared.results.left_out += 1;
                        continue;
                    }
                    Some(state) => state,
                    None => {
                        shared.is_done = true;
                        return None;
                    }
                }
            };
            let identity = self.cursor.set(&state);
            let mut shared = lock(self.shared);
            // Another worker may have begun the last one meanwhile.
            if self.config.budget.states.is_some_and(|states| shared.results.begun >= states) {
                // Nor is all done where the queue was empty for a third one: this state is not checked.
                shared.is_done = false;
                return None;
            }
            if shared.results.is_new(identity) {
                return Some((state, identity));
            }
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Checks the state that the cursor is at. None: it was to stop.
    fn judge(&self, state: &State, identity: Identity) -> Outcome<Option<(Option<FailureKind>, String)>> {
        self.view.put(&self.cursor)?;
        let (kind, output) = match self.view.check(self.run, state, self.stop)? {
            Verdict::Right => (None, String::new()),
            Verdict::Wrong(kind, output) => (Some(kind), output),
            Verdict::Open => return Ok(None),
        };
        let (checked, wrong) = {
            let mut shared = lock(self.shared);
            shared.results.done(identity, kind);
            (shared.results.checked, shared.results.wrong.values().sum())
        };
        (self.watch)(checked, wrong);
        Ok(Some((kind, output)))
    }

    /// Finds the smallest state that fails so, and says why. False: it was to stop.
    fn explained(&mut self, kind: FailureKind, state: &State, output: String) -> Outcome<bool> {
        let (run, config) = (self.run, self.config);
        {
            let mut shared = lock(self.shared);
            if shared.results.is_explained(kind, state, run, config.policy) {
                return Ok(true);
            }
            if shared.results.is_enough() {
                let all_kept = self.cursor.set(&State { cut: state.cut, lost: Lost::new() });
                shared.results.count(kind, all_kept);
                return Ok(true);
            }
        }
        let (shared, cuts) = (self.shared, self.cuts);
        let mut said = HashMap::from([(state.clone(), output)]);
        // What takes long to fail is not made to fail often.
        let now = Instant::now();
        let ends = now + self.config.timeout.saturating_mul(2).max(SHRINK_MIN);
        let ends = self.ends.map_or(ends, |of_all| ends.min(of_all.max(now) + SHRINK_MIN));
        let mut fails = |smaller: &State| {
            let identity = self.cursor.set(smaller);
            if let Some(known) = lock(self.shared).results.of(identity) {
                return Ok(Some(known == Some(kind)));
            }
            if Instant::now() >= ends || lock(self.shared).error.is_some() {
                return Ok(None);
            }
            lock(self.shared).results.begun += 1;
            Ok(self.judge(smaller, identity)?.map(|(found, output)| {
                match found {
                    Some(found) if found == kind => _ = said.insert(smaller.clone(), output),
                    // It fails in another way, on the way to this one.
                    Some(_) => lock(self.shared).results.unexplained += 1,
                    None => {}
                }
                found == Some(kind)
            }))
        };
        let shrunk = shrink(run, state, &mut fails)?;
        let mut smallest = vec![shrunk.clone()];
        let mut before = None;
        if shrunk.lost.is_empty() && lock(shared).results.is_earliest(kind, shrunk.cut) {
            let (passes, earliest) = earlier(cuts, shrunk.cut, &mut fails)?;
            before = passes;
            smallest.insert(0, State { cut: earliest, lost: Lost::new() });
            smallest.dedup();
        }
        let described = smallest[0].clone();
        let states = said.len() as u64;
        let output = match said.remove(&described) {
            Some(output) => output,
            None => self.said(kind, &described)?,
        };
        let names = names::of_state(&self.view, run, config, &described, false, self.stop)?;
        let (mut found, signature) = explain::of_state(run, config, &described, &names);
        if let Some(before) = before {
            found.explanation.insert(1, format!("the cut before it, --replay {before}, does not fail so"));
        }
        let is_placed = found.lost.iter().all(|write| write.place.is_some());
        let said = if is_placed { String::new() } else { without_digits(&output) };
        let mut failure = Failure { states, ..Failure::new(kind, found, output) };
        let signature = format!("{kind:?}/{signature}/{said}");
        if let Some(folder) = &config.keep_failing
            && lock(shared).results.is_described(&signature, &failure)
        {
            self.cursor.set(&described);
            match keep(&self.cursor, run.shape.size, folder, &failure.id) {
                Ok(path) => failure.state.image = Some(path),
                Err(error) => lock(shared).unwritten.push(error.to_string()),
            }
        }
        lock(shared).results.explained(kind, smallest, signature, failure);
        Ok(!self.is_over())
    }
    /// What the check says of a state that another worker has judged.
    fn said(&mut self, kind: FailureKind, state: &State) -> Outcome<String> {
        self.cursor.set(state);
        self.view.put(&self.cursor)?;
        Ok(match self.view.check(self.run, state, self.stop)? {
            Verdict::Wrong(found, output) if found == kind => output,
            _ => String::new(),
        })
    }
}
