//! The crash laboratory, and with mutants (`make mutants`) the proof that it notices a forgotten barrier.

use crate::room;
use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, LabError, Points, Progress, Sweep, Workload};
use phelsuma_ftl::{Config, PRESETS, PowerPart, Preset};
use phelsuma_nand::{Geometry, Timing};

fn config(name: &str, writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    let composition = Preset::named(name).unwrap().composition;
    let mut ratio = if dies.0 * dies.1 > 1 { 0.25 } else { 0.6 };
    if name == "mu-ftl" && depth > 1 {
        // Each recovery writes a tree of what there is, and each of its programs is a place to cut.
        ratio /= 8.0;
    }
    let logical_pages = (64.0 * 32.0 * ratio) as u32;
    LabConfig {
        geometry: room::roomy(name, composition, logical_pages, 64, dies),
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, logical_pages, 1),
        workload: Workload::Mixed,
        writes,
        points: Points::Every,
        faults: Fault::all(),
        depth,
        seed: 1,
        threads: 2,
    }
}

/// The FTLs that any cut may meet, but for oracles, which are for no data; of these the one that `PHELSUMA_FTL` names,
/// if it does. Outside the long mode `page` and `dac` alone stand for those with a table of pages. The others recover
/// by the same code, and `crash_workloads` cuts each of them.
fn scanned() -> impl Iterator<Item = &'static Preset> {
    let only = std::env::var("PHELSUMA_FTL").ok();
    let wanted = move |preset: &&Preset| match only.as_deref() {
        Some(name) => name == preset.name,
        None => {
            let alone = preset.composition.page_mapped().is_none() && !preset.composition.is_per_channel();
            thorough() || alone || ["page", "dac"].contains(&preset.name)
        }
    };
    let scanned = PRESETS.iter().filter(|preset| preset.composition.power() == Some(PowerPart::Scan));
    scanned.filter(|preset| preset.composition.knowledge().is_none()).filter(wanted)
}

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

/// So many cut points, ten times as many in the long mode; most of them for one FTL: many others differ from it in what
/// they collect, and recover by the same code.
fn sample(name: &str, points: u32) -> Points {
    let points = if name == "page" { points } else { points.div_ceil(5) };
    Points::Some(if thorough() { 10 * points } else { points })
}

fn run(config: &LabConfig) -> CrashReport {
    Sweep::new(config).run().unwrap()
}

fn assert_sound(report: &CrashReport) {
    assert!(!report.failed(), "{}: {:#?}", report.ftl, report.failures);
    assert!(report.cuts > 0);
}

#[test]
fn every_ftl_survives_every_cut_of_a_workload_and_of_the_recoveries_from_it() {
    for preset in scanned() {
        let config = match (thorough(), preset.name) {
            (true, _) => LabConfig { points: Points::Some(60), ..config(preset.name, 900, 2, (1, 1)) },
            (false, "page") => config(preset.name, 60, 2, (1, 1)),
            (false, _) => LabConfig { points: Points::Some(2), ..config(preset.name, 900, 2, (1, 1)) },
        };
        let report = run(&config);
        assert_sound(&report);
        assert!(report.nested_cuts > report.cuts, "recoveries were cut too");
    }
}

#[test]
fn every_ftl_survives_cuts_three_deep() {
    for preset in scanned() {
        let points = sample(preset.name, 2);
        assert_sound(&run(&LabConfig { points, ..config(preset.name, 900, 3, (1, 1)) }));
    }
}

#[test]
fn every_ftl_survives_cuts_that_meet_operations_on_several_dies() {
    for preset in scanned() {
        for dies in [(2, 1), (2, 2)] {
            let points = sample(preset.name, 50);
            assert_sound(&run(&LabConfig { points, ..config(preset.name, 2_000, 1, dies) }));
        }
        let points = sample(preset.name, 3);
        assert_sound(&run(&LabConfig { points, ..config(preset.name, 2_000, 2, (2, 1)) }));
    }
}

const TWO_DIES: (u32, u32) = (2, 1);
const FOUR_DIES: (u32, u32) = (2, 2);

fn faults(names: &[&str]) -> Vec<Fault> {
    names.iter().flat_map(|name| Fault::named(name).unwrap()).collect()
}

