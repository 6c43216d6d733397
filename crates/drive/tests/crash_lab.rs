//! The crash laboratory, and the proof that it notices a forgotten barrier.

#![allow(clippy::unwrap_used)]

use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, LabError, Points, sweep};
use phelsuma_ftl::{Barrier, Config, PRESETS, Preset};
use phelsuma_nand::{Geometry, Timing};

fn config(name: &str, writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    let geometry = Geometry::new(512, 32, 64, dies.0, dies.1).unwrap();
    let ratio = if dies.0 * dies.1 > 1 { 0.25 } else { 0.6 };
    let logical_pages = (geometry.pages() as f64 * ratio) as u32;
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, Preset::named(name).unwrap().composition, logical_pages, 1),
        writes,
        points: Points::Every,
        faults: Fault::all(),
        depth,
        seed: 1,
        threads: 2,
    }
}

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn run(config: &LabConfig) -> CrashReport {
    sweep(config, |_| {}).unwrap()
}

fn assert_sound(report: &CrashReport) {
    assert!(!report.failed(), "{}: {:#?}", report.ftl, report.failures);
    assert!(report.cuts > 0);
}

#[test]
fn every_ftl_survives_every_cut_of_a_workload_and_of_the_recoveries_from_it() {
    for preset in PRESETS {
        let config = match (thorough(), preset.name) {
            (true, _) => config(preset.name, 5_000, 2, (1, 1)),
            (false, "page") => config(preset.name, 200, 2, (1, 1)),
            (false, _) => LabConfig { points: Points::Some(120), ..config(preset.name, 900, 2, (1, 1)) },
        };
        let report = run(&config);
        assert_sound(&report);
        assert!(report.nested_cuts > report.cuts, "recoveries were cut too");
    }
}

#[test]
fn every_ftl_survives_cuts_three_deep() {
    for preset in PRESETS {
        let points = Points::Some(if thorough() { 400 } else { 8 });
        assert_sound(&run(&LabConfig { points, ..config(preset.name, 900, 3, (1, 1)) }));
    }
}

#[test]
fn every_ftl_survives_cuts_that_meet_operations_on_several_dies() {
    for preset in PRESETS {
        for dies in [(2, 1), (2, 2)] {
            let points = Points::Some(if thorough() { 4_000 } else { 50 });
            assert_sound(&run(&LabConfig { points, ..config(preset.name, 2_000, 1, dies) }));
        }
        let points = Points::Some(if thorough() { 200 } else { 3 });
        assert_sound(&run(&LabConfig { points, ..config(preset.name, 2_000, 2, (2, 1)) }));
    }
}

/// The experiment in which an FTL that forgets `barrier` must be caught: where the barrier is at work.
fn trap(barrier: Barrier) -> LabConfig {
    let mut config = match barrier {
        // At work when a cut during recovery meets a suspect.
        Barrier::FallbacksHeld => {
            let faults = ["unstable", "unacknowledged"].iter().flat_map(|n| Fault::named(n).unwrap()).collect();
            LabConfig { faults, ..config("page", 2_400, 2, (1, 1)) }
        }
        Barrier::TrimsBeforeReuse => LabConfig { points: Points::Some(2_000), ..config("page", 2_400, 1, (1, 1)) },
        _ => LabConfig { points: Points::Some(300), ..config("page", 900, 1, (1, 1)) },
    };
    config.ftl.forgets = Some(barrier);
    config
}

#[test]
fn an_ftl_that_forgets_a_barrier_is_caught_and_the_same_ftl_with_it_is_not() {
    for barrier in Barrier::ALL {
        let trap = trap(*barrier);
        let report = run(&trap);
        assert!(report.failed(), "nobody noticed that {barrier:?} was forgotten");
        let mut sound = trap.clone();
        sound.ftl.forgets = None;
        assert_sound(&run(&sound));

        // The id replays the failure, and on the sound FTL the same branch holds.
        let replay = Points::Replay(report.replay.clone().unwrap().parse().unwrap());
        let again = run(&LabConfig { points: replay.clone(), ..trap });
        assert!(again.failed(), "{barrier:?}: {replay:?} replays nothing");
        assert_eq!(again.failures[0].message, report.failures[0].message);
    }
}

#[test]
fn the_same_experiment_gives_the_same_report_on_any_number_of_threads() {
    let json = |threads| serde_json::to_string(&run(&LabConfig { threads, ..config("page", 170, 2, (1, 1)) })).unwrap();
    assert_eq!(json(1), json(2));
    assert_eq!(json(2), json(5));
}

#[test]
fn an_id_that_is_not_in_the_experiment_is_refused() {
    let points = Points::Replay("99999999.torn-seen".parse().unwrap());
    let error = sweep(&LabConfig { points, ..config("page", 20, 1, (1, 1)) }, |_| {}).unwrap_err();
    assert!(matches!(error, LabError::NoSuchBranch(_)), "{error}");
}
