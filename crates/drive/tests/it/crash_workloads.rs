//! Every workload of the crash laboratory with every FTL that survives power cuts.
//!
//! With mutants (`make mutants`) it also proves that each workload notices what it is there for.

use crate::room;
use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_ftl::{Config, PRESETS, Preset};
use phelsuma_nand::{Geometry, Timing};

fn config(name: &str, workload: Workload, writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    let several = dies.0 * dies.1 > 1;
    let (blocks, ratio) = match (name, several) {
        ("phelsuma", several) => (256, if several { 0.2 } else { 0.3 }),
        ("geckoftl" | "geckoftl-classes", false) => (128, 0.6),
        ("geckoftl" | "geckoftl-classes" | "mu-ftl-pvb", true) => (256, 0.4),
        ("mu-ftl-pvb" | "ib-ftl", false) => (128, 0.4),
        ("ib-ftl", true) => (256, 0.3),
        ("lazyftl" | "dftl", true) => (128, 0.4),
        ("lazyftl" | "dftl", false) => (64, 0.5),
        (_, true) => (64, 0.25),
        _ => (64, 0.6),
    };
    let mut composition = Preset::named(name).unwrap().composition;
    if composition.cache_entries().is_some() {
        // Small for the drive, so that entries are evicted.
        composition.set("mapping.cache", "64").unwrap();
    }
    if name == "last++" {
        // Requests here are short.
        composition.set("last.threshold", "3").unwrap();
    }
    let logical_pages = (blocks as f64 * 32.0 * ratio) as u32;
    let geometry = room::roomy(name, composition, logical_pages, blocks, dies);
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, logical_pages, 1),
        workload,
        writes,
        points: Points::Every,
        faults: Fault::all(),
        depth,
        seed: 1,
        threads: 2,
    }
}

fn run(config: &LabConfig) -> CrashReport {
    Sweep::new(config).run().unwrap_or_else(|e| panic!("{} {:?}: {e}", config.ftl.name, config.workload))
}

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn assert_sound(report: &CrashReport) {
    assert!(!report.failed(), "{}, {:?}: {:#?}", report.ftl, report.workload, report.failures);
    assert!(report.cuts > 0);
}

/// Every FTL that survives power cuts, but for oracles, which are for no data. Each has the cost of a branch of it
/// here: one of those with a table of pages in RAM is one.
///
/// On one channel an FTL for each is the one that it is made of: it is tried there in the long mode alone.
fn survivors((channels, _): (u32, u32)) -> impl Iterator<Item = (&'static str, u32)> {
    let survivors = PRESETS.iter().filter(|preset| preset.composition.why_not_survivable().is_none());
    let survivors = survivors.filter(|preset| preset.composition.knowledge().is_none());
    let survivors = survivors.filter(move |preset| channels > 1 || thorough() || !preset.composition.is_per_channel());
    survivors.map(|preset| {
        let is_in_ram = preset.composition.page_mapped().is_some_and(|_| !preset.composition.has_cache());
        (preset.name, if is_in_ram { 1 } else { 8 })
    })
}

fn has_battery(name: &str) -> bool {
    Preset::named(name).unwrap().composition.has_battery()
}

/// `cuts` of each, or fewer where they cost more, and eight times as many in the long mode. Not in the long mode it is a
/// sample: each FTL under a ninth of the workloads, and each workload with a ninth of the FTLs; less than half of these
/// where recoveries are cut as well.
fn sweep_all(cuts: u32, writes: u32, depth: u32, dies: (u32, u32)) {
    let part = if depth > 1 { 23 } else { 9 };
    for (number, (name, cost)) in survivors(dies).enumerate() {
        let sample = |w: &usize| thorough() || (w + number).is_multiple_of(part);
        for workload in (0..Workload::ALL.len()).filter(sample).map(|w| Workload::ALL[w]) {
            let cuts = if has_battery(name) { 4 * cuts } else { cuts.div_ceil(cost) };
            let cuts = if thorough() { 8 * cuts } else { cuts };
            let points = Points::Some(cuts);
            let mut config = LabConfig { points, ..config(name, workload, writes, depth, dies) };
            if depth > 1 && name == "mu-ftl" && !thorough() {
                // Each of its recoveries writes a tree, at each of whose operations all faults would be tried.
                config.faults = ["not-started", "torn-seen"].map(|fault| Fault::named(fault).unwrap()).concat();
            }
            let report = run(&config);
            assert_sound(&report);
            assert_eq!(report.restarts > 0, matches!(workload, Workload::Restarts | Workload::Closes));
        }
    }
}

