//! A drive in simulated time: requests go in, complete at a moment, and are counted.

use crate::config::{Arrival, RunError};
use crate::result::{HostCounts, Latencies, Latency};
use hdrhistogram::Histogram;
use phelsuma_ftl::{Config, Ftl, FtlError, Hint, HostData, HostPage, RecoveryReport, WriteRequest, format, recover};
use phelsuma_nand::{LogicalPage, Purpose, SimNand, Time};
use phelsuma_trace::{Op, PageRequest};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A drive: flash, FTL, and a host with some requests in progress.
pub struct Drive {
    nand: SimNand,
    ftl: Box<dyn Ftl<SimNand>>,
    config: Config,
    host: Host,
    counts: HostCounts,
    latencies: Recorder,
    unreadable_pages: u64,
}

/// When the host sends its next request.
enum Host {
    /// One at a time.
    Serial { free: Time },
    /// So many at a time: when each of them completes.
    Queue { depth: usize, in_progress: BinaryHeap<Reverse<Time>>, last: Time },
    /// By timestamps, from an origin on.
    Clock { origin: Time, latest: Time, last: Time },
}

impl Host {
    fn new(arrival: Arrival, from: Time) -> Self {
        match arrival {
            Arrival::QueueDepth(0 | 1) => Self::Serial { free: from },
            Arrival::QueueDepth(depth) => Self::Queue {
                depth: depth as usize,
                in_progress: BinaryHeap::with_capacity(depth as usize),
                last: from,
            },
            Arrival::Timestamps => Self::Clock { origin: from, latest: from, last: from },
        }
    }

    /// The moment the next request arrives; `timestamp` is its own, in nanoseconds.
    #[inline]
    fn arrival(&mut self, timestamp: u64) -> Time {
        match self {
            Self::Serial { free } => *free,
            Self::Queue { depth, in_progress, last } => {
                if in_progress.len() < *depth {
                    // The queue is being filled: everything so far began at once.
                    return if in_progress.is_empty() {
                        *last
                    } else {
                        Time(last.0.min(in_progress.peek().map_or(0, |t| t.0.0)))
                    };
                }
                in_progress.pop().map_or(*last, |t| t.0)
            }
            Self::Clock { origin, latest, .. } => {
                // Recorded clocks jump back; requests are served in the order of the trace.
                *latest = (*latest).max(*origin + timestamp);
                *latest
            }
        }
    }

    #[inline]
    fn completed(&mut self, done: Time) {
        match self {
            Self::Serial { free } => *free = done,
            Self::Queue { in_progress, last, .. } => {
                in_progress.push(Reverse(done));
                *last = (*last).max(done);
            }
            Self::Clock { last, .. } => *last = (*last).max(done),
        }
    }

    /// When everything has completed.
    fn idle(&self) -> Time {
        match self {
            Self::Serial { free } => *free,
            Self::Queue { last, .. } | Self::Clock { last, .. } => *last,
        }
    }
}

/// Latencies, in nanoseconds, to three digits.
struct Recorder {
    read: Histogram<u64>,
    write: Histogram<u64>,
}

/// The longest latency told apart from longer ones: 13 days, in nanoseconds.
const LATENCY_NS_MAX: u64 = 1 << 50;

impl Recorder {
    fn new() -> Self {
        let empty = || match Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3) {
            Ok(histogram) => histogram,
            Err(_) => unreachable!("these bounds are good ones"),
        };
        Self { read: empty(), write: empty() }
    }

    fn results(&self) -> Latencies {
        Latencies { read: latency(&self.read), write: latency(&self.write) }
    }
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    if histogram.is_empty() {
        return Latency::default();
    }
    let us = |ns: u64| ns as f64 / 1e3;
    Latency {
        mean: histogram.mean() / 1e3,
        p50: us(histogram.value_at_quantile(0.5)),
        p99: us(histogram.value_at_quantile(0.99)),
        p999: us(histogram.value_at_quantile(0.999)),
        max: us(histogram.max()),
    }
}

/// What an FTL's refusal means for a run.
pub(crate) fn run_error(error: FtlError) -> RunError {
    match error {
        FtlError::DoesNotFit { .. } => RunError::Input(error.to_string()),
        _ => RunError::Failed(error.to_string()),
    }
}

impl Drive {
    /// Formats `nand` and waits for that.
    ///
    /// # Errors
    /// [`RunError::Input`] where the FTL does not fit the flash.
    pub fn format(mut nand: SimNand, config: &Config, arrival: Arrival) -> Result<Self, RunError> {
        let (ftl, ready) = format(&mut nand, config, Time::ZERO).map_err(run_error)?;
        Ok(Self {
            nand,
            ftl,
            config: config.clone(),
            host: Host::new(arrival, ready),
            counts: HostCounts::default(),
            latencies: Recorder::new(),
            unreadable_pages: 0,
        })
    }

