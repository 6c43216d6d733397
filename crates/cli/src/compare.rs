//! `phelsuma compare`: the same input for several FTLs, in parallel, and which of them programs the least.

use crate::errors::Outcome;
use crate::progress::with_bars;
use crate::table::number;
use crate::verdict::Verdict;
use crate::{caveats, output, remarks, table, verdict};
use phelsuma_drive::{Latency, RunConfig, RunResult, tight_drive};
use phelsuma_options::{CompareArgs, Comparison, by_write_amplification, count, size};
use serde::Serialize;

/// Options of `compare`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    of: CompareArgs,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Show all columns; without this option, only those that fit into 98 characters
    #[arg(long)]
    wide: bool,
}

/// The widest that lines are, in characters.
const WIDTH_MAX: usize = 98;

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let Comparison { runs, geometry, not_set } = args.of.comparison()?;
    let mut results = with_bars(&runs, None, &geometry, args.of.jobs)?;
    results.sort_by(by_write_amplification);
    let configs: Vec<RunConfig> = runs.into_iter().map(|(_, config)| config).collect();
    let verdict = verdict::of(&results, &|| tighter(&configs));
    let caveats = caveats::of(&results, &configs, &geometry, &not_set);
    if args.json {
        not_set.iter().for_each(|remark| output::remark(remark));
        let comparison = Compared { verdict, caveats };
        let results: Vec<_> = results.iter().map(|result| WithComparison { result, comparison: &comparison }).collect();
        return output::json(&results);
    }
    let (table, left_out) = as_table(&results, if args.wide { usize::MAX } else { WIDTH_MAX });
    let about = about(&results, &configs, args.of.drive.chosen());
    let more = (!left_out.is_empty()).then(|| format!("--wide also shows {}", left_out.join(", ").replace('\n', " ")));
    let with_bullet = |caveat: caveats::Caveat| match caveat.kind {
        caveats::CHANGED => format!("* {}", caveat.text),
        _ => caveat.text,
    };
    let list = about.into_iter().chain(caveats.into_iter().map(with_bullet)).chain(more);
    let list: String = list.map(|item| table::item(&item, WIDTH_MAX)).collect();
    output::print(&format!("{}\n{table}\n{list}", table::wrapped(&verdict.text, WIDTH_MAX)))
}

/// What `--json` has beside each result: the same for all of them.
#[derive(Serialize)]
struct Compared {
    #[serde(flatten)]
    verdict: Verdict,
    caveats: Vec<caveats::Caveat>,
}

/// A result as `run` has it, and what the comparison came to.
#[derive(Serialize)]
struct WithComparison<'r> {
    #[serde(flatten)]
    result: &'r RunResult,
    comparison: &'r Compared,
}

/// A drive on which the same trace leaves less room.
fn tighter(configs: &[RunConfig]) -> Option<verdict::Tighter> {
    let shape = configs.first()?.shape;
    let ratio = shape.ratio.max(TIGHT);
    // What is wrong with the trace has been said; without advice there is a comparison all the same.
    let tight = tight_drive(configs, ratio).ok()??;
    Some(verdict::Tighter { footprint_bytes: tight.footprint_bytes, capacity_bytes: tight.capacity_bytes, ratio })
}

/// A drive is advised at this ratio, or at its own if that is higher.
const TIGHT: f64 = 0.9;

/// What was compared, and in which units.
fn about(results: &[RunResult], configs: &[RunConfig], chosen: &str) -> Vec<String> {
    let Some(first) = results.first() else { return Vec::new() };
    let (g, host) = (&first.geometry, &first.host);
    let input = format!(
        "{} on {}{chosen} at ratio {:.4}: {} pages written, {} read",
        first.workload,
        size::show(g.capacity_bytes),
        g.ratio,
        count(host.write_pages),
        count(host.read_pages)
    );
    let latencies = there(first.latency_us.write) + there(first.latency_us.read) > 0.0;
    let of_flash = if first.times_are_of_flash_alone {
        "of flash alone: no controller, no host interface"
    } else {
        "of a drive with buffers, firmware and link"
    };
    let latencies = latencies.then(|| format!("latencies in µs, {of_flash}"));
    // Times of a drive on sale depend on it.
    let protocol = configs.first().filter(|config| !config.times_are_of_flash_alone()).map(remarks::protocol);
    std::iter::once(input).chain(remarks::read(first)).chain(protocol).chain(latencies).collect()
}

