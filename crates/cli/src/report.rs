//! `phelsuma report`: what a recorded run says without any check.

use crate::errors::Outcome;
use crate::output;
use phelsuma_torture::unsynced;
use std::path::PathBuf;

/// Most bytes of a saved run.
const RUN_BYTES_MAX: u64 = 4 << 30;

/// Options of `report`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Writes that were acknowledged (a mark followed) with no flush between
    Unsynced(Unsynced),
}

/// Options of `report unsynced`.
#[derive(clap::Args)]
struct Unsynced {
    /// A run that `torture --save` has kept
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) fn main(args: &Args) -> Outcome {
    let What::Unsynced(args) = &args.what;
    let found = unsynced(&args.run, RUN_BYTES_MAX)?;
    if args.json { output::json(&found) } else { output::print(&found.text()) }
}
