//! A trace that is dropped on the page: a file's bytes become requests in memory.

use crate::settings::Settings;
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Columns, Fold, InputReport, OpenOptions, PageSource, Requests, Source, TraceOrigin, reader_from};
use serde_json::{Value, json};
use std::io::Cursor;
use std::sync::Arc;

/// The most bytes of a file.
pub(crate) const BYTES_MAX: usize = 2 << 20;

/// The most requests: a packed file may have many.
const REQUESTS_MAX: usize = 1 << 18;

/// A trace.
#[derive(PartialEq, Debug)]
pub(crate) struct Trace {
    name: String,
    requests: Arc<Requests>,
    report: InputReport,
}

impl Trace {
    /// Reads a file of any format that is known by its content, plain or compressed.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > BYTES_MAX {
            return Err(format!("{name} is over {} MiB, which is the most that this page reads", BYTES_MAX >> 20));
        }
        let file = reader_from(Cursor::new(bytes.to_vec()), name, &OpenOptions::default());
        let mut file = file.map_err(|error| wrong(&error.to_string()))?;
        let mut columns = Columns {
            time_ns: Some(Vec::new()),
            device: Some(Vec::new()),
            handle: Some(Vec::new()),
            ..Default::default()
        };
        for request in file.by_ref() {
            let request = request.map_err(|error| wrong(&error.to_string()))?;
            if columns.op.len() == REQUESTS_MAX {
                return Err(format!(
                    "{name} has over {REQUESTS_MAX} requests, which are the most that this page takes"
                ));
            }
            columns.op.push(request.op.code());
            columns.offset_bytes.push(request.offset_bytes);
            columns.size_bytes.push(request.size_bytes);
            columns.time_ns.get_or_insert_default().push(request.time_ns);
            columns.device.get_or_insert_default().push(request.device);
            columns.handle.get_or_insert_default().push(request.handle);
        }
        let report = file.report();
        let requests = Requests::new(name, columns).map_err(|error| error.to_string())?;
        Ok(Self { name: name.into(), requests: Arc::new(requests), report })
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its page requests on so many pages, as `--fold wrap` has them.
    pub(crate) fn source(&self, logical_pages: u32, page_bytes: u32) -> Result<PageSource, String> {
        let origin = TraceOrigin::Memory { requests: Arc::clone(&self.requests), options: OpenOptions::default() };
        let fold = Fold::Wrap { logical_pages: logical_pages.into() };
        let source = PageSource::from_origin(&origin, FoldOptions { page_bytes, fold, loops: 1 });
        source.map_err(|error| error.to_string())
    }

    /// Requests of the trace that so many page requests are of: one that wraps, or of which nothing is left, is not one.
    pub(crate) fn requests_of(&self, page_requests: u64, logical_pages: u32, settings: &Settings) -> u64 {
        let Ok(mut source) = self.source(logical_pages, settings.page_bytes) else { return 0 };
        for _ in 0..page_requests {
            let Ok(Some(_)) = source.next_request() else { break };
        }
        source.counts().read
    }

    /// What was read.
    pub(crate) fn told(&self) -> Value {
        let report = &self.report;
        let read = report.files.first().map(|file| (file.format.to_string(), file.assumed.clone()));
        let (format, assumed) = read.unwrap_or_default();
        json!({
            "name": self.name,
            "requests": report.requests,
            "format": format,
            "left_out": report.left_out.total(),
            "doubts": assumed.iter().chain(&report.warnings).filter_map(|doubt| without_options(doubt)).collect::<Vec<String>>(),
        })
    }
}

/// What is wrong with a file. The page has no options of the command: it says what it has instead.
fn wrong(error: &str) -> String {
    match without_options(error) {
        Some(kept) if kept == error => kept,
        kept => {
            let kept = kept.unwrap_or_else(|| "no format is known that has such lines".into());
            format!("{kept}; a heading such as time_us,op,offset_bytes,size_bytes would be understood")
        }
    }
}

/// What is said without the advice to give an option; none if nothing else is said.
fn without_options(said: &str) -> Option<String> {
    let kept = said.split("; ").filter_map(|clause| {
        let is_option = |at: &usize| clause[at + 2..].starts_with(|letter: char| letter.is_ascii_lowercase());
        let Some(at) = clause.match_indices("--").map(|(at, _)| at).find(is_option) else { return Some(clause) };
        let end = [", ", ": "].iter().filter_map(|between| clause[..at].rfind(between)).max()?;
        Some(&clause[..end])
    });
    let kept: Vec<&str> = kept.collect();
    (!kept.is_empty()).then(|| kept.join("; "))
}