/// A column: its heading, the cell of a result, and where it is left out.
type Column = (&'static str, fn(&RunResult) -> String, Shown);

/// Where a column is shown.
enum Shown {
    Always,
    /// Where not all of these are zero.
    If(fn(&RunResult) -> f64),
    /// Where not all of these are the same.
    IfTheyDiffer(fn(&RunResult) -> f64),
}

impl Shown {
    fn with(&self, results: &[RunResult]) -> bool {
        match self {
            Self::Always => true,
            Self::If(number) => results.iter().any(|r| number(r) != 0.0),
            Self::IfTheyDiffer(number) => {
                results.iter().zip(results.iter().skip(1)).any(|(a, b)| number(a) != number(b))
            }
        }
    }
}

const COLUMNS: &[Column] = &[
    // A preset with other parts is marked, and the heading says which.
    ("FTL", |r| remarks::named(&r.ftl, r.oracle) + if remarks::changed(r).is_some() { "*" } else { "" }, Shown::Always),
    ("WA", |r| share(r.write_amplification.map(|wa| wa.total)), Shown::Always),
    ("host\n+gc", |r| share(r.write_amplification.map(|wa| wa.user)), Shown::If(|r| wa(r, |wa| wa.user))),
    (
        "trans-\nlation",
        |r| share(r.write_amplification.map(|wa| wa.translation)),
        Shown::If(|r| wa(r, |wa| wa.translation)),
    ),
    ("valid-\nity", |r| share(r.write_amplification.map(|wa| wa.validity)), Shown::If(|r| wa(r, |wa| wa.validity))),
    ("other", |r| share(r.write_amplification.map(|wa| wa.other)), Shown::If(|r| wa(r, |wa| wa.other))),
    ("erases", |r| count(r.erases.total), Shown::Always),
    (
        "examined\nmean/max",
        |r| examined(r),
        Shown::IfTheyDiffer(|r| r.victim_choices.map_or(0.0, |choices| choices.blocks_examined_mean)),
    ),
    (
        "MB/s\nwritten",
        |r| number(r.throughput.write_mb_per_second),
        Shown::If(|r| if r.times_are_of_flash_alone { 0.0 } else { r.throughput.write_mb_per_second }),
    ),
    (
        "MB/s\nread",
        |r| number(r.throughput.read_mb_per_second),
        Shown::If(|r| if r.times_are_of_flash_alone { 0.0 } else { r.throughput.read_mb_per_second }),
    ),
    ("write\nmean", |r| latency(r.latency_us.write, |l| l.mean), Shown::If(|r| there(r.latency_us.write))),
    ("write\np99", |r| latency(r.latency_us.write, |l| l.p99), Shown::If(|r| there(r.latency_us.write))),
    ("read\nmean", |r| latency(r.latency_us.read, |l| l.mean), Shown::If(|r| there(r.latency_us.read))),
    ("read\np99", |r| latency(r.latency_us.read, |l| l.p99), Shown::If(|r| there(r.latency_us.read))),
    ("RAM\n(papers)", |r| ram(&r.ram_bytes.papers), Shown::Always),
    ("RAM\n(all)", |r| ram(&r.ram_bytes.all), Shown::Always),
    ("effective\nratio", |r| format!("{:.4}", r.geometry.effective_ratio), Shown::Always),
];

pub(crate) fn latency(of: Option<Latency>, figure: fn(&Latency) -> f64) -> String {
    of.as_ref().map_or_else(|| "-".to_string(), |latency| number(figure(latency)))
}

/// Blocks that the policy looks at for a victim: on average, and at the most.
fn examined(result: &RunResult) -> String {
    let choices = result.victim_choices.as_ref();
    choices.map_or_else(
        || "-".to_string(),
        |choices| format!("{}/{}", number(choices.blocks_examined_mean), choices.blocks_examined_max),
    )
}

fn there(latency: Option<Latency>) -> f64 {
    f64::from(u8::from(latency.is_some()))
}

fn wa(result: &RunResult, part: fn(&phelsuma_drive::WriteAmplification) -> f64) -> f64 {
    result.write_amplification.as_ref().map_or(0.0, part)
}

pub(crate) fn share(programs: Option<f64>) -> String {
    programs.map_or_else(|| "-".to_string(), |p| format!("{p:.3}"))
}

pub(crate) fn ram(column: &phelsuma_drive::RamColumn) -> String {
    column.get("total").map_or_else(String::new, |bytes| size::show(*bytes))
}

/// Columns that are left out where the table would be too wide, the first of them first.
const LEFT_OUT: [&str; 7] =
    ["examined\nmean/max", "RAM\n(all)", "read\np99", "write\np99", "read\nmean", "other", "effective\nratio"];

/// The table, of at most so many characters, and which columns did not fit.
fn as_table(results: &[RunResult], width: usize) -> (String, Vec<&'static str>) {
    let mut shown: Vec<&Column> = COLUMNS.iter().filter(|(.., shown)| shown.with(results)).collect();
    let mut left_out = Vec::new();
    let mut next = LEFT_OUT.iter();
    loop {
        let headings: Vec<&str> = shown.iter().map(|(heading, ..)| *heading).collect();
        let mut table = table::narrow(&headings);
        for result in results {
            table.add_row(shown.iter().map(|(_, cell, _)| cell(result)));
        }
        let text = table.trim_fmt();
        let fits = text.lines().all(|line| line.chars().count() <= width);
        let Some(heading) = (if fits { None } else { next.next() }) else { return (text, left_out) };
        if let Some(place) = shown.iter().position(|(of, ..)| of == heading) {
            shown.remove(place);
            left_out.push(*heading);
        }
    }
}
