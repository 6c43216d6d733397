//! The soak: drives live, one after the other, through random requests, power cuts, decay and bad blocks.
//!
//! Power is cut at random operations, recoveries are cut short, pages decay and blocks grow bad. Everything is checked
//! after each cut.
//!
//! A life is made of its number and the seed alone, so lives add up. A soak that is stopped goes on where it was, and
//! any life can be lived again. A finding is shortened to the fewest cycles and requests that show it (`shrink.rs`).

mod cycle;
mod life;
mod shrink;

use super::config::LabError;
use super::failure::Failure;
use super::panics::{in_branch, quiet_in_branches};
use super::script::{Plan, Request, Script};
use super::subject::{Any, Subject, described, entries_drawn_for};
use super::workload::Workload;
use cycle::{Chance, Cycle, Odds};
use life::{Life, Species, Tally};
use phelsuma_ftl::Config;
use phelsuma_nand::{Geometry, Timing};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// Write requests of a life, those that fill the drive not counted.
const WRITES: u32 = 1_000;
/// How many findings are kept.
const FOUND_MAX: usize = 10;

/// What soaks, and in what: an FTL of this project, or any other [`Subject`].
#[derive(Clone, Debug)]
pub struct SoakConfig<F = Config> {
    /// The chip set's shape.
    pub geometry: Geometry,
    /// How long its operations take.
    pub timing: Timing,
    /// The FTL.
    pub ftl: F,
    /// What every life is made of, with its number.
    pub seed: u64,
    /// A page decays in one cycle of so many; 0: never. What may then be lost is what FTLs of this project may lose.
    pub decay: u32,
    /// A block grows bad in one cycle of so many; 0: never.
    pub bad: u32,
    /// Threads.
    pub threads: usize,
}

/// A failure that a life has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakFound {
    /// The life's number.
    pub life: u64,
    /// The cycle in it, from 0.
    pub cycle: u64,
    /// `lost`, `corrupt`, `stuck` or `panic`.
    pub kind: String,
    /// The finding.
    pub message: String,
    /// The shortest way to it that was found, a line a step; after the drive was filled.
    pub script: Vec<String>,
    /// Whether the FTL promises that this cannot be; only [`SoakConfig::relive`] reports false.
    #[serde(default = "yes")]
    pub promised: bool,
}

fn yes() -> bool {
    true
}

/// Of the state that a soak keeps.
const SCHEMA: &str = "phelsuma.soak/1";

/// How far a soak is; `phelsuma.soak/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoakState {
    /// `phelsuma.soak/1`.
    pub schema: String,
    /// The FTL.
    #[serde(default)]
    pub ftl: String,
    /// What soaks, and in what: counts of equal ones add up.
    pub of: String,
    /// Which builds it was done with: names by which the caller of [`SoakConfig::soak`] distinguishes them, in their
    /// order.
    #[serde(default)]
    pub builds: Vec<String>,
    /// Whether it gets hints that no real FTL has.
    #[serde(default)]
    pub oracle: bool,
    /// Lives that have ended.
    pub lives: u64,
    /// Cycles in them: each ends with a power cut, and everything looked at.
    pub cycles: u64,
    /// Cuts that met a program or an erase of requests.
    pub cuts: u64,
    /// The same of recoveries.
    pub recovery_cuts: u64,
    /// Pages that decayed.
    pub decayed: u64,
    /// Blocks that were made to fail, at their next program or erase.
    pub grown_bad: u64,
    /// Lives that came to their end: so many blocks were bad that the drive could only be read.
    #[serde(default)]
    pub worn_out: u64,
    /// Lives that showed something wrong.
    pub failed: u64,
    /// Lives that lost data or got stuck after something had befallen the drive for which its design promises nothing
    /// ([`Subject::promise`](super::Subject::promise)).
    #[serde(default)]
    pub not_promised: u64,
    /// The first of those; [`SoakConfig::relive`] reports what they showed.
    #[serde(default)]
    pub lives_not_promised: Vec<u64>,
    /// Seconds that it took.
    pub seconds: f64,
    /// The first of the failures.
    pub found: Vec<SoakFound>,
}

impl SoakState {
    /// Of a soak that has not begun.
    pub fn new<F: Subject + Clone + 'static>(config: &SoakConfig<F>) -> Self {
        Self {
            schema: SCHEMA.into(),
            ftl: config.ftl.name().into(),
            builds: Vec::new(),
            of: config.describe(),
            oracle: config.ftl.is_oracle(),
            lives: 0,
            cycles: 0,
            cuts: 0,
            recovery_cuts: 0,
            decayed: 0,
            grown_bad: 0,
            worn_out: 0,
            failed: 0,
            not_promised: 0,
            lives_not_promised: Vec::new(),
            seconds: 0.0,
            found: Vec::new(),
        }
    }

    /// Why no soak has left this, if that can be seen.
    pub fn what_is_wrong(&self) -> Option<String> {
        if self.schema != SCHEMA {
            return Some(format!("schema '{}'; '{SCHEMA}' would be right", self.schema));
        }
        let most = |what: &str, n: u64, of: &str, all: u64| (n > all).then(|| format!("{n} {what} of {all} {of}"));
        // A life that fails, as promised or not, may have ended before its first cycle did.
        let held = self.lives.saturating_sub(self.failed).saturating_sub(self.not_promised);
        most("cuts", self.cuts, "cycles", self.cycles)
            .or_else(|| most("lives that held", held, "cycles", self.cycles))
            .or_else(|| most("failed lives", self.failed, "lives", self.lives))
            .or_else(|| most("lives found", self.found.len() as u64, "failed ones", self.failed))
            .or_else(|| most("cycles", self.cycles, "that can be counted", u64::MAX / 2))
    }

    fn add(&mut self, lived: Lived) {
        if lived.ended_unpromised && self.lives_not_promised.len() < FOUND_MAX {
            self.lives_not_promised.push(self.lives);
        }
        self.lives += 1;
        let Tally { cycles, cuts, recovery_cuts, decayed, grown_bad } = lived.tally;
        self.cycles += cycles;
        self.cuts += cuts;
        self.recovery_cuts += recovery_cuts;
        self.decayed += decayed;
        self.grown_bad += grown_bad;
        self.worn_out += u64::from(lived.worn_out);
        self.failed += u64::from(lived.found.is_some());
        self.not_promised += u64::from(lived.ended_unpromised);
        self.found.extend(lived.found);
        self.found.truncate(FOUND_MAX);
    }
}

