//! `phelsuma claims list`: the statements of a paper, and the commands that try them.

use super::paper::PaperArgs;
use crate::errors::{Failure, Outcome};
use crate::{output, table};
use phelsuma_claims::{ByScale, Claim, Document, Figure, Operator, Plan, Scale};
use serde::Serialize;
use std::collections::BTreeMap;

/// Options of `claims list`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    paper: PaperArgs,
    /// Only these claims and figures, separated by commas, each with its commands
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    only: Vec<String>,
    /// Print each claim with the expression that measures it and the commands of its runs
    #[arg(long)]
    commands: bool,
}

#[derive(Serialize)]
struct Listed<'d> {
    schema: &'static str,
    paper: &'d str,
    title: &'d str,
    claims: Vec<ListedClaim<'d>>,
    figures: Vec<ListedFigure<'d>>,
}

#[derive(Serialize)]
struct ListedFigure<'d> {
    id: &'d str,
    at: &'d str,
    columns: &'d [(String, String)],
    commands: BTreeMap<&'static str, Vec<String>>,
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
    let chosen = document.chosen(&args.only)?;
    let plans: Result<Vec<Plan>, String> = Scale::ALL.into_iter().map(|scale| document.plan(scale)).collect();
    let plans = plans.map_err(Failure::Input)?;
    if !args.paper.json {
        let full = args.commands || !args.only.is_empty();
        return output::print(&if full {
            let title = table::wrapped(&document.title, table::PROSE_WIDTH_MAX) + "\n";
            let claims = chosen.claims.iter().map(|claim| in_full(&document, claim, &plans));
            let figures = chosen.figures.iter().map(|figure| figure_in_full(figure, &plans));
            claims.chain(figures).fold(title, |text, next| text + &next)
        } else {
            let ids: Vec<&str> = chosen.figures.iter().map(|figure| figure.id.as_str()).collect();
            let figures = if ids.is_empty() { String::new() } else { format!("Figures: {}\n", ids.join(", ")) };
            as_text(&document.title, &chosen.claims)
                + &table::wrapped(&figures, table::PROSE_WIDTH_MAX)
                + "--only NAME shows how a claim or figure is measured, --commands how all of them are\n"
        });
    }
    output::json(&Listed {
        schema: "phelsuma.claims-list/1",
        paper: store.paper(),
        title: &document.title,
        claims: chosen.claims.iter().map(|claim| listed(claim, &plans)).collect(),
        figures: chosen.figures.iter().map(|figure| listed_figure(figure, &plans)).collect(),
    })
}

/// By scale, the commands of the runs that it takes there.
fn commands<'p>(plans: &'p [Plan], runs: impl Fn(&'p Plan) -> Vec<&'p str>) -> BTreeMap<&'static str, Vec<String>> {
    let of = |plan: &'p Plan| {
        let commands = runs(plan).into_iter().filter_map(|run| plan.commands.get(run).cloned().flatten());
        (plan.scale.name(), commands.collect())
    };
    plans.iter().map(of).collect()
}

/// The runs that are a figure's lines.
fn runs_of_figure<'p>(plan: &'p Plan, figure: &Figure) -> Vec<&'p str> {
    plan.lines.get(&figure.id).into_iter().flatten().map(String::as_str).collect()
}

fn listed_figure<'d>(figure: &'d Figure, plans: &[Plan]) -> ListedFigure<'d> {
    let commands = commands(plans, |plan| runs_of_figure(plan, figure));
    ListedFigure { id: &figure.id, at: &figure.at, columns: &figure.columns, commands }
}

fn listed<'d>(claim: &'d Claim, plans: &[Plan]) -> ListedClaim<'d> {
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
        commands: commands(plans, |plan| plan.runs_of(&claim.id).into_iter().collect()),
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
    text + &at_each_scale(plans, |plan| how(document, claim, plan))
}

/// A figure with its columns and the commands of its lines.
fn figure_in_full(figure: &Figure, plans: &[Plan]) -> String {
    let mut text = format!("\n{}\n", figure.id) + &table::wrapped(&figure.at, table::PROSE_WIDTH_MAX) + "\n";
    for (heading, measure) in &figure.columns {
        text += &format!("  {heading} = {measure}\n");
    }
    text + &at_each_scale(plans, |plan| {
        runs_of_figure(plan, figure).into_iter().map(|name| command_of(plan, name)).collect()
    })
}

/// What is the same at every scale is said once.
fn at_each_scale(plans: &[Plan], tried: impl Fn(&Plan) -> String) -> String {
    match plans {
        [one, others @ ..] if !others.is_empty() && others.iter().all(|other| tried(other) == tried(one)) => {
            "at every scale\n".to_string() + &tried(one)
        }
        plans => plans.iter().map(|plan| format!("at the {} scale\n{}", plan.scale.name(), tried(plan))).collect(),
    }
}

/// How a claim is tried at a scale: the expression, the values and the runs in it.
fn how(document: &Document, claim: &Claim, plan: &Plan) -> String {
    let Some(measure) = claim.measure.at(plan.scale) else { return "  nothing to run\n".to_string() };
    let mut text = format!("  measured as {measure}\n");
    for name in plan.values_of(&claim.id) {
        let value = document.values.get(name).and_then(|value| value.at(plan.scale));
        text += &format!("  {name} = {}\n", value.unwrap_or("nothing at this scale"));
    }
    plan.runs_of(&claim.id).into_iter().fold(text, |text, run| text + &command_of(plan, run))
}

fn command_of(plan: &Plan, run: &str) -> String {
    match plan.commands.get(run).and_then(Option::as_ref) {
        Some(command) => format!("  {run}:\n    phelsuma {command}\n"),
        None => format!("  {run}: nothing to run\n"),
    }
}
