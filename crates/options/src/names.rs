//! Everything that has a name: FTLs, their parts and parameters, workloads, trace formats, timings, faults.

use crate::timing::timings;
use phelsuma_drive::lab::{Defect, Fault, Workload};
use phelsuma_ftl::{Preset, parameters};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_trace::{Format, convert, workload};
use serde_json::json;

/// Name, kind of operation, and what the power cut leaves of it.
pub fn faults() -> Vec<(&'static str, &'static str, &'static str)> {
    let described = |fault: &Fault| match fault {
        Fault::Program(program) => (fault.name(), "program", program_fault(*program)),
        Fault::Erase(erase) => (fault.name(), "erase", erase_fault(*erase)),
        Fault::Announced => (fault.name(), "request", "it is done, and the battery has saved what RAM alone knew"),
        Fault::Defect(defect) => match defect {
            Defect::Fails => (fault.name(), "program, erase", "no cut: it fails, and its block is bad from then on"),
            Defect::HostDecays => {
                (fault.name(), "program, erase", "no cut: before its request a page of the host decays")
            }
            Defect::MetadataDecays => {
                (fault.name(), "program, erase", "no cut: before its request a page of metadata decays")
            }
        },
    };
    let all: Vec<Fault> = Fault::every().collect();
    all.iter().map(described).collect()
}

fn program_fault(fault: ProgramFault) -> &'static str {
    match fault {
        ProgramFault::NotStarted => "the page is as it was",
        ProgramFault::Unacknowledged => "the page is written in full, only nobody was told",
        ProgramFault::TornSeen => "data and spare area read as uncorrectable",
        ProgramFault::TornUnseen => "the data are a prefix or noise and the chip's ECC is content: only a CRC can tell",
        ProgramFault::TornSpare => {
            "the data are whole, the spare area is not what was written: a read error, as torn-seen"
        }
        ProgramFault::LooksErased => {
            "the page reads as erased, but programming it without an erase leaves it unreadable"
        }
        ProgramFault::Unstable => "the page reads well until the power fails again, never after",
        ProgramFault::UnstableOnce => "the page reads well once, never after",
    }
}

fn erase_fault(fault: EraseFault) -> &'static str {
    match fault {
        EraseFault::NotStarted => "the block is as it was",
        EraseFault::Unacknowledged => "the block is blank, only nobody was told",
        EraseFault::PartialMixed => "every page is by chance as it was, blank, or uncorrectable",
        EraseFault::PartialFront => "the first half of the block reads blank, the rest is as it was",
        EraseFault::UnstableErase => "the block reads blank, but a program fails until it is erased again",
    }
}

/// All of it: `phelsuma.list/1`.
pub fn everything() -> serde_json::Value {
    let ftls: Vec<_> = Preset::all()
        .map(|p| {
            let [mapping, validity, victim, placement] = p.composition.names();
            let [metadata, power, collection] = p.composition.other_names();
            json!({"name": p.name, "about": p.about, "oracle": p.composition.knowledge().is_some(), "power_loss": p.composition.power_loss(), "composition":
                {"mapping": mapping, "validity": validity, "victim": victim, "placement": placement,
                 "metadata": metadata, "power": power, "collection": collection}})
        })
        .collect();
    let parameters: Vec<_> = parameters()
        .iter()
        .map(|of| {
            json!({"name": of.name, "values": of.values, "about": of.about, "range": of.range,
            "default": of.default, "of": of.of, "words": of.words.iter().map(|(name, about, needs)|
                json!({"name": name, "about": about, "needs": needs})).collect::<Vec<_>>()})
        })
        .collect();
    let workloads: Vec<_> = workload::LIST.iter().map(|(spec, about)| json!({"spec": spec, "about": about})).collect();
    let formats: Vec<_> = Format::all()
        .iter()
        .map(|f| {
            let written = convert::WRITABLE.contains(f);
            json!({"name": f.name(), "record": f.record(), "about": f.description(), "can_be_written": written})
        })
        .collect();
    let timings: Vec<_> = timings()
        .filter_map(|timing| {
            let t = timing.on(4096).ok()?.chip;
            Some(json!({"name": timing.name, "about": timing.about, "read_ns": t.read_ns,
                "read_spare_ns": t.read_spare_ns, "program_ns": t.program_ns, "erase_ns": t.erase_ns,
                "transfer_ns": t.transfer_ns, "unit_pages": t.unit_pages, "sense_pages": t.sense_pages, "planes": t.planes,
                "suspend_ns": t.suspend_ns}))
        })
        .collect();
    let faults: Vec<_> =
        faults().iter().map(|(name, of, about)| json!({"name": name, "of": of, "about": about})).collect();
    let crash_workloads: Vec<_> = Workload::ALL.iter().map(|w| json!({"name": w.name(), "about": w.about()})).collect();
    json!({"schema": "phelsuma.list/1", "ftls": ftls, "parameters": parameters, "workloads": workloads,
        "trace_formats": formats, "timings": timings, "crash_workloads": crash_workloads, "faults": faults})
}
