//! The file system with the one file `drive`, as the kernel asks for it.
//!
//! Requests are answered one at a time, in order. So a flush covers all requests that were answered before it.
//!
//! A write with `O_DSYNC`, `O_SYNC` or `RWF_DSYNC` is followed by a flush before its answer. That is what Linux does on
//! a block device: it ends such a write with a flush of the whole cache. Of more than 1 MiB, the kernel asks for a part
//! at a time. Here each part has a flush, as no part says whether another follows.

use super::drive::{Drive, WRITE_BYTES_MAX};
use crate::sys::mounts::unmounted;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, Session, SessionACL, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of the file.
const NAME: &str = "drive";
const ROOT: u64 = 1;
const DRIVE: u64 = 2;
/// Nothing about the file ever changes.
const TTL: Duration = Duration::from_secs(1 << 20);

const KEEP_SIZE: i32 = libc::FALLOC_FL_KEEP_SIZE;
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE;
const ZERO: i32 = libc::FALLOC_FL_ZERO_RANGE;

/// A drive that is served.
pub(crate) struct Served {
    session: Option<BackgroundSession>,
    folder: PathBuf,
    is_root: bool,
    file: PathBuf,
}

impl Served {
    /// In a folder.
    pub(crate) fn new(drive: Arc<Drive>, folder: &Path, is_root: bool) -> io::Result<Self> {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("phelsuma".to_string())];
        // A workload may run as another user.
        config.acl = if is_root { SessionACL::All } else { SessionACL::Owner };
        let session = Session::new(Asked { drive }, folder, &config)?.spawn()?;
        Ok(Self { session: Some(session), folder: folder.to_path_buf(), is_root, file: folder.join(NAME) })
    }

    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// No more. The kernel may take a moment to close what was a loop device.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else { return Ok(()) };
        if !self.is_root {
            return session.umount_and_join();
        }
        unmounted(&self.folder)?;
        session.join()
    }
}

struct Asked {
    drive: Arc<Drive>,
}

impl Asked {
    fn attributes(&self, inode: u64) -> FileAttr {
        let is_drive = inode == DRIVE;
        let size = if is_drive { self.drive.shape().size } else { 0 };
        FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_drive { FileType::RegularFile } else { FileType::Directory },
            perm: if is_drive { 0o666 } else { 0o755 },
            nlink: if is_drive { 1 } else { 2 },
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Asked {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What the kernel cannot is left as it is.
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        let _ = config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if u64::from(parent) == ROOT && name == NAME {
            reply.entry(&TTL, &self.attributes(DRIVE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode.into()));
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // Like a block device: it is neither cut nor lengthened.
        reply.attr(&TTL, &self.attributes(inode.into()));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The kernel keeps nothing of it: what a program has written has been asked of the drive.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = self.drive.shape().size.saturating_sub(offset).min(size.into());
        let mut data = vec![0; length as usize];
        self.drive.read(offset, &mut data);
        reply.data(&data);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let room = self.drive.shape().size.saturating_sub(offset).min(data.len() as u64);
        match data.get(..room as usize) {
            _ if self.drive.is_over() => reply.error(Errno::EIO),
            Some(data) if !data.is_empty() => {
                self.drive.write(offset, data);
                // Flags of the file, and of this write alone. `O_SYNC` includes `O_DSYNC`.
                if flags.0 & libc::O_DSYNC != 0 {
                    self.drive.flush();
                }
                reply.written(data.len() as u32);
            }
            _ => reply.error(Errno::ENOSPC),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A close, which flushes nothing on a drive.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.drive.flush();
        if self.drive.is_over() { reply.error(Errno::EIO) } else { reply.ok() }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let Some(end) = offset.checked_add(length).filter(|end| *end <= self.drive.shape().size) else {
            return reply.error(Errno::ENOSPC);
        };
        match mode & !KEEP_SIZE {
            PUNCH | ZERO => {
                self.drive.zero(offset, end - offset);
                reply.ok();
            }
            0 => reply.ok(),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let all =
            [(ROOT, FileType::Directory, "."), (ROOT, FileType::Directory, ".."), (DRIVE, FileType::RegularFile, NAME)];
        for (at, (inode, kind, name)) in all.into_iter().enumerate().skip(offset as usize) {
            if reply.add(INodeNo(inode), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
