//! A drive at a step, as a line of JSON.

use crate::engine::Engine;
use crate::look::kind_name;
use phelsuma_drive::lab::{Met, Recovered};
use phelsuma_ftl::{GeckoLook, MappingPart, RecoveryBound};
use phelsuma_nand::OpCounts;
use serde_json::{Map, Value, json};

impl Engine {
    /// Everything but the pages.
    pub(crate) fn state(&self) -> Value {
        let (now, bench) = (&self.now, &self.now.bench);
        let stats = bench.nand().stats();
        let since: Map<String, Value> = stats
            .since(&now.counted_from)
            .iter()
            .filter(|(_, counts)| *counts != OpCounts::default())
            .map(|(purpose, counts)| (purpose.name().to_string(), counted(&counts)))
            .collect();
        let counters: Map<String, Value> =
            bench.ftl().counters().iter().map(|counter| (counter.name.to_string(), json!(counter.value))).collect();
        let ram = bench.ftl().ram();
        let structures: Vec<(&str, u64)> = ram.papers().collect();
        json!({
            "step": now.step,
            "furthest": self.furthest,
            "fill": self.fill,
            "host": self.host(),
            "furthest_host": self.host_at(self.furthest),
            "goes_on": self.may_go_on(),
            "ended": now.ended,
            "why_ended": self.why_ended(),
            "is_on": bench.is_on(),
            "wrong": now.wrong,
            "workload": now.workload,
            "asked": now.asked,
            "flash": since,
            "time_us": bench.now().micros(),
            "operations": bench.operations(),
            "counters": counters,
            "cached": now.cached_since(),
            "ram": { "papers": ram.papers_total(), "all": ram.all_total(), "structures": structures },
            "gecko": bench.ftl().look_at_gecko().map(|look| gecko(&look)),
            "armed": now.plug.map(|plug| json!({
                "moment": plug.moment.name(), "skip": plug.skip, "fault": plug.fault.name(),
            })),
            "met": now.met.iter().map(|(met, fault)| self.met(met, fault)).collect::<Vec<Value>>(),
            "recovered": now.recovered.as_ref().map(recovered),
            "acts": self.acts().map(|(step, act)| json!({ "step": step, "act": act })).collect::<Vec<Value>>(),
        })
    }

    fn met(&self, met: &Met, fault: &str) -> Value {
        let page = phelsuma_nand::Page(met.page);
        json!({
            "operation": met.operation,
            "block": self.geometry.block_of(page).0,
            "index": self.geometry.index_of(page),
            "kind": met.kind.map(kind_name),
            "key": met.key,
            "fault": fault,
        })
    }

    /// What does not change with steps.
    pub(crate) fn drive(&self) -> Value {
        let geometry = &self.geometry;
        let shape = self.now.bench.ftl().shape();
        let composition = &self.config.composition;
        json!({
            "settings": self.settings,
            "blocks": geometry.blocks(),
            "pages_per_block": geometry.pages_per_block(),
            "logical_pages": self.config.logical_pages,
            "reserve_blocks": shape.reserve_blocks,
            "open_blocks": shape.open_blocks,
            "log_blocks": shape.log_blocks,
            "has_partitions": self.now.bench.ftl().counters().iter().any(|counter| counter.name == "last_hot_log_blocks"),
            "has_tree": composition.page_mapped().is_some_and(|parts| matches!(parts.mapping, MappingPart::MuTree { .. })),
            "has_battery": self.config.has_battery(),
            "has_cache": composition.has_cache(),
            "cache_entries": composition.cache_entries(),
            "parts": composition.names(),
            "other_parts": composition.other_names(),
            "power_loss": composition.power_loss(),
            "not_survivable": composition.why_not_survivable(),
            "oracle": composition.why_oracle(),
            "fill": self.fill,
        })
    }
}

fn counted(counts: &OpCounts) -> Value {
    let OpCounts { reads, spare_reads, programs, erases } = *counts;
    json!([reads, spare_reads, programs, erases])
}

fn gecko(look: &GeckoLook) -> Value {
    let runs = look.runs.iter().map(|run| json!({ "level": run.level, "pages": run.pages, "flushes": run.flushes }));
    json!({ "buffered": look.buffered_entries, "buffer": look.buffer_entries, "runs": runs.collect::<Vec<Value>>() })
}

fn recovered(recovered: &Recovered) -> Value {
    let report = &recovered.report;
    let steps = report.steps.iter().map(|step| {
        json!({
            "name": step.name, "reads": step.reads, "spare_reads": step.spare_reads,
            "programs": step.programs, "us": step.nanos as f64 / 1e3,
        })
    });
    let bound = (report.bound != RecoveryBound::default())
        .then(|| json!({ "reads": report.bound.reads, "spare_reads": report.bound.spare_reads, "programs": report.bound.programs }));
    json!({
        "steps": steps.collect::<Vec<Value>>(),
        "bound": bound,
        "us": report.done.micros(),
        "scratch_bytes": report.scratch_bytes,
        "last_pages": report.last_pages,
        "last_pages_bad": report.last_pages_bad,
        "lost_entries": report.lost_entries,
        "battery_saved": report.battery_saved,
        "older": recovered.older,
        "unreadable": recovered.unreadable,
        "checked": recovered.checked,
    })
}
