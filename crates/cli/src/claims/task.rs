//! A command in a paper's claims, as `phelsuma` would do it.

use crate::errors::{Failure, Outcome};
use crate::trace::Args as TraceArgs;
use crate::{limits, run};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use phelsuma_claims::Scale;
use phelsuma_drive::RunConfig;
use phelsuma_nand::Geometry;
use serde_json::Value;

/// What stands in commands for the folder of public traces.
const TRACES: &str = "$PHELSUMA_TRACES";

/// What may stand in a claim: the same options as those of the command itself.
#[derive(Parser)]
#[command(name = "phelsuma", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Limits(limits::Args),
    Trace(Box<TraceArgs>),
}

fn parsed(words: impl Iterator<Item = String>) -> Result<Command, clap::Error> {
    let matches = phelsuma_options::with_negatives(Cli::command()).try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches).map(|cli| cli.command)
}

/// What a command asks for.
pub(super) enum Task {
    /// A run, to be done and stored, and the drive it is done on.
    Run(Box<RunConfig>, Geometry),
    /// What is in a trace: looked at at once, and stored, as the trace need not be there.
    Trace(Box<TraceArgs>),
    /// Formulas, computed at once.
    Formula(Value),
}

/// The task of a command, or why it cannot be done here.
pub(super) fn task(command: Option<&str>, scale: Scale) -> Result<Task, String> {
    let command = command.ok_or_else(|| format!("there is nothing to run at the {} scale", scale.name()))?;
    let why = |failure: Failure| match failure {
        Failure::Input(text) | Failure::Failed(text) => as_stored(&text),
        Failure::Shown | Failure::Interrupted | Failure::ClosedPipe => String::new(),
    };
    let mut words: Vec<String> = command.split_whitespace().map(str::to_string).collect();
    if command.contains(TRACES) {
        let folder = phelsuma_options::trace_folder().map_err(|failure| why(failure.into()))?;
        if !folder.is_dir() {
            return Err(format!(
                "it needs public traces, and there is no folder {}; fetch them with `phelsuma trace get --all`, or set {} \
                 to their folder",
                folder.display(),
                &TRACES[1..]
            ));
        }
        let folder = folder.to_string_lossy();
        words.iter_mut().for_each(|word| *word = word.replace(TRACES, &folder));
    }
    let words = std::iter::once("phelsuma".to_string()).chain(words);
    match parsed(words).map_err(|error| why(phelsuma_options::usage(&error).into()))? {
        Command::Run(args) => {
            args.of.config().map_err(Failure::from).map(|(config, geometry)| Task::Run(Box::new(config), geometry))
        }
        Command::Limits(args) => args.compute().map(|said| Task::Formula(serde_json::json!(said))),
        Command::Trace(trace) if trace.is_info() => Ok(Task::Trace(trace)),
        _ => {
            Err(Failure::Input(format!("'{command}' cannot be the command of a claim; use run, limits or trace info")))
        }
    }
    .map_err(why)
}

/// What is in a trace, as `trace info --json` has it but for where the file is.
pub(super) fn look_at(trace: &TraceArgs) -> Outcome<Value> {
    let mut said = serde_json::json!(trace.info()?);
    said.as_object_mut().and_then(|object| object.remove("file"));
    Ok(said)
}

/// A reason without what there is instead, which changes with every FTL that is added. Nor does it have the folder of
/// public traces, which is one machine's.
pub(super) fn as_stored(text: &str) -> String {
    let text = text.split("; known are ").next().unwrap_or(text);
    match phelsuma_options::trace_folder() {
        Ok(folder) => text.replace(&*folder.to_string_lossy(), TRACES),
        Err(_) => text.to_string(),
    }
}
