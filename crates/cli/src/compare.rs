//! `phelsuma compare`: the same input for several FTLs, in parallel, and why the best of them is.

use crate::errors::Outcome;
use crate::progress::with_bars;
use crate::table::number;
use crate::{output, remarks, table, verdict};
use phelsuma_drive::{Latency, RunResult};
use phelsuma_options::{CompareArgs, Comparison, by_write_amplification, count, size};

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
    if args.json {
        not_set.iter().for_each(|remark| output::remark(remark));
        return output::json(&results);
    }
    let verdict = table::wrapped(&verdict::of(&results), WIDTH_MAX);
    let (table, left_out) = as_table(&results, if args.wide { usize::MAX } else { WIDTH_MAX });
    let caveats = caveats(&results, args.of.drive.chosen(), &left_out).into_iter().chain(not_set);
    let caveats: String = caveats.map(|caveat| table::item(&caveat, WIDTH_MAX)).collect();
    output::print(&format!("{verdict}\n{table}\n{caveats}"))
}

/// What a reader should know of these results, the input first.
fn caveats(results: &[RunResult], chosen: &str, left_out: &[&str]) -> Vec<String> {
    let Some(first) = results.first() else { return Vec::new() };
    let (g, host) = (&first.geometry, &first.host);
    let input = format!(
        "{} on {} of flash{chosen} at ratio {:.4}: {} pages written, {} read",
        first.workload,
        size::show(g.capacity_bytes),
        g.ratio,
        count(host.write_pages),
        count(host.read_pages)
    );
    let latencies = there(first.latency_us.write) + there(first.latency_us.read) > 0.0;
    let unsteady: Vec<&str> = results.iter().filter(|r| r.steady == Some(false)).map(|r| r.ftl.as_str()).collect();
    let not_steady = match first.fold {
        Some(_) => "not steady, as traces need not be",
        None if remarks::ends(first) => "not yet steady (raise rounds=N of the workload)",
        None => "not yet steady (raise --warmup; with workloads of files, raise --passes as well)",
    };
    // Of the largest difference, so that it is said once.
    let fullest = results
        .iter()
        .filter(|r| !remarks::has_log_blocks(r))
        .max_by(|a, b| a.geometry.effective_ratio.total_cmp(&b.geometry.effective_ratio));
    let about = [
        Some(input),
        remarks::read(first),
        latencies.then(|| "latencies in µs, of flash alone: no controller, no host interface".to_string()),
        (!unsteady.is_empty()).then(|| format!("{not_steady}: {}", unsteady.join(", "))),
        remarks::dropped(first),
        fullest.and_then(remarks::small_drive),
        fullest.and_then(remarks::extreme_ratio),
        remarks::long_waits(results),
        results.iter().any(|r| r.oracle).then(|| remarks::ABOUT_ORACLES.to_string()),
        (!left_out.is_empty()).then(|| format!("--wide also shows {}", left_out.join(", ").replace('\n', " "))),
    ];
    let each = results.iter().flat_map(|r| [remarks::one_group(r), remarks::unused_blocks(r)]).flatten();
    let changed = results.iter().filter_map(|r| Some(format!("* {}", remarks::changed(r)?)));
    let warnings = first.input.iter().flat_map(remarks::warnings);
    about.into_iter().flatten().chain(warnings).chain(each).chain(changed).collect()
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
