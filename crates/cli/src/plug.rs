//! `phelsuma plug`: a hand at the plug of a drive that is being served.

use crate::errors::{Failure, Outcome};
use crate::output;
use clap::ValueEnum;
use phelsuma_serve::device::control::ask;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Options of `plug`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Control socket of the server (`phelsuma serve --control`)
    control: PathBuf,
    /// The action
    #[arg(value_enum)]
    what: What,
    /// Cut after OPS programs and erases instead of at once
    #[arg(long, value_name = "OPS")]
    after: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Cut the power; the server ends
    Cut,
    /// Cut the power, then mount the drive again
    Cycle,
    /// Cancel all cuts that are planned
    Never,
    /// Print the state of the drive
    Status,
}

/// Asks, and prints the answer.
pub(crate) fn main(args: &Args) -> Outcome {
    let word = match args.what {
        What::Cut => "cut",
        What::Cycle => "cycle",
        What::Never => "never",
        What::Status => "status",
    };
    let line = match args.after {
        None => word.to_string(),
        Some(operations) if matches!(args.what, What::Cut | What::Cycle) => format!("{word} after {operations}"),
        Some(_) => return Err(Failure::Input(format!("--after is for cut and cycle; use {word} without it"))),
    };
    let answer = ask(&args.control, &line).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                "no server listens there (it ends after a cut)".into()
            }
            _ => format!("no server answers: {error}"),
        };
        Failure::Failed(format!("{}: {why}", args.control.display()))
    })?;
    match answer.strip_prefix("error: ") {
        Some(wrong) => Err(Failure::Failed(wrong.to_string())),
        None => output::print(&(answer + "\n")),
    }
}
