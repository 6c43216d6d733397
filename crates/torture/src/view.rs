//! A drive as a power cut left it: an image, and what is mounted of it, for one worker.

use crate::command::{Ended, Job, with_output};
use crate::config::Config;
use crate::error::{Outcome, TortureError};
use crate::filesystem::device;
use crate::model::{Cursor, Run, State};
use crate::sys::folders::Scratch;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
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
    let anyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    let set = fs::set_permissions(&folder, anyone);
    set.map_err(|error| TortureError::about(&folder.display().to_string(), error))?;
    Ok(folder)
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
        let anyone = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        let set = fs::set_permissions(&image, anyone);
        set.map_err(|error| TortureError::about(&image.display().to_string(), error))?;
        Ok(Self { config, scratch, file, image, folder, mount, work })
    }

    /// The image.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// Makes the image what the cursor is at.
    pub(crate) fn put(&self, cursor: &Cursor<'_>) -> Outcome {
        let size = self.config.shape.size;
        let put = || {
            self.file.set_len(0)?;
            self.file.set_len(size)?;
            cursor.each(|offset, bytes| self.file.write_all_at(bytes, offset))
        };
        put().map_err(|error: std::io::Error| match error.kind() {
            std::io::ErrorKind::StorageFull => self.scratch.full(),
            _ => TortureError::about(&self.image.display().to_string(), error),
        })
    }

    /// Mounts and unmounts it: the file system repeats its journal.
    pub(crate) fn replay_journal(&self) -> Outcome<bool> {
        if !self.config.format.is_some() {
            return Ok(false);
        }
        let device = device(&self.image, self.config.shape.unit)?;
        let mounted = self.config.format.mount(&device, &self.mount);
        Ok(mounted.is_ok_and(|mounted| mounted.unmount().is_ok()))
    }

    /// Recovers and checks what the image holds.
    pub(crate) fn check(&self, run: &Run, state: &State, stop: &AtomicBool) -> Outcome<Verdict> {
        let about = |error: std::io::Error| TortureError::about(&self.folder.display().to_string(), error);
        // What an earlier check left is none of this one's.
        let _ = fs::remove_dir_all(&self.work);
        fs::create_dir(&self.work).map_err(about)?;
        let work = writable(self.work.clone())?;
        let marks = self.folder.join("marks");
        let text: String = run.marks(state.cut).flat_map(|mark| [mark, "\n"]).collect();
        fs::write(&marks, text).map_err(about)?;
        let mut environment: Vec<(&'static str, OsString)> =
            vec![("PHELSUMA_MARKS", marks.into()), ("PHELSUMA_STATE", state.id(run, self.config.policy).into())];
        environment.push(("PHELSUMA_SCRATCH", work.into()));
        if !self.config.format.is_some() {
            environment.push(("PHELSUMA_DEVICE", self.image.clone().into()));
            return self.run_commands(&environment, stop);
        }
        let device = device(&self.image, self.config.shape.unit)?;
        let mounted = match self.config.format.mount(&device, &self.mount) {
            Ok(mounted) => mounted,
            Err(error) => return Ok(Verdict::Wrong(FailureKind::Mount, error.to_string())),
        };
        environment.push(("PHELSUMA_DEVICE", device.path().into()));
        environment.push(("PHELSUMA_MOUNT", self.mount.clone().into()));
        let verdict = self.run_commands(&environment, stop)?;
        // All that the commands started is dead, so nothing is open. What the check broke goes with the mount.
        if let Err(error) = mounted.unmount() {
            return Err(TortureError::about("the file system of a state cannot be unmounted", error));
        }
        drop(device);
        Ok(verdict)
    }

    fn run_commands(&self, environment: &[(&'static str, OsString)], stop: &AtomicBool) -> Outcome<Verdict> {
        let recover =
            self.config.recover.as_deref().map(|c| ("recovery", c, FailureKind::Recover, FailureKind::RecoverTimeout));
        let check = ("check", self.config.check.as_str(), FailureKind::Check, FailureKind::CheckTimeout);
        for (what, command, failed, too_long) in recover.into_iter().chain([check]) {
            let job = Job {
                command,
                output: &self.folder.join("output"),
                environment,
                timeout: Some(self.config.timeout),
                inherited: None,
            };
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
