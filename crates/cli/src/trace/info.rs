//! `phelsuma trace info`: the content of a trace, or the requests of a workload.

use super::input::open;
use crate::errors::{Failure, Outcome};
use crate::output::{self, WithSchema};
use crate::remarks;
use phelsuma_options::{FormatArgs, size, workload};
use phelsuma_trace::{InfoOptions, TraceInfo, Workload, WorkloadExtent};
use std::path::PathBuf;

/// Options of `trace info`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("input").required(true).args(["file", "workload"])))]
pub(crate) struct Args {
    /// The trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip), or a name that `phelsuma trace get` lists; - is standard
    /// input. Several files are merged by time
    file: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// A workload instead of a trace (see `phelsuma list`)
    #[arg(long, value_name = "SPEC", value_parser = workload, requires = "pages")]
    workload: Option<Workload>,
    /// Logical pages of the drive, for --workload
    #[arg(long, value_name = "LOGICAL", conflicts_with = "file")]
    pages: Option<u64>,
    /// How many pages are written before the workload is stopped, for --workload [default: four times --pages; all of a
    /// workload that ends]
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = clap::value_parser!(u64).range(1..))]
    writes: Option<u64>,
    /// Seed of the workload, for --workload [default: 1]
    #[arg(long, conflicts_with = "file")]
    seed: Option<u64>,
    /// Leave out lifetimes that end before N pages are written
    #[arg(long, value_name = "N", default_value_t = 0)]
    warmup: u64,
    /// Size of a page, in which requests are counted
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page)]
    page: u32,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let info = args.gather()?;
    if args.json {
        return output::json(&WithSchema { schema: "phelsuma.trace-info/1", value: info });
    }
    let read = info.input.iter().map(remarks::read_of);
    let warnings = info.input.iter().flat_map(remarks::warnings);
    let lines = std::iter::once(info.to_string()).chain(read).chain(warnings);
    output::print(&format!("{}\n", lines.collect::<Vec<_>>().join("\n")))
}

impl Args {
    /// What they ask for.
    pub(super) fn gather(&self) -> Outcome<TraceInfo> {
        let options = InfoOptions { page_bytes: self.page, warmup_pages: self.warmup };
        Ok(match (self.file.as_slice(), &self.workload, self.pages) {
            ([], Some(workload), Some(logical_pages)) => {
                self.format.refuse_for_workload()?;
                let extent = WorkloadExtent { logical_pages, seed: self.seed.unwrap_or(1), pages_written: self.writes };
                TraceInfo::of_workload(workload, &extent, &options)?
            }
            (files @ [_, ..], ..) => TraceInfo::gather(&mut open(files, &self.format)?, &options)?,
            // What is missing was said before.
            _ => return Err(Failure::Input("give FILE, or --workload SPEC with --pages".to_string())),
        })
    }
}
