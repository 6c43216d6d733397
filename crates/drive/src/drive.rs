//! A drive in simulated time: requests go in, complete at a moment, and are counted.

use crate::arrivals::Arrivals;
use crate::config::{Arrival, RunError, input_error};
use crate::distributions::{Watch, extent_pages_mean};
use crate::fit::does_not_fit;
use crate::holdings::{Differences, Holdings};
use crate::latency::LatencyHistogram;
use crate::link::{Link, LinkState};
use crate::lookahead::Lookahead;
use crate::result::{Distributions, HostCounts, Latencies, TimeSpent};
use crate::saved::{Saved, Saver};
use crate::spent::{Moments, Spent};
use crate::told::Told;
use phelsuma_ftl::{
    Config, Finding, Ftl, FtlError, Hint, HostData, HostPage, RecoveryReport, Step, WriteRequest, format, recover,
};
use phelsuma_nand::sim::Readers;
use phelsuma_nand::state::{Load, Preserve};
use phelsuma_nand::{LogicalPage, Nand, Purpose, SimNand, Time};
use phelsuma_trace::{Op, PageRequest};

/// A drive: flash, FTL, and a host with some requests in progress.
pub struct Drive {
    nand: SimNand,
    ftl: Box<dyn Ftl<SimNand>>,
    config: Config,
    host: Arrivals,
    /// Firmware and link, if they take time.
    link: Option<LinkState>,
    /// When all requests so far have completed.
    idle: Time,
    counts: HostCounts,
    reads: LatencyHistogram,
    writes: LatencyHistogram,
    /// Where the time of requests goes, where it does not go to flash alone.
    spent: Spent,
    /// Latencies of reads and writes since the last point of a series, if they are wanted.
    of_interval: Option<[LatencyHistogram; 2]>,
    unreadable_pages: u64,
    /// The record that a recovery is compared with, if there is going to be one.
    holdings: Option<Holdings>,
    /// The hint for the FTL, if it is an oracle.
    told: Option<Told>,
    /// The observer of lifetimes and dormant periods, if there is one.
    watch: Option<Watch>,
}

/// The losses of a power cut, and the cost of the recovery.
pub struct PowerCut {
    /// Pages that a battery paid for.
    pub battery_programs: u64,
    /// Pages that lost their data, of an FTL that keeps only flushed writes.
    pub lost_pages: Option<u64>,
    /// The recovery.
    pub recovery: RecoveryReport,
}

/// What an FTL's refusal means for a run that has begun.
fn run_error(error: FtlError) -> RunError {
    RunError::Failed(error.to_string())
}

impl Drive {
    /// Formats `nand` and waits for that.
    ///
    /// # Errors
    /// [`RunError::Input`] where the FTL does not fit the flash.
    pub fn format(mut nand: SimNand, config: &Config, arrival: Arrival) -> Result<Self, RunError> {
        let (ftl, ready) = format(&mut nand, config, Time::ZERO).map_err(|error| match error {
            FtlError::DoesNotFit { .. } => RunError::Input(does_not_fit(Nand::geometry(&nand), config, &error)),
            FtlError::Unsupported(why) => RunError::Input(why.to_string()),
            _ => run_error(error),
        })?;
        Ok(Self {
            nand,
            ftl,
            config: config.clone(),
            host: Arrivals::new(arrival, ready),
            link: None,
            idle: ready,
            counts: HostCounts::default(),
            reads: LatencyHistogram::new(),
            writes: LatencyHistogram::new(),
            spent: Spent::default(),
            of_interval: None,
            unreadable_pages: 0,
            holdings: None,
            told: None,
            watch: None,
        })
    }

    /// On a drive just formatted, begins to observe how long pages live and how long blocks are dormant.
    #[must_use]
    pub fn watched(mut self) -> Self {
        self.watch = Some(Watch::on(&mut self.nand, self.ftl.shape().logical_pages));
        self
    }

