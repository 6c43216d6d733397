//! A trace as a source of page requests, in two passes.
//!
//! The first collects the footprint or the devices. The second (and as many more as there are loops) emits.

use std::path::Path;

use super::numbering::Numbering;
use super::pages::{PageRange, pages_of};
use super::{DropReason, Fold, FoldCounts, Footprint};
use crate::TraceError;
use crate::memory::TraceOrigin;
use crate::options::OpenOptions;
use crate::reader::TraceFile;
use crate::report::InputReport;
use crate::request::{Op, PageRequest, Request, Source};

/// How to fold.
#[derive(Debug, Clone, Copy)]
pub struct FoldOptions {
    /// Page size in bytes: a power of two from 512 to 1 MiB.
    pub page_bytes: u32,
    /// Which folding.
    pub fold: Fold,
    /// How often the trace is run, at least once. Each loop goes on in time where the one before ended.
    pub loops: u64,
}

impl Default for FoldOptions {
    fn default() -> Self {
        FoldOptions { page_bytes: 4096, fold: Fold::Compact, loops: 1 }
    }
}

/// Opens the trace anew for each pass.
pub type Opener = Box<dyn FnMut() -> Result<TraceFile, TraceError> + Send>;

enum Plan {
    Compact(Numbering),
    /// Devices, ascending; each wraps within its slice.
    Wrap(Vec<u32>),
}

/// A folded trace. Yields page requests in the order of the file; like the recorded clock, their times
/// may go backwards.
pub struct PageSource {
    opener: Opener,
    options: FoldOptions,
    plan: Plan,
    name: String,
    report: InputReport,
    /// The trace's earliest time.
    begin_ns: u64,
    logical_pages: u64,
    devices: usize,
    requests_per_loop: u64,
    trace: Option<TraceFile>,
    loops_begun: u64,
    /// Where this loop's time starts, and the latest time emitted, in nanoseconds.
    loop_start_ns: u64,
    latest_ns: u64,
    pieces: Option<Pieces>,
    counts: FoldCounts,
}

impl std::fmt::Debug for PageSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSource")
            .field("options", &self.options)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl PageSource {
    /// Opens a trace and makes the first pass over it.
    ///
    /// # Errors
    /// The trace cannot be read to its end, the footprint is over a limit, or an option is impossible.
    pub fn open(path: impl AsRef<Path>, open: &OpenOptions, options: FoldOptions) -> Result<Self, TraceError> {
        let (path, open) = (path.as_ref().to_path_buf(), open.clone());
        Self::from_opener(Box::new(move || TraceFile::open(&path, &open)), options)
    }

    /// The same wherever the trace comes from.
    ///
    /// # Errors
    /// As [`PageSource::open`].
    pub fn from_origin(origin: &TraceOrigin, options: FoldOptions) -> Result<Self, TraceError> {
        let origin = origin.clone();
        Self::from_opener(Box::new(move || origin.open()), options)
    }

    /// The same over any way of opening a trace.
    ///
    /// # Errors
    /// As [`PageSource::open`].
    pub fn from_opener(mut opener: Opener, options: FoldOptions) -> Result<Self, TraceError> {
        super::check_page_bytes(options.page_bytes)?;
        if options.loops == 0 {
            return Err(TraceError::Option("0 loops cannot be, 1 or more would be right".to_owned()));
        }
        let mut trace = opener()?;
        let mut footprint = Footprint::new(options.page_bytes)?;
        let collected = trace.try_for_each(|request| {
            let mut request = request?;
            if matches!(options.fold, Fold::Wrap { .. }) {
                // Only the devices matter.
                request.op = Op::Flush;
            }
            footprint.add(&request)
        });
        collected.and_then(|()| footprint.finish()).map_err(|error| error.about(trace.name()))?;
        let requests_per_loop = footprint.requests();
        let devices: Vec<u32> = footprint.devices().collect();
        let device_count = devices.len();
        let (plan, logical_pages) = match options.fold {
            Fold::Compact => {
                let pages = footprint.pages();
                (Plan::Compact(footprint.numbering()), pages)
            }
            Fold::Wrap { logical_pages } if logical_pages < device_count as u64 => {
                let what = format!(
                    "{device_count} devices do not fit a drive of {logical_pages} pages, one page each at least would be right"
                );
                return Err(TraceError::Option(what));
            }
            Fold::Wrap { logical_pages } => (Plan::Wrap(devices), logical_pages),
        };
        Ok(PageSource {
            opener,
            options,
            plan,
            name: trace.name().to_owned(),
            report: trace.report(),
            begin_ns: trace.earliest_ns(),
            logical_pages,
            devices: device_count,
            requests_per_loop,
            trace: None,
            loops_begun: 0,
            loop_start_ns: 0,
            latest_ns: 0,
            pieces: None,
            counts: FoldCounts::default(),
        })
    }

    /// Every page request is below this page: the footprint in pages (compact), or the drive's size
    /// (wrap).
    #[must_use]
    pub fn logical_pages(&self) -> u64 {
        self.logical_pages
    }

    /// How many devices the trace has.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// Requests of the trace in one loop.
    #[must_use]
    pub fn requests_per_loop(&self) -> u64 {
        self.requests_per_loop
    }

    /// The loop that the last page request belongs to, from 1; 0 before the first.
    #[must_use]
    pub fn loop_number(&self) -> u64 {
        self.loops_begun
    }

    /// The trace's name, as errors show it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What one pass over the trace read.
    #[must_use]
    pub fn report(&self) -> &InputReport {
        &self.report
    }

    /// The books so far.
    #[must_use]
    pub fn counts(&self) -> &FoldCounts {
        &self.counts
    }

    fn next_of_trace(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            if let Some(trace) = &mut self.trace {
                if let Some(request) = trace.next() {
                    return request.map(Some);
                }
                if trace.requests() != self.requests_per_loop {
                    return Err(self.changed());
                }
                self.trace = None;
            }
            self.counts.assert_balanced();
            if self.loops_begun == self.options.loops {
                return Ok(None);
            }
            self.loops_begun += 1;
            self.loop_start_ns = self.latest_ns;
            self.trace = Some((self.opener)()?);
        }
    }

    fn changed(&self) -> TraceError {
        let what = "the trace changed between two passes over it, it must stay as it is while it runs";
        TraceError::file(&self.name.as_str().into(), what)
    }

    /// Begins a request: the part of it that is to be emitted, or why nothing is.
    fn fold(&mut self, request: &Request) -> Result<Result<Pieces, DropReason>, TraceError> {
        let since_begin = request.time_ns.saturating_sub(self.begin_ns);
        let at_ns = self.loop_start_ns.saturating_add(since_begin);
        self.latest_ns = self.latest_ns.max(at_ns);
        let flush = Pieces {
            at_ns,
            op: request.op,
            next: 0,
            left: 0,
            slice: (0, 0),
            partial_first: false,
            partial_last: false,
            flush: true,
            handle: request.handle,
        };
        if request.op == Op::Flush {
            return Ok(Ok(flush));
        }
        let Some(range) = pages_of(request, self.options.page_bytes) else {
            return Ok(Err(DropReason::TrimWithoutWholePage));
        };
        let PageRange { partial_first, partial_last, .. } = range;
        let (next, left, slice) = match &mut self.plan {
            Plan::Compact(numbering) if request.op == Op::Trim => {
                let (first, pages) = numbering.part(request.device, &range);
                if pages == 0 {
                    return Ok(Err(DropReason::TrimOutsideFootprint));
                }
                (first, pages, (0, self.logical_pages))
            }
            Plan::Compact(numbering) => match numbering.whole(request.device, &range) {
                Some(first) => (first, range.pages, (0, self.logical_pages)),
                None => return Err(self.changed()),
            },
            Plan::Wrap(devices) => match devices.binary_search(&request.device) {
                Err(_) => return Err(self.changed()),
                Ok(index) => {
                    let slice = slice(index as u64, devices.len() as u64, self.logical_pages);
                    let size = slice.1 - slice.0;
                    // To trim the slice once is to trim it; a write over all of it and more writes more.
                    let whole = request.op == Op::Trim && range.pages >= size;
                    let next = if whole { slice.0 } else { slice.0 + range.first % size };
                    (next, if whole { size } else { range.pages }, slice)
                }
            },
        };
        Ok(Ok(Pieces { next, left, slice, partial_first, partial_last, flush: false, ..flush }))
    }
}

