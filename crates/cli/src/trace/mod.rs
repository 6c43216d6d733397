//! `phelsuma trace`: block traces by themselves.

mod convert;
mod curl;
mod fetch;
mod generate;
mod get;
mod info;
mod input;
mod out_file;
mod place;

use crate::errors::{Failure, Outcome};
use clap::Subcommand;
use phelsuma_trace::TraceInfo;

/// Options of `trace`.
#[derive(clap::Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Summarize a trace or a workload
    Info(info::Args),
    /// Write a trace in another format
    Convert(convert::Args),
    /// Write a workload as a trace
    Generate(generate::Args),
    /// Fetch public traces by name; without a name, list them
    Get(get::Args),
}

impl Args {
    /// Whether `trace info` is asked for.
    pub(crate) fn is_info(&self) -> bool {
        matches!(self.command, Command::Info(_))
    }

    /// What `trace info` says.
    ///
    /// # Errors
    /// What it would refuse, and whatever else is asked for.
    pub(crate) fn info(&self) -> Outcome<TraceInfo> {
        match &self.command {
            Command::Info(args) => args.gather(),
            _ => Err(Failure::Input("use trace info".to_string())),
        }
    }
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    match &args.command {
        Command::Info(args) => info::main(args),
        Command::Convert(args) => convert::main(args),
        Command::Generate(args) => generate::main(args),
        Command::Get(args) => get::main(args),
    }
}
