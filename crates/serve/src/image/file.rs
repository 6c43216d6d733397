//! The real file: explicit reads and writes at a place, `fdatasync`, and a lock that keeps a second process out.

use super::header::MAGIC;
use super::{ImageError, Storage};
use rustix::fs::{
    CWD, FlockOperation, Mode, OFlags, RenameFlags, fdatasync, flock, fstat, fsync, ftruncate, open, rename,
    renameat_with,
};
use rustix::io::{Errno, pread, pwrite};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// An image's file, locked as long as it is open. The lock is advisory and the kernel's: it ends with the process.
#[derive(Debug)]
pub struct ImageFile {
    file: OwnedFd,
}

impl ImageFile {
    /// Makes a file that was not there, of so many bytes, all of them holes.
    ///
    /// # Errors
    /// [`ImageError::Exists`]; [`ImageError::Io`]; [`ImageError::Locked`].
    pub fn create(path: &Path, bytes: u64) -> Result<Self, ImageError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::from_raw_mode(0o644)).map_err(|error| match error {
            Errno::EXIST => ImageError::Exists,
            error => io_error("making the image")(error),
        })?;
        let file = Self::locked(file, FlockOperation::NonBlockingLockExclusive)?;
        if let Err(error) = ftruncate(&file.file, bytes) {
            // A half-made file is removed; that it cannot be is no better news.
            let _ = std::fs::remove_file(path);
            return Err(io_error("giving the image its length")(error));
        }
        Ok(file)
    }

    /// Opens an image to work on; no other process has it open.
    ///
    /// # Errors
    /// [`ImageError::Io`]; [`ImageError::Locked`]; [`ImageError::NotAnImage`] where it is no regular file.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        Self::open_with(path, OFlags::RDWR, FlockOperation::NonBlockingLockExclusive)
    }

    /// Opens an image to look at. Other processes may look at it too, and none works on it.
    ///
    /// # Errors
    /// As [`ImageFile::open`].
    pub fn open_to_read(path: &Path) -> Result<Self, ImageError> {
        Self::open_with(path, OFlags::RDONLY, FlockOperation::NonBlockingLockShared)
    }

    fn open_with(path: &Path, flags: OFlags, lock: FlockOperation) -> Result<Self, ImageError> {
        // A pipe without a writer would be waited for.
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = open(path, flags, Mode::empty()).map_err(io_error("opening the image"))?;
        let meta = fstat(&file).map_err(io_error("opening the image"))?;
        if !rustix::fs::FileType::from_raw_mode(meta.st_mode).is_file() {
            return Err(ImageError::NotAnImage);
        }
        Self::locked(file, lock)
    }

    fn locked(file: OwnedFd, lock: FlockOperation) -> Result<Self, ImageError> {
        match flock(&file, lock) {
            Ok(()) => Ok(Self { file }),
            Err(Errno::WOULDBLOCK) => Err(ImageError::Locked),
            Err(error) => Err(io_error("locking the image")(error)),
        }
    }

    /// Whether this is an image, or one of which nothing is written yet: empty, or a hole where its header is to be.
    pub fn may_become_an_image(&self) -> bool {
        let mut begin = [0; MAGIC.len()];
        match self.len() {
            Ok(0) => true,
            Ok(_) => self.read_at(0, &mut begin).is_ok() && (begin == [0; MAGIC.len()] || begin == *MAGIC),
            Err(_) => false,
        }
    }

    /// Gives an image its name, once it is made; it may be open. A file with that name already stays.
    ///
    /// # Errors
    /// [`ImageError::Exists`]; [`ImageError::Io`].
    pub fn rename(from: &Path, to: &Path) -> Result<(), ImageError> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system can do both at once.
            Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => rename(from, to).map_err(io_error("naming the image")),
            Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => Err(ImageError::Exists),
            done => done.map_err(io_error("naming the image")),
        }
    }

    /// Makes a file durable with its name, once it has been made: `fsync` of it, and of the folder it is in. It may be
    /// open.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn sync_with_name(path: &Path) -> Result<(), ImageError> {
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        file.and_then(fsync).map_err(io_error("making the image durable"))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        folder.and_then(fsync).map_err(io_error("making the image's folder durable"))
    }
}

fn io_error(doing: &'static str) -> impl FnOnce(Errno) -> ImageError {
    move |error| ImageError::Io { doing, source: error.into() }
}

impl Storage for ImageFile {
    fn len(&self) -> io::Result<u64> {
        Ok(u64::try_from(fstat(&self.file)?.st_size).unwrap_or(0))
    }

    fn read_at(&self, mut at: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            match pread(&self.file, &mut *out, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    out = &mut out[read..];
                    at += read as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_at(&mut self, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match pwrite(&self.file, bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    at += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        // Not tried again: after an error the kernel may have dropped the data that it could not write.
        Ok(fdatasync(&self.file)?)
    }
}
