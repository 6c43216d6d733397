//! A drive as a power cut left it: an image, and what is mounted of it, for one worker.

use crate::command::{Ended, Job, with_output};
use crate::config::Config;
use crate::error::{Outcome, TortureError};
use crate::filesystem::{Filesystem, device};
use crate::image;
use crate::model::{Cursor, Lost, Run, State};
use crate::sys::folders::Scratch;
use crate::sys::loops::Loop;
use crate::sys::mounts::{self, Mounted};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// In what way a state is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The check says no.
    Check,
    /// The check did not end.
    CheckTimeout,
    /// The recovery failed.
    Recover,
    /// The recovery did not end.
    RecoverTimeout,
    /// The file system does not mount.
    Mount,
}

impl FailureKind {
    /// All.
    pub const ALL: [Self; 5] = [Self::Check, Self::CheckTimeout, Self::Recover, Self::RecoverTimeout, Self::Mount];

    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Check => "the check failed",
            Self::CheckTimeout => "the check took too long",
            Self::Recover => "the recovery failed",
            Self::RecoverTimeout => "the recovery took too long",
            Self::Mount => "the file system does not mount",
        }
    }
}

/// What came of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    Wrong(FailureKind, String),
    /// It was to stop before the answer.
    Open,
}

/// A folder in which a command may write, whichever user it runs as.
pub(crate) fn writable(folder: PathBuf) -> Outcome<PathBuf> {
    let set = fs::set_permissions(&folder, fs::Permissions::from_mode(0o777));
    set.map_err(|error| TortureError::about(&folder.display().to_string(), error))?;
    Ok(folder)
}

/// Longer names of states are abbreviated: the kernel takes 128 KiB of an environment variable.
const NAME_BYTES_MAX: usize = 32 << 10;

/// The name of a state as a check gets it.
fn name_for_check(id: String, cut: u32) -> String {
    if id.len() <= NAME_BYTES_MAX {
        return id;
    }
    format!("{cut}#{:016x}", xxhash_rust::xxh3::xxh3_64(id.as_bytes()))
}

/// Whether the file system mounts as it was when recording began. If it does not, its states say nothing.
pub(crate) fn base_mounts(config: &Config, run: &Run, scratch: &Scratch) -> Outcome {
    if !config.format.is_some() {
        return Ok(());
    }
    let view = View::new(config, scratch, "base")?;
    let mut cursor = Cursor::new(run, config.policy);
    cursor.set(&State { cut: 0, lost: Lost::new() });
    view.put(&cursor)?;
    view.mounted_once()?.map_err(|error| {
        let what = "the file system does not mount even as it was before the workload; --mount-options may be wrong";
        TortureError::about(what, error)
    })?;
    view.file.set_len(0).map_err(|error| TortureError::about(&view.image.display().to_string(), error))
}

/// With mounts of its own.
fn alone<T: Send>(work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    mounts::alone(work).unwrap_or_else(|error| Err(TortureError::about("no thread can be started", error)))
}

/// A worker's image, and folders.
pub(crate) struct View<'c> {
    config: &'c Config,
    scratch: &'c Scratch,
    file: File,
    image: PathBuf,
    folder: PathBuf,
    mount: PathBuf,
    work: PathBuf,
}

impl<'c> View<'c> {
    /// Of a worker.
    pub(crate) fn new(config: &'c Config, scratch: &'c Scratch, name: &str) -> Outcome<Self> {
        let folder = scratch.folder(name)?;
        let mount = scratch.folder(&format!("{name}/mount"))?;
        let work = folder.join("work");
        let image = folder.join("image");
        let open = File::options().create(true).truncate(true).read(true).write(true).open(&image);
        let file = open.map_err(|error| TortureError::about(&image.display().to_string(), error))?;
        let set = fs::set_permissions(&image, fs::Permissions::from_mode(0o666));
        set.map_err(|error| TortureError::about(&image.display().to_string(), error))?;
        Ok(Self { config, scratch, file, image, folder, mount, work })
    }

    /// What is on the drive.
    pub(crate) fn filesystem(&self) -> Filesystem {
        self.config.format.filesystem
    }

