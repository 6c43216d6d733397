//! `phelsuma list`: everything that has a name.

use crate::errors::Outcome;
use crate::{output, table};
use phelsuma_drive::lab::Workload;
use phelsuma_ftl::{Preset, parameters};
use phelsuma_options::{everything, faults, timings};
use phelsuma_trace::{Format, convert, workload};

/// Options of `list`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    if args.json { output::json(&everything()) } else { output::print(&as_text()) }
}

fn as_text() -> String {
    let pair = |(name, about): (&str, &str)| [name.to_string(), about.to_string()];
    let ftls = table::texts(["FTL", "description"], Preset::all().map(|p| pair((p.name, p.about))));
    let parts = table::texts(
        ["FTL", "mapping", "validity", "victim", "placement", "power loss"],
        Preset::all().map(|p| {
            // Where a line may be broken.
            let names = p.composition.names().map(|name| name.replace('(', " ("));
            let [mapping, validity, victim, placement] = names;
            [p.name.to_string(), mapping, validity, victim, placement, p.composition.power_loss().to_string()]
        }),
    );
    let all = parameters();
    let values = all.iter().flat_map(|of| of.words.iter().map(|word| (of.name, word)));
    let parameters = table::texts(
        ["parameter (--set)", "values", "description"],
        all.iter().map(|of| [of.name.to_string(), of.values.clone(), of.about.to_string()]),
    );
    let values = table::texts(
        ["value (--set)", "description", "needs"],
        values
            .filter(|(_, (_, about, _))| !about.is_empty())
            .map(|(of, (word, about, needs))| [format!("{of}={word}"), about.to_string(), needs.join("\n")]),
    );
    let workloads = table::texts(["workload", "requests"], workload::LIST.iter().copied().map(pair));
    let formats = table::texts(
        ["trace format", "record and description"],
        Format::all().iter().map(|format| {
            let written = if convert::WRITABLE.contains(format) { " (can be written)" } else { "" };
            [format.name().to_string(), format!("{}\n{}{written}", format.record(), format.description())]
        }),
    );
    let timings = table::texts(["timing", "description"], timings().map(|timing| [timing.name, timing.about]));
    let crash_workloads = table::texts(
        ["workload (crash)", "requests and purpose"],
        Workload::ALL.iter().map(|workload| pair((workload.name(), workload.about()))),
    );
    let kinds = table::texts(
        ["fault (crash)", "of", "state after the power cut"],
        faults().into_iter().map(|(name, of, about)| [name, of, about].map(str::to_string)),
    );
    format!(
        "{ftls}\n\n{parts}\n\n{parameters}\n\n{values}\n\n{workloads}\n\n{formats}\n\n{timings}\n\n{crash_workloads}\n\n{kinds}\n"
    )
}
