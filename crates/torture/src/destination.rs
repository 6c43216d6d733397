//! Where results go: looked at before a run that takes minutes, and replaced as a whole.

use crate::error::{Outcome, TortureError};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A file that is to be written.
pub(crate) fn file(path: &Path) -> Outcome {
    if path.is_dir() {
        return Err(TortureError::about(&path.display().to_string(), "a folder is there, and no file can be"));
    }
    if path.exists() { may_write(path, path) } else { parent(path) }
}

/// A folder that is there, or that is to be made.
pub(crate) fn folder(path: &Path) -> Outcome {
    match (path.is_dir(), path.exists()) {
        (true, _) => may_write(path, path),
        (_, true) => Err(TortureError::about(&path.display().to_string(), "it is not a folder")),
        _ => parent(path),
    }
}

/// What it is to be in.
fn parent(path: &Path) -> Outcome {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        let text = format!("there is no folder {}", parent.display());
        return Err(TortureError::about(&path.display().to_string(), text));
    }
    may_write(path, parent)
}

fn may_write(path: &Path, into: &Path) -> Outcome {
    access(into, Access::WRITE_OK)
        .map_err(|error| TortureError::about(&path.display().to_string(), std::io::Error::from(error)))
}

/// Writes a file that is there as a whole, or as it was before.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    // Behind a symbolic link.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let before = fs::metadata(path).ok();
    // Short, as a name may be as long as the file system takes it.
    let hash = xxhash_rust::xxh3::xxh3_64(path.as_os_str().as_encoded_bytes());
    let beside = path.with_file_name(format!(".{hash:016x}.{}", std::process::id()));
    let is_file = before.as_ref().is_none_or(fs::Metadata::is_file);
    let Some(file) = is_file.then(|| File::create(&beside).ok()).flatten() else {
        // A device, or a file in a folder that takes no other one.
        return write(&File::create(path)?);
    };
    let written = write(&file).and_then(|()| match before {
        Some(before) => file.set_permissions(before.permissions()),
        None => Ok(()),
    });
    let done = written.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_cannot_be_written_leaves_the_file_as_it_was() {
        let folder = std::env::temp_dir().join(format!("phelsuma-torture-replace.{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("file");
        for (text, is_full, expected) in [("one", true, None), ("one", false, Some("one")), ("two", true, Some("one"))]
        {
            let done = replace(&path, |mut file| {
                file.write_all(text.as_bytes())?;
                if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), is_full);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), expected);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), usize::from(expected.is_some()));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
