//! `phelsuma claims list`: what a paper states, and the commands that try it.

use super::PaperArgs;
use crate::errors::{Failure, Outcome};
use crate::{output, table};
use phelsuma_claims::{ByScale, Claim, Document, Operator, Plan, Scale};
use serde::Serialize;
use std::collections::BTreeMap;

/// Options of `claims list`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    paper: PaperArgs,
    /// Only these claims, each with its commands
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    only: Vec<String>,
    /// Each claim with the expression that measures it and the commands of its runs
    #[arg(long)]
    commands: bool,
}

#[derive(Serialize)]
struct Listed<'d> {
    schema: &'static str,
    paper: &'d str,
    title: &'d str,
    claims: Vec<ListedClaim<'d>>,
}

#[derive(Serialize)]
struct ListedClaim<'d> {
    id: &'d str,
    at: &'d str,
    says: &'d str,
    operator: Operator,
    value: f64,
    most: Option<f64>,
    tolerance: Option<f64>,
    unit: &'d str,
    note: &'d str,
    measure: &'d ByScale,
    commands: BTreeMap<&'static str, Vec<String>>,
}

/// Lists them.
pub(super) fn main(args: &Args) -> Outcome {
    let store = args.paper.store()?;
    let document = store.document()?;
    let claims = document.chosen(&args.only)?;
    let plans: Result<Vec<Plan>, String> = Scale::ALL.into_iter().map(|scale| document.plan(scale)).collect();
    let plans = plans.map_err(Failure::Input)?;
    if !args.paper.json {
        let full = args.commands || !args.only.is_empty();
        return output::print(&if full {
            let title = table::wrapped(&document.title, table::PROSE_WIDTH_MAX) + "\n";
            claims.iter().fold(title, |text, claim| text + &in_full(&document, claim, &plans))
        } else {
            as_text(&document.title, &claims) + "How a claim is tried: --only CLAIM, or --commands for all of them\n"
        });
    }
    output::json(&Listed {
        schema: "phelsuma.claims-list/1",
        paper: store.paper(),
        title: &document.title,
        claims: claims.iter().map(|claim| listed(claim, &plans)).collect(),
    })
}

fn listed<'d>(claim: &'d Claim, plans: &[Plan]) -> ListedClaim<'d> {
    let commands = plans.iter().map(|plan| {
        let runs = plan.runs_of(&claim.id).into_iter();
        (plan.scale.name(), runs.filter_map(|run| plan.commands.get(run).cloned().flatten()).collect())
    });
    ListedClaim {
        id: &claim.id,
        at: &claim.at,
        says: &claim.says,
        operator: claim.operator,
        value: claim.value,
        most: claim.most,
        tolerance: claim.tolerance,
        unit: &claim.unit,
        note: &claim.note,
        measure: &claim.measure,
        commands: commands.collect(),
    }
}

fn as_text(title: &str, claims: &[&Claim]) -> String {
    let row = |claim: &&Claim| [claim.id.clone(), claim.at.clone(), claim.says.clone(), claim.to_string()];
    let table = table::texts(["claim", "where", "the paper says", "number"], claims.iter().map(row));
    format!("{}\n{table}\n", table::wrapped(title, table::PROSE_WIDTH_MAX))
}

/// A claim with what measures it and the commands, each of them in a line of its own however long it is: it can be
/// copied.
fn in_full(document: &Document, claim: &Claim, plans: &[Plan]) -> String {
    let prose = |text: String| table::wrapped(&text, table::PROSE_WIDTH_MAX) + "\n";
    let mut text = format!("\n{}: {claim}\n", claim.id) + &prose(format!("{} ({})", claim.says, claim.at));
    if !claim.note.is_empty() {
        text += &prose(claim.note.clone());
    }
    // What is the same at both scales is said once.
    let tried = |plan: &Plan| how(document, claim, plan);
    match plans {
        [one, others @ ..] if !others.is_empty() && others.iter().all(|other| tried(other) == tried(one)) => {
            text += "at every scale\n";
            text += &tried(one);
        }
        plans => {
            for plan in plans {
                text += &format!("at the {} scale\n{}", plan.scale.name(), tried(plan));
            }
        }
    }
    text
}

/// How a claim is tried at a scale: the expression, the values and the runs in it.
fn how(document: &Document, claim: &Claim, plan: &Plan) -> String {
    let Some(measure) = claim.measure.at(plan.scale) else { return "  nothing to run\n".to_string() };
    let mut text = format!("  measured as {measure}\n");
    for name in plan.values_of(&claim.id) {
        let value = document.values.get(name).and_then(|value| value.at(plan.scale));
        text += &format!("  {name} = {}\n", value.unwrap_or("nothing at this scale"));
    }
    for run in plan.runs_of(&claim.id) {
        match plan.commands.get(run).and_then(Option::as_ref) {
            Some(command) => text += &format!("  {run}:\n    phelsuma {command}\n"),
            None => text += &format!("  {run}: nothing to run\n"),
        }
    }
    text
}
