//! A cycle of the soak: what decays, what the host does, and where the power fails.
//!
//! It is drawn as a whole before any of it is done. So a cycle, or a request of it, can be left out and the others stay
//! the same.

use crate::lab::decay::Decays;
use crate::lab::script::Request;
use phelsuma_nand::sim::{Decay, EraseFault, ProgramFault};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;

/// The power fails at a program or an erase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    /// At so many programs and erases from here on, counted from 0.
    pub(crate) operation: u32,
    pub(crate) program: ProgramFault,
    pub(crate) erase: EraseFault,
    /// Chooses what became of operations on other dies, and where a fault leaves a choice.
    pub(crate) seed: u64,
}

impl Cut {
    /// The same where a battery lets the operations in progress finish: each is done, and the next one not begun.
    pub(crate) fn between_operations(self) -> Self {
        // The upper half chooses what became of operations on other dies, and 0 that all are done.
        let seed = self.seed & u64::from(u32::MAX);
        Self { program: ProgramFault::NotStarted, erase: EraseFault::NotStarted, seed, ..self }
    }
}

/// A block grows bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Breaks {
    /// The block programmed last: its next program fails.
    AtProgram,
    /// This one (modulo how many there are): its next erase fails.
    AtErase(u32),
}

/// What happens until the power is back once more.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Cycle {
    pub(crate) decays: Option<Decays>,
    pub(crate) breaks: Option<Breaks>,
    /// Before these the power is on.
    pub(crate) requests: Vec<Request>,
    /// Where it fails; at rest after the last request if that is further than they come.
    pub(crate) cut: Cut,
    /// And where during the recoveries, one after the other.
    pub(crate) recovery_cuts: Vec<Cut>,
    /// Then everything is written over once.
    pub(crate) overwrite: bool,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} ({} or {})", self.operation, self.program.name(), self.erase.name())
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Decays { metadata, decay, .. }) = &self.decays {
            let whose = if *metadata { "metadata" } else { "the host" };
            let how = match decay {
                Decay::Uncorrectable => "wholly",
                Decay::Spare(_) => "in its spare area",
                Decay::Data(_) => "by a bit of its data",
            };
            write!(f, "a page of {whose} decays {how}; ")?;
        }
        match self.breaks {
            Some(Breaks::AtProgram) => f.write_str("the block programmed last grows bad; ")?,
            Some(Breaks::AtErase(_)) => f.write_str("a block is to fail its next erase; ")?,
            None => {}
        }
        for request in &self.requests {
            write!(f, "{request}; ")?;
        }
        write!(f, "cut at {}", self.cut)?;
        for cut in &self.recovery_cuts {
            write!(f, ", the recovery at {cut}")?;
        }
        if self.overwrite {
            f.write_str("; everything is written over")?;
        }
        Ok(())
    }
}

/// How often what happens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Odds {
    /// A page decays in one cycle of so many; 0: never.
    pub(crate) decay: u32,
    /// A block grows bad in one cycle of so many; 0: never.
    pub(crate) bad: u32,
}

/// Draws cycles.
pub(crate) struct Chance(pub(crate) Xoshiro256PlusPlus);

impl Chance {
    fn below(&mut self, n: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(n.max(1))) >> 32) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        n > 0 && self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }

    fn cut(&mut self) -> Cut {
        // Mostly early: a recovery, or a collection, has few operations.
        let most = self.of(&[2, 6, 20, 100]);
        Cut {
            operation: self.below(most),
            program: self.of(ProgramFault::ALL),
            erase: self.of(EraseFault::ALL),
            seed: self.0.next_u64(),
        }
    }

    /// The next cycle with the next few of these requests.
    pub(crate) fn cycle(&mut self, odds: Odds, requests: &mut impl Iterator<Item = Request>) -> Option<Cycle> {
        let most = self.of(&[1, 4, 16, 64]);
        let requests: Vec<Request> = requests.take(1 + self.below(most) as usize).collect();
        if requests.is_empty() {
            return None;
        }
        let decays = self.one_in(odds.decay).then(|| Decays {
            metadata: self.below(2) == 0,
            number: self.below(u32::MAX),
            decay: match self.below(3) {
                0 => Decay::Uncorrectable,
                1 => Decay::Spare(self.below(1 << 20)),
                _ => Decay::Data(self.0.next_u64() >> 32),
            },
        });
        let breaks = self.one_in(odds.bad).then(|| match self.below(2) {
            0 => Breaks::AtProgram,
            _ => Breaks::AtErase(self.below(u32::MAX)),
        });
        let mut recovery_cuts = Vec::new();
        while recovery_cuts.len() < 4 && self.one_in(3) {
            recovery_cuts.push(self.cut());
        }
        let overwrite = self.one_in(64);
        Some(Cycle { decays, breaks, requests, cut: self.cut(), recovery_cuts, overwrite })
    }
}
