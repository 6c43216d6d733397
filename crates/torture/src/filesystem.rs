//! File systems that a drive may have, and how they are made.

use crate::command::{Ended, Job};
use crate::error::{Outcome, TortureError};
use crate::sys::loops::Loop;
use crate::sys::mounts::Mounted;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What is on the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    /// Nothing: the program has the drive itself, as a file.
    #[default]
    None,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
}

/// The file system of a drive, and what to make and mount it with.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Format {
    /// Which one.
    pub filesystem: Filesystem,
    /// For `mkfs`, after what is taken by default.
    pub mkfs_options: String,
    /// For `mount -o`.
    pub mount_options: String,
}

impl Filesystem {
    /// As `mount` calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// What it must find whole to mount: its superblock. Nothing repairs a torn one on a small drive.
    pub(crate) fn superblock(self) -> Range<u64> {
        match self {
            Self::None | Self::Xfs => 0..0,
            Self::Ext4 => 1024..2048,
            Self::Btrfs => 64 << 10..68 << 10,
        }
    }

    /// By default: blocks of 4 KiB as on a large drive, and nothing that the kernel does later in the background.
    fn mkfs(self) -> &'static str {
        match self {
            Self::None => "true",
            Self::Ext4 => "mkfs.ext4 -q -F -b 4096 -J size=4 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0",
            Self::Xfs => "mkfs.xfs -q -f -K",
            Self::Btrfs => "mkfs.btrfs -q -f -K",
        }
    }

    /// The smallest drive that its `mkfs` takes.
    pub(crate) fn size_min(self) -> u64 {
        match self {
            Self::None => 4096,
            Self::Ext4 => 9 << 20,
            Self::Xfs => 300 << 20,
            Self::Btrfs => 114 << 20,
        }
    }
}

impl Format {
    /// Whether there is one.
    pub(crate) fn is_some(&self) -> bool {
        self.filesystem != Filesystem::None
    }

    /// Makes it.
    pub(crate) fn make(&self, device: &Path, unit: u32, stop: &AtomicBool) -> Outcome {
        let sector = match self.filesystem {
            Filesystem::Xfs if unit > 512 => format!("-s size={}", block_bytes(unit)),
            _ => String::new(),
        };
        let command = format!("{} {sector} {} \"$PHELSUMA_DEVICE\"", self.filesystem.mkfs(), self.mkfs_options);
        let job = Job {
            command: &command,
            environment: &[("PHELSUMA_DEVICE", device.into())],
            timeout: None,
            inherited: None,
        };
        let name = self.filesystem.name();
        match job.run(stop)? {
            (Ended::Code(0), _) => Ok(()),
            (Ended::Stopped, _) => Err(TortureError::Stopped),
            (Ended::Code(127), _) => Err(TortureError::Input(format!(
                "there is no mkfs.{name} here; its package, or another --fs, would do"
            ))),
            (_, output) => Err(TortureError::about(&format!("mkfs.{name}"), output.replace('\n', "; "))),
        }
    }

    /// Mounts it. An error is the kernel's.
    pub(crate) fn mount(&self, device: &Loop, at: &Path) -> std::io::Result<Mounted> {
        Mounted::new(device.path(), at, self.filesystem.name(), &self.options())
    }

    /// Mounts it on the recorded drive.
    pub(crate) fn mount_recorded(&self, file: &Path, unit: u32, at: &Path) -> std::io::Result<Mounted> {
        Mounted::recorded(file, block_bytes(unit), at, self.filesystem.name(), &self.options())
    }

    fn options(&self) -> String {
        match self.filesystem {
            // Several states of one file system are mounted at once.
            Filesystem::Xfs => format!("nouuid,{}", self.mount_options),
            _ => self.mount_options.clone(),
        }
    }
}

/// The kernel has no larger blocks.
fn block_bytes(unit: u32) -> u32 {
    unit.min(4096)
}

/// A block device over the image of a state, or why there is none.
pub(crate) fn device(file: &Path, unit: u32) -> Outcome<Loop> {
    Loop::over(file, block_bytes(unit), false).map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => " (is the module loop loaded?)",
            std::io::ErrorKind::PermissionDenied => " (a file system takes root)",
            _ => "",
        };
        TortureError::about("no loop device can be had", format!("{error}{hint}"))
    })
}