    /// The flash.
    pub fn nand(&self) -> &SimNand {
        &self.nand
    }

    /// The FTL.
    pub fn ftl(&self) -> &dyn Ftl<SimNand> {
        self.ftl.as_ref()
    }

    /// When everything asked so far has completed.
    pub fn idle(&self) -> Time {
        self.host.idle()
    }

    /// What was asked since counting began.
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// Pages that could not be read since the drive was made.
    pub fn unreadable_pages(&self) -> u64 {
        self.unreadable_pages
    }

    /// Latencies since counting began.
    pub fn latencies(&self) -> Latencies {
        self.latencies.results()
    }

    /// Waits until the drive is idle, then counts from zero, with requests arriving as `arrival` says.
    pub fn begin_counting(&mut self, arrival: Arrival) {
        self.host = Host::new(arrival, self.host.idle());
        self.counts = HostCounts::default();
        self.latencies = Recorder::new();
    }

    /// Hands one request to the FTL and notes its completion.
    ///
    /// # Errors
    /// [`RunError::Failed`]: the FTL refuses, which on a drive that was formatted and a request within it is a failure.
    #[inline]
    pub fn submit(&mut self, request: &PageRequest) -> Result<(), RunError> {
        let at = self.host.arrival(request.at_ns);
        let done = self.serve(request, at).map_err(run_error)?;
        self.counts.requests += 1;
        self.host.completed(done);
        let taken = (done.0 - at.0).min(LATENCY_NS_MAX);
        match request.op {
            Op::Read => self.latencies.read.saturating_record(taken),
            Op::Write => self.latencies.write.saturating_record(taken),
            Op::Trim | Op::Flush => {}
        }
        Ok(())
    }

    #[inline]
    fn serve(&mut self, request: &PageRequest, at: Time) -> Result<Time, FtlError> {
        let first = LogicalPage(u32::try_from(request.first).unwrap_or(u32::MAX));
        let pages = request.pages;
        match request.op {
            Op::Write => {
                let mut at = at;
                if request.partial_first || request.partial_last {
                    at = self.read_partial(request, first, at)?;
                }
                self.counts.write_pages += u64::from(pages);
                let write = WriteRequest { first, pages, data: HostData::Hollow(0), hint: Hint::None };
                self.ftl.write(&mut self.nand, &write, at)
            }
            Op::Read => {
                self.counts.read_pages += u64::from(pages);
                self.read(first, pages, Purpose::Host, at)
            }
            Op::Trim => {
                self.counts.trim_pages += u64::from(pages);
                self.ftl.trim(&mut self.nand, first, pages, at)
            }
            Op::Flush => self.ftl.flush(&mut self.nand, at),
        }
    }

    /// Reads the pages of which a write changes only a part.
    #[inline(never)]
    fn read_partial(&mut self, request: &PageRequest, first: LogicalPage, at: Time) -> Result<Time, FtlError> {
        let mut ready = at;
        if request.partial_first {
            self.counts.partial_pages += 1;
            ready = ready.max(self.read(first, 1, Purpose::Rmw, at)?);
        }
        if request.partial_last && request.pages > 1 {
            self.counts.partial_pages += 1;
            let last = LogicalPage(first.0 + (request.pages - 1));
            ready = ready.max(self.read(last, 1, Purpose::Rmw, at)?);
        }
        Ok(ready)
    }

    fn read(&mut self, first: LogicalPage, pages: u32, cause: Purpose, at: Time) -> Result<Time, FtlError> {
        let mut unreadable = 0;
        let mut sink = |_: LogicalPage, page: HostPage<'_>| unreadable += u64::from(page == HostPage::Unreadable);
        let done = self.ftl.read(&mut self.nand, first, pages, cause, at, &mut sink)?;
        self.unreadable_pages += unreadable;
        Ok(done)
    }

    /// Cuts the power while nothing is in progress, and brings the drive up again.
    ///
    /// # Errors
    /// [`RunError::Failed`]: it does not come up.
    pub fn cut_and_recover(&mut self) -> Result<RecoveryReport, RunError> {
        self.nand.power_cycle();
        let (ftl, report) = recover(&mut self.nand, &self.config, Time::ZERO).map_err(run_error)?;
        self.ftl = ftl;
        self.host = Host::new(Arrival::QueueDepth(1), report.done);
        Ok(report)
    }
}