    /// The observations since counting began, if there were to be any.
    pub fn distributions(&self) -> Option<Distributions> {
        let mut distributions = self.watch.as_ref()?.distributions();
        let extents = self.ftl.look_at_extents(&mut self.nand.clone());
        distributions.extent_pages_mean =
            extents.map(|looks| extent_pages_mean(&looks, self.ftl.shape().logical_pages));
        Some(distributions)
    }

    /// The power is going to be cut: on a drive just formatted, begins to note which logical pages hold data.
    #[must_use]
    pub fn to_be_cut(mut self) -> Self {
        self.holdings = Some(Holdings::none(self.ftl.shape().logical_pages));
        self
    }

    /// On a drive just formatted: no fault is going to meet it, and a power cut does if it is
    /// [to be cut](Self::to_be_cut). The simulation keeps what such a drive can be read for, and no more.
    #[must_use]
    pub(crate) fn without_faults(mut self) -> Self {
        let only_serves = self.holdings.is_none() && self.ftl.reports_stale();
        self.nand.expect(if only_serves { Readers::Service } else { Readers::Recovery });
        self
    }

    /// From now on the host's side of the drive takes time as well.
    #[must_use]
    pub(crate) fn behind(mut self, link: Option<Link>) -> Self {
        self.link = link.map(LinkState::new);
        self
    }

    /// The FTL gets this with each page that is written from now on.
    #[must_use]
    pub(crate) fn told(mut self, told: Told) -> Self {
        self.told = Some(told);
        self
    }

    /// The flash.
    pub fn nand(&self) -> &SimNand {
        &self.nand
    }

    /// The FTL.
    pub fn ftl(&self) -> &dyn Ftl<SimNand> {
        self.ftl.as_ref()
    }

    /// A request before what was saved of the drive: only what is not saved, since it follows from the requests.
    pub(crate) fn pass_over(&mut self, request: &PageRequest) {
        if let Some(holdings) = &mut self.holdings {
            holdings.note(request);
        }
        if let (Some(told), Op::Write) = (&mut self.told, request.op) {
            (0..request.pages).for_each(|index| {
                told.next((request.first + u64::from(index)) as u32);
            });
        }
    }

    /// Writes its state. `ended`: its requests came to an end.
    pub(crate) fn save(&mut self, mut saver: Saver, ended: bool) -> Result<(), RunError> {
        saver.put(|to| {
            ended.put_state(to)?;
            self.counts.requests.put_state(to)?;
            self.counts.write_pages.put_state(to)?;
            self.unreadable_pages.put_state(to)?;
            self.host.put_state(to)?;
            self.link.iter().try_for_each(|link| link.put_state(to))?;
            self.idle.put_state(to)?;
            self.nand.put_state(to)?;
            self.ftl.state()?.put_state(to)
        })?;
        saver.finish()
    }

    /// Becomes, just formatted and [passed over](Self::pass_over) its fill, the drive that was saved. Of `source` it
    /// takes as many requests as that one had served. Whether those came to an end.
    pub(crate) fn take_saved(&mut self, mut saved: Saved, source: &mut Lookahead<'_>) -> Result<bool, RunError> {
        let (ended, requests) = saved.take(|from| Ok((bool::load(from)?, u64::load(from)?)))?;
        for _ in 0..requests {
            let Some(request) = source.next(self).map_err(input_error)? else { break };
            self.pass_over(request);
        }
        saved.take(|from| {
            self.counts = HostCounts { requests, write_pages: u64::load(from)?, ..HostCounts::default() };
            self.unreadable_pages.take_state(from)?;
            self.host.take_state(from)?;
            self.link.iter_mut().try_for_each(|link| link.take_state(from))?;
            self.idle.take_state(from)?;
            self.nand.take_state(from)?;
            self.ftl.state()?.take_state(from)
        })?;
        Ok(ended)
    }

