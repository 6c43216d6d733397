//! Power cuts on GeckoFTL. That the laboratory notices when one of GeckoRec's rules is forgotten is in `mutants/`.

use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, Timing};

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

/// With a cache that is small for the drive, so that entries are evicted and checkpoints have something to do.
fn config(writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    let blocks = if dies == (1, 1) { 128 } else { 256 };
    let geometry = Geometry::new(512, 32, blocks, dies.0, dies.1).unwrap();
    let mut composition = Preset::named("geckoftl").unwrap().composition;
    composition.set("mapping.cache", "64").unwrap();
    let ratio = if dies == (1, 1) { 0.6 } else { 0.45 };
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new("geckoftl", composition, (geometry.pages() as f64 * ratio) as u32, 1),
        workload: Workload::Mixed,
        writes,
        points: Points::Every,
        faults: Fault::all(),
        depth,
        seed: 1,
        threads: 2,
    }
}

fn run(config: &LabConfig) -> CrashReport {
    Sweep::new(config).run().unwrap()
}

fn assert_sound(report: &CrashReport) {
    assert!(!report.failed(), "{:#?}", report.failures);
    assert!(report.cuts > 0);
}

#[test]
fn geckoftl_survives_every_cut_of_a_workload() {
    assert_sound(&run(&config(if thorough() { 2_000 } else { 60 }, 1, (1, 1))));
}

#[test]
fn geckoftl_survives_cuts_of_its_recoveries() {
    for seed in 1..=if thorough() { 5 } else { 2 } {
        let points = Points::Some(if thorough() { 100 } else { 3 });
        let report = run(&LabConfig { points, seed, ..config(400, 2, (1, 1)) });
        assert_sound(&report);
        assert!(report.nested_cuts > report.cuts, "recoveries were cut too");
    }
}

#[test]
fn geckoftl_survives_cuts_that_meet_operations_on_several_dies() {
    for dies in [(2, 1), (2, 2)] {
        let points = Points::Some(if thorough() { 200 } else { 4 });
        assert_sound(&run(&LabConfig { points, ..config(300, 1, dies) }));
    }
}
