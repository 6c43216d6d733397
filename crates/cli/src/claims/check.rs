//! `phelsuma claims check`: stored verdicts against stored runs. It runs nothing, so it is for every change to the
//! claims.

use super::paper::{PaperArgs, ScaleArg, summary};
use super::task::{Task, task};
use crate::errors::{Failure, Outcome};
use crate::output;
use phelsuma_claims::{Claim, Finding, Kind, Plan, Results, SOURCES, Scale, StoredRuns, VERSION, Verdict, judge};
use serde::Serialize;
use std::collections::BTreeSet;

/// Options of `claims check`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    paper: PaperArgs,
    /// Size of the drives
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleArg,
}

#[derive(Serialize)]
struct Checked<'s> {
    schema: &'static str,
    paper: &'s str,
    scale: Scale,
    claims: usize,
    problems: Vec<Problem>,
    untried: usize,
    runs: usize,
    runs_of_other_sources: usize,
    claims_of_other_sources: Vec<String>,
}

/// Stored runs that verdicts stand on.
#[derive(Default)]
struct Runs {
    keys: BTreeSet<String>,
    /// Of these, those of other sources than this version's.
    other: BTreeSet<String>,
}

#[derive(Serialize)]
struct Problem {
    id: String,
    what: String,
}

/// Checks them.
pub(super) fn main(args: &Args) -> Outcome {
    let store = args.paper.store()?;
    let document = store.document()?;
    let scale = Scale::from(args.scale);
    let plan = document.plan(scale).map_err(Failure::Input)?;
    let Some(findings) = store.findings(scale)? else {
        return Err(Failure::Input(format!(
            "{}: there is no such file yet; `phelsuma claims run {} --scale {}` writes it",
            store.findings_path(scale).display(),
            store.paper(),
            scale.name()
        )));
    };
    let stored = store.runs()?;
    let mut problems = Vec::new();
    let mut untried = 0;
    let (mut runs, mut old) = (Runs::default(), Vec::new());
    for claim in &document.claims {
        let excuse = claim.why_not.as_ref().is_some_and(|why| why.of_scale_alone(scale).is_some());
        let problem = match findings.of(&claim.id) {
            // Nobody can know why.
            None if excuse => {
                Some(format!("why_not.{} says why it does not hold, but it has no verdict", scale.name()))
            }
            // Many are for the quick scale alone.
            None if scale != Scale::Quick => {
                untried += 1;
                None
            }
            None => Some("it has no verdict yet".to_string()),
            Some(finding) if excuse && finding.verdict == Verdict::Holds => {
                Some(format!("why_not.{} says why it does not hold, but it holds", scale.name()))
            }
            Some(finding) => {
                let mut of_it = Runs::default();
                let problem = problem_with(claim, finding, &plan, &stored, &mut of_it);
                if !of_it.other.is_empty() {
                    old.push(claim.id.clone());
                }
                runs.keys.append(&mut of_it.keys);
                runs.other.append(&mut of_it.other);
                problem
            }
        };
        problems.extend(problem.map(|what| Problem { id: claim.id.clone(), what }));
    }
    let gone = findings.claims.iter().filter(|finding| document.claims.iter().all(|claim| claim.id != finding.id));
    problems
        .extend(gone.map(|finding| Problem { id: finding.id.clone(), what: "claims.toml has no such claim".into() }));
    let bad = !problems.is_empty();
    if args.paper.json {
        output::json(&Checked {
            schema: "phelsuma.claims-check/1",
            paper: store.paper(),
            scale,
            claims: document.claims.len(),
            problems,
            untried,
            runs: runs.keys.len(),
            runs_of_other_sources: runs.other.len(),
            claims_of_other_sources: old,
        })?;
    } else {
        let mut text: String = problems.iter().map(|Problem { id, what }| format!("{id}: {what}\n")).collect();
        text += &summary(findings.claims.iter());
        if untried > 0 {
            text += &format!("; {untried} claims were never tried at this scale");
        }
        if !runs.other.is_empty() {
            let (other, all) = (runs.other.len(), runs.keys.len());
            text += &format!("; {other} of {all} runs are of other sources than this program's, for {}", some(&old));
        }
        output::print(&(text + "\n"))?;
    }
    if bad { Err(Failure::Shown) } else { Ok(()) }
}

/// The first of many names.
fn some(names: &[String]) -> String {
    let (shown, more) = names.split_at(names.len().min(3));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more (--json names them)", more.len()) };
    shown.join(", ") + &more
}

/// What is wrong with a finding, if anything is.
fn problem_with(claim: &Claim, finding: &Finding, plan: &Plan, stored: &StoredRuns, runs: &mut Runs) -> Option<String> {
    let mut results = Results::new();
    for name in plan.runs_of(&claim.id) {
        let command = plan.commands.get(name).cloned().flatten();
        let of_it = finding.runs.get(name).filter(|run| run.command == command.as_deref().unwrap_or_default());
        let Some(run) = of_it else {
            return Some(format!("its run {name} has another command now; run the claim again"));
        };
        let result = match &run.key {
            Some(key) => {
                let Some(run) = stored.get(key) else { return Some(format!("its run {name} is not stored")) };
                if run.command != command.unwrap_or_default() {
                    return Some(format!("the stored run {name} is of another command"));
                }
                runs.keys.insert(key.clone());
                if (run.version.as_str(), run.sources.as_str()) != (VERSION, SOURCES) {
                    runs.other.insert(key.clone());
                }
                Ok((run.result.clone(), Some(key.clone())))
            }
            None => match task(command.as_deref(), plan.scale) {
                Ok(Task::Formula(value)) => Ok((value, None)),
                // It was not run, and is not now: what was found about it stays.
                _ => Err(finding.why.clone().unwrap_or_default()),
            },
        };
        results.insert(name.to_string(), result);
    }
    let now = judge(claim, plan, &results);
    let number = |finding: &Finding| finding.measured.map_or_else(|| "nothing".to_string(), |x| x.to_string());
    if now.verdict != finding.verdict {
        Some(format!("stored as '{}', but it is '{}'", finding.verdict.name(), now.verdict.name()))
    } else if !same(now.measured, finding.measured) {
        Some(format!("stored as measuring {}, but it measures {}", number(finding), number(&now)))
    } else if now.verdict == Verdict::DoesNotHold && now.why != finding.why {
        Some("its reason has changed, or the numbers in it; run the claim again".to_string())
    } else if finding.kind.is_some() && finding.kind != now.kind {
        let kind = |finding: &Finding| finding.kind.map_or("nothing", Kind::name);
        Some(format!("stored as '{}', but it is '{}'", kind(finding), kind(&now)))
    } else {
        None
    }
}

/// But for the last digits, which may differ between machines.
fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        (a, b) => a.is_none() && b.is_none(),
    }
}
