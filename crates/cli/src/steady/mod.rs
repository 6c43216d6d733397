//! `phelsuma steady`: a steady-state test after SNIA's performance test specification, as tables, JSON and plots.

mod plot;
mod text;

use crate::errors::{Failure, Outcome};
use crate::output;
use crate::progress::Bars;
use phelsuma_drive::steady::{Part, SteadyResult, steady};
use phelsuma_options::{SteadyArgs, size};
use std::path::{Path, PathBuf};

/// Options of `steady`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    of: SteadyArgs,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Write plots of the rounds as SVG to this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let config = args.of.config()?;
    if let Some(folder) = &args.svg {
        // Before a test that takes long.
        std::fs::create_dir_all(folder).map_err(|error| Failure::Input(format!("{}: {error}", folder.display())))?;
    }
    let bar = Bars::new().add(&config.drive.ftl);
    let result = steady(&config, &|progress| {
        bar.show(&progress);
        true
    });
    bar.done();
    let result = result?;
    if let Some(folder) = &args.svg {
        draw(folder, &result)?;
    }
    match args.json {
        true => output::json(&result),
        false => output::print(&text::of(&result, &config.drive, args.of.chosen())),
    }
}

/// Writes a plot of each part.
fn draw(folder: &Path, result: &SteadyResult) -> Outcome {
    for part in &result.parts {
        let path = folder.join(format!("{}.svg", name(result, part)));
        std::fs::write(&path, plot::of(result, part)).map_err(|error| about(&path, &error))?;
    }
    Ok(())
}

/// The name of a part's plot: the test's, and the block size where there are several.
fn name(result: &SteadyResult, part: &Part) -> String {
    match result.parts.len() {
        1 => result.test.to_string(),
        _ => format!("{}-{}", result.test, size::show(part.tracked.block_bytes).replace(' ', "")),
    }
}

fn about(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
