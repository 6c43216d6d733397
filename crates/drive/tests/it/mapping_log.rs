//! The mapping log under `geckoftl`: what it saves, and power cuts of every workload.
//!
//! `PHELSUMA_THOROUGH=1 cargo test --release -p phelsuma-drive --test it -- --nocapture mapping_log::` cuts more often.

use phelsuma_drive::lab::{Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Input, RunConfig, RunResult};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::sim::EraseFault;
use phelsuma_nand::{Geometry, Timing};

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

/// A drive of the laboratory whose table has 13 translation pages, and whose cache holds 64 entries.
fn config(workload: Workload, log: &str, (blocks, dies): (u64, u32), depth: u32, cuts: u32) -> LabConfig {
    let mut composition = Preset::named("geckoftl").unwrap().composition;
    composition.set_all(&[("mapping.log", log), ("mapping.cache", "64")]).unwrap();
    assert_eq!(composition.why_not_survivable(), None);
    let geometry = Geometry::new(512, 32, blocks, 1, dies).unwrap();
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new("geckoftl", composition, geometry.pages() as u32 / 5 * 2, 1),
        workload,
        writes: 500,
        points: Points::Some(if thorough() { cuts * 30 } else { cuts }),
        faults: Fault::all(),
        depth,
        seed: 1,
        threads: 2,
    }
}

fn survives(config: &LabConfig) {
    let report = Sweep::new(config).run().unwrap();
    assert!(!report.failed(), "{:?}: {:#?}", report.workload, report.failures);
    assert!(report.cuts > 0, "no cut was made");
    println!("{:?}: {} cuts, {} nested", report.workload, report.cuts, report.nested_cuts);
}

#[test]
fn every_workload_survives_cuts() {
    for (workload, log) in Workload::ALL.into_iter().zip(["100", "20"].into_iter().cycle()) {
        survives(&config(workload, log, (128, 1), 1, 5));
    }
}

#[test]
fn recoveries_survive_cuts() {
    survives(&config(Workload::Mixed, "100", (128, 1), 2, 2));
}

#[test]
fn four_dies_survive_cuts() {
    for workload in [Workload::Mixed, Workload::Trims] {
        survives(&config(workload, "100", (256, 4), 1, 3));
    }
}

/// What a cut erase leaves of translation pages puts versions of them in doubt. Runs and spare areas answer for those.
#[test]
fn erases_survive_cuts() {
    for seed in if thorough() { 1..=16 } else { 10..=10 } {
        let mut config = config(Workload::Restarts, "100", (128, 1), 1, 1);
        (config.seed, config.ftl.seed) = (seed, seed);
        (config.points, config.faults) = (Points::Every, vec![Fault::Erase(EraseFault::PartialMixed)]);
        survives(&config);
    }
}

fn run(log: &str, workload: &str) -> RunResult {
    let mut config = RunConfig::new("geckoftl", Input::Workload(workload.parse().unwrap())).unwrap();
    config.composition.set("mapping.log", log).unwrap();
    config.shape.capacity_bytes = Some(1 << 30);
    phelsuma_drive::run(&config, &|_| true).unwrap()
}

#[test]
fn entries_that_wait_share_their_translation_page_s_rewrite() {
    let (without, with) = (run("0", "uniform"), run("20", "uniform"));
    let translation = |result: &RunResult| result.write_amplification.unwrap().translation;
    let (without, shared) = (translation(&without), translation(&with));
    assert!(shared < without / 4.0, "{shared} in place of {without}");
    let folded = with.counters["log_entries_folded"] as f64 / with.counters["log_folds"] as f64;
    assert!(folded > 40.0, "a fold serves {folded} entries");
    assert!(with.counters["log_entries_waiting"] > 0);
}
