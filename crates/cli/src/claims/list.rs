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
    if !args.paper.json {
        return output::print(&as_text(&document));
    }
    let plans: Result<Vec<Plan>, String> = Scale::ALL.into_iter().map(|scale| document.plan(scale)).collect();
    let plans = plans.map_err(Failure::Input)?;
    output::json(&Listed {
        schema: "phelsuma.claims-list/1",
        paper: store.paper(),
        title: &document.title,
        claims: document.claims.iter().map(|claim| listed(claim, &plans)).collect(),
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

fn as_text(document: &Document) -> String {
    let row = |claim: &Claim| [claim.id.clone(), claim.at.clone(), claim.says.clone(), claim.to_string()];
    let table = table::texts(["claim", "where", "the paper says", "number"], document.claims.iter().map(row));
    format!("{}\n{table}\n", table::wrapped(&document.title, table::PROSE_WIDTH_MAX))
}
