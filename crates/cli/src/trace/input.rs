//! The trace that is looked at or converted.

use crate::errors::Outcome;
use phelsuma_options::FormatArgs;
use phelsuma_trace::{TraceFile, reader_from};
use std::io::{BufReader, stdin};
use std::path::Path;

/// Opens a trace; `-` is standard input.
pub(super) fn open(path: &Path, format: &FormatArgs) -> Outcome<TraceFile> {
    let options = format.open_options();
    if path.as_os_str() == "-" {
        return Ok(reader_from(BufReader::new(stdin()), "standard input", &options)?);
    }
    Ok(TraceFile::open(path, &options)?)
}
