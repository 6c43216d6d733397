//! Mounts that nobody else sees, and that are gone with this process.

use super::apart::apart;
use super::loops::Loop;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an unmount waits for what is just being closed.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// Keeps mounts until this process has ended with all of its threads and files.
///
/// The last thread in a namespace unmounts what is in it. If that were the one that serves the drive, it would wait
/// for itself.
#[derive(Debug)]
pub(crate) struct Namespace {
    keeper: Child,
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Does it on a thread with mounts of its own, where they can be had. What is mounted there, by commands too, is gone
/// with the thread, and what it unmounts is unmounted there alone.
pub(crate) fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let on_thread = || {
            // Who cannot have them cannot mount either.
            let _ = unshared();
            work()
        };
        let thread = std::thread::Builder::new().spawn_scoped(scope, on_thread)?;
        thread.join().map_err(|_| io::Error::other("a defect: it panicked"))
    })
}

/// Whether anything is mounted in a folder.
pub(crate) fn is_in_use(folder: &Path) -> io::Result<bool> {
    let all = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
    Ok(all.lines().filter_map(mount_point).any(|at| at.starts_with(folder)))
}

/// Where a line of `mountinfo` says that something is mounted: field 5, without the kernel's escapes in octal.
fn mount_point(line: &str) -> Option<PathBuf> {
    let escaped = line.split(' ').nth(4)?.as_bytes();
    let (mut path, mut at) = (Vec::new(), 0);
    while let Some(byte) = escaped.get(at) {
        let digits = escaped.get(at + 1..at + 4).filter(|_| *byte == b'\\');
        let octal = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        path.push(octal.unwrap_or(*byte));
        at += if octal.is_some() { 4 } else { 1 };
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Gives this thread, and those that it starts from now on, mounts of their own.
pub(crate) fn separate() -> io::Result<Namespace> {
    unshared()?;
    let mut keeper = Command::new("/bin/sh");
    keeper.args(["-c", "trap '' INT TERM HUP; cat >/dev/null"]).current_dir("/").process_group(0);
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(Namespace { keeper: keeper.spawn()? })
}

#[allow(unsafe_code)]
fn unshared() -> io::Result<()> {
    // SAFETY: it takes a value. This thread alone moves; others share nothing with it that would be invalid then.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// A mounted file system. Dropped, it is unmounted in any case.
#[derive(Debug)]
pub(crate) struct Mounted {
    at: PathBuf,
    is_mounted: bool,
    /// It stands on the drive that this process serves.
    is_recorded: bool,
}

impl Mounted {
    /// Mounts. Options are those of `mount -o`.
    pub(crate) fn new(device: &Path, at: &Path, kind: &str, options: &str) -> io::Result<Self> {
        mounted(device, at, kind, options)?;
        Ok(Self { at: at.to_path_buf(), is_mounted: true, is_recorded: false })
    }

    /// Makes a block device of the recorded drive, and mounts that.
    pub(crate) fn recorded(file: &Path, block_bytes: u32, at: &Path, kind: &str, options: &str) -> io::Result<Self> {
        apart(|| {
            let device = Loop::over(file, block_bytes, true)?;
            mounted(device.path(), at, kind, options)
        })?;
        Ok(Self { at: at.to_path_buf(), is_mounted: true, is_recorded: true })
    }

    /// The block device.
    pub(crate) fn device(&self) -> io::Result<PathBuf> {
        let all = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
        // Behind a dash field 2 is what.
        let found = all.lines().rfind(|line| mount_point(line).as_ref() == Some(&self.at));
        let device = found.and_then(|line| line.split_once(" - ")).and_then(|(_, rest)| rest.split(' ').nth(1));
        device.map(PathBuf::from).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Writes back what the page cache holds.
    pub(crate) fn sync(&self) -> io::Result<()> {
        synced(&self.at)
    }

    /// Where.
    pub(crate) fn at(&self) -> &Path {
        &self.at
    }

    /// Unmounts, and waits for what is just being closed.
    pub(crate) fn unmount(mut self) -> io::Result<()> {
        match self.is_recorded {
            true => apart(|| unmounted(&self.at))?,
            false => unmounted(&self.at)?,
        }
        self.is_mounted = false;
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted {
            let detached = || Ok(unmount(&self.at, UnmountFlags::DETACH)?);
            // Where it does not even go so, it goes with the namespace.
            let _ = if self.is_recorded { apart(detached) } else { detached() };
        }
    }
}

fn mounted(device: &Path, at: &Path, kind: &str, options: &str) -> io::Result<()> {
    let (flags, data) = split(options);
    let data = CString::new(data).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(mount(device, at, kind, flags, Some(data.as_c_str()))?)
}

/// Writes back what the page cache holds of a file system on the recorded drive.
pub(crate) fn synced(at: &Path) -> io::Result<()> {
    apart(|| Ok(rustix::fs::syncfs(&File::open(at)?)?))
}

/// Unmounts, and waits for what is just being closed.
pub(crate) fn unmounted(at: &Path) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match unmount(at, UnmountFlags::empty()) {
            Err(rustix::io::Errno::BUSY) if began.elapsed() < BUSY_MAX => {
                std::thread::sleep(Duration::from_millis(2));
            }
            ended => return Ok(ended?),
        }
    }
}

/// What the kernel takes as flags, and what it hands to the file system.
fn split(options: &str) -> (MountFlags, String) {
    let (mut flags, mut data) = (MountFlags::empty(), Vec::new());
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "ro" => flags |= MountFlags::RDONLY,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "noatime" => flags |= MountFlags::NOATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "relatime" => flags |= MountFlags::RELATIME,
            "strictatime" => flags |= MountFlags::STRICTATIME,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            "nodev" => flags |= MountFlags::NODEV,
            "noexec" => flags |= MountFlags::NOEXEC,
            "nosuid" => flags |= MountFlags::NOSUID,
            "defaults" | "rw" => {}
            other => data.push(other),
        }
    }
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_something_is_mounted_may_have_spaces() {
        let line = r"36 35 98:0 / /sp\040ace/a\134b\9 rw - ext4 /dev/loop0 rw";
        assert_eq!(mount_point(line), Some(PathBuf::from(r"/sp ace/a\b\9")));
    }
}
