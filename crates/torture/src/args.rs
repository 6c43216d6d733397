//! The words of the command, and what they ask for.

use crate::config::{Budget, Config};
use crate::destination;
use crate::error::{Outcome, TortureError};
use crate::filesystem::{Filesystem, Format};
use crate::model::{Depth, Policy, Shape};
use crate::session::Files;
use crate::size;
use std::path::PathBuf;
use std::time::Duration;

/// Minutes of checks, where neither states nor minutes are asked for.
const MINUTES: f64 = 5.0;
/// Seconds: a year.
const TIMEOUT_MAX: u64 = 365 * 86_400;

/// Options of `torture`.
#[derive(Debug, Clone, clap::Args)]
pub struct TortureArgs {
    /// Size of the drive
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size::parse)]
    size: u64,
    /// File system on it; none gives the program the drive as a file
    #[arg(long, value_enum, default_value_t)]
    fs: Filesystem,
    /// Shell command that runs once, here, on a recorded drive
    #[arg(long, value_name = "COMMAND", required_unless_present = "from")]
    workload: Option<String>,
    /// Shell command that runs on every state; exit code 0 is right, 125 to 127 stop everything
    #[arg(long, value_name = "COMMAND")]
    check: String,
    /// Shell command that runs on every state before the check
    #[arg(long, value_name = "COMMAND")]
    recover: Option<String>,
    /// Shell command that runs before recording; its writes are durable
    #[arg(long, value_name = "COMMAND", conflicts_with = "from")]
    setup: Option<String>,
    /// More options for mkfs
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    mkfs_options: String,
    /// Options for mount -o
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    mount_options: String,
    /// Bytes that the drive never tears
    #[arg(long, value_name = "SIZE", default_value = "512", value_parser = size::parse_small)]
    unit: u32,
    /// Writes up to this size and alignment are never torn [default: --unit]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_small)]
    atomic_write: Option<u32>,
    /// What a power cut leaves of the cache
    #[arg(long, value_enum, default_value_t)]
    cache_policy: Policy,
    /// At one mark of N the kernel writes random pages of --fs back; 0 leaves it to its timers
    #[arg(long, value_name = "N", default_value_t = 2, conflicts_with = "from")]
    write_back: u64,
    /// Check all subsets of up to N pending writes
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(..=16))]
    subsets: u32,
    /// Random subsets for each cut point with more pending writes
    #[arg(long, value_name = "N", default_value_t = 50)]
    samples: u32,
    /// Stop after N states; to make a failure small takes up to 200 more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    states: Option<u64>,
    /// Stop after M minutes of checks; to make a failure small takes up to 30 s more [default: 5, or none with --states]
    #[arg(long, value_name = "M")]
    minutes: Option<f64>,
    /// Seed of the random subsets
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Workers [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    /// Seconds that --check, or --recover, may take; the workload has no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=TIMEOUT_MAX))]
    timeout: u64,
    /// Largest log of the workload's writes
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size::parse)]
    log_limit: u64,
    /// Check this one state, and say what it kept and lost
    #[arg(long, value_name = "STATE")]
    replay: Option<String>,
    /// Keep the recorded run in this file
    #[arg(long, value_name = "RUN")]
    save: Option<PathBuf>,
    /// Check a run that --save has kept, without running the workload
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["workload", "save", "size", "fs", "unit", "atomic_write", "mkfs_options"]
    )]
    from: Option<PathBuf>,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Keep an image of each explained failure in this folder, which is made
    #[arg(long, value_name = "FOLDER")]
    keep_failing: Option<PathBuf>,
}

impl TortureArgs {
    /// What is tried, for a report: the workload, or the check where a saved run is checked.
    #[must_use]
    pub fn name(&self) -> &str {
        self.workload.as_deref().unwrap_or(&self.check)
    }

    /// What is asked for.
    ///
    /// # Errors
    /// It cannot be.
    pub fn asked(&self) -> Outcome<(Config, Files)> {
        let minutes = self.minutes.or(self.states.is_none().then_some(MINUTES));
        let time = minutes.map(|minutes| {
            let time = Duration::try_from_secs_f64(minutes * 60.0).ok();
            let time = time.filter(|time| !time.is_zero() && time.as_secs() <= TIMEOUT_MAX);
            time.ok_or_else(|| {
                let most = TIMEOUT_MAX / 60;
                TortureError::Input(format!("--minutes {minutes}: a number above 0, up to {most}, would be right"))
            })
        });
        self.junit.as_deref().map_or(Ok(()), destination::file)?;
        let format = Format {
            filesystem: self.fs,
            mkfs_options: self.mkfs_options.clone(),
            mount_options: self.mount_options.clone(),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let config = Config {
            shape: Shape { size: self.size, unit: self.unit, atomic_write: self.atomic_write.unwrap_or(self.unit) },
            format,
            setup: self.setup.clone(),
            workload: self.workload.clone(),
            recover: self.recover.clone(),
            check: self.check.clone(),
            policy: self.cache_policy,
            write_back: self.write_back,
            depth: Depth { subsets: self.subsets, samples: self.samples, seed: self.seed },
            budget: Budget { states: self.states, time: time.transpose()? },
            jobs: self.jobs.map_or(cores, |jobs| jobs as usize),
            timeout: Duration::from_secs(self.timeout),
            log_limit: self.log_limit,
            keep_failing: self.keep_failing.clone(),
        };
        let files = Files { from: self.from.clone(), save: self.save.clone(), replay: self.replay.clone() };
        Ok((config, files))
    }
}
