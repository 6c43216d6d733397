//! What is in a trace: one streaming pass, everything counted in pages and bytes.
//!
//! Memory: 17 bytes per slot of a hash table that holds every page ever *written*, which is 20 to 39
//! bytes per unique written page (half as much again for a moment when a table grows); 16 bytes per run
//! of neighbouring pages for what is read or written; 16 bytes for each of at most 65,536 distinct
//! request sizes. Over [`UNIQUE_PAGES_MAX`] written pages the pass stops with an error.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use serde::Serialize;

use crate::TraceError;
use crate::fold::Footprint;
use crate::format::Format;
use crate::reader::TraceFile;
use crate::request::{Op, Request};
use crate::skipped::Skipped;

mod display;
mod lifetimes;
mod sizes;

pub use lifetimes::Lifetimes;
pub use sizes::{SizeCount, Sizes};

/// The most unique written pages, over all devices: up to about 8 GiB of memory.
pub const UNIQUE_PAGES_MAX: u64 = 200_000_000;

/// Statistics of a trace. Shares are between 0 and 1 and 0 where there is nothing to divide by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceInfo {
    /// The file's name.
    pub file: String,
    /// The format, given or guessed.
    pub format: Format,
    /// Size of the pages counted below, in bytes.
    pub page_bytes: u32,
    /// Usable requests.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Of these, writes.
    pub writes: u64,
    /// Of these, trims.
    pub trims: u64,
    /// Of these, flushes.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes trimmed.
    pub trimmed_bytes: u64,
    /// Pages read; a request counts every page it touches, in full or in part.
    pub pages_read: u64,
    /// Pages written, likewise.
    pub pages_written: u64,
    /// Different pages written.
    pub unique_pages_written: u64,
    /// Different pages read or written.
    pub unique_pages: u64,
    /// `unique_pages_written` in bytes.
    pub written_footprint_bytes: u64,
    /// `unique_pages` in bytes.
    pub footprint_bytes: u64,
    /// Pages written per different page written; 0 without writes.
    pub overwrite_ratio: f64,
    /// From the first request to the latest, in nanoseconds.
    pub duration_ns: u64,
    /// Requests that are earlier than the one before them.
    pub times_backwards: u64,
    /// Number of devices.
    pub devices: u64,
    /// From the lowest to past the highest byte that is touched, summed over devices.
    pub span_bytes: u64,
    /// Past the highest byte that is touched on any device.
    pub highest_byte: u64,
    /// Sizes of reads.
    pub read_sizes: Sizes,
    /// Sizes of writes.
    pub write_sizes: Sizes,
    /// Share of reads that begin or end inside a page.
    pub unaligned_read_share: f64,
    /// Share of writes that begin or end inside a page.
    pub unaligned_write_share: f64,
    /// Share of reads that begin where the read before them, on the same device, ended.
    pub sequential_read_share: f64,
    /// Share of writes that begin where the write before them, on the same device, ended.
    pub sequential_write_share: f64,
    /// How long written pages live.
    pub lifetimes: Lifetimes,
    /// What the reader skipped.
    pub skipped: Skipped,
}

/// One direction's running counts.
#[derive(Default)]
struct Direction {
    requests: u64,
    bytes: u64,
    pages: u64,
    unaligned: u64,
    sequential: u64,
    sizes: sizes::Counter,
}

impl Direction {
    fn add(&mut self, request: &Request, page_bytes: u64, last_end: &mut Option<u64>) {
        let end = request.offset_bytes + request.size_bytes;
        self.requests += 1;
        self.bytes += request.size_bytes;
        self.pages += end.div_ceil(page_bytes) - request.offset_bytes / page_bytes;
        let aligned = request.offset_bytes.is_multiple_of(page_bytes) && end.is_multiple_of(page_bytes);
        self.unaligned += u64::from(!aligned);
        self.sequential += u64::from(*last_end == Some(request.offset_bytes));
        *last_end = Some(end);
        self.sizes.add(request.size_bytes);
    }
}

#[derive(Default)]
struct DeviceState {
    lowest_byte: Option<u64>,
    highest_byte: u64,
    last_read_end: Option<u64>,
    last_write_end: Option<u64>,
    /// Page → how many pages had been written before its latest write.
    written: HashMap<u64, u64>,
}

