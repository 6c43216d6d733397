//! What a steady-state test gives; `phelsuma.steady/1`.

use super::rule::Window;
use crate::result::{CompositionNames, GeometryResult, Latencies};
use serde::Serialize;

/// The result of a test.
#[derive(Clone, Debug, Serialize)]
pub struct SteadyResult {
    /// `phelsuma.steady/1`.
    pub schema: &'static str,
    /// `iops`, `throughput`, `latency` or `write-saturation`.
    pub test: &'static str,
    /// The FTL.
    pub ftl: String,
    /// Its parts.
    pub composition: CompositionNames,
    /// The seed.
    pub seed: u64,
    /// The drive.
    pub geometry: GeometryResult,
    /// The timing.
    pub timing: String,
    /// Whether times are of flash alone: no buffers, no firmware, no link.
    pub times_are_of_flash_alone: bool,
    /// Requests in progress at all times.
    pub queue_depth: u32,
    /// How long each load of a round goes on, as a share of the logical capacity; none if by time.
    pub load_capacities: Option<f64>,
    /// The same in simulated seconds; none if by capacity.
    pub load_seconds: Option<f64>,
    /// Rounds at the most, of a test that is to become steady.
    pub rounds_max: u32,
    /// A part for each block size of a throughput test, and one of other tests. Each begins with a blank drive.
    pub parts: Vec<Part>,
}

/// One drive from its format on.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Bytes of the sequential writes before the rounds; none without any.
    pub preconditioning_block_bytes: Option<u64>,
    /// Logical capacities that they wrote.
    pub preconditioning_capacities: f64,
    /// The load whose value is tracked.
    pub tracked: Load,
    /// What of it: `requests_per_second`, `mb_per_second` or `latency_us.write.mean`.
    pub tracked_value: &'static str,
    /// Whether the drive became steady; none of a test that does not ask.
    pub steady: Option<bool>,
    /// The window of the last five rounds; none of fewer rounds, or of a test that does not ask.
    pub window: Option<Window>,
    /// All rounds.
    pub rounds: Vec<Round>,
    /// Of each load the mean over the last five rounds, which are the window of a drive that became steady. Percentiles
    /// and maxima are the largest of the five.
    pub loads: Vec<Measured>,
}

/// One round.
#[derive(Clone, Debug, Serialize)]
pub struct Round {
    /// Its number, from 1.
    pub round: u32,
    /// Logical capacities written since the format, at its end.
    pub capacities_written: f64,
    /// Simulated time since the format, at its end, in seconds.
    pub simulated_seconds: f64,
    /// The tracked value.
    pub tracked: f64,
    /// What was measured of each load, in order.
    pub loads: Vec<Measured>,
}

/// What a drive is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// `random` or `sequential`.
    pub pattern: Pattern,
    /// Share of the requests that read, in percent.
    pub read_percent: u32,
    /// Bytes of a request, which begins at a multiple of them.
    pub block_bytes: u64,
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Anywhere, all places alike.
    Random,
    /// One after the other, over and over.
    Sequential,
}

/// What was measured of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The load.
    #[serde(flatten)]
    pub load: Load,
    /// Requests.
    pub requests: u64,
    /// Simulated seconds.
    pub simulated_seconds: f64,
    /// Requests a second.
    pub requests_per_second: f64,
    /// Megabytes read and written a second.
    pub mb_per_second: f64,
    /// Latencies.
    pub latency_us: Latencies,
    /// Programs per host page written; none without writes.
    pub write_amplification: Option<f64>,
}
