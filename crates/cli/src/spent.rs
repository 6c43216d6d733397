//! Where the time of a run went, and its rates over time, as text; only where times are not of flash alone.

use crate::table::{self, number};
use comfy_table::Table;
use phelsuma_drive::{Latency, RequestTime, SeriesPoint, TimeSpent};
use phelsuma_options::count;

/// Tables of shares and of a mean request.
pub(crate) fn tables(time: &TimeSpent) -> [Table; 2] {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let d = &time.dies;
    let mut shares = table::numbers(&["where the time went", "share of it"]);
    let mut row = |what: &str, share: f64| {
        shares.add_row([what.to_string(), percent(share)]);
    };
    row("planes at work, on average over dies", d.busy);
    row("  sensing for the host", d.host_reads);
    row("  programming for the host", d.host_programs);
    row("  sensing to collect", d.collection_reads);
    row("  programming to collect", d.collection_programs);
    row("  erasing", d.erases);
    row("  translation pages", d.translation);
    row("  validity metadata", d.validity);
    row("  other metadata", d.other);
    row("a channel moving pages, on average", time.channels.busy);
    if let Some(link) = &time.link {
        row("the link moving pages, its busier way", link.busy);
        shares.add_row(["requests in the firmware, on average".to_string(), number(link.firmware_requests_mean)]);
    }
    let headings = ["a mean request, µs", "firmware", "link", "waiting for the link", "flash", "waiting in the drive"];
    let mut requests = table::numbers(&headings);
    for (name, time) in [("write", &time.request_us.write), ("read", &time.request_us.read)] {
        if let Some(RequestTime { firmware, link, link_waiting, flash, waiting }) = time {
            let parts = [firmware, link, link_waiting, flash, waiting].map(|us| number(*us));
            requests.add_row(std::iter::once(name.to_string()).chain(parts));
        }
    }
    [shares, requests]
}

/// The series, with what its points have.
pub(crate) fn series(points: &[SeriesPoint]) -> Table {
    let mut headings = vec!["pages written", "WA", "erases", "simulated s"];
    let of_drive = points.iter().any(|point| point.of_drive.is_some());
    if of_drive {
        headings.extend(["MB/s\nwritten", "MB/s\nread", "requests\na second", "write\np50", "p99", "p99.9"]);
        headings.extend(["read\np50", "p99", "p99.9"]);
    }
    let mut series = if of_drive { table::narrow(&headings) } else { table::numbers(&headings) };
    for p in points {
        let wa = format!("{:.4}", p.write_amplification);
        let mut row = vec![count(p.write_pages), wa, count(p.erases), format!("{:.3}", p.simulated_seconds)];
        if let Some(of) = &p.of_drive {
            let t = &of.throughput;
            row.extend([t.write_mb_per_second, t.read_mb_per_second, t.requests_per_second].map(number));
            for latency in [of.latency_us.write, of.latency_us.read] {
                let figure = |of: fn(&Latency) -> f64| latency.as_ref().map_or_else(|| "-".into(), |l| number(of(l)));
                row.extend([figure(|l| l.p50), figure(|l| l.p99), figure(|l| l.p999)]);
            }
        }
        series.add_row(row);
    }
    series
}
