//! What is to be tried, and how hard.

use crate::error::{Outcome, TortureError};
use crate::filesystem::Format;
use crate::model::{Depth, Policy, Shape};
use crate::size;
use crate::sys::is_root;
use std::path::PathBuf;
use std::time::Duration;

/// A run and its checks.
#[derive(Debug, Clone)]
pub struct Config {
    /// The drive.
    pub shape: Shape,
    /// What is on it.
    pub format: Format,
    /// Runs before recording; none does nothing.
    pub setup: Option<String>,
    /// Runs once, recorded. None where a run is checked that was recorded before.
    pub workload: Option<String>,
    /// Runs on each state, before the check.
    pub recover: Option<String>,
    /// Runs on each state, and says whether it is right.
    pub check: String,
    /// What the volatile cache keeps.
    pub policy: Policy,
    /// At one mark of so many, on average, the kernel writes part of its page cache back. 0 is never.
    pub write_back: u64,
    /// How far one goes at each moment.
    pub depth: Depth,
    /// When to stop.
    pub budget: Budget,
    /// Workers.
    pub jobs: usize,
    /// A check, or a recovery, may take so long.
    pub timeout: Duration,
    /// Bytes that a recorded run may take.
    pub log_limit: u64,
    /// Images of failing states go here.
    pub keep_failing: Option<PathBuf>,
}

/// When to stop.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// After so many states.
    pub states: Option<u64>,
    /// After so long.
    pub time: Option<Duration>,
}

impl Config {
    /// Whether it can be at all.
    pub(crate) fn checked(&self) -> Outcome {
        let Shape { size, unit, atomic_write } = self.shape;
        let is_right = |bytes: u32| bytes.is_power_of_two() && (512..=1 << 20).contains(&bytes);
        if !is_right(unit) {
            return Err(TortureError::Input(format!("--unit {unit}: a power of two from 512 to 1 MiB would be right")));
        }
        if !is_right(atomic_write) || atomic_write < unit {
            let text = "a power of two from --unit to 1 MiB would be right";
            return Err(TortureError::Input(format!("--atomic-write {atomic_write}: {text}")));
        }
        let step = unit.max(4096);
        if size == 0 || !size.is_multiple_of(step.into()) || size / u64::from(unit) > 1 << 31 {
            return Err(TortureError::Input(format!(
                "--size {size}: a multiple of {step}, and at most {}, would be right",
                size::text(u64::from(unit) << 31)
            )));
        }
        let least = self.format.filesystem.size_min();
        if size < least {
            let name = self.format.filesystem.name();
            return Err(TortureError::Input(format!(
                "--size {size}: at least {} are right for {name}",
                size::text(least)
            )));
        }
        for (option, command) in [
            ("--workload", self.workload.as_deref()),
            ("--check", Some(self.check.as_str())),
            ("--recover", self.recover.as_deref()),
            ("--setup", self.setup.as_deref()),
        ] {
            if command.is_some_and(|command| command.trim().is_empty()) {
                return Err(TortureError::Input(format!("{option} is empty: a shell command would be right")));
            }
        }
        if self.format.is_some() && !is_root() {
            let name = self.format.filesystem.name();
            return Err(TortureError::Input(format!(
                "--fs {name} takes root, for a loop device and a mount; --fs none does not"
            )));
        }
        Ok(())
    }
}
