//! The shortest script to a finding of a sweep.
//!
//! Requests are left out as long as the same kind of failure remains. The cut or defect falls on some operation of the
//! same request each time.

use super::config::LabConfig;
use super::defects::{Defects, REQUESTS_AFTER};
use super::failure::FailureKind;
use super::fewest::fewest;
use super::host::{Extras, Watch, run_uncut, run_workload, workload_watch};
use super::path::{Fault, Path};
use super::points::{CutPoints, Points};
use super::script::{Request, Script};
use super::seen::Seen;
use super::shared::Shared;
use super::subject::Any;
use std::sync::Arc;

/// How many scripts are tried at the most.
const TRIALS_MAX: u32 = 400;

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
    config.depth = path.cuts().max(1);
    let battery = config.ftl.has_battery();
    // Programs that fail do so at parts of a script, and parts are others in a shorter one.
    let extras = Extras { program_failures: 0, ..extras };
    let uncut = run_uncut(&config, extras, None).ok()?;
    let named = |fault: &Fault| path.0.iter().any(|cut| cut.is(*fault));
    config.faults.retain(named);
    let has_defect = config.faults.iter().any(|fault| fault.is_defect());
    let at = match path.0.first() {
        None => script.requests.len().min(uncut.begins.len()) - 1,
        Some(cut) if battery && !has_defect => cut.operation as usize,
        Some(cut) => uncut.begins.partition_point(|begin| *begin <= cut.operation).checked_sub(1)?,
    };
    let after = if has_defect { REQUESTS_AFTER } else { 1 };
    let end = (at + after).min(script.requests.len());
    let (mut before, mut then) = (script.requests[..at].to_vec(), script.requests.get(at..end)?.to_vec());
    let mut shrink = Shrink { config, extras, path, kind, left: TRIALS_MAX };
    if !shrink.shows(&before, &then) {
        return None;
    }
    fewest(&mut before, |before| shrink.shows(before, &then));
    // The first of these is the one that it befalls.
    let mut others = then.split_off(1);
    fewest(&mut others, |others| shrink.shows(&before, &[&then, others].concat()));
    then.extend(others);
    let words = |requests: &[Request]| requests.iter().map(Request::to_string).collect::<Vec<String>>();
    let mut lines = words(&before);
    if let Some(cut) = path.0.first() {
        lines.push(format!("at an operation of the next: {}", cut.fault));
    }
    lines.extend(words(&then));
    Some(lines)
}

impl Shrink<'_> {
    /// Whether the same kind of thing is wrong with these requests, if it befalls the first of `then`.
    fn shows(&mut self, before: &[Request], then: &[Request]) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let at = before.len();
        let requests = [before, then].concat();
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
        let has_defects = self.config.faults.iter().any(|fault| fault.is_defect());
        let defects = Defects { shared: Arc::clone(&shared), points: operations, begins: Arc::new(uncut.begins) };
        let watch = match has_defects {
            true => Watch::nobody(self.config.ftl.has_battery()),
            false => workload_watch(&shared, &points),
        };
        let ran = run_workload(&self.config, self.extras, watch, has_defects.then_some(&defects), Some(&script));
        ran.is_ok() && shared.seen.failures(&self.config.faults).iter().any(|(_, failure)| failure.kind == self.kind)
    }
}
