//! Steady-state tests after SNIA's Solid State Storage Performance Test Specification (PTS): IOPS, throughput, latency,
//! write saturation.
//!
//! A test formats a drive, writes it twice in sequence, and then repeats rounds of loads until a tracked value is
//! steady. A minute of the specification is here a share of the capacity, or simulated seconds.

mod load;
mod result;
mod rule;

pub use result::{Load, Measured, Part, Pattern, Round, SteadyResult};
pub use rule::{RANGE_MAX, ROUNDS_MAX, SLOPE_MAX, WINDOW, Window};

use crate::capacity::{formatted, settle_capacity};
use crate::config::{Arrival, RunConfig, RunError};
use crate::drive::Drive;
use crate::measure::{composition_names, geometry_result};
use crate::result::{Latencies, Latency};
use crate::run::{Progress, Reporter};
use load::Host;
use phelsuma_nand::Geometry;

/// Logical capacities that are written in sequence before the rounds.
const PRECONDITIONING: f64 = 2.0;
/// Logical capacities that a test of write saturation writes.
pub const SATURATION: f64 = 4.0;
/// Rounds of a test of write saturation at the most.
const SATURATION_ROUNDS_MAX: u32 = 1 << 16;

/// What is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Random requests: block sizes by shares of reads.
    Iops,
    /// Sequential reads and writes of large blocks.
    Throughput,
    /// Random requests of small blocks, one at a time.
    Latency,
    /// Random writes to a blank drive.
    WriteSaturation,
}

impl Test {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Iops, Self::Throughput, Self::Latency, Self::WriteSaturation];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::WriteSaturation => "write-saturation",
        }
    }

    /// The key of the value that is tracked.
    fn tracked_value(self) -> &'static str {
        match self {
            Self::Iops | Self::WriteSaturation => "requests_per_second",
            Self::Throughput => "mb_per_second",
            Self::Latency => "latency_us.write.mean",
        }
    }

    fn tracked(self, of: &Measured) -> f64 {
        match self {
            Self::Iops | Self::WriteSaturation => of.requests_per_second,
            Self::Throughput => of.mb_per_second,
            Self::Latency => of.latency_us.write.map_or(0.0, |latency| latency.mean),
        }
    }
}

/// How long each load of a round goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Length {
    /// Until it has moved so many logical capacities.
    Capacities(f64),
    /// For so many simulated seconds.
    Seconds(f64),
}

/// A test.
#[derive(Clone, Debug)]
pub struct SteadyConfig {
    /// Drive, FTL, timing, queue depth and seed; its input is of no account.
    pub drive: RunConfig,
    /// What is tested.
    pub test: Test,
    /// How long each load of a round goes on.
    pub length: Length,
    /// Rounds at the most.
    pub rounds_max: u32,
}

/// Does a test.
///
/// # Errors
/// [`RunError::Input`] for what cannot be, [`RunError::Failed`] where the FTL refuses, [`RunError::Stopped`] where
/// `reporter` says so.
pub fn steady(config: &SteadyConfig, reporter: Reporter<'_>) -> Result<SteadyResult, RunError> {
    let mut settled = [config.drive.clone()];
    let geometry = config.drive.shape.geometry(settle_capacity(&mut settled, |_| Ok(()))?)?;
    let [drive] = settled;
    if drive.composition.knowledge().is_some() {
        return Err(RunError::Input(format!(
            "{} is an oracle, and the rounds of a test are not known beforehand; another FTL would be right",
            drive.ftl
        )));
    }
    let Arrival::QueueDepth(depth) = drive.arrival else {
        return Err(RunError::Input("a steady-state test has a queue depth, and no timestamps".into()));
    };
    let queue_depth = if config.test == Test::Latency { 1 } else { depth.max(1) };
    let logical_pages = u64::from(drive.shape.logical_pages(&geometry));
    let parts = load::parts(config.test, geometry.page_bytes().into(), logical_pages);
    let blank = formatted(&drive, &geometry)?;
    let test = Tested { config, drive: &drive, geometry: &geometry, queue_depth, reporter };
    Ok(SteadyResult {
        schema: "phelsuma.steady/1",
        test: config.test.name(),
        ftl: drive.ftl.clone(),
        composition: composition_names(&drive),
        seed: drive.seed,
        geometry: geometry_result(&blank, &geometry),
        timing: drive.timing_name.clone(),
        times_are_of_flash_alone: drive.times_are_of_flash_alone(),
        queue_depth,
        load_capacities: if let Length::Capacities(share) = config.length { Some(share) } else { None },
        load_seconds: if let Length::Seconds(seconds) = config.length { Some(seconds) } else { None },
        rounds_max: config.rounds_max,
        parts: parts.into_iter().map(|of| test.part(of)).collect::<Result<_, _>>()?,
    })
}

/// A test that is under way.
struct Tested<'a> {
    config: &'a SteadyConfig,
    drive: &'a RunConfig,
    geometry: &'a Geometry,
    queue_depth: u32,
    reporter: Reporter<'a>,
}

