//! A crash experiment: the FTL, the flash, the workload and the faults, and why a combination is refused.

use super::path::{Fault, Path};
use super::points::Points;
use super::script::{Plan, Request, Script};
use super::subject::{Any, Subject, described, entries_drawn_for};
use super::workload::Workload;
use phelsuma_ftl::{Config, FtlError};
use phelsuma_nand::{Geometry, Timing};
use std::sync::Arc;

/// A crash experiment on an FTL of this project, or on any other [`Subject`].
#[derive(Clone, Debug)]
pub struct LabConfig<F = Config> {
    /// The chip set's shape.
    pub geometry: Geometry,
    /// How long its operations take.
    pub timing: Timing,
    /// The FTL.
    pub ftl: F,
    /// The host's requests.
    pub workload: Workload,
    /// Write requests of the workload, those that fill the drive before it not counted.
    pub writes: u32,
    /// Where the power is cut.
    pub points: Points,
    /// Which faults are tried.
    pub faults: Vec<Fault>,
    /// How deep cuts are nested: 1 cuts the workload alone, 2 the recoveries from that as well, and so on to 3.
    pub depth: u32,
    /// Seed of the workload and of faults that leave a choice.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

impl<F: Subject + Clone + 'static> LabConfig<F> {
    /// The FTL and the flash that it is on, in a line.
    pub fn describe(&self) -> String {
        described(&self.ftl, &self.geometry, &self.timing)
    }

    /// Of the faults those that can meet this FTL: announced cuts where it has a battery, else all others; and defects.
    ///
    /// # Errors
    /// What cannot be tried: nothing meets it, it survives no cut, or cuts nested as deep as this.
    pub fn what_meets_it(&self) -> Result<Vec<Fault>, LabError> {
        what_meets(&self.ftl, &self.faults, self.depth)
    }

    /// The same experiment. Which type of FTL it is on does not matter from here on.
    pub(crate) fn on_any(&self) -> LabConfig<Any> {
        let Self { geometry, timing, workload, writes, depth, seed, threads, .. } = *self;
        let (points, faults) = (self.points.clone(), self.faults.clone());
        let ftl = Arc::new(self.ftl.clone());
        LabConfig { geometry, timing, ftl, workload, writes, points, faults, depth, seed, threads }
    }
}

/// Of `faults` those that can meet `ftl`.
pub(crate) fn what_meets(ftl: &dyn Subject, faults: &[Fault], depth: u32) -> Result<Vec<Fault>, LabError> {
    if !(1..=3).contains(&depth) {
        return Err(LabError::Depth(depth));
    }
    if let Some(why) = ftl.why_not_survivable() {
        return Err(LabError::NotPromised(ftl.name().into(), why));
    }
    let battery = ftl.has_battery();
    let (defects, mut cuts): (Vec<Fault>, Vec<Fault>) = faults.iter().partition(|fault| fault.is_defect());
    if battery && cuts == Fault::all() {
        cuts = vec![Fault::Announced];
    }
    cuts.retain(|fault| (*fault == Fault::Announced) == battery);
    cuts.extend(defects);
    if cuts.is_empty() {
        let why = if battery { "it has a battery, and only cuts that are announced" } else { "it has no battery" };
        return Err(LabError::NoFault(ftl.name().into(), why));
    }
    Ok(cuts)
}

impl LabConfig<Any> {
    /// The host's actions.
    pub(crate) fn script(&self) -> Script {
        drawn(self.workload, &self.geometry, self.ftl.as_ref(), self.writes, self.seed)
    }
}

fn drawn(workload: Workload, geometry: &Geometry, subject: &dyn Subject, writes: u32, seed: u64) -> Script {
    Script::new(&Plan {
        workload,
        physical_pages: geometry.pages(),
        logical_pages: subject.logical_pages(),
        cache_entries: entries_drawn_for(subject),
        writes,
        seed,
    })
}

/// The host's requests of an experiment with this workload, and how many of them fill the drive and overwrite it before
/// that. A longer workload begins with the shorter one.
pub fn script(
    workload: Workload,
    geometry: &Geometry,
    subject: &dyn Subject,
    writes: u32,
    seed: u64,
) -> (Vec<Request>, usize) {
    let script = drawn(workload, geometry, subject, writes, seed);
    (script.requests, script.preconditioning)
}

/// Why an experiment could not be done.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum LabError {
    /// The FTL does not do the workload even with the power on.
    #[error("without any power cut: {0}")]
    Workload(#[from] FtlError),
    /// The id names a cut that does not happen with this configuration.
    #[error("no branch {0} in this experiment (another workload, seed, FTL, geometry or number of writes?)")]
    NoSuchBranch(Path),
    /// Nothing to try.
    #[error("depth {0}: must be from 1 to 3")]
    Depth(u32),
    /// The FTL is not made to survive a power cut.
    #[error("{0} does not survive power cuts: {1}")]
    NotPromised(String, String),
    /// None of the requested faults can meet this FTL.
    #[error("none of these faults meets {0}: {1}")]
    NoFault(String, &'static str),
}
