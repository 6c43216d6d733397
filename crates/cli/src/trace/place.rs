//! Where a trace and its pieces are, and the lock on these.
//!
//! The part is locked while it is written. curl inherits the lock, so it holds for as long as curl lives.

use crate::errors::{Failure, Outcome};
use phelsuma_options::ListedTrace;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the pieces of a trace are.
pub(super) struct Place {
    /// The trace, when it is complete.
    pub(super) file: PathBuf,
    /// Where one that was fetched by other means is put.
    pub(super) by_hand: PathBuf,
    /// What is there of it.
    pub(super) part: PathBuf,
    /// What is packed of it.
    pub(super) packed: PathBuf,
    folder: PathBuf,
}

impl Place {
    /// In this folder.
    pub(super) fn new(folder: &Path, trace: &ListedTrace) -> Self {
        let of_url = trace.url_path().rsplit('/').next().unwrap_or_default();
        // Where both have one name, the file itself would be taken for what is to be packed.
        let by_hand = if of_url.is_empty() || of_url == trace.file { "by-hand" } else { of_url };
        Self {
            file: folder.join(&trace.file),
            by_hand: folder.join(format!("{}.{by_hand}", trace.name.replace('/', "_"))),
            part: folder.join(format!(".{}.part", trace.file)),
            packed: folder.join(format!(".{}.packed", trace.file)),
            folder: folder.to_path_buf(),
        }
    }

    /// How much is there of the part.
    pub(super) fn part_bytes(&self) -> u64 {
        fs::metadata(&self.part).map_or(0, |part| part.len())
    }

    /// Opens the part and locks it, so that nobody else writes it.
    ///
    /// # Errors
    /// Somebody does so, or the folder cannot be written.
    pub(super) fn lock(&self, trace: &ListedTrace) -> Outcome<File> {
        loop {
            if fs::symlink_metadata(&self.part).is_ok_and(|part| !part.is_file()) {
                // A link would lead to another file.
                fs::remove_file(&self.part).map_err(|error| self.unwritable(&error))?;
            }
            let part = File::options().create(true).read(true).write(true).truncate(false).open(&self.part);
            let part = part.map_err(|error| self.unwritable(&error))?;
            match part.try_lock() {
                Ok(()) => (),
                Err(TryLockError::WouldBlock) => {
                    return Err(Failure::Failed(format!(
                        "{}: another `trace get` is at it, or its curl; when they have ended this command would be right",
                        trace.name
                    )));
                }
                // A file system without locks.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => (),
                Err(TryLockError::Error(error)) => return Err(self.unwritable(&error)),
            }
            let file = |meta: fs::Metadata| (meta.dev(), meta.ino());
            let locked = part.metadata().map(file).map_err(|error| self.unwritable(&error))?;
            // Whoever had it before may have removed it meanwhile.
            if fs::metadata(&self.part).is_ok_and(|there| file(there) == locked) {
                return Ok(part);
            }
        }
    }

    /// An error of writing: it is the folder that matters, not the names of pieces in it.
    pub(super) fn unwritable(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::Failed(format!("{}: cannot be written to: {error}", self.folder.display()))
    }
}
