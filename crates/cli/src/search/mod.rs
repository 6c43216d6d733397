//! `phelsuma search`: one FTL with every combination of settings, and which does best. So Dual Greedy's paper found the
//! parameters of DAC: "best parameter settings found by off-line exhaustive search" (its section V-A).

mod grid;

use crate::compare::{latency, ram, share};
use crate::errors::Outcome;
use crate::progress::with_bars;
use crate::{output, remarks, table};
use clap::ValueEnum;
use phelsuma_drive::{RunConfig, RunResult};
use phelsuma_ftl::ConfigError;
use phelsuma_options::{DriveArgs, Setting, count, size};
use serde::Serialize;
use std::collections::BTreeMap;

/// Options of `search`.
#[derive(clap::Args)]
#[command(after_help = "Here --set takes a list of values: KEY=VALUE,VALUE or, for whole numbers, KEY=FROM..TO or \
                        KEY=FROM..TO:STEP, both ends included. Several --set are tried in every combination.")]
pub(crate) struct Args {
    /// The FTL (see `phelsuma list`)
    #[arg(long, value_name = "NAME")]
    ftl: String,
    #[command(flatten)]
    drive: DriveArgs,
    /// The figure by which combinations are ranked, least first
    #[arg(long, value_enum, default_value = "write-amplification")]
    by: By,
    /// How many rows of the table are printed; JSON has all of them
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// How many run at a time [default: as many as there are cores, and as fit the memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    /// Programs per host page
    WriteAmplification,
    /// Blocks erased
    Erases,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::WriteAmplification => "write amplification",
            Self::Erases => "erases",
        }
    }

    fn of(self, result: &RunResult) -> f64 {
        match self {
            Self::WriteAmplification => result.write_amplification.map_or(0.0, |wa| wa.total),
            Self::Erases => result.erases.total as f64,
        }
    }

    fn show(self, result: &RunResult) -> String {
        match self {
            Self::WriteAmplification => share(result.write_amplification.map(|wa| wa.total)),
            Self::Erases => count(result.erases.total),
        }
    }
}

/// A combination and what it gave.
#[derive(Serialize)]
struct Found {
    settings: BTreeMap<String, String>,
    run: RunResult,
}

#[derive(Serialize)]
struct Search {
    ftl: String,
    by: By,
    combinations: usize,
    results: Vec<Found>,
}

/// A combination as it can be typed.
fn label(chosen: &[Setting]) -> String {
    chosen.iter().map(|s| format!("--set {}={}", s.key, s.value)).collect::<Vec<_>>().join(" ")
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let (chosen, mut configs): (Vec<_>, Vec<_>) = distinct(args)?.into_iter().unzip();
    let geometry = args.drive.settle(&mut configs)?;
    let runs: Vec<(String, RunConfig)> = chosen.iter().map(|settings| label(settings)).zip(configs).collect();
    let results = with_bars(&runs, Some("search"), &geometry, args.jobs)?;
    let found = chosen.iter().zip(results).map(|(chosen, run)| Found {
        settings: chosen.iter().map(|s| (s.key.clone(), s.value.clone())).collect(),
        run,
    });
    let mut results: Vec<Found> = found.collect();
    // Of equals the one that comes first in the grid.
    results.sort_by(|a, b| args.by.of(&a.run).total_cmp(&args.by.of(&b.run)));
    if args.json {
        let value = Search { ftl: args.ftl.clone(), by: args.by, combinations: results.len(), results };
        return output::json(&output::WithSchema { schema: "phelsuma.search/1", value });
    }
    output::print(&as_text(args, &results))
}

/// Every combination with its run. A parameter whose part a combination does not have is left out of it, and what is
/// then the same as an earlier one is left out as a whole.
fn distinct(args: &Args) -> Outcome<Vec<(Vec<Setting>, RunConfig)>> {
    let mut kept: Vec<(Vec<Setting>, RunConfig)> = Vec::new();
    let mut lacking_in_all: Option<Vec<ConfigError>> = None;
    for mut chosen in grid::combinations(args.drive.settings())? {
        let (config, lacking) = args.drive.with_settings(chosen.clone()).config_among_others(&args.ftl)?;
        let lacks = |of: &[ConfigError], key: &str| {
            of.iter().any(|error| matches!(error, ConfigError::NoSuchPart { name, .. } if name == key))
        };
        chosen.retain(|setting| !lacks(&lacking, &setting.key));
        lacking_in_all = Some(match lacking_in_all {
            None => lacking,
            Some(mut before) => {
                before.retain(|e| matches!(e, ConfigError::NoSuchPart { name, .. } if lacks(&lacking, name)));
                before
            }
        });
        if kept.iter().all(|(earlier, _)| *earlier != chosen) {
            kept.push((chosen, config));
        }
    }
    match lacking_in_all.into_iter().flatten().next() {
        Some(error) => Err(error.into()),
        None => Ok(kept),
    }
}

