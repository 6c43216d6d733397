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
    /// How many requests, at least 1.
    pub requests: u64,
    /// The drive's size in pages.
    pub logical_pages: u64,
    /// Page size in bytes: a power of two from 512 to 1 MiB.
    pub page_bytes: u32,
    /// Seed of the workload.
    pub seed: u64,
    /// Time from each request to the next, in nanoseconds.
    pub interval_ns: u64,
}

/// Writes the first requests of a workload as own CSV. Pages are whole: a request that covers a page in
/// part is written as covering it in full.
///
/// # Errors
/// The workload cannot run on such a drive, an option is impossible, or the output cannot be written.
pub fn generate(workload: &Workload, options: &GenerateOptions, out: impl Write) -> Result<Written, TraceError> {
    crate::fold::check_page_bytes(options.page_bytes)?;
    let page_bytes = u64::from(options.page_bytes);
    if options.requests == 0 {
        return Err(TraceError::Option("a trace of 0 requests cannot be, 1 or more would be right".to_owned()));
    }
    if options.logical_pages > (1 << 63) / page_bytes {
        let what = format!("{} pages of {page_bytes} bytes are over 2^63 bytes", options.logical_pages);
        return Err(TraceError::Option(what));
    }
    let mut source = workload.source(options.logical_pages, options.page_bytes, options.seed);
    let mut writer = Writer::new(out, Format::Csv, &WriteOptions::default())?;
    for number in 0..options.requests {
        let Some(request) = source.next_request()? else { break };
        let flush = request.op == Op::Flush;
        writer.write(&Request {
            time_ns: number.saturating_mul(options.interval_ns),
            device: 0,
            op: request.op,
            offset_bytes: if flush { 0 } else { request.first * page_bytes },
            size_bytes: u64::from(request.pages) * page_bytes,
        })?;
    }
    let written = writer.finish()?;
    assert_eq!(written.requests, options.requests, "a workload ended");
    Ok(written)
}
