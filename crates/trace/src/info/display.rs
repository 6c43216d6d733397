//! Statistics as a few lines for a person.

use std::fmt;

use super::{Sizes, TraceInfo};

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

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration_ns as f64 / 1e9;
        let TraceInfo { file, format, requests, devices, .. } = self;
        writeln!(f, "{file} ({format}): {requests} requests in {seconds:.3} s, devices: {devices}")?;
        let TraceInfo { reads, writes, trims, flushes, .. } = self;
        let (read, written) = (Bytes(self.read_bytes), Bytes(self.written_bytes));
        writeln!(f, "reads: {reads} ({read}), writes: {writes} ({written}), trims: {trims}, flushes: {flushes}")?;
        writeln!(
            f,
            "pages of {}: {} written, {} of them different ({}), overwrite ratio {:.2}; {} read or written ({})",
            Bytes(self.page_bytes.into()),
            self.pages_written,
            self.unique_pages_written,
            Bytes(self.written_footprint_bytes),
            self.overwrite_ratio,
            self.unique_pages,
            Bytes(self.footprint_bytes),
        )?;
        direction(f, "writes", &self.write_sizes, self.unaligned_write_share, self.sequential_write_share)?;
        direction(f, "reads", &self.read_sizes, self.unaligned_read_share, self.sequential_read_share)?;
        let lives = &self.lifetimes;
        if lives.histogram_log2.is_empty() {
            writeln!(f, "no written page is overwritten")?;
        } else {
            let (half, most, nearly_all) = (lives.p50_at_most, lives.p90_at_most, lives.p99_at_most);
            writeln!(
                f,
                "a written page is overwritten within {half} page writes (half of them), {most} (90 %), {nearly_all} (99 %)"
            )?;
        }
        let (span, backwards, skipped) = (Bytes(self.span_bytes), self.times_backwards, &self.skipped);
        write!(f, "address span {span}; requests back in time: {backwards}; skipped: {skipped}")
    }
}
