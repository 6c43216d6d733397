//! The latest look at a drive, as JSON: `phelsuma.served/1`. `docs/JSON.md` has every key.

use crate::blocks::{Blocks, Shown};
use crate::looker::Seen;
use phelsuma_drive::{WritePart, write_part};
use phelsuma_nand::{FlashStats, Purpose};
use phelsuma_serve::device::{Served, State};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// The schema of [`state_json`].
pub const SCHEMA: &str = "phelsuma.served/1";

/// What does not change while a drive is served.
pub(crate) struct About {
    pub(crate) ftl: String,
    pub(crate) capacity_bytes: u64,
    pub(crate) logical_bytes: u64,
    pub(crate) page_bytes: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) blocks: u32,
    pub(crate) channels: u32,
    pub(crate) dies_per_channel: u32,
    pub(crate) reserve_blocks: u32,
}

impl About {
    pub(crate) fn of(served: &Served) -> Self {
        let geometry = served.geometry();
        Self {
            ftl: served.name().to_string(),
            capacity_bytes: geometry.capacity_bytes(),
            logical_bytes: served.size_bytes(),
            page_bytes: geometry.page_bytes(),
            pages_per_block: geometry.pages_per_block(),
            blocks: geometry.blocks(),
            channels: geometry.channels(),
            dies_per_channel: geometry.dies_per_channel(),
            reserve_blocks: served.shape().reserve_blocks,
        }
    }
}

/// Looks at a drive and reports it, as the page's `/state.json` does. It is looked at twice, so that changes between
/// two looks are there.
pub fn state_json(served: &Served) -> Value {
    let before = Blocks::look(served, None);
    let look = served.look();
    let blocks = Blocks::look(served, before.as_ref()).map(Arc::new);
    let seen = Seen { number: 2, at: Instant::now(), look, blocks };
    json(&About::of(served), &seen, served.state())
}

/// The latest look; the state is that of now.
pub(crate) fn json(about: &About, seen: &Seen, state: State) -> Value {
    let look = &seen.look;
    let requests = &look.requests;
    let counters = look.counters.iter().map(|counter| (counter.name.to_string(), counter.value.into()));
    json!({
        "schema": SCHEMA,
        "about": look.about,
        "ftl": about.ftl,
        "state": state.name(),
        "served_seconds": look.since.as_secs_f64(),
        "age_seconds": seen.at.elapsed().as_secs_f64(),
        "look": seen.number,
        "power_ons": look.power_ons,
        "geometry": {
            "capacity_bytes": about.capacity_bytes,
            "logical_bytes": about.logical_bytes,
            "page_bytes": about.page_bytes,
            "pages_per_block": about.pages_per_block,
            "blocks": about.blocks,
            "channels": about.channels,
            "dies": about.dies_per_channel,
            "reserve_blocks": about.reserve_blocks,
        },
        "requests": {
            "reads": requests.reads,
            "writes": requests.writes,
            "trims": requests.trims,
            "zeroes": requests.zeroes,
            "flushes": requests.flushes,
            "failed": requests.failed,
            "in_progress": look.in_progress,
            "read_bytes": requests.read_bytes,
            "written_bytes": requests.written_bytes,
            "trimmed_bytes": requests.trimmed_bytes,
            "zeroed_bytes": requests.zeroed_bytes,
        },
        "write_cache": look.cache.map(|cache| json!({
            "size_bytes": cache.size_bytes,
            "dirty_bytes": cache.dirty_bytes,
        })),
        "flash": flash(&look.flash),
        "write_amplification": write_amplification(&look.flash),
        "counters": counters.collect::<Map<String, Value>>(),
        "blocks": seen.blocks.as_deref().map(blocks),
        "emptied_blocks": seen.blocks.as_ref().map(|blocks| blocks.emptied),
        "erases": seen.blocks.as_deref().map(erases),
        "gecko": look.gecko.as_ref().map(|gecko| json!({
            "buffered_entries": gecko.buffered_entries,
            "buffer_entries": gecko.buffer_entries,
            "runs": gecko.runs.iter().map(|run| json!({
                "level": run.level, "pages": run.pages,
                "first_flush": run.flushes.0, "last_flush": run.flushes.1,
            })).collect::<Vec<Value>>(),
        })),
    })
}

/// Purposes for which nothing was done are left out.
fn flash(stats: &FlashStats) -> Value {
    let done = stats.iter().filter(|(_, counts)| *counts != Default::default());
    let of = |(purpose, counts): (Purpose, phelsuma_nand::OpCounts)| {
        let value = json!({
            "reads": counts.reads,
            "spare_reads": counts.spare_reads,
            "programs": counts.programs,
            "erases": counts.erases,
        });
        (purpose.name().to_string(), value)
    };
    Value::Object(done.map(of).collect())
}

/// Programs per page that the host wrote, without what made the drive and brought it up. None without host writes.
fn write_amplification(stats: &FlashStats) -> Value {
    let written = stats.of(Purpose::Host).programs;
    if written == 0 {
        return Value::Null;
    }
    let at_work = |purpose: Purpose| !matches!(purpose, Purpose::Format | Purpose::Recovery);
    let programs = |wanted: &dyn Fn(Purpose) -> bool| {
        let sum: u64 = stats.iter().filter(|(purpose, _)| wanted(*purpose)).map(|(_, counts)| counts.programs).sum();
        sum as f64 / written as f64
    };
    let part = |part: WritePart| programs(&|purpose| at_work(purpose) && write_part(purpose) == part);
    json!({
        "total": programs(&at_work),
        "user": part(WritePart::User),
        "translation": part(WritePart::Translation),
        "validity": part(WritePart::Validity),
        "other": part(WritePart::Other),
    })
}

fn blocks(blocks: &Blocks) -> Value {
    let of_kind = Shown::ALL.iter().zip(&blocks.of_kind).filter(|(_, of)| of.blocks > 0);
    let of_kind = of_kind.map(|(shown, of)| {
        json!({
            "kind": shown.name(), "blocks": of.blocks, "open": of.open,
            "counted_blocks": of.counted, "live_pages": of.live_pages,
        })
    });
    of_kind.collect()
}

fn erases(blocks: &Blocks) -> Value {
    let wear = &blocks.wear;
    let bars = blocks.bars.iter().map(|bar| json!({ "from": bar.from, "to": bar.to, "blocks": bar.blocks }));
    json!({
        "total": wear.total, "min": wear.min, "max": wear.max, "mean": wear.mean, "stddev": wear.stddev,
        "histogram": bars.collect::<Vec<Value>>(),
    })
}
