//! `phelsuma trace convert`: a trace in another format.

use super::input::open;
use super::out_file::OutFile;
use crate::errors::{Failure, Outcome};
use phelsuma_options::FormatArgs;
use phelsuma_trace::convert::{WRITABLE, WriteOptions, convert};
use phelsuma_trace::{Format, TimeUnit};
use std::path::PathBuf;

/// Options of `trace convert`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip); - is standard input
    input: PathBuf,
    /// The file to write, compressed if it ends in .gz or .zst; - is standard output, plain
    output: PathBuf,
    /// The format to write: csv, disksim, fio3 or msr
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    to: Format,
    #[command(flatten)]
    format: FormatArgs,
    /// Unit of the times written, for disksim alone: s, ms, us or ns [default: ns]
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    to_time_unit: Option<TimeUnit>,
    /// Leave out requests that the format cannot express, instead of stopping
    #[arg(long)]
    drop_unwritable: bool,
    /// Say what was written as JSON
    #[arg(long)]
    json: bool,
}

fn format(name: &str) -> Result<Format, String> {
    let known = name.parse::<Format>().ok();
    if let Some(format) = known.filter(|format| WRITABLE.contains(format)) {
        return Ok(format);
    }
    let written: Vec<&str> = WRITABLE.iter().map(|format| format.name()).collect();
    let what = if known.is_some() { "is read and not written" } else { "is no trace format" };
    Err(format!("{name} {what}; one of {} would be right", written.join(", ")))
}

fn time_unit(name: &str) -> Result<TimeUnit, String> {
    name.parse::<TimeUnit>().map_err(|error| error.to_string())
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let options = WriteOptions { time_unit: args.to_time_unit, drop_unwritable: args.drop_unwritable };
    options.check(args.to).map_err(|error| Failure::Input(format!("--to-time-unit: {error}")))?;
    let out = OutFile::new(&args.output, args.json)?;
    let mut trace = open(&args.input, &args.format)?;
    out.write(args.to, args.json, |file| Ok(convert(&mut trace, file, args.to, &options)?))
}
