//! Power cuts on LazyFTL and IB-FTL, which synchronize before they go on. That the laboratory notices when a rule is
//! forgotten that their recovery stands on is in `mutants/`.

use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Input, RunConfig};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, Timing};

const FTLS: [&str; 2] = ["lazyftl", "ib-ftl"];

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

/// With a cache that is small for the drive, so that entries must leave it as well as the dirty ones.
fn config(ftl: &str, writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    // A log takes space.
    let twice = u64::from(ftl == "ib-ftl") + 1;
    let blocks = if dies == (1, 1) { 64 } else { 128 };
    let geometry = Geometry::new(512, 32, blocks * twice, dies.0, dies.1).unwrap();
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set("mapping.cache", "64").unwrap();
    let ratio = if dies == (1, 1) { 0.5 } else { 0.4 };
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(ftl, composition, (geometry.pages() as f64 * ratio) as u32, 1),
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
fn they_survive_every_cut_of_a_workload() {
    for ftl in FTLS {
        let points = if thorough() { Points::Every } else { Points::Some(25) };
        assert_sound(&run(&LabConfig { points, ..config(ftl, if thorough() { 600 } else { 300 }, 1, (1, 1)) }));
    }
}

#[test]
fn they_survive_cuts_of_their_recoveries() {
    for ftl in FTLS {
        for seed in 1..=if thorough() { 5 } else { 1 } {
            let points = Points::Some(if thorough() { 20 } else { 3 });
            let report = run(&LabConfig { points, seed, ..config(ftl, 400, 2, (1, 1)) });
            assert_sound(&report);
            assert!(report.nested_cuts > report.cuts, "recoveries were cut too");
        }
    }
}

#[test]
fn they_survive_cuts_that_meet_operations_on_several_dies() {
    for ftl in FTLS {
        for dies in [(2, 1), (2, 2)] {
            let points = Points::Some(if thorough() { 200 } else { 4 });
            assert_sound(&run(&LabConfig { points, ..config(ftl, 300, 1, dies) }));
        }
    }
}

/// As many entries stay dirty as may be, however the drive survives power cuts: not one, which costs a program each.
#[test]
fn the_dirty_limit_is_used_up_under_every_recovery_scheme() {
    // The limit is 64. With `wear=levelling` lazyftl survives no power cut, and an entry that goes takes those of its
    // block along: fewer are dirty at any one moment.
    for (ftl, name, value, least) in [
        ("lazyftl", "mapping.dirty-limit", "10", 32),
        ("lazyftl", "wear", "levelling", 8),
        ("geckoftl", "mapping.dirty-limit", "10", 32),
        ("dftl", "mapping.dirty-limit", "10", 32),
    ] {
        let mut config = RunConfig::new(ftl, Input::Workload(phelsuma_trace::Workload::Uniform)).unwrap();
        config.composition.set_all(&[("mapping.cache", "640"), (name, value)]).unwrap();
        config.shape.capacity_bytes = Some(64 << 20);
        let counters = phelsuma_drive::run(&config, &|_| true).unwrap().counters;
        assert!(
            (least..=64).contains(&counters["dirty_entries"]),
            "{ftl}, {name}={value}: {}",
            counters["dirty_entries"]
        );
    }
}
