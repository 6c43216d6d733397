//! `phelsuma claims run`: runs that are missing are made and stored, and verdicts are made of all of them.

use super::paper::{PaperArgs, ScaleArg, summary};
use super::task::{Task, as_stored, look_at, task};
use crate::errors::{Failure, Outcome};
use crate::progress::Bars;
use crate::{output, table};
use phelsuma_claims::{
    Claim, Document, Figure, Finding, Findings, Kind, Plan, Results, SOURCES, Scale, Store, StoredRun, StoredRuns,
    VERSION, csv, judge, key, runs_of,
};
use phelsuma_drive::{RunConfig, RunError};
use phelsuma_nand::Geometry;
use phelsuma_options::memory;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Options of `claims run`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    paper: PaperArgs,
    /// Size of the drives
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleArg,
    /// Only these claims and figures, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    only: Vec<String>,
    /// How many run at a time [default: as many as there are cores, and as fit the memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Accept stored runs of earlier sources that a stored verdict names, instead of running them again
    #[arg(long)]
    any_version: bool,
    /// At the end, delete stored runs that no verdict or figure names
    #[arg(long)]
    prune: bool,
}

/// A run that is to be done.
struct ToDo {
    name: String,
    command: String,
    config: Box<RunConfig>,
    geometry: Geometry,
}

/// Runs them.
pub(super) fn main(args: &Args) -> Outcome {
    let store = args.paper.store()?;
    let document = store.document()?;
    let scale = Scale::from(args.scale);
    let plan = document.plan(scale).map_err(Failure::Input)?;
    let chosen = document.chosen(&args.only)?;
    let earlier = store.findings(scale)?;
    let runs = store.runs()?;

    let mut wanted: BTreeSet<&str> = chosen.claims.iter().flat_map(|claim| plan.runs_of(&claim.id)).collect();
    wanted.extend(chosen.figures.iter().flat_map(|figure| plan.runs_of_figure(&figure.id)));
    let (mut results, mut to_do) = (Results::new(), Vec::new());
    for name in wanted {
        let command = plan.commands.get(name).cloned().flatten();
        let result = match task(command.as_deref(), scale) {
            Ok(Task::Formula(value)) => Ok((value, None)),
            Ok(Task::Trace(trace)) => {
                let command = command.unwrap_or_default();
                let known = earlier.as_ref().filter(|_| args.any_version);
                match stored(&runs, known, name, &command) {
                    Some(run) => Ok((run.result.clone(), Some(run.key()))),
                    None => match look_at(&trace) {
                        Ok(said) => {
                            let run = StoredRun::new(&command, said);
                            let key = store.write_run(&run)?;
                            Ok((run.result, Some(key)))
                        }
                        Err(Failure::Input(why) | Failure::Failed(why)) => Err(as_stored(&why)),
                        Err(other) => return Err(other),
                    },
                }
            }
            Ok(Task::Run(config, geometry)) => {
                let command = command.unwrap_or_default();
                let known = earlier.as_ref().filter(|_| args.any_version);
                match stored(&runs, known, name, &command) {
                    Some(run) => Ok((run.result.clone(), Some(run.key()))),
                    None => {
                        to_do.push(ToDo { name: name.to_string(), command, config, geometry });
                        continue;
                    }
                }
            }
            Err(why) => Err(why),
        };
        results.insert(name.to_string(), result);
    }
    let failed = run_all(args, &store, to_do, &mut results)?;

    let found: Vec<Finding> = chosen.claims.iter().map(|claim| judge(claim, &plan, &results)).collect();
    // Somebody else may have written others meanwhile.
    let mut findings = store.findings(scale)?.unwrap_or_else(|| Findings::new(store.paper(), scale));
    findings.update(&found, &document.claims);
    write_figures(args, &store, &document, &plan, &mut findings, &mut results)?;
    store.write_findings(&findings)?;
    if args.prune {
        store.prune(&runs)?;
    }
    if args.paper.json {
        output::json(&Findings { claims: found, ..findings })?;
    } else {
        let text = if found.is_empty() { String::new() } else { as_text(&chosen.claims, &found) };
        let figures = chosen.figures.iter().filter(|_| !args.only.is_empty());
        let figures = figures.map(|figure| figure_as_text(figure, &store, scale, &findings));
        output::print(&figures.fold(text, |text, figure| text + &figure))?;
    }
    match failed {
        Some(why) => Err(Failure::Failed(why)),
        None => Ok(()),
    }
}

