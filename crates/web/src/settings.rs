//! What a page says of a drive and its host, and the drive that it means.

use crate::trace::Trace;
use phelsuma_drive::lab::Workload as Script;
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, TIMINGS, Timing};
use phelsuma_trace::Workload;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most physical pages that a page shows.
pub(crate) const PAGES_MAX: u64 = 1 << 18;

/// A drive and its host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The preset's name.
    pub ftl: String,
    /// Changes of its parts, each as `--set` has it.
    pub set: Vec<String>,
    /// Blocks of the flash.
    pub blocks: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies: u32,
    /// Logical over physical pages.
    pub ratio: f64,
    /// Mapping entries that RAM caches, where the FTL has such a cache; 0 for the FTL's default.
    pub cache: u32,
    /// A workload as `phelsuma run` has it, `lab:` and one as `phelsuma crash` has it, or `trace:` and the trace's name.
    pub workload: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The trace that there is.
    #[serde(skip)]
    pub(crate) trace: Option<Arc<Trace>>,
}

impl Default for Settings {
    /// A drive of the laboratory's pages, and a cache that does not hold all of its mapping.
    fn default() -> Self {
        Self {
            ftl: "page".into(),
            set: Vec::new(),
            blocks: 256,
            pages_per_block: 32,
            page_bytes: 512,
            channels: 1,
            dies: 1,
            ratio: 0.7,
            cache: 256,
            workload: "uniform".into(),
            seed: 1,
            trace: None,
        }
    }
}

/// Where the host's requests come from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Host {
    /// As `phelsuma run` has them.
    Run(Workload),
    /// As `phelsuma crash` has them.
    Lab(Script),
    /// A trace.
    Trace(Arc<Trace>),
}

impl Settings {
    /// The host with that workload.
    pub(crate) fn host(&self, workload: &str) -> Result<Host, String> {
        if let Some(name) = workload.strip_prefix("trace:") {
            let trace = self.trace.as_ref().filter(|trace| trace.name() == name);
            return trace.cloned().map(Host::Trace).ok_or(format!("the trace {name} is not here: drop it on the page"));
        }
        match workload.strip_prefix("lab:") {
            Some(name) => Script::named(name).map(Host::Lab),
            None => Workload::parse(workload).map(Host::Run).map_err(|error| error.to_string()),
        }
    }

    /// The flash.
    pub(crate) fn geometry(&self) -> Result<Geometry, String> {
        if !(self.ratio > 0.0 && self.ratio < 1.0) {
            return Err(format!("ratio {}: must be above 0 and below 1", self.ratio));
        }
        if !self.pages_per_block.is_power_of_two() {
            return Err(format!("{} pages of a block: a power of two would be right", self.pages_per_block));
        }
        let (pages, blocks) = (self.pages_per_block, self.blocks);
        let geometry = Geometry::new(self.page_bytes, pages, blocks, self.channels, self.dies);
        let geometry = geometry.map_err(|error| error.to_string())?;
        if geometry.pages() > PAGES_MAX {
            return Err(format!("{} pages: at most {PAGES_MAX} can be shown", geometry.pages()));
        }
        Ok(geometry)
    }

    /// How long its operations take.
    pub(crate) fn timing() -> Timing {
        TIMINGS[0].2
    }

    /// Logical pages on that flash.
    pub(crate) fn logical_pages(&self, geometry: &Geometry) -> u32 {
        (geometry.pages() as f64 * self.ratio) as u32
    }

    /// The FTL on that flash.
    pub(crate) fn config(&self, geometry: &Geometry) -> Result<Config, String> {
        let preset = Preset::named(&self.ftl).map_err(|error| error.to_string())?;
        let mut composition = preset.composition;
        if self.cache > 0 && composition.has_cache() {
            composition.set("mapping.cache", &self.cache.to_string()).map_err(|error| error.to_string())?;
        }
        for change in &self.set {
            let (key, value) = change.split_once('=').ok_or(format!("{change}: victim=fifo would be right"))?;
            composition.set(key.trim(), value.trim()).map_err(|error| error.to_string())?;
        }
        let logical_pages = self.logical_pages(geometry);
        if logical_pages == 0 {
            return Err(format!("ratio {} of {} pages is less than one logical page", self.ratio, geometry.pages()));
        }
        composition.check_on(geometry, logical_pages).map_err(|error| error.to_string())?;
        Ok(Config::new(preset.name, composition, logical_pages, self.seed))
    }
}
