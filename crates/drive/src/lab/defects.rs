//! Defects besides power cuts, at every operation: a failed program or erase, after which the block is bad, or a
//! decayed page.
//!
//! The workload goes on for a while. The power is cut at the operations that follow, and at rest in the end.
//!
//! Unlike a cut a defect leaves RAM alone. So an experiment begins with copies of FTL and flash before the request in
//! which the operation falls, and does that request once more.

use super::branch::{branch, branch_all};
use super::cut_nand::Watcher;
use super::decay::{Decays, decay};
use super::failure::{Checked, Failure, FailureKind};
use super::host::{Host, Stop};
use super::panics::in_branch;
use super::path::{Defect, Fault};
use super::points::{CutPoints, Points};
use super::power_fail::save;
use super::seen::{Key, Way};
use super::shared::Shared;
use phelsuma_nand::sim::{Decay, EraseFault, ProgramFault};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many operations behind a defect are cut.
const CUT_AFTER_FAILURE: u32 = 3;
const CUT_AFTER_DECAY: u32 = 1;
/// So many requests are done after it, the one that it meets included.
pub(crate) const REQUESTS_AFTER: usize = 8;
/// The fault of a cut behind a defect for the operation that it meets.
const CUTS: [Fault; 4] = [
    Fault::Program(ProgramFault::NotStarted),
    Fault::Program(ProgramFault::TornSeen),
    Fault::Erase(EraseFault::NotStarted),
    Fault::Erase(EraseFault::PartialMixed),
];

/// Where defects are tried.
pub(crate) struct Defects {
    pub(crate) shared: Arc<Shared>,
    /// Programs and erases, however cuts are counted.
    pub(crate) points: Arc<CutPoints>,
    /// By request: so many programs and erases come before it.
    pub(crate) begins: Arc<Vec<u32>>,
}

impl Defects {
    /// Request `number` is about to begin: every defect at each of its operations that is a point.
    pub(crate) fn at_request(&self, host: &Host<'_>, number: usize) {
        let begin = self.begins[number];
        let end = self.begins.get(number + 1).copied().unwrap_or(begin);
        for operation in (begin..end).filter(|operation| self.points.take(*operation)) {
            for (fault, defect) in self.defects() {
                self.try_one(host, number, operation, fault, defect);
            }
            self.shared.counts.points_done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Which, with their numbers among the faults.
    fn defects(&self) -> Vec<(usize, Defect)> {
        let config = &self.shared.config;
        let wanted = |fault: &Fault| match &config.points {
            Points::Replay(path) => path.0.first().is_some_and(|cut| cut.is(*fault)),
            _ => true,
        };
        let defects = config.faults.iter().enumerate().filter(|(_, fault)| wanted(fault));
        defects
            .filter_map(|(number, fault)| if let Fault::Defect(d) = fault { Some((number, *d)) } else { None })
            .collect()
    }

    fn try_one(&self, host: &Host<'_>, number: usize, operation: u32, fault: usize, defect: Defect) {
        let shared = &self.shared;
        let step = Way::BEGIN.step(operation, fault, 0);
        // What follows on the defect with the power on has no flash of its own to be known by.
        let key: Key = (1 << 127) | Key::from(operation) << 16 | (fault as Key + 1);
        let mut host = host.fork();
        let cut_after = match defect {
            Defect::Fails => {
                host.nand.fail_at(operation);
                CUT_AFTER_FAILURE
            }
            Defect::HostDecays | Defect::MetadataDecays => {
                let decays = drawn(shared.config.seed, operation, defect == Defect::MetadataDecays);
                if !decay(&mut host.nand.sim, &mut host.model, host.subject, &decays) {
                    return;
                }
                CUT_AFTER_DECAY
            }
        };
        shared.seen.reach(key, step, 0);
        shared.counts.defects.fetch_add(1, Ordering::Relaxed);
        let battery = host.subject.has_battery();
        if !battery {
            let range = operation + 1..operation + 1 + cut_after;
            host.nand.watch(watcher(Arc::clone(shared), step.to(key), range), self.begins[number]);
        }
        let outcome = in_branch(|| {
            for number in number..(number + REQUESTS_AFTER).min(host.requests()) {
                step_of(&mut host, number)?;
            }
            host.nand.stop_watching();
            host.look_at_everything("after a defect")
        });
        if let Err(failure) = outcome {
            shared.seen.fail(key, None, failure);
            return;
        }
        if matches!(&shared.config.points, Points::Replay(path) if path.0.len() > 1) {
            return;
        }
        // At rest.
        match in_branch(|| save(host.ftl.as_mut(), &mut host.nand, host.at)) {
            Ok(()) => {
                let mut flash = host.nand.sim.clone();
                flash.power_cycle();
                shared.counts.cuts.fetch_add(1, Ordering::Relaxed);
                // Cuts nested in this one would have the ids of those behind the defect.
                branch(shared, flash, &host.expectation(None), step, 0);
            }
            Err(failure) => shared.seen.fail(key, None, failure),
        }
    }
}

fn step_of(host: &mut Host<'_>, number: usize) -> Checked<()> {
    host.step(number).map_err(|stop| match stop {
        Stop::Found(failure) => failure,
        Stop::Refused(error) => {
            Failure { kind: FailureKind::Stuck, message: format!("after a defect request {number} fails: {error}") }
        }
    })
}

/// Which page decays, and how.
fn drawn(seed: u64, operation: u32, metadata: bool) -> Decays {
    let mix = seed ^ u64::from(operation) << 20 ^ u64::from(metadata);
    let bits = SplitMix64::seed_from_u64(mix).next_u64();
    let decay = match operation % 3 {
        0 => Decay::Uncorrectable,
        1 => Decay::Spare((bits >> 40) as u32),
        _ => Decay::Data(bits >> 32),
    };
    Decays { metadata, number: bits as u32, decay }
}

/// Cuts the operations behind a defect.
fn watcher(shared: Arc<Shared>, way: Way, operations: std::ops::Range<u32>) -> Watcher {
    Box::new(move |point| {
        if operations.contains(&point.operation) {
            let cuts = branch_all(&shared, point, way, shared.config.depth, &CUTS);
            shared.counts.cuts.fetch_add(cuts, Ordering::Relaxed);
        }
    })
}
