//! What a page offers: presets, parameters, workloads, faults and moments.

use phelsuma_drive::lab::{Fault, Moment, Workload};
use phelsuma_ftl::{PRESETS, parameters};
use phelsuma_nand::{Kind, Purpose};
use phelsuma_trace::workload::LIST;
use serde_json::{Value, json};

/// All of it.
pub(crate) fn listed() -> Value {
    let presets = PRESETS.iter().map(|preset| {
        let composition = &preset.composition;
        json!({
            "name": preset.name,
            "about": preset.about,
            "has_cache": composition.has_cache(),
            "has_battery": composition.has_battery(),
            "per_channel": composition.is_per_channel(),
            "oracle": composition.why_oracle(),
            "power_loss": composition.power_loss(),
        })
    });
    let faults = Fault::all().into_iter().map(|fault| {
        let of = if matches!(fault, Fault::Erase(_)) { "erase" } else { "program" };
        json!({ "name": fault.name(), "of": of })
    });
    let lab = Workload::ALL
        .iter()
        .map(|workload| json!({ "name": format!("lab:{}", workload.name()), "about": workload.about() }));
    let runs = LIST.iter().map(|(name, about)| json!({ "name": name, "about": about }));
    let of_parts = parameters().into_iter().map(|parameter| {
        json!({
            "name": parameter.name, "about": parameter.about, "range": parameter.range,
            "default": parameter.default, "of": parameter.of,
        })
    });
    json!({
        "presets": presets.collect::<Vec<Value>>(),
        "faults": faults.collect::<Vec<Value>>(),
        "moments": Moment::ALL.iter().map(|moment| moment.name()).collect::<Vec<&str>>(),
        "workloads": runs.chain(lab).collect::<Vec<Value>>(),
        "trace_bytes_max": crate::trace::BYTES_MAX,
        "parameters": of_parts.collect::<Vec<Value>>(),
        "purposes": Purpose::ALL.iter().map(|purpose| purpose.name()).collect::<Vec<&str>>(),
        "kinds": Kind::ALL.iter().map(|kind| crate::look::kind_name(*kind)).collect::<Vec<&str>>(),
    })
}