/// What a run gave before: with this code, or with any that `known` names.
fn stored<'r>(runs: &'r StoredRuns, known: Option<&Findings>, name: &str, command: &str) -> Option<&'r StoredRun> {
    let of_now = key(command, VERSION, SOURCES);
    let named = known.iter().flat_map(|findings| findings.runs());
    let of_it = named.filter(|(of, run)| *of == name && run.command == command);
    let mut keys = std::iter::once(of_now.as_str()).chain(of_it.filter_map(|(_, run)| run.key.as_deref()));
    keys.find_map(|key| runs.get(key))
}

/// Does what is to be done, and stores each run when it is done. What went wrong with one of them, if anything did.
fn run_all(args: &Args, store: &Store, to_do: Vec<ToDo>, results: &mut Results) -> Outcome<Option<String>> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let fitting = to_do.iter().map(|run| memory::at_a_time(&run.geometry)).min().unwrap_or(1);
    let jobs = args.jobs.map_or(cores, |n| n as usize).min(fitting).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| Failure::Failed(format!("threads cannot be started: {error}")))?;
    let bars = Bars::new();
    let all = bars.add("claims");
    let (total, done) = (to_do.len() as u64, std::sync::atomic::AtomicU64::new(0));
    let outcomes: Vec<(String, Outcome<Result<_, RunError>>)> = pool.install(|| {
        let runs = to_do.into_par_iter().with_max_len(1).map(|run| {
            let bar = bars.add(&run.name);
            let outcome = phelsuma_drive::run(&run.config, &|progress| {
                bar.show(&progress);
                true
            });
            bar.done();
            let kept = outcome.map(|result| {
                let stored = StoredRun::new(&run.command, serde_json::json!(result));
                store.write_run(&stored).map(|key| (stored.result, Some(key)))
            });
            let so_far = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            all.show(&phelsuma_drive::Progress { phase: "runs", done: so_far, of: Some(total) });
            let kept = match kept {
                Ok(Ok(result)) => Ok(Ok(result)),
                Ok(Err(error)) => Err(Failure::from(error)),
                Err(error) => Ok(Err(error)),
            };
            (run.name, kept)
        });
        runs.collect()
    });
    all.done();
    let mut failed = None;
    for (name, outcome) in outcomes {
        let result = outcome?.map_err(|error| {
            let why = format!("{name}: {}", as_stored(&error.to_string()));
            // What cannot be is the answer that a claim asked for; what was begun and not completed is a defect.
            if !matches!(error, RunError::Input(_)) {
                failed.get_or_insert_with(|| why.clone());
            }
            why
        });
        results.insert(name, result);
    }
    Ok(failed)
}

/// Writes the figures all of whose runs are there, be it from earlier.
fn write_figures(
    args: &Args,
    store: &Store,
    document: &Document,
    plan: &Plan,
    findings: &mut Findings,
    results: &mut Results,
) -> Outcome {
    let runs = store.runs()?;
    findings.figures.retain(|id, _| document.figures.iter().any(|figure| figure.id == *id));
    for figure in &document.figures {
        for name in plan.runs_of_figure(&figure.id) {
            let Some(command) = plan.commands.get(name).and_then(Option::as_deref) else { continue };
            if results.contains_key(name) {
                continue;
            }
            if let Some(run) = stored(&runs, args.any_version.then_some(&*findings), name, command) {
                results.insert(name.to_string(), Ok((run.result.clone(), Some(run.key()))));
            } else if let Ok(Task::Formula(value)) = task(Some(command), plan.scale) {
                results.insert(name.to_string(), Ok((value, None)));
            }
        }
        // A run that cannot be has no line, but a reason; one that is still to be done would leave a hole.
        let Some(runs) = runs_of(figure, plan, results) else { continue };
        if let Some(text) = csv(figure, plan, results) {
            store.write_figure(plan.scale, &figure.id, &text)?;
        }
        if !runs.is_empty() {
            findings.figures.insert(figure.id.clone(), runs);
        }
    }
    Ok(())
}

