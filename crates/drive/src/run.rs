//! The protocol of a run: make a drive, fill it, warm it up, measure, and perhaps cut the power at the end.

use crate::capacity::{formatted, settle_capacity};
use crate::config::{Arrival, Input, RunConfig, RunError, input_error};
use crate::drive::{Drive, PowerCut};
use crate::footprint::with_capacity;
use crate::knowledge;
use crate::lookahead::Lookahead;
use crate::machine::{peak_rss_bytes, thread_cpu_seconds};
use crate::measure::{Mark, Measurement};
use crate::requests::{ARRIVAL_MAX_NS, fill_requests, open_trace, workload_targets};
use crate::result::{Machine, RecoveryResult, RecoveryStepResult, RunResult};
use crate::saved::{Saved, Saver};
use crate::saving::Saving;
use phelsuma_trace::{DropReason, PageSource, Source, Workload};
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

/// The callback for the progress of a run; false stops it.
pub type Reporter<'a> = &'a (dyn Fn(Progress) -> bool + Sync);

/// Between two looks at the clock, in requests: few enough that the slowest FTL looks often enough to be stopped at
/// once.
const REQUESTS_PER_LOOK: u32 = 1 << 8;
/// Between two reports.
const BETWEEN_REPORTS: Duration = Duration::from_millis(50);

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
        if self.requests.is_multiple_of(REQUESTS_PER_LOOK) && self.last.elapsed() > BETWEEN_REPORTS {
            self.last = Instant::now();
            if !(self.reporter)(Progress { phase: self.phase, done, of: self.of }) {
                return Err(RunError::Stopped);
            }
        }
        Ok(())
    }
}

/// Does a run.
///
/// # Errors
/// [`RunError::Input`] for what cannot be, [`RunError::Failed`] for what was begun and not completed as asked.
pub fn run(config: &RunConfig, reporter: Reporter<'_>) -> Result<RunResult, RunError> {
    run_saving(config, &Saving::default(), reporter)
}

