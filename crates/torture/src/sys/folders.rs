//! A scratch folder that is gone when this process is, whatever ended it.

use crate::error::{Outcome, TortureError};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits for the end of this process at a pipe, and removes the folder.
const CLEANER: &str = r#"trap '' INT TERM HUP; cat >/dev/null
fusermount3 -uzq "$1/fuse" 2>/dev/null; rm -rf --one-file-system "$0""#;

/// A folder for images and mounts.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    cleaner: Child,
}

impl Scratch {
    /// In memory, where there is room for so many bytes; else where temporary files are.
    pub(crate) fn new(bytes: u64) -> Outcome<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let memory = Path::new("/dev/shm");
        let parent =
            if free_bytes(memory).is_some_and(|free| free > bytes) { memory.into() } else { std::env::temp_dir() };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let outer = parent.join(format!("phelsuma-torture.{}.{number}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&outer).map_err(|error| about(&outer, error))?;
        let path = outer.join(name().map_err(|error| TortureError::about("/dev/urandom", error))?);
        made(&path, 0o711)?;
        if rustix::process::geteuid().is_root() {
            // A program may run as another user. It passes through by the name that it is given, and cannot list it.
            made(&outer, 0o711)?;
        }
        let mut cleaner = Command::new("/bin/sh");
        cleaner.args(["-c", CLEANER]).arg(&outer).arg(&path).current_dir("/").process_group(0);
        cleaner.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let cleaner = cleaner.spawn().map_err(|error| TortureError::about("/bin/sh cannot be started", error))?;
        Ok(Self { path, cleaner })
    }

    /// A folder in it.
    pub(crate) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.path.join(name);
        made(&path, 0o755)?;
        Ok(path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nothing more fits.
    pub(crate) fn is_full(&self) -> bool {
        free_bytes(&self.path).is_some_and(|free| free < 64 << 10)
    }

    /// What to say then.
    pub(crate) fn full(&self) -> TortureError {
        let place = self.path.ancestors().nth(2).unwrap_or(&self.path).display();
        TortureError::Input(format!(
            "{place} is full: drives of states do not fit; fewer --jobs or a smaller --size would"
        ))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.cleaner.stdin.take());
        let _ = self.cleaner.wait();
    }
}

/// A name that another user cannot guess.
fn name() -> std::io::Result<String> {
    let mut bytes = [0; 8];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

/// A folder with these permissions, whatever the umask is.
fn made(path: &Path, mode: u32) -> Outcome {
    let make = || {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    };
    make().map_err(|error| about(path, error))
}

fn about(path: &Path, error: std::io::Error) -> TortureError {
    TortureError::about(&path.display().to_string(), error)
}

fn free_bytes(path: &Path) -> Option<u64> {
    let of = rustix::fs::statvfs(path).ok()?;
    Some(of.f_bavail * of.f_frsize)
}
