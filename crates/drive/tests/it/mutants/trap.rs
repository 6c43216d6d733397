//! An experiment of the crash laboratory in which a mutant is caught: a sweep, or the soak.

use phelsuma_drive::lab::{Fault, LabConfig, LabError, Points, SoakConfig, SoakState, Sweep, Workload};
use phelsuma_ftl::{Barrier, Config, FtlError, Preset};
use phelsuma_nand::{Geometry, Timing};
use std::fmt;

/// A soak that has found nothing by then will not.
const CYCLES_MAX: u64 = 10_000;

/// A drive to be experimented on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drive {
    pub(crate) ftl: &'static str,
    pub(crate) set: &'static [(&'static str, &'static str)],
    pub(crate) page_bytes: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) blocks: u64,
    /// Channels, and dies on each.
    pub(crate) dies: (u32, u32),
    /// Entries in its cache, where it has one.
    pub(crate) cache: u32,
    /// Logical pages in percent: of all pages in a sweep, of the most that fit in a soak.
    pub(crate) full: u32,
    /// Of what happens to it.
    pub(crate) seed: u64,
}

impl Drive {
    fn geometry(&self) -> Geometry {
        let (channels, dies) = self.dies;
        Geometry::new(self.page_bytes, self.pages_per_block, self.blocks, channels, dies).unwrap()
    }

    fn ftl(&self, logical_pages: u32) -> Config {
        let mut composition = Preset::named(self.ftl).unwrap().composition;
        if composition.has_cache() {
            composition.set("mapping.cache", &self.cache.to_string()).unwrap();
        }
        composition.set_all(self.set).unwrap();
        Config::new(self.ftl, composition, logical_pages, 1)
    }
}

impl fmt::Display for Drive {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { page_bytes, pages_per_block, blocks, dies, full, seed, .. } = self;
        write!(out, "{blocks} blocks of {pages_per_block} pages")?;
        if *page_bytes != 512 {
            write!(out, " of {page_bytes} B")?;
        }
        match dies.0 * dies.1 {
            1 => {}
            dies => write!(out, ", {dies} dies")?,
        }
        write!(out, ", {full} %")?;
        if *seed == 1 { Ok(()) } else { write!(out, ", seed {seed}") }
    }
}

/// An experiment, by its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trap {
    /// The power is cut at operations spread over a workload.
    Sweep {
        drive: Drive,
        workload: Workload,
        writes: u32,
        /// So many.
        points: u32,
        /// All of them where none is named.
        faults: &'static [&'static str],
        /// Programs that fail besides.
        failing: u32,
    },
    /// Lives of random cuts.
    Soak {
        drive: Drive,
        /// A page decays in one cycle of so many; 0: never.
        decay: u32,
        /// A block grows bad in one cycle of so many; 0: never.
        bad: u32,
    },
}

/// How a mutant was caught.
#[derive(Clone, Debug)]
pub(crate) struct Caught {
    /// As what, and how often.
    pub(crate) kinds: Vec<(String, u64)>,
    /// Power cuts: in a sweep all, in a soak those until then.
    pub(crate) cuts: u64,
    /// What shows it again: the id of a branch, or the life and the cycle.
    pub(crate) id: String,
    /// Of a soak: how many it took.
    pub(crate) lives: u64,
}

impl Trap {
    fn drive(&self) -> &Drive {
        match self {
            Self::Sweep { drive, .. } | Self::Soak { drive, .. } => drive,
        }
    }

    /// The FTL's name, with its differences from the preset.
    pub(crate) fn ftl(&self) -> String {
        let Drive { ftl, set, .. } = self.drive();
        set.iter().fold((*ftl).to_string(), |name, (key, value)| format!("{name} {key}={value}"))
    }

    /// The findings of the experiment on an FTL that forgets `barrier`.
    pub(crate) fn with(&self, barrier: Barrier) -> Option<Caught> {
        self.run(Some(barrier), |state| state.failed == 0 && state.cycles < CYCLES_MAX)
    }

