//! The protocol of a run: make a drive, fill it, warm it up, measure, and perhaps cut the power at the end.

use crate::config::{Arrival, CAPACITY_DEFAULT, CAPACITY_TRACE_MIN, Fill, FoldChoice, Input, RunConfig, RunError};
use crate::drive::Drive;
use crate::machine::{peak_rss_bytes, thread_cpu_seconds};
use crate::measure::Measurement;
use crate::result::{Machine, RecoveryResult, RecoveryStepResult, RunResult};
use phelsuma_ftl::{Config, RecoveryReport};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, Op, PageRequest, PageSource, Source, TraceError, Workload};
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
    // Whatever is wrong with the shape is said before a trace is read for its footprint.
    config.shape.geometry(config.shape.capacity_bytes.unwrap_or(CAPACITY_DEFAULT))?;
    let footprint = match &config.input {
        Input::Workload(_) => None,
        Input::Trace { fold: FoldChoice::Wrap, .. } => None,
        Input::Trace { path, options, .. } => {
            let fold = FoldOptions { page_bytes: config.shape.page_bytes, fold: Fold::Compact, loops: 1 };
            let source = PageSource::open(path, options, fold).map_err(|e| trace_error(&e))?;
            Some(source.logical_pages())
        }
    };
    let geometry = geometry(config, footprint)?;
    let logical_pages = config.shape.logical_pages(&geometry);
    if let Some(pages) = footprint
        && pages > u64::from(logical_pages)
    {
        return Err(RunError::Input(format!(
            "the trace touches {pages} pages and the drive has {logical_pages}: give it a larger --capacity"
        )));
    }
    let ftl = Config::new(&config.ftl, config.composition, logical_pages, config.seed);
    let nand = SimNand::new(&SimConfig::new(geometry, config.timing));
    let mut drive = Drive::format(nand, &ftl, Arrival::QueueDepth(1))?;
    fill(&mut drive, config, logical_pages, reporter)?;

    let (measurement, measured_cpu) = match &config.input {
        Input::Workload(workload) => replay_workload(&mut drive, config, workload, logical_pages, reporter)?,
        Input::Trace { .. } => replay_trace(&mut drive, config, logical_pages, reporter)?,
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

/// The drive's geometry: the capacity asked for, or for a trace the smallest power of two that holds its footprint.
fn geometry(config: &RunConfig, footprint: Option<u64>) -> Result<Geometry, RunError> {
    let shape = &config.shape;
    let (Some(footprint), None) = (footprint, shape.capacity_bytes) else {
        return shape.geometry(shape.capacity_bytes.unwrap_or(CAPACITY_DEFAULT));
    };
    let mut capacity = CAPACITY_TRACE_MIN;
    loop {
        let geometry = shape.geometry(capacity)?;
        if u64::from(shape.logical_pages(&geometry)) >= footprint {
            return Ok(geometry);
        }
        capacity = capacity.checked_mul(2).ok_or_else(|| RunError::Input("the trace fits no drive".into()))?;
    }
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
    drive.begin_counting(config.arrival);
    let mut ticker = Ticker::new(reporter, "warm-up", Some(pages(config.warmup)));
    pump(drive, source.as_mut(), pages(config.warmup), &mut ticker, None)?;

    drive.begin_counting(config.arrival);
    let mut measurement = Measurement::begin(drive, config.interval);
    let cpu = thread_cpu_seconds();
    let mut ticker = Ticker::new(reporter, "measure", Some(pages(config.passes)));
    pump(drive, source.as_mut(), pages(config.passes), &mut ticker, Some(&mut measurement))?;
    Ok((measurement, thread_cpu_seconds() - cpu))
}

/// Feeds a workload until so many pages are written; a workload that writes nothing counts the pages it touches.
fn pump(
    drive: &mut Drive,
    source: &mut dyn Source,
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
        let Some(request) = source.next_request().map_err(|e| trace_error(&e))? else {
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

fn replay_trace(
    drive: &mut Drive,
    config: &RunConfig,
    logical_pages: u32,
    reporter: Reporter<'_>,
) -> Result<(Measurement, f64), RunError> {
    let Input::Trace { path, options, fold, loops } = &config.input else {
        return Err(RunError::Failed("not a trace".into()));
    };
    let loops = (*loops).max(1);
    let fold = match fold {
        FoldChoice::Compact => Fold::Compact,
        FoldChoice::Wrap => Fold::Wrap { logical_pages: u64::from(logical_pages) },
    };
    let fold = FoldOptions { page_bytes: config.shape.page_bytes, fold, loops };
    let mut source = PageSource::open(path, options, fold).map_err(|e| trace_error(&e))?;
    let mut ticker = Ticker::new(reporter, "measure", Some(source.requests_per_loop() * loops));
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
    let measurement = measurement.ok_or_else(|| RunError::Failed("the trace gave no request".into()))?;
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
