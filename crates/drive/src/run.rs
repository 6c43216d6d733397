//! The protocol of a run: make a drive, fill it, warm it up, measure, and perhaps cut the power at the end.

use crate::config::{Arrival, CAPACITY_DEFAULT, CAPACITY_TRACE_MIN, Fill, FoldChoice, Input, RunConfig, RunError};
use crate::drive::Drive;
use crate::lookahead::Lookahead;
use crate::machine::{peak_rss_bytes, thread_cpu_seconds};
use crate::measure::Measurement;
use crate::result::{Machine, RecoveryResult, RecoveryStepResult, RunResult};
use phelsuma_ftl::{Config, RecoveryReport};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, Op, OpenOptions, PageRequest, PageSource, Source, TraceError, Workload};
use std::path::Path;
use std::time::{Duration, Instant};

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// `fill`, `warm-up`, `measure` or `recover`.
    pub phase: &'static str,
    /// Host pages written, or requests of a trace completed.
    pub done: u64,
    /// Out of so many, where that is known.
    pub of: Option<u64>,
}

/// Who is told how far a run has come; false stops it.
pub type Reporter<'a> = &'a (dyn Fn(Progress) -> bool + Sync);

/// Between two looks at the clock, in requests.
const REQUESTS_PER_LOOK: u32 = 1 << 16;

struct Ticker<'a> {
    reporter: Reporter<'a>,
    phase: &'static str,
    of: Option<u64>,
    requests: u32,
    last: Instant,
}

impl<'a> Ticker<'a> {
    fn new(reporter: Reporter<'a>, phase: &'static str, of: Option<u64>) -> Self {
        Self { reporter, phase, of, requests: 0, last: Instant::now() }
    }

    #[inline]
    fn tick(&mut self, done: u64) -> Result<(), RunError> {
        self.requests += 1;
        if self.requests.is_multiple_of(REQUESTS_PER_LOOK) && self.last.elapsed() > Duration::from_millis(200) {
            self.last = Instant::now();
            if !(self.reporter)(Progress { phase: self.phase, done, of: self.of }) {
                return Err(RunError::Stopped);
            }
        }
        Ok(())
    }
}

fn trace_error(error: &TraceError) -> RunError {
    RunError::Input(error.to_string())
}

/// Does a run.
///
/// # Errors
/// [`RunError::Input`] for what cannot be, [`RunError::Failed`] for what was begun and not completed as asked.
pub fn run(config: &RunConfig, reporter: Reporter<'_>) -> Result<RunResult, RunError> {
    let began = Instant::now();
    let cpu_began = thread_cpu_seconds();
    let mut settled = [config.clone()];
    settle_capacity(&mut settled)?;
    let [config] = &settled;
    let geometry = config.shape.geometry(config.shape.capacity_bytes.unwrap_or(CAPACITY_DEFAULT))?;
    let logical_pages = config.shape.logical_pages(&geometry);
    // What is wrong with a trace is said before the drive is filled.
    let mut trace = match &config.input {
        Input::Workload(_) => None,
        Input::Trace { path, options, fold, loops } => {
            Some(open_trace(config, path, options, *fold, *loops, logical_pages)?)
        }
    };
    let mut drive = formatted(config, &geometry)?;
    fill(&mut drive, config, logical_pages, reporter)?;

    let (measurement, measured_cpu) = match (&config.input, &mut trace) {
        (Input::Workload(workload), _) => replay_workload(&mut drive, config, workload, logical_pages, reporter)?,
        (Input::Trace { loops, .. }, Some(source)) => replay_trace(&mut drive, config, source, *loops, reporter)?,
        (Input::Trace { .. }, None) => return Err(RunError::Failed("the trace is not open".into())),
    };
    if drive.unreadable_pages() > 0 {
        return Err(RunError::Failed(format!("{} pages could not be read back", drive.unreadable_pages())));
    }
    let mut result = measurement.finish(&mut drive, config, &geometry);
    if config.cut_at_end {
        reporter(Progress { phase: "recover", done: 0, of: None });
        result.recovery = Some(recovery_result(&drive.cut_and_recover()?));
    }
    let pages = result.host.read_pages + result.host.write_pages;
    result.machine = Machine {
        wall_seconds: began.elapsed().as_secs_f64(),
        cpu_seconds: thread_cpu_seconds() - cpu_began,
        host_pages_per_second: pages as f64 / measured_cpu.max(1e-9),
        peak_rss_bytes: peak_rss_bytes(),
        simulation_bytes: drive.nand().heap_bytes() + drive.ftl().ram().all_total(),
        payload_bytes: drive.nand().payload_bytes_peak(),
    };
    Ok(result)
}

/// How often the capacity chosen for a trace is doubled for the FTL's reserve, at the most: what does not fit a drive a
/// thousand times the trace's size has too high a ratio.
const DOUBLINGS_MAX: u32 = 10;