/// A life that has ended.
struct Lived {
    tally: Tally,
    found: Option<SoakFound>,
    /// Something is wrong, and nothing else was promised.
    ended_unpromised: bool,
    /// It could only be read in the end.
    worn_out: bool,
}

impl<F: Subject + Clone + 'static> SoakConfig<F> {
    /// All that determines lives, in a line.
    fn describe(&self) -> String {
        let Self { geometry, timing, ftl, seed, decay, bad, .. } = self;
        format!("{}, seed {seed}, decay 1/{decay}, bad 1/{bad}", described(ftl, geometry, timing))
    }

    fn species(&self) -> Species {
        let ftl: Any = Arc::new(self.ftl.clone());
        Species { geometry: self.geometry, timing: self.timing, ftl }
    }

    /// Goes on until there are so many cycles. `tell` is called after every few lives, and says whether to go on.
    ///
    /// # Errors
    /// [`LabError`]: the FTL is not made for it, or fails even on a new drive.
    pub fn soak(
        &self,
        state: &mut SoakState,
        cycles: u64,
        tell: &mut dyn FnMut(&SoakState) -> bool,
    ) -> Result<(), LabError> {
        quiet_in_branches();
        while state.cycles < cycles {
            let begun = Instant::now();
            let threads = self.threads.max(1) as u64;
            let lived: Vec<Result<Lived, LabError>> = std::thread::scope(|scope| {
                let lives: Vec<_> = (state.lives..state.lives.saturating_add(threads))
                    .map(|n| scope.spawn(move || self.live(n, false)))
                    .collect();
                lives.into_iter().map(|l| l.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
            });
            for lived in lived {
                // However many threads there are, lives beyond that are left out.
                if state.cycles < cycles {
                    state.add(lived?);
                }
            }
            state.seconds += begun.elapsed().as_secs_f64();
            if !tell(state) {
                break;
            }
        }
        Ok(())
    }

    /// Lives the life with this number once more; its failures, promised or not.
    ///
    /// # Errors
    /// As [`SoakConfig::soak`].
    pub fn relive(&self, number: u64) -> Result<Option<SoakFound>, LabError> {
        quiet_in_branches();
        Ok(self.live(number, true)?.found)
    }

    /// `tells_all`: failures are found also where nothing else was promised.
    fn live(&self, number: u64, tells_all: bool) -> Result<Lived, LabError> {
        if let Some(why) = self.ftl.why_not_survivable() {
            return Err(LabError::NotPromised(self.ftl.name().into(), why));
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let workload = Workload::ALL[(rng.next_u64() >> 32) as usize % Workload::OF_SOAKS];
        let plan = Plan {
            workload,
            physical_pages: self.geometry.pages(),
            logical_pages: self.ftl.logical_pages(),
            cache_entries: entries_drawn_for(&self.ftl),
            writes: WRITES,
            seed: rng.next_u64(),
        };
        let Script { requests, preconditioning } = Script::new(&plan);
        let mut workload = requests[preconditioning..].iter().copied().filter(|request| *request != Request::Cut);
        let (mut chance, odds) = (Chance(rng), Odds { decay: self.decay, bad: self.bad });
        let cycles: Vec<Cycle> = core::iter::from_fn(|| chance.cycle(odds, &mut workload)).collect();
        let species = self.species();
        let mut life = Life::new(&species)?;
        let failed = live(&mut life, &requests[..preconditioning], &cycles);
        let (tally, worn_out) = (life.tally, life.is_over);
        let is_promised = |failed: &Failed| failed.failure.kind.is_never_excused() || life.is_promised();
        let ended_unpromised = failed.as_ref().is_some_and(|failed| !is_promised(failed));
        let failed = failed.filter(|_| !ended_unpromised || tells_all);
        let found = failed.map(|failed| {
            let shortest = shrink::shortest(&species, &requests[..preconditioning], &cycles, &failed);
            SoakFound {
                life: number,
                cycle: failed.cycle as u64,
                kind: failed.failure.kind.name().into(),
                message: failed.failure.message,
                script: shortest,
                promised: !ended_unpromised,
            }
        });
        Ok(Lived { tally, found, ended_unpromised, worn_out })
    }
}

/// The failure, and when it was found.
struct Failed {
    cycle: usize,
    failure: Failure,
}

/// Lives a life to its end, or as far as nothing is wrong.
fn live(life: &mut Life<'_>, preconditioning: &[Request], cycles: &[Cycle]) -> Option<Failed> {
    let mut cycle = 0;
    let outcome = in_branch(|| {
        life.fill(preconditioning)?;
        for one in cycles {
            life.cycle(one)?;
            cycle += 1;
            if life.is_over {
                break;
            }
        }
        life.end()
    });
    outcome.err().map(|failure| Failed { cycle, failure })
}
