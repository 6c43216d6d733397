//! `phelsuma trace generate`: a workload as a trace.

use super::out_file::OutFile;
use crate::errors::Outcome;
use phelsuma_options::{size, workload};
use phelsuma_trace::workload::{GenerateOptions, generate};
use phelsuma_trace::{Format, Workload};
use std::path::PathBuf;

/// Options of `trace generate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workload, such as uniform, zipf:0.99, desktop or media:mov (see `phelsuma list`)
    #[arg(long, value_name = "SPEC", value_parser = workload)]
    workload: Workload,
    /// How many requests to write [default: all of a workload that ends; otherwise required]
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Logical pages of the drive
    #[arg(long, value_name = "LOGICAL")]
    pages: u64,
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page)]
    page: u32,
    /// Microseconds from each request to the next [default: those of the workload, or 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000_000_000))]
    interval_us: Option<u64>,
    /// Seed of the workload
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write, compressed if it ends in .gz or .zst; - is standard output, plain
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let out = OutFile::new(&args.output, args.json)?;
    let options = GenerateOptions {
        requests: args.requests,
        logical_pages: args.pages,
        page_bytes: args.page,
        seed: args.seed,
        interval_ns: args.interval_us.map(|us| us * 1000),
    };
    out.write(Format::Csv, args.json, |file| Ok((generate(&args.workload, &options, file)?, None)))
}
