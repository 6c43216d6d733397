//! Branching: at a cut point the flash is copied, once for every fault, and each copy is brought up and checked.
//!
//! Its recovery is cut in the same way.

use super::again::cut_again;
use super::beside;
use super::cut_nand::{CutNand, CutPoint, Watcher};
use super::model::Expectation;
use super::panics::in_branch;
use super::path::Fault;
use super::points::{CutPoints, Points};
use super::seen::{Step, Way};
use super::shared::Shared;
use super::verify::{bring_up, verify};
use phelsuma_nand::SimNand;
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Cuts the workload at the points that it takes.
pub(crate) fn workload_watcher(shared: Arc<Shared>, points: Arc<CutPoints>) -> Watcher {
    Box::new(move |point| {
        if points.take(point.operation) {
            let cuts = branch_all(&shared, point, Way::BEGIN, shared.config.depth, &shared.config.faults);
            shared.counts.cuts.fetch_add(cuts, Ordering::Relaxed);
            shared.counts.points_done.fetch_add(1, Ordering::Relaxed);
        }
    })
}

fn recovery_watcher(shared: Arc<Shared>, way: Way, depth: u32) -> Watcher {
    Box::new(move |point| {
        let cuts = branch_all(&shared, point, way, depth, &shared.config.faults);
        shared.counts.nested.fetch_add(cuts, Ordering::Relaxed);
    })
}

/// Every fault of these at one cut point; how many branches that made. `depth` counts this cut.
pub(crate) fn branch_all(shared: &Arc<Shared>, point: &CutPoint<'_>, way: Way, depth: u32, faults: &[Fault]) -> u64 {
    let config = &shared.config;
    let wanted = match &config.points {
        Points::Replay(replay) => match replay.0.get(usize::from(way.cuts)) {
            Some(cut) if cut.operation == point.operation => Some(cut),
            _ => return 0,
        },
        _ => None,
    };
    let mut cuts = 0;
    for (number, fault) in config.faults.iter().enumerate().filter(|(_, fault)| faults.contains(fault)) {
        let (program, erase) = match (fault, point.change.is_program()) {
            (Fault::Program(f), true) => (*f, EraseFault::NotStarted),
            (Fault::Erase(f), false) => (ProgramFault::NotStarted, *f),
            _ => continue,
        };
        for choice in 0..beside::choices(point.beside) {
            if wanted.is_some_and(|w| (w.fault, w.beside) != (fault.name(), choice)) {
                continue;
            }
            let seed = config.seed ^ u64::from(point.operation) << 8 ^ u64::from(choice);
            let mut flash = point.flash.clone();
            // What an earlier cut left unstable lets go now; what this one leaves lasts until the next.
            flash.power_cycle();
            if !beside::apply(&mut flash, point.beside, choice, seed) {
                continue;
            }
            point.change.cut(&mut flash, program, erase, seed);
            cuts += 1;
            let step = way.step(point.operation, number, choice);
            if shared.again > 0 && way == Way::BEGIN {
                cut_again(shared, &flash, point.expectation, step, shared.again);
            }
            branch(shared, flash, point.expectation, step, depth - 1);
        }
    }
    cuts
}

/// One branch: the flash as the cut left it. `depth` more cuts may be nested in its recovery.
pub(crate) fn branch(shared: &Arc<Shared>, flash: SimNand, expectation: &Expectation, step: Step, depth: u32) {
    let key = flash.fingerprint().unwrap_or_default() ^ expectation.hash();
    let todo = shared.seen.reach(key, step, depth);
    if !todo.check {
        shared.counts.covered.fetch_add(1, Ordering::Relaxed);
        if !todo.expand {
            return;
        }
    }
    let subject = shared.config.ftl.as_ref();
    let mut nand = CutNand::new(flash, expectation.clone());
    if todo.expand {
        nand.watch(recovery_watcher(Arc::clone(shared), step.to(key), depth), 0);
    }
    // The result of the branch, if it came so far: a failure from there on is one of all branches that came to the
    // same.
    let mut settled = None;
    let outcome = in_branch(|| {
        let (ftl, took) = bring_up(&mut nand, subject)?;
        nand.stop_watching();
        shared.counts.worst_recovery.fetch_max(took.0, Ordering::Relaxed);
        if !todo.check {
            return Ok(());
        }
        verify(&mut nand, ftl, subject, expectation, &shared.counts.taken_back, &mut |state| {
            settled = Some(state);
            let seen = shared.seen.settle(key, state);
            shared.counts.joined.fetch_add(u64::from(seen), Ordering::Relaxed);
            seen
        })
    });
    if let (Err(failure), true) = (outcome, todo.check) {
        shared.seen.fail(key, settled, failure);
    }
}