/// The usual experiment.
fn usual(dies: (u32, u32)) -> LabConfig {
    LabConfig { points: Points::Some(150), ..config("page", 300, 1, dies) }
}

/// Where a cut during recovery meets a suspect.
fn recoveries_meet_suspects(dies: (u32, u32)) -> LabConfig {
    let (writes, points) = if dies == (1, 1) { (1_200, Points::Every) } else { (800, Points::Some(100)) };
    let faults = faults(&["unstable", "unacknowledged"]);
    LabConfig { points, faults, seed: 2, ..config("page", writes, 2, dies) }
}

/// Where trims stay pending until their pages' blocks are reused: in the workload's second half, on a drive with few
/// blocks to spare.
fn trims_stay_pending(dies: (u32, u32)) -> LabConfig {
    let mut config = LabConfig { faults: faults(&["not-started"]), ..config("page", 1_800, 1, dies) };
    if dies == TWO_DIES {
        config.ftl.logical_pages = 1_000;
    }
    config
}

#[test]
fn the_experiments_in_which_a_forgotten_barrier_is_noticed_find_nothing_on_an_ftl_that_forgets_none() {
    for dies in [(1, 1), FOUR_DIES] {
        for experiment in [usual, recoveries_meet_suspects, trims_stay_pending] {
            let mut config = experiment(dies);
            if !thorough() {
                config.points = Points::Some(if config.depth > 1 { 6 } else { 60 });
            }
            assert_sound(&run(&config));
        }
    }
}

/// The reports of one experiment on one thread and on several, which are the same.
fn report_on_any_number_of_threads(config: &LabConfig) -> String {
    let json = |threads| serde_json::to_string(&run(&LabConfig { threads, ..config.clone() })).unwrap();
    let one = json(1);
    assert_eq!(one, json(3));
    one
}

#[test]
fn the_same_experiment_gives_the_same_report_on_any_number_of_threads() {
    let healthy = LabConfig { points: Points::Some(10), ..config("page", 170, 2, (1, 1)) };
    let report = report_on_any_number_of_threads(&healthy);
    assert!(!report.contains("message"), "{report}");
}

#[test]
fn the_cut_points_are_the_workloads_and_few_are_spent_on_filling_the_drive() {
    let report = run(&LabConfig { faults: faults(&["not-started"]), ..config("page", 100, 1, (1, 1)) });
    let of_workload = report.operations - report.preconditioning_operations;
    assert_eq!(report.cut_points, of_workload + 32);
    assert_eq!(report.preconditioning_cut_points, 32);
    assert!(of_workload > 150, "collection is at work from the first write on: {report:?}");
    assert_eq!(report.cuts, u64::from(report.cut_points));
}

#[test]
fn programs_may_fail_while_others_are_in_flight_on_other_dies_and_the_power_fails_too() {
    for preset in scanned() {
        for dies in [(1, 2), (2, 2), (4, 1)] {
            let points = sample(preset.name, 30);
            let mut config = LabConfig { points, ..config(preset.name, 300, 1, dies) };
            // Room for the blocks that go bad.
            config.ftl.logical_pages -= 6 * config.geometry.pages_per_block();
            let failing = Sweep::new(&config).with_program_failures(6).run().unwrap();
            assert_sound(&failing);
            let none_fails = run(&LabConfig { points: Points::Some(0), ..config });
            assert_ne!(failing.operations, none_fails.operations, "what failed was programmed once more");
        }
    }
}

#[test]
fn recoveries_are_cut_on_drives_whose_programs_fail() {
    for preset in scanned() {
        for (dies, n) in [((1, 1), 20), ((2, 1), 3)] {
            let points = sample(preset.name, n);
            let config = LabConfig { points, ..config(preset.name, 300, 2, dies) };
            assert_sound(&Sweep::new(&config).with_program_failures(4).run().unwrap());
        }
    }
}

#[test]
fn whoever_asks_is_told_how_far_a_sweep_is() {
    let told = std::cell::RefCell::new(Vec::new());
    let note = |progress: Progress| told.borrow_mut().push(progress);
    let config = LabConfig { points: Points::Some(60), ..config("page", 300, 1, (1, 1)) };
    let report = Sweep::new(&config).telling(&note).run().unwrap();
    let told = told.into_inner();
    assert!(told.is_sorted_by_key(|p| (p.done, p.branches)));
    let last = told.last().unwrap();
    assert_eq!((last.done, last.of, last.branches), (60, 60, report.cuts));
}

