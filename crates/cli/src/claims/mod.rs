//! `phelsuma claims`: the statements of papers, tried here.

mod check;
mod list;
mod paper;
mod run;
mod task;

use crate::errors::Outcome;
use clap::Subcommand;

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

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    match &args.command {
        Command::List(args) => list::main(args),
        Command::Run(args) => run::main(args),
        Command::Check(args) => check::main(args),
    }
}
