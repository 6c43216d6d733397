//! Drives that each forget one barrier are caught, each.

use crate::laboratory::{WENT_WRONG, life_of};
use phelsuma_drive::lab::{Fault, LabConfig, Points, SoakConfig, SoakState, Sweep, Workload};
use phelsuma_mcu::{Barrier, Config, MetaPlace};
use phelsuma_mcu_nand::{Mcu, McuSubject};
use phelsuma_nand::{Geometry, Timing};

/// A drive whose mount looks no further back than it has to.
fn drive(geometry: &Geometry, dirty_slots: u32, forgets: Option<Barrier>) -> McuSubject {
    let mut ftl = McuSubject::new(Mcu::Gecko, geometry, MetaPlace::Spare, dirty_slots, None);
    ftl.config = Config { forgets, window: 4, ..ftl.config };
    ftl
}

/// What the laboratory finds: with every fault at some operations of two workloads, then in whole lives.
fn found(barrier: Option<Barrier>) -> Option<String> {
    let geometry = Geometry::new(512, 16, 48, 1, 1).unwrap();
    let timing = Timing::preset("gecko").unwrap();
    // Few cuts catch most of them.
    let sweeps = [(Workload::Mixed, 1, 6), (Workload::Mixed, 1, 60), (Workload::Trims, 1, 60), (Workload::Mixed, 2, 3)];
    for (workload, depth, points) in sweeps {
        let config = LabConfig {
            geometry,
            timing,
            ftl: drive(&geometry, 64, barrier),
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
    for life in WENT_WRONG {
        let mut config = life_of(life);
        config.ftl.config = Config { forgets: barrier, ..config.ftl.config };
        if let Some(found) = config.relive(life.6).unwrap() {
            return Some(format!("life {} of seed {}: {}", life.6, life.3, found.message));
        }
    }
    let geometry = Geometry::new(512, 16, 32, 1, 1).unwrap();
    let config =
        SoakConfig { geometry, timing, ftl: drive(&geometry, 16, barrier), seed: 5, decay: 0, bad: 40, threads: 2 };
    let mut state = SoakState::new(&config);
    config.soak(&mut state, 3_000, &mut |state| state.failed == 0).unwrap();
    state.found.first().map(|found| format!("lives: {}", found.message))
}

#[test]
fn a_drive_that_forgets_a_barrier_is_caught() {
    let mut missed = Vec::new();
    for barrier in Barrier::ALL {
        match found(Some(barrier)) {
            Some(by) => println!("{barrier:?}: {by}"),
            None => missed.push(barrier),
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
    if std::env::var_os("PHELSUMA_THOROUGH").is_some() {
        assert_eq!(found(None), None);
    }
}
