//! Mounts that nobody else sees, and that are gone with this process.

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long an unmount waits for what is just being closed.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// Gives this thread, and those that it starts from now on, mounts of their own.
#[allow(unsafe_code)]
pub(crate) fn separate() -> io::Result<()> {
    // SAFETY: it takes a value. This thread alone moves; others share nothing with it that would be invalid then.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 {
        return Err(io::Error::last_os_error());
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(())
}

/// A mounted file system. Dropped, it is unmounted in any case.
#[derive(Debug)]
pub(crate) struct Mounted {
    at: PathBuf,
    is_mounted: bool,
}

impl Mounted {
    /// Mounts. Options are those of `mount -o`.
    pub(crate) fn new(device: &Path, at: &Path, kind: &str, options: &str) -> io::Result<Self> {
        let (flags, data) = split(options);
        let data = CString::new(data).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        mount(device, at, kind, flags, Some(data.as_c_str()))?;
        Ok(Self { at: at.to_path_buf(), is_mounted: true })
    }

    /// Where.
    pub(crate) fn at(&self) -> &Path {
        &self.at
    }

    /// Unmounts, and waits for what is just being closed.
    pub(crate) fn unmount(mut self) -> io::Result<()> {
        unmounted(&self.at)?;
        self.is_mounted = false;
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted {
            // Where it does not even go so, it goes with the namespace.
            let _ = unmount(&self.at, UnmountFlags::DETACH);
        }
    }
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