fn as_text(claims: &[&Claim], found: &[Finding]) -> String {
    let rows = claims.iter().zip(found).map(|(claim, finding)| {
        let unit = if claim.unit.is_empty() { "" } else { " " };
        let mut measured =
            finding.measured.map_or_else(|| "-".into(), |x| format!("{}{unit}{}", digits(x), claim.unit));
        if let Some(kind @ (Kind::Formula | Kind::Constant)) = finding.kind {
            measured += &format!(" ({})", kind.name());
        }
        [claim.id.clone(), claim.to_string(), measured, finding.verdict.name().to_string()]
    });
    let table = table::texts(["claim", "paper", "measured", "verdict"], rows);
    let whys = found.iter().filter_map(|finding| Some(format!("{}: {}", finding.id, finding.why.as_ref()?)));
    let whys: String = whys.map(|why| table::wrapped(&why, table::PROSE_WIDTH_MAX) + "\n").collect();
    format!("{table}\n{whys}{}{}\n", not_steady(found), summary(found.iter()))
}

/// Where a figure's series are.
fn figure_as_text(figure: &Figure, store: &Store, scale: Scale, findings: &Findings) -> String {
    let (id, at) = (&figure.id, &figure.at);
    let runs = findings.figures.get(id).into_iter().flat_map(BTreeMap::iter);
    let (failed, done): (Vec<_>, Vec<_>) = runs.partition(|(_, run)| run.why.is_some());
    let told = match done.len() {
        0 => format!("{id}: nothing to show at the {} scale", scale.name()),
        n => format!("{id}: {n} runs, in {}", store.figure_path(scale, id).display()),
    };
    let told = std::iter::once(format!("{told} ({at})"));
    let reasons = failed.into_iter().filter_map(|(name, run)| {
        let why = run.why.as_ref()?;
        // The reason of a run that was begun names it.
        let why = why.strip_prefix(&format!("{name}: ")).unwrap_or(why);
        Some(format!("no line for {name}: {why}"))
    });
    told.chain(reasons).map(|line| table::wrapped(&line, table::PROSE_WIDTH_MAX) + "\n").collect()
}

/// The runs that say of themselves that their drive was still changing: what they measure depends on their length.
fn not_steady(found: &[Finding]) -> String {
    let runs: BTreeMap<&str, Option<bool>> =
        found.iter().flat_map(|finding| &finding.runs).map(|(name, run)| (name.as_str(), run.steady)).collect();
    let names: Vec<&str> = runs.iter().filter(|(_, steady)| **steady == Some(false)).map(|(name, _)| *name).collect();
    if names.is_empty() {
        return String::new();
    }
    let text = format!("not steady, {} of {} runs: {}", names.len(), runs.len(), names.join(", "));
    table::wrapped(&text, table::PROSE_WIDTH_MAX) + "\n"
}

/// Four digits that count.
fn digits(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        a if (1e-3..1e6).contains(&a) => {
            let decimals = (3 - a.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{x:.decimals$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
        }
        _ => format!("{x:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn four_digits_are_enough() {
        let shown = [0.0, 1.0, 0.98765, 10_000.4, 64.0, -0.5, 0.000_123_4, 1.5e9].map(digits);
        assert_eq!(shown, ["0", "1", "0.9877", "10000", "64", "-0.5", "1.234e-4", "1.500e9"]);
    }
}
