//! The shortest way to a finding.
//!
//! Cycles are left out, then requests and other parts of a cycle, as long as the same kind of failure remains.

use super::cycle::Cycle;
use super::life::{Life, Species};
use super::{Failed, live};
use crate::lab::fewest::fewest;
use crate::lab::script::Request;

/// How many lives are lived for it at the most.
const LIVES_MAX: u32 = 600;

struct Trial<'a> {
    species: &'a Species,
    preconditioning: &'a [Request],
    wanted: &'a Failed,
    left: u32,
}

impl Trial<'_> {
    /// Whether these cycles still show it.
    fn shows(&mut self, cycles: &[Cycle]) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let Ok(mut life) = Life::new(self.species) else { return false };
        live(&mut life, self.preconditioning, cycles).is_some_and(|f| f.failure.kind == self.wanted.failure.kind)
    }
}

/// A line a step.
pub(super) fn shortest(
    species: &Species,
    preconditioning: &[Request],
    cycles: &[Cycle],
    failed: &Failed,
) -> Vec<String> {
    let mut trial = Trial { species, preconditioning, wanted: failed, left: LIVES_MAX };
    let mut cycles = cycles[..(failed.cycle + 1).min(cycles.len())].to_vec();
    fewest(&mut cycles, |cycles| trial.shows(cycles));
    for at in 0..cycles.len() {
        let with = |cycles: &[Cycle], cycle: Cycle| {
            let mut cycles = cycles.to_vec();
            cycles[at] = cycle;
            cycles
        };
        let simpler: [fn(&mut Cycle); 4] =
            [|c| c.decays = None, |c| c.breaks = None, |c| c.overwrite = false, |c| c.recovery_cuts = Vec::new()];
        for simplify in simpler {
            let mut cycle = cycles[at].clone();
            simplify(&mut cycle);
            let changed = with(&cycles, cycle);
            if changed != cycles && trial.shows(&changed) {
                cycles = changed;
            }
        }
        let mut requests = cycles[at].requests.clone();
        let others = cycles.clone();
        fewest(&mut requests, |requests| {
            let cycle = Cycle { requests: requests.to_vec(), ..others[at].clone() };
            trial.shows(&with(&others, cycle))
        });
        cycles[at].requests = requests;
    }
    cycles.iter().map(|cycle| cycle.to_string()).collect()
}
