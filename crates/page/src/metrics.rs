//! The latest look at a drive in the text format of Prometheus (version 0.0.4).
//!
//! `docs/reference/page.md` names the metrics.

use crate::blocks::Shown;
use crate::looker::Seen;
use crate::state::About;
use phelsuma_serve::device::State;
use std::fmt::Write;

/// The media type of the text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text so far. Writing to it does not fail.
struct Text(String);

impl Text {
    /// A metric begins.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A metric without labels.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.metric(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    /// A metric with a value for each of these labels.
    fn each<V: std::fmt::Display>(
        &mut self,
        (name, kind, help): (&str, &str, &str),
        label: &str,
        values: impl IntoIterator<Item = (&'static str, V)>,
    ) {
        self.metric(name, kind, help);
        for (of, value) in values {
            let _ = writeln!(self.0, "{name}{{{label}=\"{of}\"}} {value}");
        }
    }
}

/// A label's value within its quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The latest look; the state is that of now.
pub(crate) fn text(about: &About, seen: &Seen, state: State) -> String {
    let mut text = Text(String::with_capacity(16 << 10));
    let look = &seen.look;
    text.metric("phelsuma_drive_info", "gauge", "The FTL, and the version of this program.");
    let _ = writeln!(
        text.0,
        "phelsuma_drive_info{{ftl=\"{}\",version=\"{}\"}} 1",
        escaped(&about.ftl),
        env!("CARGO_PKG_VERSION")
    );
    let states = State::names().map(|name| (name, u8::from(name == state.name())));
    text.each(("phelsuma_drive_state", "gauge", "1 for the state that the drive is in."), "state", states);
    let sizes = [("flash", about.capacity_bytes), ("host", about.logical_bytes)];
    text.each(("phelsuma_drive_size_bytes", "gauge", "Bytes of flash, and of what the host sees."), "of", sizes);
    text.one("phelsuma_page_size_bytes", "gauge", "Bytes of a page of flash.", about.page_bytes);
    text.one("phelsuma_block_size_pages", "gauge", "Pages of a block.", about.pages_per_block);
    text.one("phelsuma_served_seconds", "gauge", "How long the drive is served.", look.since.as_secs_f64());
    text.one("phelsuma_power_ons_total", "counter", "How often its power came on.", look.power_ons);
    requests(&mut text, seen);
    if let Some(cache) = look.cache {
        let sizes = [("all", cache.size_bytes), ("dirty", cache.dirty_bytes)];
        text.each(
            ("phelsuma_write_cache_bytes", "gauge", "Bytes of the write cache, and of what a cut may lose."),
            "of",
            sizes,
        );
    }
    flash(&mut text, seen);
    blocks(&mut text, seen);
    for counter in &look.counters {
        let (kind, total) = if counter.is_level { ("gauge", "") } else { ("counter", "_total") };
        let name = format!("phelsuma_ftl_{}{total}", counter.name);
        let help = format!("Counter {} of the FTL since the power came on (docs/JSON.md, Counters).", counter.name);
        text.one(&name, kind, &help, counter.value);
    }
    text.0
}

fn requests(text: &mut Text, seen: &Seen) {
    let r = &seen.look.requests;
    let counts = [("read", r.reads), ("write", r.writes), ("trim", r.trims), ("zero", r.zeroes), ("flush", r.flushes)];
    text.each(("phelsuma_requests_total", "counter", "Requests of clients."), "kind", counts);
    let bytes =
        [("read", r.read_bytes), ("write", r.written_bytes), ("trim", r.trimmed_bytes), ("zero", r.zeroed_bytes)];
    text.each(("phelsuma_request_bytes_total", "counter", "Bytes that clients asked about."), "kind", bytes);
    text.one("phelsuma_requests_failed_total", "counter", "Requests that failed.", r.failed);
    text.one("phelsuma_requests_in_progress", "gauge", "Requests that are not done.", seen.look.in_progress);
}

fn flash(text: &mut Text, seen: &Seen) {
    let of = |pick: fn(&phelsuma_nand::OpCounts) -> u64| {
        seen.look.flash.iter().map(move |(purpose, counts)| (purpose.name(), pick(&counts))).collect::<Vec<_>>()
    };
    for (name, help, values) in [
        ("phelsuma_flash_page_reads_total", "Pages read in full.", of(|counts| counts.reads)),
        ("phelsuma_flash_spare_reads_total", "Spare areas read alone.", of(|counts| counts.spare_reads)),
        ("phelsuma_flash_page_programs_total", "Pages programmed.", of(|counts| counts.programs)),
        ("phelsuma_flash_block_erases_total", "Blocks erased.", of(|counts| counts.erases)),
    ] {
        let help = format!("{help} By purpose, since the power came on.");
        text.each((name, "counter", &help), "purpose", values);
    }
}

fn blocks(text: &mut Text, seen: &Seen) {
    if let Some(blocks) = &seen.blocks {
        let of_kind = || Shown::ALL.iter().zip(&blocks.of_kind);
        let counts = of_kind().map(|(shown, of)| (shown.name(), of.blocks));
        text.each(("phelsuma_blocks", "gauge", "Blocks by what they hold."), "kind", counts);
        let live = of_kind().filter(|(_, of)| of.counted > 0).map(|(shown, of)| (shown.name(), of.live_pages));
        text.each(
            ("phelsuma_live_pages", "gauge", "Pages that count as live, of blocks that are counted."),
            "kind",
            live,
        );
        let wear = &blocks.wear;
        let erases =
            [("min", f64::from(wear.min)), ("mean", wear.mean), ("max", f64::from(wear.max)), ("stddev", wear.stddev)];
        let help = "How often a block was erased in its life.";
        text.each(("phelsuma_block_lifetime_erases", "gauge", help), "statistic", erases);
    }
    if let Some(gecko) = &seen.look.gecko {
        text.one("phelsuma_gecko_buffered_entries", "gauge", "Entries in Gecko's buffer.", gecko.buffered_entries);
        text.one("phelsuma_gecko_buffer_entries", "gauge", "Entries that fill it.", gecko.buffer_entries);
    }
}
