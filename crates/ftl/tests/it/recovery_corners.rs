//! Cases in which the GeckoFTL paper's rules of recovery, of its own FTL and of IB-FTL, lose data or get stuck.
//!
//! With each repair no run of power cuts goes wrong. With mutants (`make mutants`) each is taken away again, and some
//! run does.
//!
//! That part-filled blocks do not pile up is in `cut_storm.rs`, where cuts are chosen so that the fewest free blocks
//! are left.

use crate::common::{Host, Step, below, chips, most_pages_of, small};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::Geometry;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The host's actions between power cuts.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Anything.
    Anything,
    /// Writes anywhere, and reads a few pages over and over that it wrote once after the last cut.
    ReadsWhatItWroteOnce,
    /// Writes a few pages over and over, and now and then any other.
    HotPages,
}

/// Power cuts in a row.
#[derive(Clone, Copy, Debug)]
struct Cuts {
    habit: Habit,
    /// Operations of the flash between them, at the most; recoveries are cut like everything else.
    operations_max: u64,
    cuts: u32,
    /// Of the most logical pages that fit.
    share: f64,
    placement: &'static str,
    /// Mapping entries.
    cache: u32,
}

fn geometry() -> Geometry {
    small(32, 128, 1, 1)
}

fn drive(ftl: &str, cuts: Cuts, prepare: &dyn Fn(&mut Config), seed: u64) -> Host {
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set("mapping.cache", &cuts.cache.to_string()).unwrap();
    composition.set("placement", cuts.placement).unwrap();
    let logical_pages = (f64::from(most_pages_of(composition, geometry())) * cuts.share) as u32;
    let mut config = Config::new(ftl, composition, logical_pages, 7);
    prepare(&mut config);
    Host::new(chips(geometry()), config, seed)
}

fn step(habit: Habit, n: u32, pages: u32, rng: &mut Xoshiro256PlusPlus) -> Step {
    let anywhere = below(rng, u64::from(pages)) as u32;
    let write = |first| Step::Write { first, pages: 1, bytes: false };
    match habit {
        Habit::Anything => Step::by_chance(rng, pages),
        Habit::ReadsWhatItWroteOnce if n < 4 => write(n * 200),
        Habit::ReadsWhatItWroteOnce if n.is_multiple_of(2) => Step::Read { first: n / 2 % 4 * 200, pages: 1 },
        Habit::ReadsWhatItWroteOnce => write(anywhere),
        Habit::HotPages if below(rng, 12) == 0 => write(anywhere),
        Habit::HotPages => write(anywhere % 7 * 131 % pages),
    }
}

/// Power cuts on one drive, until it goes wrong or there were enough. Panics at an error.
fn suffer(ftl: &str, cuts: Cuts, prepare: &dyn Fn(&mut Config), seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = drive(ftl, cuts, prepare, seed);
    for _ in 0..2 {
        host.overwrite().unwrap();
    }
    host.plug.arm(below(&mut rng, cuts.operations_max + 1));
    let (mut done, mut n) = (0, 0);
    while done < cuts.cuts {
        if host.ftl.is_some() {
            let step = step(cuts.habit, n, host.logical_pages(), &mut rng);
            n += 1;
            if let Err(error) = host.step(&step) {
                assert!(host.plug.cut_at().is_some(), "{step:?} fails with the power on: {error}");
            }
        } else {
            host.plug.arm(below(&mut rng, cuts.operations_max + 1));
            n = 0;
            if let Err(error) = host.recover() {
                assert!(host.plug.cut_at().is_some(), "recovery fails with the power on: {error}");
            }
        }
        if host.plug.cut_at().is_some() {
            done += 1;
            host.power_back();
        }
    }
    host.plug.disarm();
    if host.ftl.is_none() {
        host.recover().unwrap();
    }
    host.overwrite().unwrap_or_else(|error| panic!("the drive cannot be written over: {error}"));
    host.compare_all();
    host.check();
}

/// The runs that are tried, the shortest first.
fn trials() -> Vec<Cuts> {
    let usual =
        Cuts { habit: Habit::Anything, operations_max: 60, cuts: 150, share: 0.9, placement: "one-stream", cache: 24 };
    vec![
        usual,
        Cuts { habit: Habit::ReadsWhatItWroteOnce, operations_max: 200, cuts: 30, ..usual },
        Cuts { habit: Habit::HotPages, operations_max: 150, ..usual },
        Cuts { habit: Habit::HotPages, operations_max: 300, cuts: 60, share: 0.5, placement: "host-gc", ..usual },
        Cuts { habit: Habit::HotPages, operations_max: 4_000, cuts: 20, share: 1.0, cache: 800, ..usual },
        Cuts { operations_max: 60, cuts: 200, cache: 400, ..usual },
        Cuts { operations_max: 1, cuts: 1_500, share: 1.0, ..usual },
    ]
}

fn goes_wrong(ftl: &str, prepare: &dyn Fn(&mut Config), seeds: core::ops::RangeInclusive<u64>) -> Option<String> {
    seeds.into_iter().find_map(|seed| {
        trials().into_iter().find_map(|cuts| {
            let panic = catch_unwind(AssertUnwindSafe(|| suffer(ftl, cuts, prepare, seed))).err()?;
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|t| (*t).to_string())).unwrap_or_default();
            Some(format!("{cuts:?}, seed {seed}: {text}"))
        })
    })
}

#[test]
fn with_every_repair_no_run_of_cuts_goes_wrong() {
    for ftl in ["geckoftl", "lazyftl", "ib-ftl"] {
        assert_eq!(goes_wrong(ftl, &|_| {}, 1..=2), None);
    }
}

/// What goes wrong without a repair.
#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    /// Of these barriers, those without which nothing goes wrong.
    fn missed(ftl: &str, barriers: &[Barrier]) -> Vec<Barrier> {
        let mut missed = Vec::new();
        for barrier in barriers {
            let wrong = goes_wrong(ftl, &|config| config.forgets = Some(*barrier), 1..=4);
            println!("{ftl} {barrier:?}: {}", wrong.as_deref().unwrap_or("nothing").lines().next().unwrap_or_default());
            if wrong.is_none() {
                missed.push(*barrier);
            }
        }
        missed
    }

    #[test]
    fn without_any_one_of_gecko_recs_repairs_some_run_of_cuts_goes_wrong() {
        assert_eq!(missed("geckoftl", Barrier::OF_GECKO_REC_IN_THE_LONG_RUN), []);
    }

    #[test]
    fn without_any_one_of_the_repairs_of_pages_that_point_back_some_run_of_cuts_goes_wrong() {
        assert_eq!(missed("ib-ftl", Barrier::OF_POINTING_BACK), []);
    }
}