#[test]
fn every_ftl_survives_cuts_of_every_workload() {
    sweep_all(8, if thorough() { 2_000 } else { 500 }, 1, (1, 1));
}

#[test]
fn every_ftl_survives_cuts_of_its_recoveries_from_every_workload() {
    sweep_all(2, 300, 2, (1, 1));
}

#[test]
fn every_ftl_survives_every_workload_on_several_dies() {
    sweep_all(2, 300, 1, (2, 2));
    if thorough() {
        sweep_all(2, 300, 1, (2, 1));
    }
}

/// However often the power fails while a drive mounts, it does mount when it is left alone.
#[test]
fn recoveries_that_are_cut_again_and_again_come_up_in_the_end() {
    for (name, _) in survivors((1, 1)).filter(|(name, _)| !has_battery(name)) {
        let faults = Fault::named("not-started").unwrap();
        let points = Points::Some(if thorough() { 4 } else { 1 });
        let config = LabConfig { faults, points, ..config(name, Workload::Mixed, 300, 1, (1, 1)) };
        let times = if thorough() { 300 } else { 40 };
        let report = Sweep::new(&config).cutting_recoveries_again(times).run().unwrap();
        assert_sound(&report);
        assert!(report.nested_cuts >= u64::from(times), "{name}: {} nested cuts", report.nested_cuts);
    }
}

/// Sixteen blocks are part-filled at once, and each of these recoveries gets no further than to copies from one or two.
#[test]
fn recoveries_cut_early_leave_free_blocks_to_many_streams() {
    let geometry = Geometry::new(512, 32, 128, 1, 1).unwrap();
    let composition = Preset::named("oracle").unwrap().composition;
    let logical_pages = (geometry.pages() as f64 * 0.6) as u32;
    let config = LabConfig {
        geometry,
        ftl: Config::new("oracle", composition, logical_pages, 1),
        faults: Fault::named("not-started").unwrap(),
        points: Points::Some(20),
        ..config("page", Workload::Mixed, 500, 1, (1, 1))
    };
    let report = Sweep::new(&config).cutting_recoveries_again(40).run().unwrap();
    assert_sound(&report);
    assert!(report.nested_cuts > 2_000, "{} nested cuts", report.nested_cuts);
}

#[test]
fn operations_of_the_recoveries_in_a_workload_are_counted_and_cut() {
    for name in ["page", "geckoftl"] {
        let cut_everywhere = |workload| {
            let faults = Fault::named("not-started").unwrap();
            run(&LabConfig { faults, ..config(name, workload, 40, 1, (1, 1)) })
        };
        let (mixed, restarts) = (cut_everywhere(Workload::Mixed), cut_everywhere(Workload::Restarts));
        assert_sound(&restarts);
        assert_eq!(restarts.preconditioning_operations, mixed.preconditioning_operations);
        assert!(restarts.restarts > 5 && restarts.operations > mixed.operations + restarts.restarts, "{restarts:?}");
        let of_workload = restarts.operations - restarts.preconditioning_operations;
        assert_eq!(restarts.cut_points, of_workload + 32);
        assert_eq!(restarts.cuts, u64::from(restarts.cut_points));
    }
}

