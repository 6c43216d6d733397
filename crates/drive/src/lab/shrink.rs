//! The shortest script to a finding of a sweep: requests are left out as long as the same kind of thing is still wrong when
//! what befell the drive befalls it at some operation of the same request.

use super::branch::Shared;
use super::defects::{Defects, REQUESTS_AFTER};
use super::host::{Extras, Watch, run_uncut, run_workload};
use super::path::{Fault, Path};
use super::points::{CutPoints, Points};
use super::script::{Request, Script};
use super::seen::Seen;
use super::subject::Any;
use super::sweep::{LabConfig, workload_watch};
use super::verify::FailureKind;
use std::sync::Arc;

/// How many scripts are tried at the most.
const TRIALS_MAX: u32 = 400;

/// A script, and the request that it befalls.
#[derive(Clone)]
struct Candidate {
    before: Vec<Request>,
    /// That request first. More than one where what befalls the drive is no cut.
    then: Vec<Request>,
}

struct Shrink<'a> {
    config: LabConfig<Any>,
    extras: Extras,
    path: &'a Path,
    kind: FailureKind,
    left: u32,
}

/// The requests of a script that shows the same, in words; none where it does not show by itself.
pub(crate) fn shortest(
    config: &LabConfig<Any>,
    extras: Extras,
    script: &Script,
    path: &Path,
    kind: FailureKind,
) -> Option<Vec<String>> {
    let mut config = LabConfig { points: Points::Every, threads: 1, ..config.clone() };
    config.depth = path.0.len().max(1) as u32;
    let battery = config.ftl.has_battery();
    // Programs that fail do so at parts of a script, and parts are others in a shorter one.
    let extras = Extras { program_failures: 0, ..extras };
    let uncut = run_uncut(&config, extras, None).ok()?;
    let named = |fault: &Fault| path.0.iter().any(|cut| cut.fault == fault.name());
    config.faults.retain(named);
    let has_defect = config.faults.iter().any(|fault| matches!(fault, Fault::Defect(_)));
    let at = match path.0.first() {
        None => script.requests.len().min(uncut.begins.len()) - 1,
        Some(cut) if battery && !has_defect => cut.operation as usize,
        Some(cut) => uncut.begins.partition_point(|begin| *begin <= cut.operation).checked_sub(1)?,
    };
    let after = if has_defect { REQUESTS_AFTER } else { 1 };
    let end = (at + after).min(script.requests.len());
    let mut best = Candidate { before: script.requests[..at].to_vec(), then: script.requests.get(at..end)?.to_vec() };
    let mut shrink = Shrink { config, extras, path, kind, left: TRIALS_MAX };
    if !shrink.shows(&best) {
        return None;
    }
    shrink.fewer(&mut best, 0, |candidate| &mut candidate.before);
    // The first of these is the one that it befalls.
    shrink.fewer(&mut best, 1, |candidate| &mut candidate.then);
    let words = |requests: &[Request]| requests.iter().map(Request::to_string).collect::<Vec<String>>();
    let mut lines = words(&best.before);
    if let Some(cut) = path.0.first() {
        lines.push(format!("at an operation of the next: {}", cut.fault));
    }
    lines.extend(words(&best.then));
    Some(lines)
}

impl Shrink<'_> {
    /// Leaves out as many requests as can be, those before the `first` not.
    fn fewer(&mut self, best: &mut Candidate, first: usize, of: fn(&mut Candidate) -> &mut Vec<Request>) {
        let mut at_a_time = of(best).len().div_ceil(2);
        while at_a_time > 0 {
            let mut at = first;
            while at < of(best).len() {
                let mut candidate = best.clone();
                let requests = of(&mut candidate);
                requests.drain(at..(at + at_a_time).min(requests.len()));
                if self.shows(&candidate) {
                    *best = candidate;
                } else {
                    at += at_a_time;
                }
            }
            at_a_time /= 2;
        }
    }

    /// Whether the same kind of thing is wrong.
    fn shows(&mut self, candidate: &Candidate) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let at = candidate.before.len();
        let requests = [candidate.before.as_slice(), &candidate.then].concat();
        let script = Arc::new(Script { requests, preconditioning: at });
        let Ok(uncut) = run_uncut(&self.config, self.extras, Some(&script)) else { return false };
        if let Some(failure) = uncut.failure {
            return self.path.0.is_empty() && failure.kind == self.kind;
        }
        let [Some(begin), Some(end)] = [at, at + 1].map(|request| uncut.begins.get(request).copied()) else {
            return false;
        };
        let operations = Arc::new(CutPoints::at(begin..end));
        let points = match self.config.ftl.has_battery() {
            true => Arc::new(CutPoints::at(at as u32..at as u32 + 1)),
            false => Arc::clone(&operations),
        };
        let shared =
            Arc::new(Shared { config: self.config.clone(), again: 0, seen: Seen::new(), counts: Default::default() });
        let has_defects = self.config.faults.iter().any(|fault| matches!(fault, Fault::Defect(_)));
        let defects = Defects { shared: Arc::clone(&shared), points: operations, begins: Arc::new(uncut.begins) };
        let watch = match has_defects {
            true => Watch::nobody(self.config.ftl.has_battery()),
            false => workload_watch(&shared, &points),
        };
        let ran = run_workload(&self.config, self.extras, watch, has_defects.then_some(&defects), Some(&script));
        ran.is_ok() && shared.seen.failures(&self.config.faults).iter().any(|(_, failure)| failure.kind == self.kind)
    }
}