impl TraceInfo {
    /// Reads a trace to its end and counts.
    ///
    /// # Errors
    /// The trace cannot be read to its end, or a limit on memory is reached.
    pub fn gather(trace: &mut TraceFile, page_bytes: u32) -> Result<Self, TraceError> {
        crate::fold::check_page_bytes(page_bytes)?;
        Self::count(trace, page_bytes).map_err(|error| error.about(trace.name()))
    }

    fn count(trace: &mut TraceFile, page_bytes: u32) -> Result<Self, TraceError> {
        let mut footprint = Footprint::new(page_bytes)?;
        let page = u64::from(page_bytes);
        let mut devices: BTreeMap<u32, DeviceState> = BTreeMap::new();
        let (mut reads, mut writes) = (Direction::default(), Direction::default());
        let mut lifetimes = lifetimes::Counter::default();
        let (mut trims, mut flushes, mut trimmed_bytes) = (0u64, 0u64, 0u64);
        let (mut previous_ns, mut latest_ns, mut times_backwards) = (0, 0, 0);
        let mut unique_written = 0u64;
        for request in &mut *trace {
            let request = request?;
            times_backwards += u64::from(request.time_ns < previous_ns);
            previous_ns = request.time_ns;
            latest_ns = request.time_ns.max(latest_ns);
            footprint.add(&request)?;
            let device = devices.entry(request.device).or_default();
            match request.op {
                Op::Flush => {
                    flushes += 1;
                    continue;
                }
                Op::Trim => {
                    trims += 1;
                    trimmed_bytes = trimmed_bytes.saturating_add(request.size_bytes);
                }
                Op::Read => reads.add(&request, page, &mut device.last_read_end),
                Op::Write => {
                    let begun = writes.pages;
                    writes.add(&request, page, &mut device.last_write_end);
                    for (clock, number) in (begun..writes.pages).zip(request.offset_bytes / page..) {
                        match device.written.insert(number, clock) {
                            Some(before) => lifetimes.add(clock - before),
                            None => unique_written += 1,
                        }
                    }
                    if unique_written > UNIQUE_PAGES_MAX {
                        let what = format!(
                            "over {UNIQUE_PAGES_MAX} different pages of {page_bytes} bytes are written, too many to count; larger pages would be right"
                        );
                        return Err(TraceError::Option(what));
                    }
                }
            }
            let low = device.lowest_byte.get_or_insert(request.offset_bytes);
            *low = request.offset_bytes.min(*low);
            device.highest_byte = device.highest_byte.max(request.offset_bytes + request.size_bytes);
        }
        footprint.finish()?;
        let unique_pages = footprint.pages();
        let span = |device: &DeviceState| device.highest_byte - device.lowest_byte.unwrap_or(device.highest_byte);
        Ok(TraceInfo {
            file: trace.name().to_owned(),
            format: trace.format(),
            page_bytes,
            requests: trace.requests(),
            reads: reads.requests,
            writes: writes.requests,
            trims,
            flushes,
            read_bytes: reads.bytes,
            written_bytes: writes.bytes,
            trimmed_bytes,
            pages_read: reads.pages,
            pages_written: writes.pages,
            unique_pages_written: unique_written,
            unique_pages,
            written_footprint_bytes: unique_written * page,
            footprint_bytes: unique_pages * page,
            overwrite_ratio: share(writes.pages, unique_written),
            duration_ns: latest_ns,
            times_backwards,
            devices: devices.len() as u64,
            span_bytes: devices.values().map(span).fold(0, u64::saturating_add),
            highest_byte: devices.values().map(|device| device.highest_byte).max().unwrap_or(0),
            unaligned_read_share: share(reads.unaligned, reads.requests),
            unaligned_write_share: share(writes.unaligned, writes.requests),
            sequential_read_share: share(reads.sequential, reads.requests),
            sequential_write_share: share(writes.sequential, writes.requests),
            read_sizes: reads.sizes.summary(reads.bytes),
            write_sizes: writes.sizes.summary(writes.bytes),
            lifetimes: lifetimes.summary(unique_written),
            skipped: trace.skipped().clone(),
        })
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