    /// Pages that its write cache and the units of its dies hold at the most: two full units a die, and one being filled.
    pub(crate) fn buffered_pages_max(&self) -> u64 {
        let unit = u64::from(self.nand.timing().unit_pages);
        let of_units = if unit > 1 { 3 * unit * u64::from(Nand::geometry(&self.nand).dies()) } else { 0 };
        of_units
            + self
                .config
                .write_cache
                .map_or(0, |cache| cache.bytes / u64::from(Nand::geometry(&self.nand).page_bytes()))
    }

    /// When all requests so far have completed.
    pub fn idle(&self) -> Time {
        self.idle
    }

    /// Whether a logical page holds data of the host's, where that is [noted](Self::to_be_cut).
    pub(crate) fn holds_data(&self, page: u32) -> bool {
        self.holdings.as_ref().is_some_and(|holdings| holdings.holds_data(page))
    }

    /// From the arrival of the last request to the completion of all, in nanoseconds; none where requests arrive as others
    /// complete.
    pub(crate) fn backlog_ns(&self) -> Option<u64> {
        self.host.latest().map(|latest| self.idle.0.saturating_sub(latest.0))
    }

    /// The requests since counting began.
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// Pages that could not be read since the drive was made.
    pub fn unreadable_pages(&self) -> u64 {
        self.unreadable_pages
    }

    /// Latencies since counting began.
    pub fn latencies(&mut self) -> Latencies {
        Latencies { read: self.reads.summary(), write: self.writes.summary() }
    }

    /// Whether it is noted where the time goes: it goes not to flash alone.
    pub(crate) fn is_metered(&self) -> bool {
        self.nand.is_metered()
    }

    /// Where the time since `began`, when counting began, went; none unless that is noted.
    pub(crate) fn time_spent(&self, began: Time) -> Option<TimeSpent> {
        self.spent.result(&self.nand, self.link.as_ref(), (began, self.idle))
    }

    /// From now on latencies are also kept by interval.
    pub(crate) fn keep_intervals(&mut self) {
        self.of_interval = Some([LatencyHistogram::of_interval(), LatencyHistogram::of_interval()]);
    }

    /// Read and write requests of the interval, if they are kept.
    pub(crate) fn interval_requests(&self) -> Option<[u64; 2]> {
        self.of_interval.as_ref().map(|[reads, writes]| [reads.count(), writes.count()])
    }

    /// Latencies of the interval, if they are kept.
    pub(crate) fn interval_latencies(&mut self) -> Option<Latencies> {
        let [reads, writes] = self.of_interval.as_mut()?;
        Some(Latencies { read: reads.summary(), write: writes.summary() })
    }

    /// The next interval begins.
    pub(crate) fn begin_interval(&mut self) {
        self.of_interval.iter_mut().flatten().for_each(LatencyHistogram::clear);
    }

    /// Latencies in nanoseconds of writes and of reads since counting began, to four digits, and how often each was.
    pub(crate) fn recorded_latencies(&mut self) -> [Vec<(u64, u64)>; 2] {
        [self.writes.recorded(), self.reads.recorded()]
    }

    /// Notes the counts of the trace that the requests came from: requests, and those of them that reach no page.
    pub(crate) fn count_trace(&mut self, requests: u64, without_whole_page: u64, outside_footprint: u64) {
        self.counts.trace_requests = requests;
        self.counts.dropped_trims_without_whole_page = without_whole_page;
        self.counts.dropped_trims_outside_footprint = outside_footprint;
    }

    /// Waits until the drive is idle, then counts from zero, with requests arriving as `arrival` says.
    pub fn begin_counting(&mut self, arrival: Arrival) {
        self.host = Arrivals::new(arrival, self.idle);
        self.count_from_zero();
    }

