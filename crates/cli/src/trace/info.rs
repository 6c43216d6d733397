//! `phelsuma trace info`: what is in a trace, or what a workload asks.

use super::input::open;
use crate::errors::{Failure, Outcome};
use crate::output::{self, WithSchema};
use phelsuma_options::{FormatArgs, size, workload};
use phelsuma_trace::{InfoOptions, TraceInfo, Workload, WorkloadExtent};
use std::path::PathBuf;

/// Options of `trace info`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("input").required(true).args(["file", "workload"])))]
pub(crate) struct Args {
    /// The trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip); - is standard input
    file: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// A workload instead of a trace (see `phelsuma list`)
    #[arg(long, value_name = "SPEC", value_parser = workload, requires = "pages")]
    workload: Option<Workload>,
    /// Logical pages of the drive that a workload asks
    #[arg(long, value_name = "LOGICAL", conflicts_with = "file")]
    pages: Option<u64>,
    /// How many pages a workload writes before it is stopped [default: four times the drive; all of one that ends]
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = clap::value_parser!(u64).range(1..))]
    writes: Option<u64>,
    /// Seed of the workload [default: 1]
    #[arg(long, conflicts_with = "file")]
    seed: Option<u64>,
    /// Leave lifetimes out that end before so many pages are written
    #[arg(long, value_name = "N", default_value_t = 0)]
    warmup: u64,
    /// Size of the pages that are counted
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page)]
    page: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let info = args.gather()?;
    if args.json {
        return output::json(&WithSchema { schema: "phelsuma.trace-info/1", value: info });
    }
    output::print(&format!("{info}\n"))
}

impl Args {
    /// What they ask for.
    pub(super) fn gather(&self) -> Outcome<TraceInfo> {
        let options = InfoOptions { page_bytes: self.page, warmup_pages: self.warmup };
        Ok(match (&self.file, &self.workload, self.pages) {
            (Some(file), ..) => TraceInfo::gather(&mut open(file, &self.format)?, &options)?,
            (None, Some(_), _) if self.format.format.is_some() || self.format.time_unit.is_some() => {
                return Err(Failure::Input("--format and --time-unit are about a trace, not a workload".to_string()));
            }
            (None, Some(workload), Some(logical_pages)) => {
                let extent = WorkloadExtent { logical_pages, seed: self.seed.unwrap_or(1), pages_written: self.writes };
                TraceInfo::of_workload(workload, &extent, &options)?
            }
            // What is missing was said before.
            _ => return Err(Failure::Input("FILE, or --workload SPEC and --pages, is needed".to_string())),
        })
    }
}
