//! The phelsuma command: flash translation layers, simulated, compared and crashed.
//!
//! It is a library, so that the `main` of another crate can be the command with that crate's policies ([`main_with`]).

#[cfg(all(unix, feature = "jemalloc"))]
mod allocator;
mod caveats;
mod check;
mod claims;
mod compare;
mod crash;
mod create;
mod errors;
mod inspect;
mod lab_args;
mod limits;
mod list;
mod mark;
mod output;
mod plug;
mod progress;
mod remarks;
mod replay;
mod report;
mod run;
mod search;
mod serve;
mod soak;
mod spent;
mod steady;
mod table;
mod timing;
mod torture;
mod trace;
mod tried;
mod verdict;

pub use phelsuma_ftl::Registry;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Simulate, compare, crash and serve flash translation layers (FTLs)
#[derive(Parser)]
#[command(name = "phelsuma", version, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List all names: FTLs, their parts and parameters, workloads, trace formats, timings, faults
    List(list::Args),
    /// Run a workload or a trace on one FTL
    Run(run::Args),
    /// Run a workload or a trace on several FTLs in parallel, and explain which is best
    Compare(compare::Args),
    /// Run a workload or a trace on one FTL with every combination of settings, and rank them
    Search(search::Args),
    /// Test a drive as SNIA's specification does: rounds of loads until it is steady
    Steady(steady::Args),
    /// Cut the power at every program and erase, with every fault, and check the recovered data
    Crash(crash::Args),
    /// Expose drives to random requests, power cuts, decay and bad blocks, and check the data
    Soak(soak::Args),
    /// Create a drive in an image file
    Create(create::Args),
    /// Check a drive in an image file, without changing the file
    Check(check::Args),
    /// Show the content of an image file: blocks by kind of page, wear, Gecko runs
    Inspect(inspect::Args),
    /// List the claims of papers, measure them, and check the stored verdicts
    Claims(claims::Args),
    /// Compute the least possible write amplification from analytic models
    Limits(limits::Args),
    /// Serve a drive as a block device over NBD, with nbdkit
    Serve(serve::Args),
    /// Cut the power of a drive that is being served, or show its state
    Plug(plug::Args),
    /// Show what the constants of a drive's timing come to
    Timing(timing::Args),
    /// Check every crash state of any program: record its writes once, and cut the power everywhere
    Torture(Box<torture::Args>),
    /// Say, from a workload of torture, what has been acknowledged
    Mark(mark::Args),
    /// Report on a recorded run of torture
    Report(report::Args),
    /// Inspect, convert and generate block traces
    Trace(trace::Args),
}

/// The command line.
fn command() -> clap::Command {
    phelsuma_options::with_negatives(Cli::command())
}

/// What the command line asks for.
fn parsed() -> Result<Command, clap::Error> {
    let matches = command().try_get_matches()?;
    Cli::from_arg_matches(&matches).map(|cli| cli.command)
}

/// The command, with what this registry has besides; the words are the process's. It is the first thing that `main` does.
pub fn main_with(registry: Registry) -> ExitCode {
    match registry.install() {
        Ok(()) => main(),
        Err(error) => errors::Failure::Input(error.to_string()).report(),
    }
}

/// The command. The words are the process's.
pub fn main() -> ExitCode {
    let outcome = match parsed() {
        Ok(command) => match command {
            Command::List(args) => list::main(&args),
            Command::Run(args) => run::main(&args),
            Command::Compare(args) => compare::main(&args),
            Command::Search(args) => search::main(&args),
            Command::Steady(args) => steady::main(&args),
            Command::Crash(args) => crash::main(&args),
            Command::Soak(args) => soak::main(&args),
            Command::Create(args) => create::main(&args),
            Command::Check(args) => check::main(&args),
            Command::Inspect(args) => inspect::main(&args),
            Command::Claims(args) => claims::main(&args),
            Command::Limits(args) => limits::main(&args),
            Command::Serve(args) => serve::main(&args),
            Command::Plug(args) => plug::main(&args),
            Command::Timing(args) => timing::main(&args),
            Command::Torture(args) => torture::main(&args),
            Command::Mark(args) => mark::main(&args),
            Command::Report(args) => report::main(&args),
            Command::Trace(args) => trace::main(&args),
        },
        Err(error) if error.use_stderr() => Err(phelsuma_options::usage(&error).into()),
        Err(help) => output::print(&help.render().to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_options_do_not_contradict_each_other() {
        super::command().debug_assert();
    }
}