    /// Counts from zero, with requests arriving as before.
    pub(crate) fn count_from_zero(&mut self) {
        self.counts = HostCounts::default();
        self.reads = LatencyHistogram::new();
        self.writes = LatencyHistogram::new();
        self.spent = Spent::default();
        self.nand.work_from(self.idle);
        self.link.iter_mut().for_each(|link| link.work_from(self.idle));
        if let Some(watch) = &self.watch {
            watch.count_from_zero();
        }
    }

    /// Hands one request to the FTL and notes its completion.
    ///
    /// # Errors
    /// [`RunError::Failed`]: the FTL refuses, which on a drive that was formatted and a request within it is a failure.
    #[inline]
    pub fn submit(&mut self, request: &PageRequest) -> Result<(), RunError> {
        let at = self.host.arrive(request.at_ns);
        if self.ftl.due().is_some_and(|due| due <= at) {
            self.do_what_is_due(at).map_err(run_error)?;
        }
        let done = match self.is_metered() || self.link.is_some() {
            false => self.serve(request, at).map_err(run_error)?,
            true => self.serve_over_link(request, at).map_err(run_error)?,
        };
        if let Some(holdings) = &mut self.holdings {
            holdings.note(request);
        }
        self.counts.requests += 1;
        self.host.complete(done);
        self.idle = self.idle.max(done);
        let taken = done.0 - at.0;
        match request.op {
            Op::Read => self.reads.record(taken),
            Op::Write => self.writes.record(taken),
            Op::Trim | Op::Flush => {}
        }
        if self.of_interval.is_some() {
            self.record_of_interval(request.op, taken);
        }
        Ok(())
    }

    #[inline(never)]
    fn record_of_interval(&mut self, op: Op, taken: u64) {
        let Some([reads, writes]) = &mut self.of_interval else { return };
        match op {
            Op::Read => reads.record(taken),
            Op::Write => writes.record(taken),
            Op::Trim | Op::Flush => {}
        }
    }

    /// Serves a request that comes over the link, if there is one, and notes where its time goes.
    #[inline(never)]
    fn serve_over_link(&mut self, request: &PageRequest, arrived: Time) -> Result<Time, FtlError> {
        let taken = self.link.as_mut().map_or(arrived, |link| link.take(request, arrived));
        self.nand.take_host_page();
        let served = self.serve(request, taken)?;
        let last = self.nand.take_host_page().unwrap_or_default();
        let given = self.link.as_mut().map_or(served, |link| link.give(request, served));
        let link = self.link.as_ref().map(LinkState::link);
        self.spent.note(request, link, &Moments { arrived, taken, served, given, last });
        Ok(given)
    }

