//! The example of a plugin under power cuts. By default at some operations, with `PHELSUMA_THOROUGH=1` at all of them.

use crate::built::page_table;
use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, SoakConfig, SoakState, Sweep, Workload};
use phelsuma_nand::{Geometry, Timing};
use phelsuma_plugin::Plugin;
use std::path::Path;

fn is_thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn sweep(library: &Path, workload: Workload, points: Points, depth: u32) -> CrashReport {
    let geometry = Geometry::new(512, 16, 48, 1, 1).unwrap();
    let config = LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Plugin::load(library).unwrap().on(&geometry, 400).unwrap(),
        workload,
        writes: 60,
        points,
        faults: Fault::all().into_iter().chain(Fault::defects()).collect(),
        depth,
        seed: 1,
        threads: 2,
    };
    Sweep::new(&config).run().unwrap()
}

#[test]
fn the_example_survives_every_fault() {
    let library = page_table("sound", &[]);
    for workload in [Workload::Mixed, Workload::Trims] {
        let report = sweep(&library, workload, if is_thorough() { Points::Every } else { Points::Some(30) }, 1);
        assert!(!report.failed() && report.cuts > 250 && report.defects > 25, "{report:#?}");
    }
}

#[test]
fn the_example_survives_cuts_of_its_mounts() {
    let report =
        sweep(&page_table("nested", &[]), Workload::Mixed, Points::Some(if is_thorough() { 200 } else { 3 }), 2);
    assert!(!report.failed() && report.nested_cuts > 30, "{report:#?}");
}

#[test]
fn an_example_without_a_barrier_is_found_out() {
    let report = sweep(&page_table("trusts", &["-DTRUSTS_LAST_PAGE"]), Workload::Mixed, Points::Some(60), 1);
    assert!(report.lost > 0, "{report:#?}");
}

#[test]
fn lives_of_the_example() {
    let geometry = Geometry::new(512, 16, 48, 1, 1).unwrap();
    let config = SoakConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Plugin::load(&page_table("lives", &[])).unwrap().on(&geometry, 400).unwrap(),
        seed: 1,
        decay: 0,
        bad: 300,
        threads: 2,
    };
    let mut state = SoakState::new(&config);
    config.soak(&mut state, if is_thorough() { 100_000 } else { 100 }, &mut |_| true).unwrap();
    assert!(state.failed == 0 && state.cycles >= 100 && state.recovery_cuts > 0, "{:#?}", state.found);
}
