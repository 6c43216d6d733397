//! A workload as a trace file, in Phelsuma's own CSV.

use std::io::Write;

use super::Workload;
use crate::TraceError;
use crate::convert::{WriteOptions, Writer, Written};
use crate::format::Format;
use crate::request::{Op, Request, Source};

/// What to generate.
#[derive(Debug, Clone, Copy)]
pub struct GenerateOptions {
    /// How many requests, at least 1; none are all of a workload that ends.
    pub requests: Option<u64>,
    /// The drive's size in pages.
    pub logical_pages: u64,
    /// Page size in bytes: a power of two from 512 to 1 MiB.
    pub page_bytes: u32,
    /// Seed of the workload.
    pub seed: u64,
    /// Time from each request to the next, in nanoseconds; none are the workload's own times, and [`INTERVAL_NS`] where
    /// it has none.
    pub interval_ns: Option<u64>,
}

/// From each request to the next, in nanoseconds, by default.
pub const INTERVAL_NS: u64 = 100_000;

/// Writes the first requests of a workload as own CSV. Pages are whole: a request that covers a page in
/// part is written as covering it in full.
///
/// # Errors
/// The workload cannot run on such a drive, an option is impossible, or the output cannot be written.
pub fn generate(workload: &Workload, options: &GenerateOptions, out: impl Write) -> Result<Written, TraceError> {
    crate::fold::check_page_bytes(options.page_bytes)?;
    let page_bytes = u64::from(options.page_bytes);
    if options.requests.is_none() && !workload.ends() {
        return Err(TraceError::Option(format!("{workload} never ends, a number of requests would be right")));
    }
    if options.requests == Some(0) {
        return Err(TraceError::Option("a trace of 0 requests cannot be, 1 or more would be right".to_owned()));
    }
    check_drive(options.logical_pages, options.page_bytes)?;
    let mut source = workload.source(options.logical_pages, options.page_bytes, options.seed);
    let handles = workload.has_handles();
    let mut writer = Writer::new(out, Format::Csv, &WriteOptions { handles, ..WriteOptions::default() })?;
    let mut number = 0u64;
    while options.requests != Some(number) {
        let Some(request) = source.next_request()? else { break };
        let flush = request.op == Op::Flush;
        writer.write(&Request {
            time_ns: match options.interval_ns {
                None if workload.is_timed() => request.at_ns,
                interval_ns => number.saturating_mul(interval_ns.unwrap_or(INTERVAL_NS)),
            },
            device: 0,
            op: request.op,
            offset_bytes: if flush { 0 } else { request.first * page_bytes },
            size_bytes: u64::from(request.pages) * page_bytes,
            handle: request.handle,
        })?;
        number += 1;
    }
    if let Some(wanted) = options.requests.filter(|&wanted| number < wanted) {
        return Err(TraceError::Option(format!(
            "{workload} ends after {number} requests, no more than these instead of {wanted} would be right"
        )));
    }
    writer.finish()
}

/// Whether a drive of so many pages can be addressed in bytes.
pub(crate) fn check_drive(logical_pages: u64, page_bytes: u32) -> Result<(), TraceError> {
    if logical_pages > (1 << 63) / u64::from(page_bytes.max(1)) {
        let what = format!("{logical_pages} pages of {page_bytes} bytes are over 2^63 bytes");
        return Err(TraceError::Option(what));
    }
    Ok(())
}