/// The `index`-th of `count` nearly equal slices of a drive: (first page, page after the last).
fn slice(index: u64, count: u64, pages: u64) -> (u64, u64) {
    let begin = |index: u64| (u128::from(index) * u128::from(pages) / u128::from(count)) as u64;
    (begin(index), begin(index + 1))
}

impl Source for PageSource {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        loop {
            if let Some(pieces) = &mut self.pieces {
                if let Some(piece) = pieces.next_piece() {
                    self.counts.page_requests += 1;
                    self.counts.partial_pages += u64::from(piece.partial_first) + u64::from(piece.partial_last);
                    return Ok(Some(piece));
                }
                self.pieces = None;
            }
            let Some(request) = self.next_of_trace()? else { return Ok(None) };
            let folded = self.fold(&request)?;
            self.counts.read += 1;
            match folded {
                Ok(pieces) => {
                    self.counts.emitted += 1;
                    self.pieces = Some(pieces);
                }
                Err(reason) => self.counts.drop_one(reason),
            }
        }
    }
}

/// The rest of one request.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    at_ns: u64,
    op: Op,
    next: u64,
    left: u64,
    /// Pages wrap from the end of the slice to its beginning.
    slice: (u64, u64),
    partial_first: bool,
    partial_last: bool,
    flush: bool,
    handle: u8,
}

impl Pieces {
    fn next_piece(&mut self) -> Option<PageRequest> {
        let Pieces { at_ns, op, next, .. } = *self;
        if self.flush {
            self.flush = false;
            return Some(PageRequest {
                at_ns,
                op,
                first: 0,
                pages: 0,
                partial_first: false,
                partial_last: false,
                handle: self.handle,
            });
        }
        if self.left == 0 {
            return None;
        }
        let room = self.slice.1 - next;
        let pages = self.left.min(room).min(u64::from(u32::MAX));
        self.left -= pages;
        self.next = if pages == room { self.slice.0 } else { next + pages };
        let begins = std::mem::take(&mut self.partial_first);
        let ends = self.left == 0 && self.partial_last;
        let one = pages == 1;
        Some(PageRequest {
            at_ns,
            op,
            first: next,
            pages: pages as u32,
            partial_first: begins || (one && ends),
            partial_last: !one && ends,
            handle: self.handle,
        })
    }
}