fn as_text(args: &Args, results: &[Found]) -> String {
    // An oracle wins nothing, but against others.
    let all_are_oracles = results.iter().all(|found| found.run.oracle);
    let mut real = results.iter().filter(|found| all_are_oracles || !found.run.oracle);
    let Some(best) = real.next() else { return String::new() };
    let worst = real.next_back().unwrap_or(best);
    let (g, host) = (&best.run.geometry, &best.run.host);
    let mut lines = vec![format!(
        "{} with {} combinations of settings: {} on {} of flash{} at ratio {:.4}: {} pages written, {} read; \
         latencies in µs",
        remarks::named(&args.ftl, all_are_oracles),
        count(results.len() as u64),
        best.run.workload,
        size::show(g.capacity_bytes),
        args.drive.chosen(),
        g.ratio,
        count(host.write_pages),
        count(host.read_pages)
    )];
    let unsteady = results.iter().filter(|found| found.run.steady == Some(false)).count();
    if unsteady > 0 {
        lines.push(format!("not steady: {} of the combinations", count(unsteady as u64)));
    }
    // Of the largest difference, so that it is said once.
    let fullest = results.iter().map(|found| &found.run).filter(|run| !remarks::has_log_blocks(run));
    let fullest = fullest.max_by(|a, b| a.geometry.effective_ratio.total_cmp(&b.geometry.effective_ratio));
    lines.extend(remarks::read(&best.run));
    lines.extend(best.run.input.iter().flat_map(remarks::warnings));
    lines.extend(remarks::dropped(&best.run));
    lines.extend(remarks::small_drive(results.iter().map(|found| &found.run)));
    lines.extend(fullest.and_then(remarks::extreme_ratio));
    if results.iter().any(|found| found.run.oracle) {
        lines.push(remarks::ABOUT_ORACLES.to_string());
    }
    let shown = results.len().min(args.top as usize);
    let mut last = format!(
        "least {}: {} with {}; most: {} with {}",
        args.by.name(),
        args.by.show(&best.run),
        typed(&best.settings),
        args.by.show(&worst.run),
        typed(&worst.settings)
    );
    if shown < results.len() {
        last += &format!("; --top {} shows all", results.len());
    }
    let wrapped = |line: &String| table::wrapped(line, table::PROSE_WIDTH_MAX);
    let heading = lines.iter().map(wrapped).collect::<Vec<_>>().join("\n");
    format!("{heading}\n{}\n{}\n", as_table(args, results, shown).trim_fmt(), wrapped(&last))
}

fn typed(settings: &BTreeMap<String, String>) -> String {
    settings.iter().map(|(key, value)| format!("--set {key}={value}")).collect::<Vec<_>>().join(" ")
}

fn as_table(args: &Args, results: &[Found], shown: usize) -> comfy_table::Table {
    let keys: Vec<&str> = args.drive.settings().iter().map(|setting| setting.key.as_str()).collect();
    let figures = ["WA", "erases", "write\nmean", "write\np99", "RAM\n(papers)"];
    let headings: Vec<&str> = keys.iter().copied().chain(figures).collect();
    let mut table = table::narrow(&headings);
    for Found { settings, run } in results.iter().take(shown) {
        let of_settings = keys.iter().map(|key| settings.get(*key).cloned().unwrap_or_else(|| "-".to_string()));
        let wa = run.write_amplification.map_or_else(|| "-".to_string(), |wa| format!("{:.4}", wa.total));
        let of_run = [
            remarks::named(&wa, run.oracle),
            count(run.erases.total),
            latency(run.latency_us.write, |l| l.mean),
            latency(run.latency_us.write, |l| l.p99),
            ram(&run.ram_bytes.papers),
        ];
        table.add_row(of_settings.chain(of_run));
    }
    table
}
