//! Statistics as a few lines for a person.

use std::fmt;

use super::{Lifetimes, Sizes, TraceInfo};
use crate::histogram::{Modes, Picture, modes};

/// A number of bytes in the largest binary unit of which there is at least one.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.iter().find(|(_, shift)| self.0 >> shift > 0) {
            Some((name, shift)) => write!(f, "{:.1} {name}", self.0 as f64 / (1u64 << shift) as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

fn direction(f: &mut fmt::Formatter<'_>, name: &str, sizes: &Sizes, unaligned: f64, sequential: f64) -> fmt::Result {
    let [p50, p90, p99, max] = [sizes.p50_bytes, sizes.p90_bytes, sizes.p99_bytes, sizes.max_bytes].map(Bytes);
    let (unaligned, sequential) = (unaligned * 100.0, sequential * 100.0);
    writeln!(
        f,
        "{name}: sizes p50 {p50}, p90 {p90}, p99 {p99}, max {max}; {unaligned:.0} % unaligned, {sequential:.0} % sequential"
    )
}

fn lives(f: &mut fmt::Formatter<'_>, lives: &Lifetimes) -> fmt::Result {
    let after = match lives.warmup_pages {
        0 => String::new(),
        pages => format!(" after {pages} page writes"),
    };
    if lives.histogram_log2.is_empty() {
        return writeln!(f, "no written page is overwritten{after}");
    }
    let (half, most, nearly_all) = (lives.p50_at_most, lives.p90_at_most, lives.p99_at_most);
    let trims = match lives.ended_by_trims {
        0 => "overwritten",
        _ => "overwritten or trimmed",
    };
    writeln!(
        f,
        "a written page is {trims} within {half} page writes (half of them{after}), {most} (90 %), {nearly_all} (99 %):"
    )?;
    writeln!(f, "{}", Picture { entries: &lives.histogram_log2 })?;
    if let Some(Modes { low, valley, high }) = modes(&lives.histogram_log2) {
        writeln!(f, "two modes, from 2^{low} and from 2^{high} page writes, apart at 2^{valley}")?;
    }
    Ok(())
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration_ns as f64 / 1e9;
        let TraceInfo { file, format, requests, devices, .. } = self;
        let format = format.map_or("workload", |format| format.name());
        writeln!(f, "{file} ({format}): {requests} requests in {seconds:.3} s, devices: {devices}")?;
        let TraceInfo { reads, writes, trims, flushes, .. } = self;
        let (read, written) = (Bytes(self.read_bytes), Bytes(self.written_bytes));
        writeln!(f, "reads: {reads} ({read}), writes: {writes} ({written}), trims: {trims}, flushes: {flushes}")?;
        writeln!(
            f,
            "pages of {}: {} written, {} of them different ({}), overwrite ratio {:.2}; {} read or written ({}); {:.2} written per page of {}",
            Bytes(self.page_bytes.into()),
            self.pages_written,
            self.unique_pages_written,
            Bytes(self.written_footprint_bytes),
            self.overwrite_ratio,
            self.unique_pages,
            Bytes(self.footprint_bytes),
            self.writes_per_logical_page,
            if self.format.is_some() { "these" } else { "the drive" },
        )?;
        direction(f, "writes", &self.write_sizes, self.unaligned_write_share, self.sequential_write_share)?;
        let larger = self.write_updates.iter().filter(|class| class.requests > 0);
        let classes: Vec<String> = larger
            .map(|class| {
                let size = class.up_to_pages.map_or_else(|| "more".to_string(), |pages| format!("to {pages}"));
                format!("{size}: {:.0} %", class.share * 100.0)
            })
            .collect();
        if !classes.is_empty() {
            writeln!(f, "share of updates, by the pages of a write: {}", classes.join(", "))?;
        }
        direction(f, "reads", &self.read_sizes, self.unaligned_read_share, self.sequential_read_share)?;
        lives(f, &self.lifetimes)?;
        let (span, backwards, skipped) = (Bytes(self.span_bytes), self.times_backwards, &self.skipped);
        write!(f, "address span {span}; requests back in time: {backwards}; skipped: {skipped}")
    }
}
