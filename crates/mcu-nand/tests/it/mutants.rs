//! Drives that each forget one barrier are caught, each.

use phelsuma_drive::lab::{Fault, LabConfig, Points, SoakConfig, SoakState, Sweep, Workload};
use phelsuma_mcu::{Barrier, Config, MetaPlace};
use phelsuma_mcu_nand::{Mcu, McuSubject};
use phelsuma_nand::{Geometry, Timing};

/// Whether the laboratory finds anything: with every fault at some operations of two workloads, then in whole lives.
fn is_caught(parts: Mcu, barrier: Option<Barrier>) -> Option<String> {
    let geometry = Geometry::new(512, 16, 48, 1, 1).unwrap();
    let timing = Timing::preset("gecko").unwrap();
    let mut ftl = McuSubject::new(parts, &geometry, MetaPlace::Spare, 32, None);
    ftl.config = Config { forgets: barrier, ..ftl.config };
    for (workload, depth, points) in [(Workload::Mixed, 1, 60), (Workload::Trims, 1, 60), (Workload::Mixed, 2, 3)] {
        let config = LabConfig {
            geometry,
            timing,
            ftl: ftl.clone(),
            workload,
            writes: 60,
            points: Points::Some(points),
            faults: Fault::all().into_iter().chain(Fault::defects()).collect(),
            depth,
            seed: 1,
            threads: 2,
        };
        let report = Sweep::new(&config).run().unwrap();
        if report.failed() {
            return Some(format!("{workload:?}, depth {depth}: {}", report.failures[0].message));
        }
    }
    for (bad, decay) in [(0, 0), (40, 0), (300, 20)] {
        let geometry = Geometry::new(512, 16, 32, 1, 1).unwrap();
        let mut ftl = McuSubject::new(parts, &geometry, MetaPlace::Spare, 16, None);
        ftl.config = Config { forgets: barrier, ..ftl.config };
        let config = SoakConfig { geometry, timing, ftl, seed: 5, decay, bad, threads: 2 };
        let mut state = SoakState::new(&config);
        config.soak(&mut state, 1_000, &mut |state| state.failed == 0).unwrap();
        if let Some(found) = state.found.first() {
            return Some(format!("lives, bad {bad}, decay {decay}: {}", found.message));
        }
    }
    None
}

#[test]
fn a_drive_that_forgets_a_barrier_is_caught() {
    let mut missed = Vec::new();
    for barrier in Barrier::ALL {
        match is_caught(Mcu::Gecko, Some(barrier)) {
            Some(by) => println!("{barrier:?}: {by}"),
            None => missed.push(barrier),
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn a_drive_that_keeps_them_all_is_not() {
    assert_eq!(is_caught(Mcu::Gecko, None), None);
}
