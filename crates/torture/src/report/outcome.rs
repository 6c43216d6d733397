//! What came of a run, as values; it is the JSON too.

use crate::config::Config;
use crate::model::{Event, Policy, Run};
use crate::search::{Counts, Described, Failure, Replayed};
use crate::view::FailureKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// The report: `phelsuma.torture/1`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `phelsuma.torture/1`.
    pub schema: &'static str,
    /// What the cache keeps.
    pub policy: Policy,
    /// The file system.
    pub filesystem: &'static str,
    /// Bytes of the drive.
    pub size_bytes: u64,
    /// Bytes that are never torn.
    pub unit_bytes: u32,
    /// The seed.
    pub seed: u64,
    /// What was recorded.
    pub recorded: Recorded,
    /// Moments of a power cut that leave states of their own.
    pub cut_points: u64,
    /// Whether all allowed states were in the plan.
    pub is_complete: bool,
    /// The logarithm, to base 10, of how many subsets are allowed.
    pub allowed_log10: f64,
    /// States that were checked.
    pub states: u64,
    /// States that were equal to one of these.
    pub equal_states: u64,
    /// Planned states that were left out: they tear a superblock, and the file system does not mount.
    pub left_out_states: u64,
    /// States that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Failing states that were not explained, as there were too many.
    pub unexplained: u64,
    /// Failures, each with its smallest state.
    pub failures: Vec<Failure>,
    /// How long the checks took.
    pub seconds: f64,
    /// All planned states were checked.
    pub is_done: bool,
    /// A signal stopped it.
    pub is_stopped: bool,
    /// Whether the check fails on the complete drive, after the workload and an unmount, as well.
    pub fails_complete: bool,
    /// Why the result says less than it seems to.
    pub warnings: Vec<String>,
    /// Files that could not be written, and why.
    pub unwritten: Vec<String>,
    /// The state that was replayed, described, where it does not fail.
    pub replayed: Option<Described>,
}

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Writes.
    pub writes: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Marks.
    pub marks: u64,
}

impl Recorded {
    fn of(run: &Run) -> Self {
        let mut found = Self { writes: 0, bytes: 0, trims: 0, flushes: 0, marks: 0 };
        for event in run.events.iter().take(run.end) {
            match event {
                Event::Write { data, .. } => {
                    found.writes += 1;
                    found.bytes += data.len() as u64;
                }
                Event::Trim { .. } => found.trims += 1,
                Event::Flush => found.flushes += 1,
                Event::Mark(_) => found.marks += 1,
            }
        }
        found
    }
}

impl Report {
    pub(crate) fn new(config: &Config, run: &Run, counts: Counts, is_stopped: bool) -> Self {
        let mut report = Self {
            schema: "phelsuma.torture/1",
            policy: config.policy,
            filesystem: config.format.filesystem.name(),
            size_bytes: run.shape.size,
            unit_bytes: run.shape.unit,
            seed: config.depth.seed,
            recorded: Recorded::of(run),
            cut_points: counts.moments,
            is_complete: counts.is_complete,
            allowed_log10: counts.allowed_log10,
            states: counts.checked,
            equal_states: counts.equal,
            left_out_states: counts.left_out,
            failed: counts.failed,
            unexplained: counts.unexplained,
            failures: counts.failures,
            seconds: counts.seconds,
            is_done: counts.is_done,
            is_stopped,
            fails_complete: counts.fails_complete,
            warnings: Vec::new(),
            unwritten: counts.unwritten,
            replayed: None,
        };
        report.warn(config);
        report
    }

    /// What was not tested at all.
    fn warn(&mut self, config: &Config) {
        let Recorded { writes, trims, marks, .. } = self.recorded;
        let mut warn = |text: &str| self.warnings.push(text.to_string());
        if writes + trims == 0 {
            warn(match config.format.is_some() {
                true => "no request reached the drive: the workload wrote nothing in PHELSUMA_MOUNT, or synced nothing",
                false => "no request reached the drive: the workload wrote nothing to PHELSUMA_DEVICE",
            });
        }
        if self.states > 1 && self.failed.values().sum::<u64>() == self.states {
            warn("every checked state failed: the check may take none but the complete drive for right");
        }
        if marks == 0 {
            warn("the workload passed no mark: no state shows whether it keeps what it promised");
        }
    }

    pub(crate) fn of_replay(config: &Config, run: &Run, replayed: Replayed) -> Self {
        let Replayed { described, wrong, unwritten } = replayed;
        let counts = Counts {
            moments: 1,
            checked: 1,
            // It is all that was asked for.
            is_done: true,
            failed: wrong.iter().map(|(kind, _)| (*kind, 1)).collect(),
            unwritten,
            ..Counts::default()
        };
        let mut report = Self::new(config, run, counts, false);
        match wrong {
            Some((kind, output)) => report.failures.push(Failure::new(kind, described, output)),
            None => report.replayed = Some(described),
        }
        report
    }

    /// Why this is no answer, or not all of it: exit code 2.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        if !self.unwritten.is_empty() {
            return Some(self.unwritten.join("; "));
        }
        (self.states == 0).then(|| "no state was checked: more --minutes would check some".to_string())
    }

    /// Whether a state failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }
}
