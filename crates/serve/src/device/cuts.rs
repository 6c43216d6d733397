//! When the power is to be cut, as a few words state it, and what the cuts leave.

use super::Cut;
use phelsuma_drive::lab::Fault;
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;
use std::str::FromStr;

/// When the power is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutPlan {
    /// Once: after so many programs and erases; and a seed for choices left to chance. `OPS` or `OPS:SEED`.
    After {
        /// Programs and erases before it.
        operations: u64,
        /// Seed of the choices that a fault leaves open.
        seed: u64,
    },
    /// Again and again, each time after a number of programs and erases drawn between two: `LEAST..MOST:SEED`.
    Every {
        /// The least number.
        least: u64,
        /// The largest number.
        most: u64,
        /// Seed of all of them.
        seed: u64,
    },
}

impl FromStr for CutPlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{}' is not a plan of cuts; use 1000, 1000:SEED or 100..5000:SEED", text.escape_debug());
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        let (when, seed) = match text.split_once(':') {
            Some((when, seed)) => (when, Some(number(seed)?)),
            None => (text, None),
        };
        match when.split_once("..") {
            None => Ok(Self::After { operations: number(when)?, seed: seed.unwrap_or(1) }),
            Some((least, most)) => {
                let (least, most) = (number(least)?, number(most.strip_prefix('=').unwrap_or(most))?);
                if least > most {
                    return Err(format!("{least}..{most} is an empty range; use {most}..{least}"));
                }
                Ok(Self::Every { least, most, seed: seed.ok_or_else(wrong)? })
            }
        }
    }
}

impl fmt::Display for CutPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After { operations, seed } => write!(f, "{operations}:{seed}"),
            Self::Every { least, most, seed } => write!(f, "{least}..{most}:{seed}"),
        }
    }
}

/// The possible faults of the operation that a cut meets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults {
    programs: Vec<ProgramFault>,
    erases: Vec<EraseFault>,
}

impl Default for Faults {
    /// All of them.
    fn default() -> Self {
        Self { programs: ProgramFault::ALL.to_vec(), erases: EraseFault::ALL.to_vec() }
    }
}

impl FromStr for Faults {
    type Err = String;

    /// Names of faults, separated by commas; where none is of an erase, an erase may meet any, and so with programs.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut programs, mut erases) = (Vec::new(), Vec::new());
        for name in text.split(',') {
            let before = programs.len() + erases.len();
            for fault in Fault::all().into_iter().filter(|fault| fault.name() == name.trim()) {
                match fault {
                    Fault::Program(fault) => programs.push(fault),
                    Fault::Erase(fault) => erases.push(fault),
                    Fault::Announced | Fault::Defect(_) => {}
                }
            }
            if programs.len() + erases.len() == before {
                let mut known: Vec<&str> = Fault::all().into_iter().map(Fault::name).collect();
                known.sort_unstable();
                known.dedup();
                return Err(format!(
                    "'{}' is not a fault that a power cut causes; use {}",
                    name.escape_debug(),
                    known.join(", ")
                ));
            }
        }
        let all = Self::default();
        Ok(Self {
            programs: if programs.is_empty() { all.programs } else { programs },
            erases: if erases.is_empty() { all.erases } else { erases },
        })
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Self::default();
        let programs = self.programs.iter().map(|fault| fault.name()).filter(|_| self.programs != all.programs);
        let erases = self.erases.iter().map(|fault| fault.name()).filter(|_| self.erases != all.erases);
        f.write_str(&programs.chain(erases).collect::<Vec<_>>().join(","))
    }
}

/// Draws cuts.
pub(crate) struct Cuts {
    plan: Option<CutPlan>,
    faults: Faults,
    random: Xoshiro256PlusPlus,
}

impl Cuts {
    pub(crate) fn new(plan: Option<CutPlan>, faults: Faults) -> Self {
        let seed = match plan {
            Some(CutPlan::After { seed, .. } | CutPlan::Every { seed, .. }) => seed,
            None => 1,
        };
        Self { plan, faults, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// After how many operations the plan has the power cut next, and whether the drive mounts again then.
    pub(crate) fn next(&mut self) -> Option<(u64, bool)> {
        match self.plan? {
            CutPlan::After { operations, .. } => {
                self.plan = None;
                Some((operations, false))
            }
            CutPlan::Every { least, most, .. } => {
                let span = u128::from(most - least) + 1;
                Some((least + (u128::from(self.random.next_u64()) % span) as u64, true))
            }
        }
    }

    /// The fault of the next cut. Its operation is set when it is armed.
    pub(crate) fn fault(&mut self) -> Cut {
        let program = self.random.next_u64() as usize % self.faults.programs.len();
        let erase = self.random.next_u64() as usize % self.faults.erases.len();
        let (program, erase) = (self.faults.programs[program], self.faults.erases[erase]);
        Cut { operation: 0, program, erase, seed: self.random.next_u64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_as_they_are_written() {
        for text in ["0:1", "1000:7", "3..3:0", "100..5000:9"] {
            assert_eq!(text.parse::<CutPlan>().unwrap().to_string(), text);
        }
        assert_eq!("12".parse(), Ok(CutPlan::After { operations: 12, seed: 1 }));
        for wrong in ["", "x", "1..", "5..3:1", "1..3", "-1", "1:", "1..2:x"] {
            assert!(wrong.parse::<CutPlan>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn cuts_that_come_again_stay_in_their_range_and_reach_its_ends() {
        let mut cuts = Cuts::new(Some("3..5:1".parse().unwrap()), Faults::default());
        let mut seen = [0; 10];
        (0..100).for_each(|_| seen[cuts.next().unwrap().0 as usize] += 1);
        assert!(seen[3] > 10 && seen[4] > 10 && seen[5] > 10 && seen.iter().sum::<u32>() == 100, "{seen:?}");
        let mut once = Cuts::new(Some("7".parse().unwrap()), "torn-seen".parse().unwrap());
        assert_eq!((once.next(), once.next()), (Some((7, false)), None));
        assert_eq!(once.fault().program, ProgramFault::TornSeen);
    }
}
