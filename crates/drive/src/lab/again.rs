//! The power fails at the n-th operation of a recovery, at the n-th operation of the next one, and so on.
//!
//! Each recovery leaves something behind. However often that happens, one that is left alone must mount, on a drive
//! that can be written.

use super::cut_nand::CutNand;
use super::failure::Failure;
use super::model::Expectation;
use super::panics::in_branch;
use super::path::Fault;
use super::seen::Step;
use super::shared::Shared;
use super::verify::{bring_up, verify};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{SimNand, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What becomes of the operation, in turn: those of these that are among the requested faults, and all if none is.
const FATES: [(ProgramFault, EraseFault); 3] = [
    (ProgramFault::TornSeen, EraseFault::PartialMixed),
    (ProgramFault::NotStarted, EraseFault::NotStarted),
    (ProgramFault::Unstable, EraseFault::UnstableErase),
];

/// Cuts the recovery of `flash` at each of its operations, so many times in a row.
pub(crate) fn cut_again(shared: &Arc<Shared>, flash: &SimNand, expectation: &Expectation, step: Step, times: u32) {
    for operation in 0.. {
        let (mut flash, mut cuts) = (flash.clone(), 0);
        let mut failed = None;
        while cuts < times {
            match cut_once(shared, flash.clone(), expectation, operation, cuts) {
                Ok(Some(cut)) => flash = cut,
                // This recovery has no such operation: it mounted.
                Ok(None) => break,
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
            cuts += 1;
        }
        let was_last = cuts == 0;
        if was_last && failed.is_none() {
            return;
        }
        shared.counts.nested.fetch_add(u64::from(cuts), Ordering::Relaxed);
        let key = flash.fingerprint().unwrap_or_default() ^ expectation.hash();
        let outcome = failed.map_or_else(|| comes_up(shared, flash, expectation), Err);
        if let Err(Failure { kind, message }) = outcome {
            let message = format!("after recoveries were cut {cuts} times at operation {operation}: {message}");
            shared.seen.reach(key, step, 0);
            shared.seen.fail(key, None, Failure { kind, message });
        }
        if was_last {
            return;
        }
    }
}

/// Cuts the recovery at this operation, if it has so many; what that leaves.
fn cut_once(
    shared: &Shared,
    flash: SimNand,
    expectation: &Expectation,
    operation: u32,
    number: u32,
) -> Result<Option<SimNand>, Failure> {
    let seed = shared.config.seed ^ u64::from(number);
    let is_asked_for = |(program, erase): &&(ProgramFault, EraseFault)| {
        let faults = &shared.config.faults;
        faults.contains(&Fault::Program(*program)) || faults.contains(&Fault::Erase(*erase))
    };
    let asked_for: Vec<_> = FATES.iter().filter(is_asked_for).copied().collect();
    let fates = if asked_for.is_empty() { &FATES } else { asked_for.as_slice() };
    let (program, erase) = fates[number as usize % fates.len()];
    let mut nand = CutNand::new(flash, expectation.clone());
    let left = nand.cut_at(operation, move |point| {
        let mut flash = point.flash.clone();
        flash.power_cycle();
        point.change.cut(&mut flash, program, erase, seed);
        flash
    });
    let subject = shared.config.ftl.as_ref();
    let came_up = in_branch(|| bring_up(&mut nand, subject).map(drop));
    left.take().map_or_else(|| came_up.map(|()| None), |flash| Ok(Some(flash)))
}

fn comes_up(shared: &Shared, flash: SimNand, expectation: &Expectation) -> Result<(), Failure> {
    let subject = shared.config.ftl.as_ref();
    let mut nand = CutNand::new(flash, expectation.clone());
    in_branch(|| {
        let (ftl, took): (_, Time) = bring_up(&mut nand, subject)?;
        shared.counts.worst_recovery.fetch_max(took.0, Ordering::Relaxed);
        verify(&mut nand, ftl, subject, expectation, &shared.counts.taken_back, &mut |_| false)
    })
}
