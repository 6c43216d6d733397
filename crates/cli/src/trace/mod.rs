//! `phelsuma trace`: block traces by themselves.

mod convert;
mod generate;
mod info;
mod out_file;

use crate::errors::Outcome;
use clap::Subcommand;
use phelsuma_options::FormatArgs;
use phelsuma_trace::{TraceFile, reader_from};
use std::io::{BufReader, stdin};
use std::path::Path;

/// Options of `trace`.
#[derive(clap::Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What is in a trace
    Info(info::Args),
    /// Write a trace in another format
    Convert(convert::Args),
    /// Write a workload as a trace
    Generate(generate::Args),
}

impl Args {
    /// What `trace info` is asked for, if it is that.
    pub(crate) fn info(&self) -> Option<&info::Args> {
        if let Command::Info(args) = &self.command { Some(args) } else { None }
    }
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    match &args.command {
        Command::Info(args) => info::main(args),
        Command::Convert(args) => convert::main(args),
        Command::Generate(args) => generate::main(args),
    }
}

/// Opens a trace; `-` is standard input.
fn open(path: &Path, format: &FormatArgs) -> Outcome<TraceFile> {
    let options = format.open_options();
    if path.as_os_str() == "-" {
        return Ok(reader_from(BufReader::new(stdin()), "standard input", &options)?);
    }
    Ok(TraceFile::open(path, &options)?)
}