#[test]
fn reads_evict_what_has_to_be_written() {
    let operations = |workload| {
        let config = LabConfig { points: Points::Some(0), ..config("geckoftl", workload, 400, 1, (1, 1)) };
        Sweep::new(&config).run().unwrap().operations
    };
    assert!(operations(Workload::Reads) > operations(Workload::Mixed) + 50);
}

#[test]
fn a_workload_that_cuts_the_power_itself_gives_the_same_report_on_any_number_of_threads() {
    for (name, dies) in [("page", (1, 1)), ("page", (2, 2)), ("geckoftl", (1, 1))] {
        let json = |threads| {
            let points = Points::Some(8);
            let config = LabConfig { points, threads, ..config(name, Workload::Restarts, 60, 1, dies) };
            serde_json::to_string(&run(&config)).unwrap()
        };
        let one = json(1);
        assert_eq!(json(3), one, "{name} on {dies:?} dies");
    }
}

/// Every workload notices something that an FTL forgets.
#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    /// An experiment in which an FTL that forgets a barrier must be caught.
    struct Trap {
        workload: Workload,
        ftl: &'static str,
        barrier: Barrier,
        cuts: u32,
        /// Whether `mixed` does not notice it with as many cuts.
        mixed_misses: bool,
    }

    const TRAPS: [Trap; 12] = [
        Trap {
            workload: Workload::Mixed,
            ftl: "page",
            barrier: Barrier::SuspectsVerified,
            cuts: 12,
            mixed_misses: false,
        },
        Trap {
            workload: Workload::Reads,
            ftl: "geckoftl",
            barrier: Barrier::JudgedBeforeMoved,
            cuts: 16,
            mixed_misses: false,
        },
        // Trims stay pending until the blocks of the trimmed pages are written again: without a flush that takes long.
        Trap {
            workload: Workload::Trims,
            ftl: "page",
            barrier: Barrier::TrimsBeforeReuse,
            cuts: 12,
            mixed_misses: true,
        },
        // Entries from before the pages became hot rest in the cache, dirty, and would never be synchronized.
        Trap {
            workload: Workload::Hot,
            ftl: "geckoftl",
            barrier: Barrier::CheckpointsTaken,
            cuts: 12,
            mixed_misses: true,
        },
        // Hardly any page that was overwritten in order is moved: the block of moved pages stays open.
        Trap {
            workload: Workload::Slow,
            ftl: "geckoftl",
            barrier: Barrier::OldestOpenListed,
            cuts: 6,
            mixed_misses: true,
        },
        Trap {
            workload: Workload::Restarts,
            ftl: "geckoftl",
            barrier: Barrier::RunsCoverOnce,
            cuts: 30,
            mixed_misses: false,
        },
        Trap {
            workload: Workload::Flushes,
            ftl: "page",
            barrier: Barrier::TrimsAtFlush,
            cuts: 12,
            mixed_misses: false,
        },
        Trap {
            workload: Workload::Large,
            ftl: "page",
            barrier: Barrier::CopiesBeforeErase,
            cuts: 12,
            mixed_misses: false,
        },
        Trap {
            workload: Workload::Skewed,
            ftl: "page",
            barrier: Barrier::SuspectsCopied,
            cuts: 12,
            mixed_misses: false,
        },
        Trap { workload: Workload::Wiped, ftl: "geckoftl", barrier: Barrier::EraseFlag, cuts: 12, mixed_misses: false },
        // Writes behind a snapshot are not noticed.
        Trap {
            workload: Workload::Closes,
            ftl: "last++",
            barrier: Barrier::SnapshotClosesBlocks,
            cuts: 12,
            mixed_misses: true,
        },
        // Found without any other cut.
        Trap {
            workload: Workload::Restarts,
            ftl: "page",
            barrier: Barrier::VersionOrder,
            cuts: 4,
            mixed_misses: false,
        },
    ];

    impl Trap {
        /// The experiment, with a workload, on an FTL that forgets a barrier or none.
        fn experiment(&self, workload: Workload, forgets: Option<Barrier>) -> LabConfig {
            let points = Points::Some(self.cuts);
            let mut config = LabConfig { points, ..config(self.ftl, workload, 400, 1, (1, 1)) };
            if self.barrier == Barrier::OldestOpenListed {
                // A stream of its own for moved pages.
                config.ftl.composition.set("placement", "host-gc").unwrap();
            }
            config.ftl.forgets = forgets;
            config
        }
    }

    #[test]
    fn every_workload_notices_a_barrier_that_is_forgotten_and_some_one_that_mixed_does_not() {
        for trap in TRAPS {
            let Trap { workload, barrier, .. } = trap;
            let config = trap.experiment(workload, Some(barrier));
            let report = run(&config);
            println!("{barrier:?} under {workload:?}: {:?}", report.failures.first());
            assert!(report.failed(), "{workload:?} does not notice {barrier:?}");
            for failed in report.failures.iter().take(3) {
                assert_eq!(failed.workload, workload.name());
                let again = run(&LabConfig { points: Points::Replay(failed.id.clone()), ..config.clone() });
                let found = again.failures.iter().any(|f| (f.kind, &f.message) == (failed.kind, &failed.message));
                assert!(found, "{barrier:?} under {workload:?}: {} replays as {:?}", failed.id, again.failures);
            }
            assert_sound(&run(&trap.experiment(workload, None)));
            if trap.mixed_misses {
                let mixed = run(&trap.experiment(Workload::Mixed, Some(barrier)));
                assert!(!mixed.failed(), "mixed notices {barrier:?} as well: {:?}", mixed.failures.first());
            }
        }
        for workload in Workload::ALL {
            assert!(TRAPS.iter().any(|trap| trap.workload == workload), "{workload:?}");
        }
    }

    /// A finding is shown by few of the thousand requests that led there. Where a collection has to be at work, those
    /// that fill the drive are among them.
    #[test]
    fn findings_are_shortened() {
        for (name, barrier, workload) in
            [("page", Barrier::CopiesBeforeErase, Workload::Large), ("dftl", Barrier::BatterySaves, Workload::Mixed)]
        {
            let mut config = LabConfig { points: Points::Some(12), ..config(name, workload, 400, 1, (1, 1)) };
            config.ftl.forgets = Some(barrier);
            let report = Sweep::new(&config).shortening().run().unwrap();
            let script = &report.failures[0].script;
            println!("{barrier:?} under {workload:?}: {}: {script:?}", report.failures[0].id);
            assert!((1..200).contains(&script.len()), "{barrier:?}: {} requests", script.len());
        }
    }

    #[test]
    fn what_is_wrong_with_a_workload_without_any_other_cut_is_a_finding_with_an_id_of_its_own() {
        for (name, barrier, workload) in [
            ("page", Barrier::VersionOrder, Workload::Restarts),
            ("dftl", Barrier::BatterySaves, Workload::Restarts),
            ("geckoftl", Barrier::VictimClearsUip, Workload::Reads),
        ] {
            let mut config = LabConfig { points: Points::Some(4), ..config(name, workload, 400, 1, (1, 1)) };
            config.ftl.forgets = Some(barrier);
            let report = run(&config);
            println!("{barrier:?} under {workload:?}: {:?}", report.failures);
            let uncut: phelsuma_drive::lab::Path = "uncut".parse().unwrap();
            assert_eq!((report.replay.as_ref(), report.failures.len(), report.cuts), (Some(&uncut), 1, 0));
            let again = run(&LabConfig { points: Points::Replay(uncut), ..config.clone() });
            assert_eq!(again.failures[0].message, report.failures[0].message);
            config.ftl.forgets = None;
            assert_sound(&run(&config));
            assert!(!run(&LabConfig { points: Points::Replay("uncut".parse().unwrap()), ..config }).failed());
        }
    }
}
