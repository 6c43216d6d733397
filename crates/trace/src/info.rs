//! The content of a trace, or the requests of a workload: one streaming pass, everything counted in pages and bytes.
//!
//! Memory:
//! - 17 bytes per slot of a hash table that holds every page ever *written* by requests of less than 128 pages. That is
//!   20 to 39 bytes per unique written page (half as much again for a moment when a table grows);
//! - up to 60 bytes more for each of these where a request of more than 2048 pages comes, and none is near another;
//! - about 40 bytes per longer write, however many pages it has;
//! - 16 bytes per run of neighbouring pages that are read or written;
//! - 16 bytes for each of at most 65,536 distinct request sizes;
//! - half a MiB for the places of requests.
//!
//! Over [`UNIQUE_PAGES_MAX`] entries of these two the pass stops with an error.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::TraceError;
use crate::fold::Footprint;
use crate::format::Format;
use crate::noted::Clock;
use crate::reader::TraceFile;
use crate::report::InputReport;
use crate::request::{Op, Request};
use crate::skipped::Skipped;
use crate::workload::Workload;

mod display;
mod lifetimes;
mod places;
mod share;
mod short;
mod sizes;
mod updates;
mod written;

use lifetimes::Counter;
pub use lifetimes::Lifetimes;
use share::share;
pub use sizes::{SizeCount, Sizes};
pub use updates::UpdateShare;
use written::Written;

/// The most unique written pages, over all devices: up to about 8 GiB of memory. Those of a write of 128 pages or more
/// count as one.
pub const UNIQUE_PAGES_MAX: u64 = 200_000_000;

/// Statistics of a trace, or of a workload. Shares are between 0 and 1 and 0 where there is nothing to divide by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceInfo {
    /// The file's name, or the workload.
    pub file: String,
    /// The format, given or guessed; none for a workload.
    pub format: Option<Format>,
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
    /// Pages of the drive that a workload is for. Of a trace, the fewest that hold it, which are `unique_pages`.
    pub logical_pages: u64,
    /// `unique_pages_written` in bytes.
    pub written_footprint_bytes: u64,
    /// `unique_pages` in bytes.
    pub footprint_bytes: u64,
    /// Pages written per different page written; 0 without writes.
    pub overwrite_ratio: f64,
    /// Pages written per page of `logical_pages`.
    pub writes_per_logical_page: f64,
    /// From the earliest request to the latest, in nanoseconds.
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
    /// How many of the pages of writes of a size had been written before, smaller sizes first.
    pub write_updates: Vec<UpdateShare>,
    /// Pages read or written in each 16th of the addresses up to the highest byte, the lowest first, and in it in each
    /// 16th of the requests. Addresses of several devices are on top of each other.
    pub places: Vec<u64>,
    /// How long written pages live.
    pub lifetimes: Lifetimes,
    /// Records that the reader skipped.
    pub skipped: Skipped,
    /// What was read; none of a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputReport>,
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
    written: Written,
}

/// How to count.
#[derive(Debug, Clone, Copy)]
pub struct InfoOptions {
    /// Size of the pages, in bytes.
    pub page_bytes: u32,
    /// Lives that end before so many pages are written are not counted.
    pub warmup_pages: u64,
}

/// How much of a workload to count.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadExtent {
    /// The drive's size in pages.
    pub logical_pages: u64,
    /// Seed of the workload.
    pub seed: u64,
    /// Stop at the request with which so many pages are written, or touched by a workload that writes none. Without a
    /// number these are all of a workload that ends, and four times the drive of one that does not.
    pub pages_written: Option<u64>,
}

/// Drives written by an endless workload, by default.
const DRIVES_WRITTEN: u64 = 4;

/// The counts so far.
struct Tally {
    page_bytes: u32,
    requests: u64,
    footprint: Footprint,
    devices: BTreeMap<u32, DeviceState>,
    reads: Direction,
    writes: Direction,
    updates: updates::Counter,
    places: places::Counter,
    lifetimes: Counter,
    trims: u64,
    flushes: u64,
    trimmed_bytes: u64,
    clock: Clock,
    unique_written: u64,
    /// Pages and runs that are held of all devices.
    held: u64,
}

impl TraceInfo {
    /// Reads a trace to its end and counts.
    ///
    /// # Errors
    /// The trace cannot be read to its end, or a limit on memory is reached.
    pub fn gather(trace: &mut TraceFile, options: &InfoOptions) -> Result<Self, TraceError> {
        let mut tally = Tally::new(options)?;
        let counted = trace.try_for_each(|request| tally.add(&request?)).and_then(|()| tally.footprint.finish());
        counted.map_err(|error| error.about(trace.name()))?;
        let logical_pages = tally.footprint.pages();
        debug_assert_eq!(tally.requests, trace.requests());
        Ok(tally.summary(trace.name(), Some(trace), logical_pages))
    }

    /// Counts the requests of a workload. Pages are whole: a request that covers a page in part counts as covering it
    /// in full, as [`generate`](crate::workload::generate()) writes it.
    ///
    /// # Errors
    /// The workload cannot run on such a drive, or a limit on memory is reached.
    pub fn of_workload(
        workload: &Workload,
        extent: &WorkloadExtent,
        options: &InfoOptions,
    ) -> Result<Self, TraceError> {
        let mut tally = Tally::new(options)?;
        let page_bytes = u64::from(options.page_bytes);
        let WorkloadExtent { logical_pages, seed, pages_written } = *extent;
        crate::workload::check_drive(logical_pages, options.page_bytes)?;
        let until = match pages_written {
            None if workload.ends() => u64::MAX,
            pages => pages.unwrap_or(logical_pages.saturating_mul(DRIVES_WRITTEN)),
        };
        let mut source = workload.source(logical_pages, options.page_bytes, seed);
        let (mut begin_ns, mut trimmed) = (None, 0u64);
        while let Some(request) = source.next_request()? {
            if request.op == Op::Trim {
                trimmed = trimmed.saturating_add(request.pages.into());
            }
            tally.add(&Request {
                time_ns: request.at_ns - *begin_ns.get_or_insert(request.at_ns),
                device: 0,
                op: request.op,
                offset_bytes: request.first * page_bytes,
                size_bytes: u64::from(request.pages) * page_bytes,
                handle: request.handle,
            })?;
            let written = tally.writes.pages;
            if written >= until || (written == 0 && tally.reads.pages.saturating_add(trimmed) >= until) {
                break;
            }
        }
        tally.footprint.finish()?;
        Ok(tally.summary(&workload.to_string(), None, logical_pages))
    }
}

