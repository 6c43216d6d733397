//! `phelsuma list`: everything that has a name.

use crate::errors::Outcome;
use crate::{output, table};
use phelsuma_drive::lab::Fault;
use phelsuma_ftl::{PARAMETERS, PRESETS};
use phelsuma_nand::TIMINGS;
use phelsuma_trace::{Format, convert, workload};
use serde_json::json;

/// Options of `list`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    if args.json { output::json(&as_json()) } else { output::print(&as_text()) }
}

fn faults() -> Vec<(&'static str, &'static str)> {
    let kind = |fault: &Fault| match fault {
        Fault::Program(_) => "program",
        Fault::Erase(_) => "erase",
    };
    Fault::all().iter().map(|fault| (fault.name(), kind(fault))).collect()
}

fn as_json() -> serde_json::Value {
    let ftls: Vec<_> = PRESETS
        .iter()
        .map(|p| {
            let [mapping, validity, victim, placement] = p.composition.names();
            json!({"name": p.name, "about": p.about, "power_loss": p.power_loss, "composition":
                {"mapping": mapping, "validity": validity, "victim": victim, "placement": placement}})
        })
        .collect();
    let parameters: Vec<_> = PARAMETERS
        .iter()
        .map(|(name, values, about)| json!({"name": name, "values": values, "about": about}))
        .collect();
    let workloads: Vec<_> = workload::LIST.iter().map(|(spec, about)| json!({"spec": spec, "about": about})).collect();
    let formats: Vec<_> = Format::all()
        .iter()
        .map(|f| {
            let written = convert::WRITABLE.contains(f);
            json!({"name": f.name(), "record": f.record(), "about": f.description(), "can_be_written": written})
        })
        .collect();
    let timings: Vec<_> = TIMINGS
        .iter()
        .map(|(name, about, t)| {
            json!({"name": name, "about": about, "read_ns": t.read_ns, "read_spare_ns": t.read_spare_ns,
                "program_ns": t.program_ns, "erase_ns": t.erase_ns, "transfer_ns": t.transfer_ns})
        })
        .collect();
    let faults: Vec<_> = faults().iter().map(|(name, of)| json!({"name": name, "of": of})).collect();
    json!({"schema": "phelsuma.list/1", "ftls": ftls, "parameters": parameters, "workloads": workloads,
        "trace_formats": formats, "timings": timings, "faults": faults})
}

fn as_text() -> String {
    let mut ftls = table::texts(&["FTL", "what it is"]);
    let mut parts = table::texts(&["FTL", "mapping", "validity", "victim", "placement", "power loss"]);
    for p in PRESETS {
        let [mapping, validity, victim, placement] = p.composition.names();
        ftls.add_row([p.name, p.about]);
        parts.add_row([p.name, &mapping, &validity, &victim, &placement, p.power_loss]);
    }
    let mut parameters = table::texts(&["parameter (--set)", "values", "what it is"]);
    for (name, values, about) in PARAMETERS {
        parameters.add_row([name, values, about]);
    }
    let mut workloads = table::texts(&["workload", "what it asks"]);
    for (spec, about) in workload::LIST {
        workloads.add_row([spec, about]);
    }
    let mut formats = table::texts(&["trace format", "a record", "what it is"]);
    for format in Format::all() {
        let written = if convert::WRITABLE.contains(format) { " (can be written)" } else { "" };
        formats.add_row([format.name(), format.record(), &format!("{}{written}", format.description())]);
    }
    let mut timings = table::texts(&["timing", "what it is"]);
    for (name, about, _) in TIMINGS {
        timings.add_row([name, about]);
    }
    let mut kinds = table::texts(&["fault", "of"]);
    for (name, of) in faults() {
        kinds.add_row([name, of]);
    }
    format!("{ftls}\n\n{parts}\n\n{parameters}\n\n{workloads}\n\n{formats}\n\n{timings}\n\n{kinds}\n")
}
