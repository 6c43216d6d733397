//! The configuration of a run: drive, FTL, input, protocol.

use crate::bytes::show_bytes;
use crate::link::Link;
use phelsuma_ftl::{Composition, ConfigError, Preset, WriteCache};
use phelsuma_nand::{Geometry, GeometryError, Timing};
use phelsuma_trace::{TraceError, TraceOrigin, Workload};

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A synthetic workload: endless, but for `media`.
    Workload(Workload),
    /// A trace.
    Trace {
        /// Where it comes from; it is read twice and more.
        trace: TraceOrigin,
        /// How its addresses become logical pages.
        fold: FoldChoice,
        /// How often it is replayed; the last time is measured.
        loops: u64,
    },
}

/// How a trace's addresses become logical pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FoldChoice {
    /// The pages that the trace touches, numbered in the order of their addresses.
    #[default]
    Compact,
    /// Page numbers modulo the logical pages, each device in a part of its own.
    Wrap,
}

/// The writes before anything is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fill {
    /// Every logical page once, ascending.
    #[default]
    Sequential,
    /// Every logical page once, in a random order.
    Random,
    /// Nothing.
    None,
}

/// When requests arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// So many are in progress at all times (closed loop).
    QueueDepth(u32),
    /// At their timestamps (open loop).
    Timestamps,
}

/// The shape of the drive, before the capacity is known.
#[derive(Clone, Copy, Debug)]
pub struct DriveShape {
    /// Physical bytes; with a trace None takes the smallest power of two that holds its footprint, at least 256 MiB.
    pub capacity_bytes: Option<u64>,
    /// Logical pages over physical pages.
    pub ratio: f64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
}

impl Default for DriveShape {
    /// 4 GiB of 4 KiB pages, 128 a block, one channel, one die, ratio 0.70.
    fn default() -> Self {
        Self {
            capacity_bytes: None,
            ratio: 0.70,
            page_bytes: 4096,
            pages_per_block: 128,
            channels: 1,
            dies_per_channel: 1,
        }
    }
}

impl DriveShape {
    /// The geometry with this many bytes of flash.
    ///
    /// # Errors
    /// [`RunError::Input`] says what is out of range.
    pub fn geometry(&self, capacity_bytes: u64) -> Result<Geometry, RunError> {
        if !(self.ratio > 0.0 && self.ratio < 1.0) {
            return Err(RunError::Input(format!("ratio {}: must be above 0 and below 1", self.ratio)));
        }
        let block = u64::from(self.page_bytes) * u64::from(self.pages_per_block);
        if block == 0 {
            // The geometry says which of the two it is.
            Geometry::new(self.page_bytes, self.pages_per_block, 4, 1, 1)?;
        }
        let blocks = capacity_bytes / block.max(1);
        let shape = Geometry::new(self.page_bytes, self.pages_per_block, blocks, self.channels, self.dies_per_channel);
        shape.map_err(|error| match error {
            GeometryError::Blocks { blocks, least, most } => RunError::Input(format!(
                "{} of flash are {blocks} blocks of {}: must be from {least} blocks ({}, with this many dies) to {most} \
                 ({}, page numbers have 32 bits)",
                show_bytes(capacity_bytes),
                show_bytes(block),
                show_bytes(least.saturating_mul(block)),
                show_bytes(most.saturating_mul(block))
            )),
            other => other.into(),
        })
    }

    /// The smallest power of two that is a drive of this shape, in bytes.
    ///
    /// # Errors
    /// [`RunError::Input`]: there is none, whatever the capacity.
    pub(crate) fn least_capacity(&self) -> Result<u64, RunError> {
        let block = u64::from(self.page_bytes) * u64::from(self.pages_per_block);
        match Geometry::new(self.page_bytes, self.pages_per_block, 0, self.channels, self.dies_per_channel) {
            Err(GeometryError::Blocks { least, .. }) => {
                let least = least.saturating_mul(block).checked_next_power_of_two().unwrap_or(u64::MAX);
                self.geometry(least).map(|_| least)
            }
            Err(other) => Err(other.into()),
            Ok(_) => Ok(block),
        }
    }

    /// Logical pages at the ratio, given the physical ones.
    pub fn logical_pages(&self, geometry: &Geometry) -> u32 {
        (geometry.pages() as f64 * self.ratio) as u32
    }
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The FTL's name.
    pub ftl: String,
    /// Its parts.
    pub composition: Composition,
    /// The drive.
    pub shape: DriveShape,
    /// Name of the timing: a preset, or a file.
    pub timing_name: String,
    /// How long flash operations take.
    pub timing: Timing,
    /// What the drive's firmware and link take; none: nothing.
    pub link: Option<Link>,
    /// The write cache between host and FTL, if there is one.
    pub write_cache: Option<WriteCache>,
    /// Where requests come from.
    pub input: Input,
    /// The writes before anything is counted.
    pub fill: Fill,
    /// Logical capacities written by a workload before anything is counted.
    pub warmup: f64,
    /// Logical capacities written by a workload while counted; infinite for one that ends: to its end.
    pub passes: f64,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Seed of everything random.
    pub seed: u64,
    /// A point of the series after every so many host pages written.
    pub interval: Option<u64>,
    /// Whether lifetimes of pages and dormant periods of blocks are observed.
    pub distributions: bool,
    /// Whether the power is cut at the end, and the drive recovered.
    pub cut_at_end: bool,
}

impl RunConfig {
    /// Whether times are of flash alone: pages that are programmed one by one, no firmware, no link, no write cache.
    pub fn times_are_of_flash_alone(&self) -> bool {
        self.link.is_none() && self.timing.unit_pages == 1 && self.write_cache.is_none()
    }

    /// A run of a preset with everything else at its default.
    ///
    /// # Errors
    /// [`RunError::Input`]: no such preset.
    pub fn new(ftl: &str, input: Input) -> Result<Self, RunError> {
        let preset = Preset::named(ftl)?;
        // A workload that ends is counted as a trace is: all of it.
        let ends = matches!(&input, Input::Workload(workload) if workload.ends());
        let (warmup, passes) = if ends { (0.0, f64::INFINITY) } else { (2.0, 1.0) };
        Ok(Self {
            ftl: preset.name.to_string(),
            composition: preset.composition,
            shape: DriveShape::default(),
            timing_name: "gecko".into(),
            timing: phelsuma_nand::TIMINGS[0].2,
            link: None,
            write_cache: None,
            input,
            fill: Fill::Sequential,
            warmup,
            passes,
            arrival: Arrival::QueueDepth(1),
            seed: 1,
            interval: None,
            distributions: false,
            cut_at_end: false,
        })
    }
}

/// Why a run gave no result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The request cannot be: wrong usage or input.
    #[error("{0}")]
    Input(String),
    /// It was begun and not completed as requested: a failure of the FTL, the drive, or the trace halfway.
    #[error("{0}")]
    Failed(String),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

/// An error of a trace is wrong input.
pub(crate) fn input_error(error: TraceError) -> RunError {
    RunError::Input(error.to_string())
}

impl From<GeometryError> for RunError {
    fn from(error: GeometryError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.to_string())
    }
}