    /// The FTL's work before a request that arrives at `at`. Each step begins when it was due, and the request waits
    /// for what it keeps busy.
    #[inline(never)]
    fn do_what_is_due(&mut self, at: Time) -> Result<(), FtlError> {
        while let Some(due) = self.ftl.due().filter(|due| *due <= at) {
            match self.ftl.background_step(&mut self.nand, due)? {
                Step::Did(done) => self.idle = self.idle.max(done),
                Step::Nothing => break,
            }
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
                if self.told.is_some() {
                    return self.write_told(first, pages, at);
                }
                if request.handle != 0 {
                    return self.write_of_handle(first, pages, request.handle, at);
                }
                let write = WriteRequest { first, pages, data: HostData::Hollow(0), hint: Hint::None };
                self.ftl.write(&mut self.nand, &write, at)
            }
            Op::Read => {
                self.counts.read_pages += u64::from(pages);
                self.read(first, pages, Purpose::Host, at)
            }
            Op::Trim => {
                self.counts.trim_pages += u64::from(pages);
                if let Some(watch) = &self.watch {
                    watch.trim(first.0, pages);
                }
                self.ftl.trim(&mut self.nand, first, pages, at)
            }
            Op::Flush => self.ftl.flush(&mut self.nand, at),
        }
    }

    /// Writes with a placement handle. Apart, so that writes without one pass by a constant.
    #[inline(never)]
    fn write_of_handle(&mut self, first: LogicalPage, pages: u32, handle: u8, at: Time) -> Result<Time, FtlError> {
        let write = WriteRequest { first, pages, data: HostData::Hollow(0), hint: Hint::Handle(handle) };
        self.ftl.write(&mut self.nand, &write, at)
    }

    /// Writes page by page: each has a hint of its own.
    #[inline(never)]
    fn write_told(&mut self, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        for page in first.0..first.0.saturating_add(pages) {
            let hint = self.told.as_mut().map_or(Hint::None, |told| told.next(page));
            let write = WriteRequest { first: LogicalPage(page), pages: 1, data: HostData::Hollow(0), hint };
            done = done.max(self.ftl.write(&mut self.nand, &write, at)?);
        }
        Ok(done)
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

    /// Cuts the power while nothing is in progress, and mounts the drive again. Nothing is read before: the cut meets
    /// caches and buffers as the last request left them.
    ///
    /// Every page that held data must still hold data of the host, and every other one must read as zeros. There are
    /// two exceptions: a cut may undo trims since the last flush, and some FTLs keep only what was flushed. Then pages
    /// without their data are counted. (It is not checked which of the pages that came back these were, nor whether
    /// data are older than they were: the crash laboratory does that.) And the FTL's structures must agree with each
    /// other and with the flash.
    ///
    /// # Errors
    /// [`RunError::Failed`]: it does not mount, or not as it was; or it is not [`to_be_cut`](Self::to_be_cut).
    pub fn cut_and_recover(&mut self) -> Result<PowerCut, RunError> {
        let Some(holdings) = self.holdings.take() else {
            return Err(RunError::Failed("nobody has noted which pages hold data, so a cut proves nothing".into()));
        };
        // Capacitors write a cache out as the host would.
        let is_cached = self.config.write_cache.is_some_and(|cache| !cache.is_volatile());
        let programs = |nand: &SimNand| match is_cached {
            true => nand.stats().total().programs,
            false => nand.stats().of(Purpose::Battery).programs,
        };
        let before = programs(&self.nand);
        // Where there is a battery, it pays for the state that is in RAM alone.
        self.ftl.power_fail(&mut self.nand, self.idle).map_err(run_error)?;
        let battery_programs = programs(&self.nand) - before;
        self.nand.power_cycle();
        let (ftl, recovery) = recover(&mut self.nand, &self.config, Time::ZERO).map_err(run_error)?;
        self.ftl = ftl;
        self.link.iter_mut().for_each(LinkState::reset);
        self.host = Arrivals::new(Arrival::QueueDepth(1), recovery.done);
        self.idle = recovery.done;
        let pages = self.ftl.shape().logical_pages;
        let mut found = Differences::default();
        // Its content from now on, should it be cut again.
        let mut left = Holdings::none(pages);
        let mut sink = |page: LogicalPage, read: HostPage<'_>| {
            holdings.compare(page.0, read, &mut found);
            left.note_page(page.0, read != HostPage::Zeros);
        };
        self.ftl.read(&mut self.nand, LogicalPage(0), pages, Purpose::Host, self.idle, &mut sink).map_err(run_error)?;
        let safe_when_flushed = self.ftl.is_safe_when_flushed();
        let lost_pages = safe_when_flushed.then(|| found.take_lost());
        if let Some(finding) = found.finding() {
            return Err(RunError::Failed(finding));
        }
        let of_unreadable = |finding: &Finding| safe_when_flushed && finding.is_of_unreadable_pages();
        if let Some(finding) = self.ftl.check(&mut self.nand).iter().find(|finding| !of_unreadable(finding)) {
            return Err(RunError::Failed(format!("after recovery {finding}")));
        }
        self.holdings = Some(left);
        Ok(PowerCut { battery_programs, lost_pages, recovery })
    }
}