    /// The image.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// Makes the image what the cursor is at.
    pub(crate) fn put(&self, cursor: &Cursor<'_>) -> Outcome {
        let put = image::put(&self.file, self.config.shape.size, cursor);
        put.map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull => self.scratch.full(),
            _ => TortureError::about(&self.image.display().to_string(), error),
        })
    }

    /// Mounts and unmounts it: the file system repeats its journal.
    pub(crate) fn replay_journal(&self) -> Outcome<bool> {
        if !self.config.format.is_some() {
            return Ok(false);
        }
        Ok(self.mounted_once()?.is_ok())
    }

    fn mounted_once(&self) -> Outcome<std::io::Result<()>> {
        let device = device(&self.image, self.config.shape.unit)?;
        let mounted = alone(|| Ok(self.config.format.mount(&device, &self.mount).and_then(Mounted::unmount)))?;
        self.closed(device)?;
        if mounted.is_err() && self.scratch.is_full() {
            return Err(self.scratch.full());
        }
        Ok(mounted)
    }

    /// Whoever still had the device open would change the next state.
    fn closed(&self, device: Loop) -> Outcome {
        let path = device.path().display().to_string();
        if device.close() {
            return Ok(());
        }
        let check = &self.config.check;
        Err(TortureError::Input(format!("the check `{check}` has left {path}, its PHELSUMA_DEVICE, in use")))
    }

    /// Recovers and checks what the image holds.
    pub(crate) fn check(&self, run: &Run, state: &State, stop: &AtomicBool) -> Outcome<Verdict> {
        let about = |error: std::io::Error| TortureError::about(&self.folder.display().to_string(), error);
        // What an earlier check left is none of this one's.
        if mounts::is_in_use(&self.folder).unwrap_or(false) {
            let (check, at) = (&self.config.check, self.folder.display());
            return Err(TortureError::Input(format!("the check `{check}` has left something mounted in {at}")));
        }
        let _ = fs::remove_dir_all(&self.work);
        fs::create_dir(&self.work).map_err(about)?;
        let work = writable(self.work.clone())?;
        let marks = self.folder.join("marks");
        let text: String = run.marks(state.cut).flat_map(|mark| [mark, "\n"]).collect();
        fs::write(&marks, text).map_err(about)?;
        fs::set_permissions(&marks, fs::Permissions::from_mode(0o644)).map_err(about)?;
        let name = name_for_check(state.id(run, self.config.policy), state.cut);
        let mut environment: Vec<(&'static str, OsString)> =
            vec![("PHELSUMA_MARKS", marks.into()), ("PHELSUMA_STATE", name.into())];
        environment.push(("PHELSUMA_SCRATCH", work.into()));
        if !self.config.format.is_some() {
            environment.push(("PHELSUMA_DEVICE", self.image.clone().into()));
            return alone(|| self.run_commands(&environment, stop));
        }
        let device = device(&self.image, self.config.shape.unit)?;
        environment.push(("PHELSUMA_DEVICE", device.path().into()));
        environment.push(("PHELSUMA_MOUNT", self.mount.clone().into()));
        let verdict = alone(|| match self.config.format.mount(&device, &self.mount) {
            // All that the commands started is dead, so nothing is open. What they mounted goes with the thread; what
            // they unmounted is gone.
            Ok(_mounted) => self.run_commands(&environment, stop),
            // The file system writes when it mounts.
            Err(_) if self.scratch.is_full() => Err(self.scratch.full()),
            Err(error) => Ok(Verdict::Wrong(FailureKind::Mount, error.to_string())),
        })?;
        self.closed(device)?;
        Ok(verdict)
    }

    fn run_commands(&self, environment: &[(&'static str, OsString)], stop: &AtomicBool) -> Outcome<Verdict> {
        let recover =
            self.config.recover.as_deref().map(|c| ("recovery", c, FailureKind::Recover, FailureKind::RecoverTimeout));
        let check = ("check", self.config.check.as_str(), FailureKind::Check, FailureKind::CheckTimeout);
        for (what, command, failed, too_long) in recover.into_iter().chain([check]) {
            let job = Job { command, environment, timeout: Some(self.config.timeout), inherited: None };
            let (ended, output) = job.run(stop)?;
            match ended {
                Ended::Code(0) => {}
                Ended::Stopped => return Ok(Verdict::Open),
                _ if self.scratch.is_full() => return Err(self.scratch.full()),
                Ended::TimedOut => return Ok(Verdict::Wrong(too_long, output)),
                Ended::Code(code @ 125..=127) => {
                    let text = format!("the {what} could not decide, with exit code {code}");
                    return Err(TortureError::Input(with_output(text, &output)));
                }
                ended => {
                    return Ok(Verdict::Wrong(failed, format!("{}\n{output}", ended.text()).trim_end().to_string()));
                }
            }
        }
        Ok(Verdict::Right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_of_a_state_is_abbreviated() {
        assert_eq!(name_for_check("57-41".to_string(), 57), "57-41");
        let (one, other) = ("57-".to_string() + &"4".repeat(200_000), "57-".to_string() + &"5".repeat(200_000));
        let (one, other) = (name_for_check(one, 57), name_for_check(other, 57));
        assert!(one.starts_with("57#") && one.len() == 19 && one != other, "{one} {other}");
    }
}