/// Decides the capacity that nobody gave, the same for all of `configs`, which differ in their FTLs alone: 4 GiB for
/// a workload; for a trace the smallest power of two whose logical pages hold its footprint and beside which the
/// reserve of every FTL fits, at least 256 MiB.
///
/// # Errors
/// [`RunError::Input`]: a shape or an FTL that cannot be, or a trace that cannot be read.
pub fn settle_capacity(configs: &mut [RunConfig]) -> Result<(), RunError> {
    let Some(RunConfig { shape, input, .. }) = configs.first() else { return Ok(()) };
    // Whatever is wrong with the shape is said before a trace is read for its footprint.
    shape.geometry(shape.capacity_bytes.unwrap_or(CAPACITY_DEFAULT))?;
    let capacity = match (shape.capacity_bytes, input) {
        (Some(capacity), _) => capacity,
        (None, Input::Workload(_) | Input::Trace { fold: FoldChoice::Wrap, .. }) => CAPACITY_DEFAULT,
        (None, Input::Trace { path, options, .. }) => {
            let fold = FoldOptions { page_bytes: shape.page_bytes, fold: Fold::Compact, loops: 1 };
            let source = PageSource::open(path, options, fold).map_err(|e| trace_error(&e))?;
            capacity_for(configs, source.logical_pages())?
        }
    };
    configs.iter_mut().for_each(|config| config.shape.capacity_bytes = Some(capacity));
    Ok(())
}

fn capacity_for(configs: &[RunConfig], footprint: u64) -> Result<u64, RunError> {
    let Some(RunConfig { shape, .. }) = configs.first() else { return Ok(CAPACITY_TRACE_MIN) };
    let twice =
        |capacity: u64| capacity.checked_mul(2).ok_or_else(|| RunError::Input("the trace fits no drive".into()));
    let mut capacity = CAPACITY_TRACE_MIN;
    while u64::from(shape.logical_pages(&shape.geometry(capacity)?)) < footprint {
        capacity = twice(capacity)?;
    }
    for doublings in 0.. {
        let geometry = shape.geometry(capacity)?;
        // A format says first whether the FTL fits.
        match configs.iter().try_for_each(|config| formatted(config, &geometry).map(drop)) {
            Err(RunError::Input(_)) if doublings < DOUBLINGS_MAX => capacity = twice(capacity)?,
            result => return result.map(|()| capacity),
        }
    }
    Ok(capacity)
}

/// A blank drive.
fn formatted(config: &RunConfig, geometry: &Geometry) -> Result<Drive, RunError> {
    let logical_pages = config.shape.logical_pages(geometry);
    if logical_pages == 0 {
        let (ratio, pages) = (config.shape.ratio, geometry.pages());
        return Err(RunError::Input(format!("ratio {ratio} of {pages} pages is less than one logical page")));
    }
    let ftl = Config::new(&config.ftl, config.composition, logical_pages, config.seed);
    Drive::format(SimNand::new(&SimConfig::new(*geometry, config.timing)), &ftl, Arrival::QueueDepth(1))
}

fn write(first: u64, pages: u32) -> PageRequest {
    PageRequest { at_ns: 0, op: Op::Write, first, pages, partial_first: false, partial_last: false }
}

fn fill(drive: &mut Drive, config: &RunConfig, logical_pages: u32, reporter: Reporter<'_>) -> Result<(), RunError> {
    let logical = u64::from(logical_pages);
    let mut ticker = Ticker::new(reporter, "fill", Some(logical));
    match config.fill {
        Fill::None => {}
        Fill::Sequential => {
            const RUN: u64 = 64;
            for first in (0..logical).step_by(RUN as usize) {
                drive.submit(&write(first, RUN.min(logical - first) as u32))?;
                ticker.tick(first)?;
            }
        }
        Fill::Random => {
            // Not the stream of the workload itself.
            let seed = config.seed ^ 0xf111;
            let mut source = Workload::Uniform.source(logical, config.shape.page_bytes, seed);
            for written in 0..logical {
                if let Some(request) = source.next_request().map_err(|e| trace_error(&e))? {
                    drive.submit(&request)?;
                }
                ticker.tick(written)?;
            }
        }
    }
    Ok(())
}

