//! From what is to be tried to a report: record or load, then check.

use crate::config::Config;
use crate::destination;
use crate::error::{Outcome, TortureError};
use crate::model::{Run, State};
use crate::record::record;
use crate::report::Report;
use crate::saved;
use crate::search::{Counts, check_all, check_one};
use crate::sys::folders::Scratch;
use crate::sys::is_root;
use crate::sys::mounts::{Namespace, separate};
use crate::unsynced::{Unsynced, of_run};
use crate::view::base_mounts;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What one is told while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The workload runs.
    Recording,
    /// So many states were checked, and so many of them are wrong.
    Checking {
        /// States checked.
        checked: u64,
        /// States that are wrong.
        wrong: u64,
    },
}

/// Where the run comes from and goes to, and what is asked of it.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// A run that was recorded before.
    pub from: Option<PathBuf>,
    /// Where to keep the run.
    pub save: Option<PathBuf>,
    /// The one state that is to be checked.
    pub replay: Option<String>,
}

/// Does it. It returns when no process, mount or folder of it is left; also after `stop` was set.
///
/// # Errors
/// It cannot be done here, or a command could not run.
pub fn torture(
    config: &Config,
    files: &Files,
    stop: &AtomicBool,
    watch: &(dyn Fn(Progress) + Sync),
) -> Outcome<Report> {
    config.checked()?;
    files.save.as_deref().map_or(Ok(()), destination::file)?;
    config.keep_failing.as_deref().map_or(Ok(()), destination::folder)?;
    // A thread of its own, as it gets mounts of its own.
    std::thread::scope(|scope| {
        let done = std::thread::Builder::new()
            .name("torture".to_string())
            .spawn_scoped(scope, || on_thread(config, files, stop, watch));
        let joined = done.map_err(|error| TortureError::about("no thread can be started", error))?.join();
        joined.unwrap_or_else(|_| Err(TortureError::Input("a defect: it panicked".to_string())))
    })
}

fn on_thread(config: &Config, files: &Files, stop: &AtomicBool, watch: &(dyn Fn(Progress) + Sync)) -> Outcome<Report> {
    let size = files.from.as_ref().map_or(Ok(config.shape.size), |path| saved::size(path))?;
    let room = size.saturating_mul(config.jobs as u64 + 1);
    // Before the mounts are separate: what removes the folder sees none of them.
    let scratch = Scratch::new(room)?;
    let mut namespace = None;
    if config.format.is_some() {
        namespace = Some(own_mounts()?);
    }
    let mut config = config.clone();
    let run = recorded(&mut config, files, &scratch, &mut namespace, stop, watch)?;
    let mut unwritten = Vec::new();
    if let Some(path) = &files.save {
        // What was recorded is checked in any case.
        let made = saved::Made::under(config.policy, &config.format);
        unwritten.extend(saved::save(path, &run, &made).err().map(|error| error.to_string()));
    }
    base_mounts(&config, &run, &scratch)?;
    if let Some(id) = &files.replay {
        let state = State::of_id(id, &run, config.policy).map_err(|error| TortureError::Input(error.to_string()))?;
        let replayed = check_one(&config, &run, &scratch, &state, stop)?;
        let mut report = Report::of_replay(&config, &run, replayed);
        report.unwritten.splice(0..0, unwritten);
        return Ok(report);
    }
    watch(Progress::Checking { checked: 0, wrong: 0 });
    let told = |checked, wrong| watch(Progress::Checking { checked, wrong });
    let counts: Counts = check_all(&config, &run, &scratch, stop, &told)?;
    let mut report = Report::new(&config, &run, counts, stop.load(Ordering::Relaxed));
    report.unwritten.splice(0..0, unwritten);
    Ok(report)
}

fn own_mounts() -> Outcome<Namespace> {
    separate().map_err(|error| TortureError::about("no mounts of its own can be had (CAP_SYS_ADMIN)", error))
}

fn recorded(
    config: &mut Config,
    files: &Files,
    scratch: &Scratch,
    namespace: &mut Option<Namespace>,
    stop: &AtomicBool,
    watch: &(dyn Fn(Progress) + Sync),
) -> Outcome<Run> {
    let run = match (&files.from, &config.workload) {
        (Some(path), _) => {
            let (run, made) = saved::load(path, config.log_limit)?;
            made.is_for(config.policy)?;
            let format = made.format;
            config.shape = run.shape;
            let mount_options = std::mem::take(&mut config.format.mount_options);
            let options = if mount_options.is_empty() { format.mount_options.clone() } else { mount_options };
            if format.is_some() && !config.format.is_some() && !is_root() {
                return Err(TortureError::Input("this run has a file system, which takes root".to_string()));
            }
            if format.is_some() && !config.format.is_some() {
                *namespace = Some(own_mounts()?);
            }
            config.format = crate::filesystem::Format { mount_options: options, ..format };
            run
        }
        (None, Some(workload)) => {
            watch(Progress::Recording);
            record(config, workload, scratch, stop)?
        }
        (None, None) => return Err(TortureError::Input("--workload COMMAND or --from RUN is needed".to_string())),
    };
    Ok(run)
}

/// What a saved run acknowledged without a flush.
///
/// # Errors
/// The file is no run.
pub fn unsynced(path: &Path, log_limit: u64) -> Outcome<Unsynced> {
    let (run, made) = saved::load(path, log_limit)?;
    let room = run.shape.size;
    let scratch = Scratch::new(room)?;
    std::thread::scope(|scope| {
        let done = scope.spawn(|| of_run(&run, &made.format, &scratch)).join();
        done.unwrap_or_else(|_| Err(TortureError::Input("a defect: it panicked".to_string())))
    })
}
