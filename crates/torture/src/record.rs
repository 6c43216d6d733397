//! Runs the workload once, on a drive that keeps a log.

use crate::command::{Ended, INHERITED, Job, with_output};
use crate::config::Config;
use crate::error::{Outcome, TortureError};
use crate::model::{Policy, Run};
use crate::recorder::{AtMark, Drive, Limits, MARK_BYTES_MAX, Marks, Over, Pipe, Served};
use crate::saved::base_limit;
use crate::size;
use crate::sys::folders::Scratch;
use crate::sys::is_root;
use crate::view::writable;
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Records a run.
pub(crate) fn record(config: &Config, workload: &str, scratch: &Scratch, stop: &AtomicBool) -> Outcome<Run> {
    let (pipe, read) = Pipe::new()?;
    let limits = Limits { log_bytes: config.log_limit, base_bytes: base_limit(config.log_limit) };
    let drive = Arc::new(Drive::new(config.shape, limits, read));
    let marks = Marks::new(&drive, pipe, &scratch.socket("marks"))?;
    if !Path::new("/dev/fuse").exists() {
        return Err(TortureError::Input("there is no /dev/fuse here; loading the module fuse would help".to_string()));
    }
    let folder = scratch.folder("fuse")?;
    let served = Served::new(Arc::clone(&drive), &folder, is_root()).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => TortureError::Input(
            "there is no fusermount3 here; the package fuse3 has it, and root does without".to_string(),
        ),
        std::io::ErrorKind::PermissionDenied => {
            TortureError::Input("/dev/fuse cannot be opened here: permission denied".to_string())
        }
        _ => TortureError::about("the drive cannot be served by FUSE", error),
    })?;
    let recorded = on_device(config, workload, scratch, &drive, &marks, served.file(), stop);
    match drive.over() {
        // What else went wrong came of that.
        Some(Over::Base) if recorded != Err(TortureError::Stopped) => return Err(refused(Over::Base, config)),
        _ => recorded?,
    }
    served.end().map_err(|error| TortureError::about("the drive is still in use", error))?;
    drive.over().map_or_else(|| Ok(drive.run()), |over| Err(refused(over, config)))
}

/// What was more than the recorder takes.
fn refused(over: Over, config: &Config) -> TortureError {
    let log = config.log_limit;
    TortureError::Input(match over {
        Over::Log => {
            format!(
                "the workload wrote more than {}; a shorter one, or a larger --log-limit, would do",
                size::text(log)
            )
        }
        Over::Base => format!(
            "the drive held more than {} before the workload; less of --setup, or a larger --log-limit, would do",
            size::text(base_limit(log))
        ),
        Over::Mark => {
            format!("the workload wrote a line to PHELSUMA_MARK_FD that is longer than a mark: {MARK_BYTES_MAX} bytes")
        }
        Over::NoText => "the workload wrote a line to PHELSUMA_MARK_FD that is not UTF-8".to_string(),
    })
}

fn on_device(
    config: &Config,
    workload: &str,
    scratch: &Scratch,
    drive: &Drive,
    marks: &Marks,
    file: &Path,
    stop: &AtomicBool,
) -> Outcome {
    let mut environment: Vec<(&'static str, OsString)> =
        vec![("PHELSUMA_MARK_FD", INHERITED.to_string().into()), ("PHELSUMA_MARK_SOCKET", marks.socket().into())];
    environment.push(("PHELSUMA_SCRATCH", writable(scratch.folder("scratch")?)?.into()));
    let mut mounted = None;
    if config.format.is_some() {
        // On the file, as no file of this process may be a block device over it.
        config.format.make(file, config.shape.unit, stop)?;
        let options = match config.format.mount_options.as_str() {
            "" => String::new(),
            options => format!(", with --mount-options {options}"),
        };
        let about =
            |error| TortureError::about(&format!("the file system cannot be mounted on a loop device{options}"), error);
        let mount = config.format.mount_recorded(file, config.shape.unit, &scratch.folder("mount")?).map_err(about)?;
        environment.push(("PHELSUMA_DEVICE", mount.device().map_err(about)?.into()));
        environment.push(("PHELSUMA_MOUNT", mount.at().into()));
        mounted = Some(mount);
    } else {
        environment.push(("PHELSUMA_DEVICE", file.into()));
    }
    let job = |command, inherited| Job { command, environment: &environment, timeout: None, inherited }.run(stop);
    let synced = || match &mounted {
        Some(mount) => mount.sync().map_err(|error| TortureError::about("the file system cannot be synced", error)),
        None => Ok(()),
    };
    if let Some(setup) = &config.setup {
        done("setup", job(setup, Some(marks.write()))?)?;
    }
    synced()?;
    if drive.is_over() {
        return Ok(());
    }
    drive.begin();
    if let Some(mount) = &mounted {
        marks.set(at_mark(config, mount.at()));
    }
    let ended = job(workload, Some(marks.write()));
    // Before the unmount, as it has files of the mount open.
    marks.set(AtMark::Nothing);
    let ended = ended?;
    if !drive.is_over() {
        done("workload", ended)?;
        if config.policy == Policy::All {
            synced()?;
        }
    }
    drive.end();
    if let Some(mount) = mounted {
        // The events of the unmounting say where files are.
        let unmounted = mount.unmount();
        if !drive.is_over() {
            unmounted.map_err(|error| TortureError::about("the file system cannot be unmounted", error))?;
        }
    }
    Ok(())
}

fn at_mark(config: &Config, mount: &Path) -> AtMark {
    let mount = mount.to_path_buf();
    match (config.policy, config.write_back) {
        (Policy::All, _) => AtMark::Synced(mount),
        (_, 0) => AtMark::Nothing,
        (_, one_of) => AtMark::WrittenBack { mount, one_of, random: SplitMix64::seed_from_u64(config.depth.seed) },
    }
}

fn done(what: &str, (ended, output): (Ended, String)) -> Outcome {
    match ended {
        Ended::Code(0) => Ok(()),
        Ended::Stopped => Err(TortureError::Stopped),
        ended => Err(TortureError::Input(with_output(format!("the {what} {}", ended.text()), &output))),
    }
}