fn replay_workload(
    drive: &mut Drive,
    config: &RunConfig,
    workload: &Workload,
    logical_pages: u32,
    reporter: Reporter<'_>,
) -> Result<(Measurement, f64), RunError> {
    if matches!(config.arrival, Arrival::Timestamps) {
        return Err(RunError::Input(
            "a workload has no timestamps: give a --queue-depth instead of --open-loop".into(),
        ));
    }
    let mut source = workload.source(u64::from(logical_pages), config.shape.page_bytes, config.seed);
    let pages = |passes: f64| (passes * f64::from(logical_pages)) as u64;
    if !(config.warmup.is_finite() && config.passes.is_finite() && pages(config.passes) > 0) {
        return Err(RunError::Input(format!(
            "{} passes over {logical_pages} logical pages after {} to warm up: at least one page must be counted",
            config.passes, config.warmup
        )));
    }
    let mut source = Lookahead::new(source.as_mut());
    drive.begin_counting(config.arrival);
    let mut ticker = Ticker::new(reporter, "warm-up", Some(pages(config.warmup)));
    pump(drive, &mut source, pages(config.warmup), &mut ticker, None)?;

    drive.begin_counting(config.arrival);
    let mut measurement = Measurement::begin(drive, config.interval);
    let cpu = thread_cpu_seconds();
    let mut ticker = Ticker::new(reporter, "measure", Some(pages(config.passes)));
    pump(drive, &mut source, pages(config.passes), &mut ticker, Some(&mut measurement))?;
    Ok((measurement, thread_cpu_seconds() - cpu))
}

/// Feeds a workload until so many pages are written; a workload that writes nothing counts the pages it touches.
fn pump(
    drive: &mut Drive,
    source: &mut Lookahead<'_>,
    target: u64,
    ticker: &mut Ticker<'_>,
    mut measurement: Option<&mut Measurement>,
) -> Result<(), RunError> {
    let mut next_look = measurement.as_ref().map_or(u64::MAX, |m| m.next_look());
    loop {
        let counts = drive.counts();
        let written = counts.write_pages;
        if written >= target || (written == 0 && counts.read_pages + counts.trim_pages >= target) {
            return Ok(());
        }
        let Some(request) = source.next(drive).map_err(|e| trace_error(&e))? else {
            return Err(RunError::Failed("the workload ended early".into()));
        };
        drive.submit(&request)?;
        if drive.counts().write_pages >= next_look
            && let Some(m) = &mut measurement
        {
            m.look(drive);
            next_look = m.next_look();
        }
        ticker.tick(written)?;
    }
}

/// Opens a trace that is to run on so many logical pages; this reads it once.
fn open_trace(
    config: &RunConfig,
    path: &Path,
    options: &OpenOptions,
    fold: FoldChoice,
    loops: u64,
    logical_pages: u32,
) -> Result<PageSource, RunError> {
    let fold = match fold {
        FoldChoice::Compact => Fold::Compact,
        FoldChoice::Wrap => Fold::Wrap { logical_pages: u64::from(logical_pages) },
    };
    let options_of_fold = FoldOptions { page_bytes: config.shape.page_bytes, fold, loops };
    let source = PageSource::open(path, options, options_of_fold).map_err(|e| trace_error(&e))?;
    let pages = source.logical_pages();
    if pages > u64::from(logical_pages) {
        return Err(RunError::Input(format!(
            "the trace touches {pages} pages and the drive has {logical_pages}: give it a larger --capacity"
        )));
    }
    Ok(source)
}

fn replay_trace(
    drive: &mut Drive,
    config: &RunConfig,
    source: &mut PageSource,
    loops: u64,
    reporter: Reporter<'_>,
) -> Result<(Measurement, f64), RunError> {
    let mut ticker = Ticker::new(reporter, "measure", Some(source.requests_per_loop().saturating_mul(loops)));
    let mut measurement: Option<Measurement> = None;
    let mut next_look = u64::MAX;
    let mut cpu = thread_cpu_seconds();
    let mut completed = 0;
    while let Some(request) = source.next_request().map_err(|e| trace_error(&e))? {
        if measurement.is_none() && source.loop_number() == loops {
            drive.begin_counting(config.arrival);
            cpu = thread_cpu_seconds();
            let begun = Measurement::begin(drive, config.interval);
            next_look = begun.next_look();
            measurement = Some(begun);
        }
        drive.submit(&request)?;
        completed += 1;
        if drive.counts().write_pages >= next_look
            && let Some(m) = &mut measurement
        {
            m.look(drive);
            next_look = m.next_look();
        }
        ticker.tick(completed)?;
    }
    let cpu = thread_cpu_seconds() - cpu;
    let counts = source.counts();
    counts.assert_balanced();
    if completed != counts.page_requests {
        return Err(RunError::Failed(format!(
            "{completed} requests completed of {} that the trace asks for",
            counts.page_requests
        )));
    }
    let measurement = measurement.ok_or_else(|| {
        RunError::Input(format!(
            "no request of the trace reaches the drive: of {} read, {} touch no page that is ever read or written",
            counts.read,
            counts.dropped_total()
        ))
    })?;
    Ok((measurement, cpu))
}

fn recovery_result(report: &RecoveryReport) -> RecoveryResult {
    let step = |s: &phelsuma_ftl::RecoveryStep| RecoveryStepResult {
        name: s.name.to_string(),
        reads: s.reads,
        spare_reads: s.spare_reads,
        programs: s.programs,
        us: s.nanos as f64 / 1e3,
    };
    RecoveryResult { simulated_us: report.done.micros(), steps: report.steps.iter().map(step).collect() }
}
