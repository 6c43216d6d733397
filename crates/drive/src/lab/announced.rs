//! Announced cuts of a drive with a battery.
//!
//! The request in progress is done. Then the FTL saves the state that is in RAM alone, within the programs that its
//! shape states. It does not promise to survive cuts of any other kind.

use super::branch::branch;
use super::cut_nand::CutNand;
use super::model::{Expectation, Model};
use super::panics::in_branch;
use super::path::Fault;
use super::points::{CutPoints, Points};
use super::power_fail::save;
use super::seen::Way;
use super::shared::Shared;
use phelsuma_ftl::Ftl;
use phelsuma_nand::Time;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Cuts the power after request `number`, if that is a point.
pub(crate) fn cut_announced(
    shared: &Arc<Shared>,
    points: &CutPoints,
    number: u32,
    ftl: &dyn Ftl<CutNand>,
    nand: &CutNand,
    model: &Model,
    at: Time,
) {
    let wanted = match &shared.config.points {
        Points::Replay(path) => path.0.first().is_some_and(|cut| cut.is(Fault::Announced)),
        _ => true,
    };
    if !points.take(number) || !wanted {
        return;
    }
    let expectation = Expectation { model: Arc::new(model.clone()), in_progress: None };
    let fault = shared.config.faults.iter().position(|fault| *fault == Fault::Announced).unwrap_or(0);
    let step = Way::BEGIN.step(number, fault, 0);
    shared.counts.cuts.fetch_add(1, Ordering::Relaxed);
    let mut nand = CutNand::new(nand.sim.clone(), expectation.clone());
    // On a copy of FTL and flash.
    match in_branch(|| save(ftl.copy().as_mut(), &mut nand, at)) {
        Ok(()) => {
            let mut flash = nand.sim;
            flash.power_cycle();
            branch(shared, flash, &expectation, step, shared.config.depth - 1);
        }
        Err(failure) => {
            let key = nand.sim.fingerprint().unwrap_or_default() ^ u128::from(number);
            shared.seen.reach(key, step, 0);
            shared.seen.fail(key, None, failure);
        }
    }
    shared.counts.points_done.fetch_add(1, Ordering::Relaxed);
}