#[test]
fn an_id_that_is_not_in_the_experiment_is_refused() {
    let points = Points::Replay("99999999.torn-seen".parse().unwrap());
    let error = Sweep::new(&LabConfig { points, ..config("page", 20, 1, (1, 1)) }).run().unwrap_err();
    assert!(matches!(error, LabError::NoSuchBranch(_)), "{error}");
}

#[test]
fn an_id_whose_second_cut_does_not_happen_is_refused() {
    let points = Points::Replay("3.torn-seen/9999.unstable".parse().unwrap());
    let config = LabConfig { points, ..config("page", 20, 1, (1, 1)) };
    for again in [0, 1] {
        let error = Sweep::new(&config).cutting_recoveries_again(again).run().unwrap_err();
        assert!(matches!(error, LabError::NoSuchBranch(_)), "{error}");
    }
}

/// `dftl` with a cache of 64 entries, cut after every request.
fn announced(writes: u32, dies: (u32, u32)) -> LabConfig {
    announced_of("dftl", writes, dies)
}

fn announced_of(ftl: &str, writes: u32, dies: (u32, u32)) -> LabConfig {
    let mut config = config(ftl, writes, 1, dies);
    config.ftl.composition.set("mapping.cache", "64").unwrap();
    config
}

#[test]
fn a_drive_with_a_battery_survives_every_cut_that_is_announced() {
    for dies in [(1, 1), TWO_DIES, FOUR_DIES] {
        let report = run(&announced(if thorough() { 4_000 } else { 400 }, dies));
        assert_sound(&report);
        assert_eq!(report.faults, ["announced"]);
        assert!(report.cuts > 400, "{} cuts", report.cuts);
    }
}

/// µ-FTL with a tree of several levels: inner nodes, of which one is cached, the root and the bitmap in flash.
#[test]
fn a_tree_and_a_bitmap_in_flash_survive_every_cut_that_is_announced() {
    for (dies, blocks) in [((1, 1), 256), (TWO_DIES, 512), (FOUR_DIES, 512)] {
        let mut config = announced_of("mu-ftl-pvb", if thorough() { 400 } else { 40 }, dies);
        for (name, value) in [("mapping.fanout", "2"), ("mapping.nodes", "1")] {
            config.ftl.composition.set(name, value).unwrap();
        }
        config.geometry = Geometry::new(512, 32, blocks, dies.0, dies.1).unwrap();
        config.ftl.logical_pages = 1_500;
        let report = run(&config);
        assert_sound(&report);
        assert!(report.cuts > 40, "{} cuts", report.cuts);
    }
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let refused = |config: &LabConfig| Sweep::new(config).run().unwrap_err();
    let mut nothing = config("page", 20, 1, (1, 1));
    nothing.ftl.composition.set("power", "nothing").unwrap();
    let error = refused(&nothing);
    assert!(matches!(error, LabError::NotPromised(..)), "{error}");
    let error = refused(&LabConfig { faults: faults(&["torn-seen"]), ..announced(20, (1, 1)) });
    assert!(matches!(error, LabError::NoFault(..)), "{error}");
    let error = refused(&LabConfig { faults: vec![Fault::Announced], ..config("page", 20, 1, (1, 1)) });
    assert!(matches!(error, LabError::NoFault(..)), "{error}");
}

