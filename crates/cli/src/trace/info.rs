//! `phelsuma trace info`: what is in a trace.

use crate::drive_args::FormatArgs;
use crate::errors::Outcome;
use crate::output::{self, WithSchema};
use crate::size;
use phelsuma_trace::TraceInfo;
use std::path::PathBuf;

/// Options of `trace info`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace, plain, .gz or .zst; - is standard input
    file: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// Size of the pages that are counted
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page)]
    page: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let mut trace = super::open(&args.file, &args.format)?;
    let info = TraceInfo::gather(&mut trace, args.page)?;
    if args.json {
        return output::json(&WithSchema { schema: "phelsuma.trace-info/1", value: info });
    }
    output::print(&format!("{info}\n"))
}
