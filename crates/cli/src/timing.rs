//! `phelsuma timing check`: what the constants of a timing come to, before any FTL is run.

use crate::errors::{Failure, Outcome};
use crate::{output, table};
use clap::Subcommand;
use phelsuma_options::{Peaks, TimingArg, count, ratio, size, timing};
use serde::Serialize;

/// Options of `timing`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    of: Of,
}

#[derive(Subcommand)]
enum Of {
    /// Show the latencies and peak bandwidths that follow from the constants
    Check(CheckArgs),
}

#[derive(clap::Args)]
struct CheckArgs {
    /// A name (see `phelsuma list`), or a .toml file
    #[arg(value_name = "NAME|FILE", value_parser = timing)]
    timing: TimingArg,
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page)]
    page: u32,
    /// Channels [default: the drive's, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    channels: Option<u32>,
    /// Dies on each channel [default: the drive's, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    dies: Option<u32>,
    /// Also show the random writes that a full drive can sustain, at this ratio of logical pages to those that collection
    /// can use (the effective ratio of `run`)
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    ratio: Option<f64>,
    /// Pages of a block, for --ratio [default: the least whole number of program units that are 128 pages]
    #[arg(long, value_name = "N", requires = "ratio")]
    pages_per_block: Option<u32>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What a full drive sustains, by arithmetic.
#[derive(Clone, Copy, Serialize)]
struct Sustained {
    ratio: f64,
    pages_per_block: u32,
    write_amplification: f64,
    random_writes_per_second: f64,
}

#[derive(Serialize)]
struct Checked<'a> {
    schema: &'static str,
    timing: &'a str,
    about: &'a str,
    page_bytes: u32,
    channels: u32,
    dies_per_channel: u32,
    unit_pages: u32,
    sense_pages: u32,
    #[serde(flatten)]
    peaks: Peaks,
    sustained: Option<Sustained>,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let Of::Check(args) = &args.of;
    let times = args.timing.on(args.page)?;
    let (channels, dies) = args.timing.dies();
    let channels = args.channels.or(channels).unwrap_or(1);
    let dies_per_channel = args.dies.or(dies).unwrap_or(1);
    let peaks = times.peaks(args.page, channels, dies_per_channel);
    let sustained = args.ratio.map(|ratio| {
        let pages_per_block = args.pages_per_block.unwrap_or_else(|| 128u32.next_multiple_of(times.chip.unit_pages));
        let times = args.timing.on_blocks(args.page, pages_per_block)?;
        let write_amplification = phelsuma_limits::greedy(ratio, pages_per_block)?;
        let dies = (channels, dies_per_channel);
        let random_writes_per_second = times.random_writes_per_second(dies, write_amplification, pages_per_block);
        Ok::<_, Failure>(Sustained { ratio, pages_per_block, write_amplification, random_writes_per_second })
    });
    let sustained = sustained.transpose()?;
    if args.json {
        return output::json(&Checked {
            schema: "phelsuma.timing/1",
            timing: &args.timing.name,
            about: &args.timing.about,
            page_bytes: args.page,
            channels,
            dies_per_channel,
            unit_pages: times.chip.unit_pages,
            sense_pages: times.chip.sense_pages,
            peaks,
            sustained,
        });
    }
    let micros = |ns: u64| format!("{:.2} µs", ns as f64 / 1e3);
    let rate = |mb: f64| match mb {
        ..10.0 => format!("{mb:.2} MB/s"),
        _ if mb.is_finite() => format!("{mb:.0} MB/s"),
        _ => "unbounded".to_string(),
    };
    let page = size::show(args.page.into());
    let mut rows = table::numbers(&["what", "by the constants"]);
    for (what, text) in [
        (format!("one read of {page}, idle drive"), micros(peaks.read_ns)),
        (format!("one write of {page}, idle drive"), micros(peaks.write_ns)),
        ("sequential reads, at most".to_string(), rate(peaks.read_mb_per_second)),
        (format!("random reads of {page}, at most"), rate(peaks.random_read_mb_per_second)),
        ("writes to an empty drive, no SLC cache, at most".to_string(), rate(peaks.write_mb_per_second)),
    ] {
        rows.add_row([what, text]);
    }
    if let Some(Sustained { ratio, pages_per_block, write_amplification: wa, random_writes_per_second }) = sustained {
        let what = format!(
            "random writes of {page} to a full drive, at most (ratio {ratio}, {pages_per_block} pages a block, greedy: WA \
             {wa:.3})"
        );
        rows.add_row([what, format!("{} a second", count(random_writes_per_second as u64))]);
    }
    let units = size::show(u64::from(args.page) * u64::from(times.chip.unit_pages));
    output::print(&format!(
        "{}: {}\nchannels: {channels}, dies on each: {dies_per_channel}; a program writes {units}\n{rows}\n",
        args.timing.name, args.timing.about
    ))
}
