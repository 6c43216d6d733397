//! `phelsuma trace convert`: a trace in another format.

use super::input::{is_read_once, open};
use super::out_file::OutFile;
use crate::errors::{Failure, Outcome};
use phelsuma_options::FormatArgs;
use phelsuma_trace::convert::{WRITABLE, WriteOptions, convert};
use phelsuma_trace::{Format, TimeUnit, TraceError};
use std::cell::Cell;
use std::path::PathBuf;

/// Options of `trace convert`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip), or a name that `phelsuma trace get` lists; - is standard
    /// input. Several files are merged by time
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// The file to write, compressed if it ends in .gz or .zst; - is standard output, plain
    output: PathBuf,
    /// The format to write: csv, disksim, fio3 or msr
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    to: Format,
    #[command(flatten)]
    format: FormatArgs,
    /// Unit of the written times, for --to disksim: s, ms, us or ns [default: ns]
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    to_time_unit: Option<TimeUnit>,
    /// Leave out requests and placement handles that the format cannot express, instead of stopping
    #[arg(long)]
    drop_unwritable: bool,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    json: bool,
}

fn format(name: &str) -> Result<Format, String> {
    let known = name.parse::<Format>().ok();
    if let Some(format) = known.filter(|format| WRITABLE.contains(format)) {
        return Ok(format);
    }
    let written: Vec<&str> = WRITABLE.iter().map(|format| format.name()).collect();
    let what = if known.is_some() { "can be read but not written" } else { "is not a trace format" };
    Err(format!("{name} {what}; use one of {}", written.join(", ")))
}

fn time_unit(name: &str) -> Result<TimeUnit, String> {
    name.parse::<TimeUnit>().map_err(|error| error.to_string())
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let mut options =
        WriteOptions { time_unit: args.to_time_unit, drop_unwritable: args.drop_unwritable, ..WriteOptions::default() };
    options.check(args.to).map_err(|error| Failure::Input(format!("--to-time-unit: {error}")))?;
    let out = OutFile::new(&args.output, args.json)?;
    // What is written to standard output cannot be taken back when an earlier request comes.
    if out.is_stdout() && !args.input.iter().any(|path| is_read_once(path)) {
        options.begin_ns = Some(begin_ns(args)?);
    }
    let starts_too_late = Cell::new(false);
    let write = |options: &WriteOptions| {
        let mut trace = open(&args.input, &args.format)?;
        out.write(args.to, args.json, |file| {
            let converted = convert(&mut trace, file, args.to, options);
            starts_too_late.set(matches!(converted, Err(TraceError::BeforeBegin { .. })));
            Ok((converted?, Some(trace.report())))
        })
    };
    match write(&options) {
        Err(_) if starts_too_late.get() && !args.input.iter().any(|path| is_read_once(path)) => {
            options.begin_ns = Some(begin_ns(args)?);
            write(&options)
        }
        outcome => outcome,
    }
}

/// The earliest time of the trace, which takes a pass over it.
fn begin_ns(args: &Args) -> Outcome<u64> {
    let mut trace = open(&args.input, &args.format)?;
    trace.try_for_each(|request| request.map(drop))?;
    Ok(trace.earliest_ns())
}
