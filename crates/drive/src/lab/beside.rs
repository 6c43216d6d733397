//! The possible fates of the operations in flight beside the one that the power cut met.
//!
//! Of each die's operations, in order, a first part is done, the next one may be torn, and the rest has not begun. A
//! combination over the dies is possible if nothing is done that had to wait for something undone.

use super::cut_nand::InFlight;
use phelsuma_nand::SimNand;
use phelsuma_nand::sim::{EraseFault, ProgramFault};

/// How many combinations are tried at a cut point at the most, spread evenly over all.
pub(crate) const CHOICES_MAX: u16 = 48;

/// The fates of one die's operations: so many done, and the next one torn or not begun.
#[derive(Clone, Copy)]
struct Fate {
    done: usize,
    torn: Option<(ProgramFault, EraseFault)>,
}

const TORN: [(ProgramFault, EraseFault); 3] = [
    (ProgramFault::TornSeen, EraseFault::PartialMixed),
    (ProgramFault::TornUnseen, EraseFault::PartialFront),
    (ProgramFault::Unstable, EraseFault::UnstableErase),
];

/// Fates of a die with `operations` in flight; all done comes first.
fn fate(operations: usize, choice: u64) -> Fate {
    let each = 1 + TORN.len() as u64;
    match choice {
        0 => Fate { done: operations, torn: None },
        n => {
            let which = (n - 1) % each;
            let torn = which.checked_sub(1).map(|t| TORN[t as usize]);
            Fate { done: operations - 1 - ((n - 1) / each) as usize, torn }
        }
    }
}

/// The combinations that can be chosen at a cut point with these operations in flight; at least one, all done.
pub(crate) fn choices(beside: &[InFlight]) -> u16 {
    all_choices(&by_die(beside)).min(u64::from(CHOICES_MAX)) as u16
}

fn by_die(beside: &[InFlight]) -> Vec<Vec<&InFlight>> {
    let mut dies: Vec<Vec<&InFlight>> = Vec::new();
    for operation in beside {
        match dies.iter_mut().find(|d| d[0].die == operation.die) {
            Some(die) => die.push(operation),
            None => dies.push(vec![operation]),
        }
    }
    dies
}

fn all_choices(dies: &[Vec<&InFlight>]) -> u64 {
    dies.iter().fold(1u64, |n, d| n.saturating_mul(1 + d.len() as u64 * (1 + TORN.len() as u64)))
}

/// Applies the combination `choice` of the operations' fates to `flash`. False, with the flash in no state to use,
/// where the combination cannot be.
pub(crate) fn apply(flash: &mut SimNand, beside: &[InFlight], choice: u16, seed: u64) -> bool {
    let dies = by_die(beside);
    let all = all_choices(&dies);
    // Where there are more than can be tried, every n-th is.
    let mut choice = if all <= u64::from(CHOICES_MAX) {
        u64::from(choice)
    } else {
        (u128::from(choice) * u128::from(all) / u128::from(CHOICES_MAX)) as u64
    };
    let mut undone: Vec<&InFlight> = Vec::new();
    let mut touched: Vec<(&InFlight, Option<(ProgramFault, EraseFault)>)> = Vec::new();
    for die in &dies {
        let count = 1 + die.len() as u64 * (1 + TORN.len() as u64);
        let fate = fate(die.len(), choice % count);
        choice /= count;
        for (n, operation) in die.iter().enumerate() {
            if n < fate.done {
                touched.push((operation, None));
            } else {
                undone.push(operation);
                if n == fate.done && fate.torn.is_some() {
                    touched.push((operation, fate.torn));
                }
            }
        }
    }
    // Nothing has begun that had to wait for something undone.
    if touched.iter().any(|(t, _)| undone.iter().any(|u| t.at >= u.done)) {
        return false;
    }
    for (operation, torn) in touched {
        match torn {
            None => operation.change.complete(flash),
            Some((program, erase)) => operation.change.cut(flash, program, erase, seed),
        }
    }
    true
}
