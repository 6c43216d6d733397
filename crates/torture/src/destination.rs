//! Where results go: looked at before a run that takes minutes.

use crate::error::{Outcome, TortureError};
use rustix::fs::{Access, access};
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