    /// Its findings on the FTL that forgets nothing: none. A soak is of so many lives.
    pub(crate) fn without(&self, lives: u64) -> Option<String> {
        let found = self.run(None, |state| state.failed == 0 && state.lives < lives);
        found.map(|found| format!("{:?}, first {}", found.kinds, found.id))
    }

    fn run(&self, forgets: Option<Barrier>, goes_on: impl Fn(&SoakState) -> bool) -> Option<Caught> {
        match self {
            Self::Sweep { .. } => self.sweep(forgets),
            Self::Soak { .. } => self.soak(forgets, goes_on),
        }
    }

    fn sweep(&self, forgets: Option<Barrier>) -> Option<Caught> {
        let Self::Sweep { drive, workload, writes, points, faults, failing } = *self else { return None };
        let geometry = drive.geometry();
        let mut ftl = drive.ftl((geometry.pages() * u64::from(drive.full) / 100) as u32);
        ftl.forgets = forgets;
        let named = faults.iter().flat_map(|name| Fault::named(name).unwrap()).collect();
        let config = LabConfig {
            geometry,
            timing: Timing::preset("gecko").unwrap(),
            ftl,
            workload,
            writes,
            points: Points::Some(points),
            faults: if faults.is_empty() { Fault::all() } else { named },
            depth: 1,
            seed: drive.seed,
            threads: 1,
        };
        let report = Sweep::new(&config).with_program_failures(failing).run().unwrap();
        let kinds =
            [("lost", report.lost), ("corrupt", report.corrupt), ("stuck", report.stuck), ("panic", report.panics)];
        let kinds = kinds.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.into(), count));
        let cuts = report.cuts + report.nested_cuts;
        report.replay.map(|id| Caught { kinds: kinds.collect(), cuts, id: id.to_string(), lives: 0 })
    }

    fn soak(&self, forgets: Option<Barrier>, goes_on: impl Fn(&SoakState) -> bool) -> Option<Caught> {
        let Self::Soak { drive, decay, bad } = *self else { return None };
        let of = |logical_pages| {
            let (geometry, timing) = (drive.geometry(), Timing::preset("gecko").unwrap());
            SoakConfig { geometry, timing, ftl: drive.ftl(logical_pages), seed: drive.seed, decay, bad, threads: 1 }
        };
        let all = drive.geometry().pages() as u32;
        let too_many = of(all).soak(&mut SoakState::new(&of(all)), 1, &mut |_| false);
        let Err(LabError::Workload(FtlError::DoesNotFit { largest_ratio, .. })) = too_many else {
            panic!("{self:?}: {too_many:?}")
        };
        let mut config = of((f64::from(all) * largest_ratio * f64::from(drive.full) / 100.0) as u32);
        config.ftl.forgets = forgets;
        let mut state = SoakState::new(&config);
        config.soak(&mut state, u64::MAX, &mut |state| goes_on(state)).unwrap();
        let found = state.found.first()?;
        let id = format!("life {}, cycle {}", found.life, found.cycle);
        Some(Caught { kinds: vec![(found.kind.clone(), 1)], cuts: state.cycles, id, lives: state.lives })
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sweep { drive, workload, writes, faults, failing, .. } => {
                write!(out, "`{}`, {writes} writes; {drive}", workload.name())?;
                if !faults.is_empty() {
                    write!(out, "; {}", faults.join(", "))?;
                }
                if *failing > 0 {
                    write!(out, "; {failing} programs fail")?;
                }
                Ok(())
            }
            Self::Soak { drive, decay, bad } => {
                write!(out, "soak; {drive}")?;
                if *decay > 0 {
                    write!(out, "; decay 1/{decay}")?;
                }
                if *bad > 0 {
                    write!(out, "; bad 1/{bad}")?;
                }
                Ok(())
            }
        }
    }
}
