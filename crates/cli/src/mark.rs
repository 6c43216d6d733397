//! `phelsuma mark`: a workload of `torture` says that what it did before has been acknowledged.

use crate::errors::Outcome;
use std::path::PathBuf;

/// Options of `mark`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What was acknowledged
    #[arg(value_name = "TEXT")]
    text: String,
}

/// Returns when the mark is recorded.
pub(crate) fn main(args: &Args) -> Outcome {
    let socket = std::env::var_os("PHELSUMA_MARK_SOCKET").map(PathBuf::from);
    Ok(phelsuma_torture::mark(socket.as_deref(), &args.text)?)
}