/// Does a run whose drive is taken from a file after its warm-up, or saved to one. The result is that of [`run`], but
/// for the times of this machine.
///
/// # Errors
/// As those of [`run`]. [`RunError::Input`]: a file that is none, is damaged, or is of another build or drive.
pub fn run_saving(config: &RunConfig, saving: &Saving<'_>, reporter: Reporter<'_>) -> Result<RunResult, RunError> {
    saving.check(config)?;
    if config.cut_at_end
        && let Some(why) = config.composition.why_not_survivable()
    {
        return Err(RunError::Input(format!("{} does not survive power cuts: {why}", config.ftl)));
    }
    if let Input::Workload(workload) = &config.input
        && matches!(config.arrival, Arrival::Timestamps)
        && !workload.is_timed()
    {
        return Err(RunError::Input(format!(
            "{workload} has no timestamps: give a --queue-depth instead of --open-loop"
        )));
    }
    let began = Instant::now();
    let cpu_began = thread_cpu_seconds();
    let mut settled = [config.clone()];
    let geometry = config.shape.geometry(settle_capacity(&mut settled, |_| Ok(()))?)?;
    let [config] = &settled;
    let logical_pages = config.shape.logical_pages(&geometry);
    // Errors of a trace or of what is to be written are reported before the drive is filled.
    let mut trace = match &config.input {
        Input::Workload(workload) => {
            workload_targets(config, workload, logical_pages)?;
            None
        }
        Input::Trace { trace, fold, loops } => Some(open_trace(config, trace, *fold, *loops, logical_pages)?),
    };
    let mut drive = formatted(config, &geometry).map_err(|error| match &trace {
        Some(source) => with_capacity(error, &settled, source.logical_pages()),
        None => error,
    })?;
    if config.cut_at_end {
        drive = drive.to_be_cut();
    }
    drive = drive.without_faults();
    if let Some(told) = knowledge::learn(config, logical_pages)? {
        drive = drive.told(told);
    }
    if config.distributions {
        drive = drive.watched();
    }
    let mut saved = saving.from.map(|path| Saved::open(path, saving.build, config, &geometry)).transpose()?;
    let saver = saving.to.map(|path| Saver::begin(path, saving.build, config, &geometry)).transpose()?;
    match &mut saved {
        None => fill(&mut drive, config, logical_pages, reporter)?,
        Some(_) => fill_requests(config, logical_pages, &mut |request| {
            drive.pass_over(request);
            Ok(())
        })?,
    }

    let (measurement, measured_cpu) = match (&config.input, &mut trace) {
        (Input::Workload(workload), _) => {
            replay_workload(&mut drive, config, workload, logical_pages, (saved, saver), reporter)?
        }
        (Input::Trace { loops, .. }, Some(source)) => replay_trace(&mut drive, config, source, *loops, reporter)?,
        (Input::Trace { .. }, None) => return Err(RunError::Failed("the trace is not open".into())),
    };
    if drive.unreadable_pages() > 0 {
        return Err(RunError::Failed(format!("{} pages could not be read back", drive.unreadable_pages())));
    }
    if drive.nand().reads_in_vain() > 0 {
        return Err(RunError::Failed(format!(
            "{} pages of metadata were read that the FTL had called stale",
            drive.nand().reads_in_vain()
        )));
    }
    let mut result = measurement.finish(&mut drive, config, &geometry);
    result.input = trace.map(|source| source.report().clone());
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

/// Does the writes before anything is counted.
pub(crate) fn fill(
    drive: &mut Drive,
    config: &RunConfig,
    logical_pages: u32,
    reporter: Reporter<'_>,
) -> Result<(), RunError> {
    let mut ticker = Ticker::new(reporter, "fill", Some(logical_pages.into()));
    let mut written = 0;
    fill_requests(config, logical_pages, &mut |request| {
        drive.submit(request)?;
        ticker.tick(written)?;
        written += u64::from(request.pages);
        Ok(())
    })
}

fn replay_workload(
    drive: &mut Drive,
    config: &RunConfig,
    workload: &Workload,
    logical_pages: u32,
    (saved, saver): (Option<Saved>, Option<Saver>),
    reporter: Reporter<'_>,
) -> Result<(Measurement, f64), RunError> {
    let mut source = workload.source(u64::from(logical_pages), config.shape.page_bytes, config.seed);
    let [warmup, passes] = workload_targets(config, workload, logical_pages)?;
    let mut source = Lookahead::new(source.as_mut());
    let mut ended = match saved {
        None => {
            drive.begin_counting(config.arrival);
            let mut ticker = Ticker::new(reporter, "warm-up", Some(warmup));
            pump(drive, &mut source, warmup, &mut ticker, None)?
        }
        Some(saved) => drive.take_saved(saved, &mut source)?,
    };
    if let Some(saver) = saver {
        drive.save(saver, ended)?;
    }
    let warmed_up = drive.counts().write_pages;

    match config.arrival {
        Arrival::QueueDepth(_) => drive.begin_counting(config.arrival),
        // The workload's time goes on.
        Arrival::Timestamps => drive.count_from_zero(),
    }
    let mut measurement = Measurement::begin(drive, config.interval);
    let cpu = thread_cpu_seconds();
    let to_the_end = workload.ends() && config.passes == f64::INFINITY;
    let mut ticker = Ticker::new(reporter, "measure", (!to_the_end).then_some(passes));
    ended |= pump(drive, &mut source, passes, &mut ticker, Some(&mut measurement))?;
    if ended && !(to_the_end && drive.counts().requests > 0) {
        return Err(RunError::Input(format!(
            "{workload} ends after {} pages written: fewer --warmup and --passes, or more rounds, would be right",
            warmed_up + drive.counts().write_pages
        )));
    }
    Ok((measurement, thread_cpu_seconds() - cpu))
}

/// Feeds a workload until so many pages are written; a workload that writes nothing counts the pages it touches.
/// Whether it has ended before.
fn pump(
    drive: &mut Drive,
    source: &mut Lookahead<'_>,
    target: u64,
    ticker: &mut Ticker<'_>,
    mut measurement: Option<&mut Measurement>,
) -> Result<bool, RunError> {
    let mut next_look = measurement.as_ref().map_or(u64::MAX, |m| m.next_look());
    loop {
        let counts = drive.counts();
        let written = counts.write_pages;
        if written >= target || (written == 0 && counts.read_pages + counts.trim_pages >= target) {
            return Ok(false);
        }
        let Some(request) = source.next(drive).map_err(input_error)? else { return Ok(true) };
        if request.at_ns > ARRIVAL_MAX_NS {
            return Err(RunError::Failed("the workload's time is over that of the simulation".into()));
        }
        drive.submit(request)?;
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
    source: &mut PageSource,
    loops: u64,
    reporter: Reporter<'_>,
) -> Result<(Measurement, f64), RunError> {
    let mut ticker = Ticker::new(reporter, "measure", Some(source.requests_per_loop().saturating_mul(loops)));
    let mut measurement: Option<Measurement> = None;
    let mut loop_before: Option<Mark> = None;
    let mut next_look = u64::MAX;
    let mut cpu = thread_cpu_seconds();
    let mut completed = 0;
    while let Some(request) = source.next_request().map_err(input_error)? {
        if loop_before.is_none() && source.loop_number() + 1 == loops {
            loop_before = Some(Mark::of(drive));
        }
        if measurement.is_none() && source.loop_number() == loops {
            let mut begun = Measurement::begin(drive, config.interval);
            if let Some(before) = loop_before {
                begun = begun.after_loop(before, drive);
            }
            drive.begin_counting(config.arrival);
            cpu = thread_cpu_seconds();
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
    // Every loop folds alike.
    let dropped = |reason| counts.dropped.get(&reason).copied().unwrap_or(0) / loops;
    drive.count_trace(
        source.requests_per_loop(),
        dropped(DropReason::TrimWithoutWholePage),
        dropped(DropReason::TrimOutsideFootprint),
    );
    let measurement = measurement.ok_or_else(|| {
        RunError::Input(format!(
            "no request of the trace reaches the drive: of {} read, {} touch no page that is ever read or written",
            counts.read,
            counts.dropped_total()
        ))
    })?;
    Ok((measurement, cpu))
}

/// A recovery as a result has it.
pub(crate) fn recovery_result(cut: &PowerCut) -> RecoveryResult {
    let step = |s: &phelsuma_ftl::RecoveryStep| RecoveryStepResult {
        name: s.name.to_string(),
        reads: s.reads,
        spare_reads: s.spare_reads,
        programs: s.programs,
        us: s.nanos as f64 / 1e3,
    };
    let steps = cut.recovery.steps.iter().map(step).collect();
    RecoveryResult {
        scratch_bytes: cut.recovery.scratch_bytes,
        battery_programs: cut.battery_programs,
        lost_pages: cut.lost_pages,
        simulated_us: cut.recovery.done.micros(),
        steps,
    }
}
