//! A line that says what columns mean, then arbitrary bytes as a file of such columns.
#![no_main]

mod reading;

use libfuzzer_sys::fuzz_target;
use phelsuma_trace::{ColumnSpec, OpenOptions};

fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (spec, rest) = bytes.split_at(cut);
    let rest = rest.get(1..).unwrap_or_default();
    // A file of unknown columns is held against suggestions of ours.
    reading::read_all(rest, &OpenOptions::default());
    let Ok(spec) = String::from_utf8_lossy(spec).parse::<ColumnSpec>() else { return };
    reading::read_all(rest, &OpenOptions { columns: Some(spec), ..OpenOptions::default() });
});