impl Tested<'_> {
    /// One drive, from its format on.
    fn part(&self, (block_bytes, loads, tracked): (Option<u64>, Vec<Load>, Load)) -> Result<Part, RunError> {
        let Self { config, geometry, reporter, .. } = self;
        let mut drive = formatted(self.drive, geometry)?.without_faults();
        let purged = drive.idle();
        let logical_pages = u64::from(self.drive.shape.logical_pages(geometry));
        let mut host = Host::new(self.drive.seed, logical_pages, self.queue_depth);
        let mut written = 0;
        if let Some(block_bytes) = block_bytes {
            let load = Load { pattern: Pattern::Sequential, read_percent: 0, block_bytes };
            let go_on = || reporter(Progress { phase: "prepare", done: 0, of: None });
            host.measure(&mut drive, &load, Length::Capacities(PRECONDITIONING), &go_on)?;
            written += drive.counts().write_pages;
        }
        let preconditioning_capacities = written as f64 / logical_pages as f64;
        let saturates = config.test == Test::WriteSaturation;
        let rounds_max = if saturates { SATURATION_ROUNDS_MAX } else { config.rounds_max };
        let (mut rounds, mut values): (Vec<Round>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut window = None;
        while (rounds.len() as u32) < rounds_max {
            let round = rounds.len() as u32 + 1;
            let mut measured = Vec::with_capacity(loads.len());
            for load in &loads {
                let (phase, done, of) = match saturates {
                    true => ("saturate", written, Some((SATURATION * logical_pages as f64) as u64)),
                    false => ("rounds", u64::from(round), Some(rounds_max.into())),
                };
                let go_on = || reporter(Progress { phase, done, of });
                if !go_on() {
                    return Err(RunError::Stopped);
                }
                measured.push(host.measure(&mut drive, load, config.length, &go_on)?);
                written += drive.counts().write_pages;
            }
            let value = measured.iter().find(|of| of.load == tracked).map_or(0.0, |of| config.test.tracked(of));
            values.push(value);
            let capacities_written = written as f64 / logical_pages as f64;
            let simulated_seconds = (drive.idle().0 - purged.0) as f64 / 1e9;
            rounds.push(Round { round, capacities_written, simulated_seconds, tracked: value, loads: measured });
            window = if saturates { None } else { Window::of(&values) };
            if window.is_some_and(|window| window.is_steady()) || saturates && capacities_written >= SATURATION {
                break;
            }
        }
        check_read(&drive)?;
        Ok(Part {
            preconditioning_block_bytes: block_bytes,
            preconditioning_capacities,
            tracked,
            tracked_value: config.test.tracked_value(),
            steady: (!saturates).then(|| window.is_some_and(|window| window.is_steady())),
            window,
            loads: means(&rounds),
            rounds,
        })
    }
}

/// Everything that was read was there.
fn check_read(drive: &Drive) -> Result<(), RunError> {
    match drive.unreadable_pages() {
        0 => Ok(()),
        pages => Err(RunError::Failed(format!("{pages} pages could not be read back"))),
    }
}

/// Of each load the mean over the last five rounds.
fn means(rounds: &[Round]) -> Vec<Measured> {
    let last = rounds.get(rounds.len().saturating_sub(WINDOW)..).unwrap_or_default();
    let count = last.len().max(1) as f64;
    let loads = last.first().map_or(0, |round| round.loads.len());
    let each = (0..loads).filter_map(|n| {
        let of: Vec<&Measured> = last.iter().filter_map(|round| round.loads.get(n)).collect();
        let mean = |value: fn(&Measured) -> f64| of.iter().map(|measured| value(measured)).sum::<f64>() / count;
        let latency = |which: fn(&Latencies) -> Option<Latency>| {
            let all: Vec<Latency> = of.iter().filter_map(|measured| which(&measured.latency_us)).collect();
            let most = |value: fn(&Latency) -> f64| all.iter().map(value).fold(0.0, f64::max);
            (!all.is_empty()).then(|| Latency {
                mean: all.iter().map(|latency| latency.mean).sum::<f64>() / all.len() as f64,
                p50: most(|l| l.p50),
                p99: most(|l| l.p99),
                p999: most(|l| l.p999),
                max: most(|l| l.max),
            })
        };
        let amplifications: Vec<f64> = of.iter().filter_map(|measured| measured.write_amplification).collect();
        Some(Measured {
            load: of.first()?.load,
            requests: of.iter().map(|measured| measured.requests).sum(),
            simulated_seconds: of.iter().map(|measured| measured.simulated_seconds).sum(),
            requests_per_second: mean(|measured| measured.requests_per_second),
            mb_per_second: mean(|measured| measured.mb_per_second),
            latency_us: Latencies { read: latency(|l| l.read), write: latency(|l| l.write) },
            write_amplification: (!amplifications.is_empty())
                .then(|| amplifications.iter().sum::<f64>() / amplifications.len() as f64),
        })
    });
    each.collect()
}
