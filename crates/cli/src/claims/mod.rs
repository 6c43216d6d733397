//! `phelsuma claims`: what papers state, tried here.

mod check;
mod list;
mod run;
mod task;

use crate::errors::Outcome;
use clap::{Subcommand, ValueEnum};
use phelsuma_claims::{Finding, Kind, Scale, Store, Verdict};
use std::path::PathBuf;

/// Options of `claims`.
#[derive(clap::Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What a paper states, and how it is tried
    List(list::Args),
    /// Run what has not been run yet, and write measured values and verdicts
    Run(run::Args),
    /// Hold stored verdicts against stored runs, without running anything
    Check(check::Args),
}

/// Which paper, and how the output looks.
#[derive(clap::Args)]
struct PaperArgs {
    /// The paper: a folder with a claims.toml
    #[arg(value_name = "PAPER")]
    paper: String,
    /// Where the papers' folders are
    #[arg(long, value_name = "FOLDER", default_value = "papers")]
    papers: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl PaperArgs {
    fn store(&self) -> Outcome<Store> {
        Ok(Store::open(&self.papers, &self.paper)?)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleArg {
    /// Small drives: minutes for all claims
    Quick,
    /// Between the two: minutes for a run
    Large,
    /// The paper's own configuration: hours
    Full,
}

impl From<ScaleArg> for Scale {
    fn from(arg: ScaleArg) -> Self {
        match arg {
            ScaleArg::Quick => Self::Quick,
            ScaleArg::Large => Self::Large,
            ScaleArg::Full => Self::Full,
        }
    }
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    match &args.command {
        Command::List(args) => list::main(args),
        Command::Run(args) => run::main(args),
        Command::Check(args) => check::main(args),
    }
}

/// How many of these have which verdict, and how many of them nothing was run for.
fn summary<'f>(findings: impl Iterator<Item = &'f Finding> + Clone) -> String {
    let count = |verdict| findings.clone().filter(|finding| finding.verdict == verdict).count();
    let [holds, does_not, cannot] = [Verdict::Holds, Verdict::DoesNotHold, Verdict::CannotBeRun].map(count);
    let of_kind = |kind| findings.clone().filter(|finding| finding.kind == Some(kind)).count();
    let not_run = match [Kind::Formula, Kind::Constant].map(of_kind) {
        [0, 0] => String::new(),
        [formulas, constants] => format!("; {formulas} of them are formulas, {constants} constants"),
    };
    let claims = findings.count();
    format!("{claims} claims: {holds} hold, {does_not} do not hold here, {cannot} cannot be run here{not_run}")
}