/// The laboratory notices what an FTL forgets.
#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    /// The barriers whose omission is not noticed, and on how many channels and dies.
    const MISSED: [(Barrier, (u32, u32)); 1] = [
        // With blocks that are kept blank (`blocks/blank.rs`), a held block is hardly ever taken on four dies.
        (Barrier::FallbacksHeld, FOUR_DIES),
    ];

    /// The experiment in which an FTL that forgets `barrier` must be caught: where the barrier is at work.
    fn trap(barrier: Barrier, dies: (u32, u32)) -> LabConfig {
        let mut config = match barrier {
            Barrier::FallbacksHeld => recoveries_meet_suspects(dies),
            Barrier::TrimsBeforeReuse => trims_stay_pending(dies),
            _ => usual(dies),
        };
        config.ftl.forgets = Some(barrier);
        config
    }

    /// Every failure that the report shows is found by its id alone.
    fn assert_replays(trap: &LabConfig, report: &CrashReport) {
        for failed in &report.failures {
            let again = run(&LabConfig { points: Points::Replay(failed.id.clone()), ..trap.clone() });
            let found = again.failures.iter().any(|f| (f.kind, &f.message) == (failed.kind, &failed.message));
            assert!(found, "{:?}: {} replays as {:?}", trap.ftl.forgets, failed.id, again.failures);
        }
    }

    /// The report in which the mutant is caught: of a few cuts, where that is enough, else of all.
    fn caught(trap: &LabConfig) -> Option<CrashReport> {
        let reports = [Points::Some(10), trap.points.clone()].map(|points| LabConfig { points, ..trap.clone() });
        reports.iter().map(run).find(CrashReport::failed)
    }

    /// On one die as well: `mutants/`.
    #[test]
    fn every_barrier_that_is_forgotten_is_noticed_on_several_dies() {
        let mut missed = Vec::new();
        for dies in [TWO_DIES, FOUR_DIES] {
            for barrier in Barrier::OF_SCANNING {
                // Not noticing takes all cuts.
                if MISSED.contains(&(*barrier, dies)) && !thorough() {
                    missed.push((*barrier, dies));
                    continue;
                }
                let trap = trap(*barrier, dies);
                let Some(report) = caught(&trap) else {
                    missed.push((*barrier, dies));
                    continue;
                };
                let failed = (report.lost, report.corrupt, report.stuck, report.panics);
                println!(
                    "{barrier:?} on {dies:?} dies: lost, corrupt, stuck, panics {failed:?}, first {:?}, of {} cuts",
                    report.replay, report.cuts
                );
                assert_replays(&trap, &report);
            }
        }
        assert_eq!(missed, MISSED);
    }

    #[test]
    fn what_an_ftl_forgets_gives_the_same_report_on_any_number_of_threads() {
        // Found at once; found when the drive has mounted and joined others; found in cuts of recoveries alone.
        let at_once = LabConfig {
            depth: 2,
            points: Points::Some(if thorough() { 40 } else { 10 }),
            ..trap(Barrier::SuspectsVerified, (1, 1))
        };
        let joined = LabConfig {
            depth: 2,
            points: Points::Some(if thorough() { 40 } else { 10 }),
            ..trap(Barrier::SuspectsCopied, (1, 1))
        };
        let several_dies = LabConfig { points: Points::Some(10), ..trap(Barrier::SuspectsCopied, FOUR_DIES) };
        let nested = trap(Barrier::FallbacksHeld, TWO_DIES);
        for config in [at_once, joined, several_dies, nested] {
            let report = report_on_any_number_of_threads(&config);
            assert!(report.contains("message"), "{:?}: {report}", config.ftl.forgets);
        }
    }

    #[test]
    fn what_fails_after_branches_have_joined_is_reported_with_an_id_that_replays_it() {
        for barrier in [Barrier::SuspectsCopied, Barrier::EraseBeforeUse] {
            for dies in [(1, 1), TWO_DIES] {
                let trap = LabConfig { depth: 2, points: Points::Some(24), ..trap(barrier, dies) };
                let report = run(&trap);
                assert!(report.joined_after_recovery > 0);
                // Failures right after the recovery are found before branches join.
                let late = report.failures.iter().filter(|f| !f.message.starts_with("after recovery")).count();
                assert!(late > 0, "{barrier:?} on {dies:?}: {:?}", report.failures);
                assert_replays(&trap, &report);
            }
        }
    }

    #[test]
    fn an_id_does_not_depend_on_the_number_of_writes_nor_on_points_faults_and_threads() {
        let trap = trap(Barrier::SuspectsVerified, (1, 1));
        let report = run(&trap);
        let longer =
            LabConfig { writes: 2 * trap.writes, faults: Fault::all(), threads: 3, points: Points::Every, ..trap };
        assert_replays(&longer, &report);
    }

    #[test]
    fn a_battery_that_saves_nothing_is_noticed() {
        let mut config = announced(100, (1, 1));
        config.ftl.forgets = Some(Barrier::BatterySaves);
        let report = run(&config);
        assert!(report.lost + report.corrupt > 0, "{report:#?}");
        let id = report.replay.unwrap();
        config.points = Points::Replay(id.clone());
        assert!(run(&config).failed(), "{id} replays");
    }
}
