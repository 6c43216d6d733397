//! The trace that is looked at or converted.

use crate::errors::{Failure, Outcome};
use phelsuma_options::FormatArgs;
use phelsuma_trace::{TraceFile, reader_from};
use std::io::{BufReader, stdin};
use std::path::{Path, PathBuf};

/// Opens a trace of one file or of several; `-` is standard input.
pub(super) fn open(paths: &[PathBuf], format: &FormatArgs) -> Outcome<TraceFile> {
    match paths {
        [path] if is_stdin(path) => Ok(reader_from(BufReader::new(stdin()), "standard input", &format.files(&[])?.1)?),
        paths if paths.iter().any(|path| is_stdin(path)) => {
            Err(Failure::Input("standard input is a trace by itself; files alone are merged".to_string()))
        }
        paths => {
            let (files, options) = format.files(paths)?;
            Ok(TraceFile::open_all(&files, &options)?)
        }
    }
}

/// Whether what a path leads to is gone once it is read: standard input, a pipe, a device.
pub(super) fn is_read_once(path: &Path) -> bool {
    is_stdin(path) || std::fs::metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// Whether a path stands for standard input.
fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
