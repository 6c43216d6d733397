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
fusermount3 -uzq "$1/fuse" 2>/dev/null; shift; rm -rf --one-file-system "$0" "$@""#;

/// Bytes of a socket's path that the kernel takes, less those of a name in the folder.
const SOCKET_FOLDER_BYTES_MAX: usize = 90;

/// A folder for images and mounts.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// One with a short path.
    sockets: PathBuf,
    cleaner: Child,
}

impl Scratch {
    /// In memory, where there is room for so many bytes; else where temporary files are.
    pub(crate) fn new(bytes: u64) -> Outcome<Self> {
        let memory = Path::new("/dev/shm");
        match free_bytes(memory).is_some_and(|free| free > bytes) {
            true => Self::within(memory),
            false => Self::within(&std::env::temp_dir()),
        }
    }

    fn within(parent: &Path) -> Outcome<Self> {
        // Commands, and the cleaner, may be in another directory.
        let parent = std::path::absolute(parent).map_err(|error| about(parent, error))?;
        let (outer, path) = passage(&parent)?;
        let is_deep = path.as_os_str().len() > SOCKET_FOLDER_BYTES_MAX;
        let short = || passage(Path::new("/tmp")).or_else(|_| passage(Path::new("/dev/shm")));
        let of_sockets = is_deep.then(short).transpose()?;
        let mut cleaner = Command::new("/bin/sh");
        cleaner.args(["-c", CLEANER]).arg(&outer).arg(&path).args(of_sockets.as_ref().map(|(outer, _)| outer));
        cleaner.current_dir("/").process_group(0);
        cleaner.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let cleaner = cleaner.spawn().map_err(|error| TortureError::about("/bin/sh cannot be started", error))?;
        let sockets = of_sockets.map_or_else(|| path.clone(), |(_, path)| path);
        Ok(Self { path, sockets, cleaner })
    }

    /// A folder in it.
    pub(crate) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.path.join(name);
        made(&path, 0o755)?;
        Ok(path)
    }

    /// Where a socket may be, as the kernel takes no long paths of them.
    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.sockets.join(name)
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

/// A folder, and one in it with a name that another user cannot guess. Another user passes through both by their names,
/// and cannot list them.
fn passage(parent: &Path) -> Outcome<(PathBuf, PathBuf)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let outer = parent.join(format!("phelsuma-torture.{}.{number}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&outer).map_err(|error| about(&outer, error))?;
    let inner = outer.join(name().map_err(|error| TortureError::about("/dev/urandom", error))?);
    made(&inner, 0o711)?;
    if super::is_root() {
        // A program of root may run as another user.
        made(&outer, 0o711)?;
    }
    Ok((outer, inner))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_relative_or_deep_folder_for_temporary_files_is_one_too() {
        let name = format!("phelsuma-torture-test-{}.{}", "deep".repeat(20), std::process::id());
        let deep = std::env::temp_dir().join(name);
        fs::create_dir(&deep).unwrap();
        let here = std::env::current_dir().unwrap();
        let mut relative: PathBuf = here.components().skip(1).map(|_| "..").collect();
        relative.push(deep.strip_prefix("/").unwrap());
        for parent in [&deep, &relative] {
            let scratch = Scratch::within(parent).unwrap();
            let (path, socket) = (scratch.folder("a").unwrap(), scratch.socket("marks"));
            assert!(path.is_absolute() && path.is_dir());
            UnixListener::bind(&socket).unwrap();
            drop(scratch);
            assert!(!path.exists() && !socket.parent().unwrap().parent().unwrap().exists());
        }
        fs::remove_dir(deep).unwrap();
    }
}