impl Tally {
    fn new(options: &InfoOptions) -> Result<Self, TraceError> {
        crate::fold::check_page_bytes(options.page_bytes)?;
        Ok(Tally {
            page_bytes: options.page_bytes,
            requests: 0,
            footprint: Footprint::new(options.page_bytes)?,
            devices: BTreeMap::new(),
            reads: Direction::default(),
            writes: Direction::default(),
            updates: updates::Counter::default(),
            places: places::Counter::new(options.page_bytes),
            lifetimes: Counter::after(options.warmup_pages),
            trims: 0,
            flushes: 0,
            trimmed_bytes: 0,
            clock: Clock::default(),
            unique_written: 0,
            held: 0,
        })
    }

    fn add(&mut self, request: &Request) -> Result<(), TraceError> {
        let page = u64::from(self.page_bytes);
        self.requests += 1;
        self.clock.take(request.time_ns);
        self.footprint.add(request)?;
        if matches!(request.op, Op::Read | Op::Write) {
            self.places.add(self.requests - 1, request);
        }
        let device = self.devices.entry(request.device).or_default();
        match request.op {
            Op::Flush => {
                self.flushes += 1;
                return Ok(());
            }
            Op::Trim => {
                self.trims += 1;
                self.trimmed_bytes = self.trimmed_bytes.saturating_add(request.size_bytes);
                let after = (request.offset_bytes + request.size_bytes) / page;
                let first = request.offset_bytes.div_ceil(page);
                device.written.trim(first..after, self.writes.pages, &mut self.lifetimes);
            }
            Op::Read => self.reads.add(request, page, &mut device.last_read_end),
            Op::Write => {
                let begun = self.writes.pages;
                self.writes.add(request, page, &mut device.last_write_end);
                let first = request.offset_bytes / page;
                let held = device.written.entries();
                let new = device.written.write(first..first + self.writes.pages - begun, begun, &mut self.lifetimes);
                self.unique_written += new;
                self.held = (self.held + device.written.entries()).saturating_sub(held);
                self.updates.add(self.writes.pages - begun, new);
                if self.held > UNIQUE_PAGES_MAX {
                    let what = format!(
                        "over {UNIQUE_PAGES_MAX} different pages of {page} bytes are written, too many to count; larger pages would be right"
                    );
                    return Err(TraceError::Option(what));
                }
            }
        }
        let low = device.lowest_byte.get_or_insert(request.offset_bytes);
        *low = request.offset_bytes.min(*low);
        device.highest_byte = device.highest_byte.max(request.offset_bytes + request.size_bytes);
        Ok(())
    }

    fn summary(self, file: &str, trace: Option<&TraceFile>, logical_pages: u64) -> TraceInfo {
        let Tally { reads, writes, devices, unique_written, .. } = self;
        let page = u64::from(self.page_bytes);
        let unique_pages = self.footprint.pages();
        let input = trace.map(TraceFile::report);
        let highest_byte = devices.values().map(|device| device.highest_byte).max().unwrap_or(0);
        let span = |device: &DeviceState| device.highest_byte - device.lowest_byte.unwrap_or(device.highest_byte);
        TraceInfo {
            file: file.to_owned(),
            format: trace.map(TraceFile::format),
            page_bytes: self.page_bytes,
            requests: self.requests,
            reads: reads.requests,
            writes: writes.requests,
            trims: self.trims,
            flushes: self.flushes,
            read_bytes: reads.bytes,
            written_bytes: writes.bytes,
            trimmed_bytes: self.trimmed_bytes,
            pages_read: reads.pages,
            pages_written: writes.pages,
            unique_pages_written: unique_written,
            unique_pages,
            logical_pages,
            written_footprint_bytes: unique_written * page,
            footprint_bytes: unique_pages * page,
            overwrite_ratio: share(writes.pages, unique_written),
            writes_per_logical_page: share(writes.pages, logical_pages),
            duration_ns: self.clock.duration_ns(),
            // Of a trace in the order of the file, which sorting loses.
            times_backwards: input.as_ref().map_or(self.clock.steps_back, |read| read.back_in_time),
            devices: devices.len() as u64,
            span_bytes: devices.values().map(span).fold(0, u64::saturating_add),
            highest_byte,
            unaligned_read_share: share(reads.unaligned, reads.requests),
            unaligned_write_share: share(writes.unaligned, writes.requests),
            sequential_read_share: share(reads.sequential, reads.requests),
            sequential_write_share: share(writes.sequential, writes.requests),
            read_sizes: reads.sizes.summary(reads.bytes),
            write_sizes: writes.sizes.summary(writes.bytes),
            write_updates: self.updates.summary(),
            places: self.places.summary(self.requests, highest_byte),
            lifetimes: self.lifetimes.summary(devices.values().map(|device| device.written.live()).sum()),
            skipped: trace.map(|trace| trace.skipped().clone()).unwrap_or_default(),
            input,
        }
    }
}
