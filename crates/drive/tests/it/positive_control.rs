//! The positive control: the laboratory finds a public flaw in an FTL from outside, and nothing where the flaw is
//! mended.

use crate::journal::{Journal, TORN_GROUP};
use phelsuma_drive::lab::{CrashReport, FailureKind, Fault, LabConfig, Points, SoakConfig, SoakState, Sweep, Workload};
use phelsuma_nand::{Geometry, Timing};

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

/// On 768 pages, in groups of eight.
fn config(skips_torn_groups: bool) -> LabConfig<Journal> {
    LabConfig {
        geometry: Geometry::new(512, 32, 24, 1, 1).unwrap(),
        timing: Timing::preset("gecko").unwrap(),
        ftl: Journal { logical_pages: 150, skips_torn_groups },
        workload: Workload::Mixed,
        writes: 300,
        points: Points::Some(if thorough() { 800 } else { 40 }),
        faults: Fault::all(),
        depth: 1,
        seed: 1,
        threads: 2,
    }
}

fn run(config: &LabConfig<Journal>) -> CrashReport {
    Sweep::new(config).run().unwrap()
}

fn print(report: &CrashReport) {
    let CrashReport { cut_points, cuts, nested_cuts, lost, corrupt, stuck, panics, .. } = report;
    println!(
        "{} {:?}: {cut_points} points, {cuts} + {nested_cuts} cuts: lost {lost}, corrupt {corrupt}, stuck {stuck}, panics \
         {panics}",
        report.ftl, report.workload
    );
}

fn assert_sound(report: &CrashReport) {
    print(report);
    assert!(!report.failed(), "{}: {:#?}", report.ftl, report.failures);
    assert!(report.cuts > 0);
}

/// With the flaw some branches are stuck, and none is anything else.
fn assert_stuck(report: &CrashReport) {
    print(report);
    assert_eq!((report.lost, report.corrupt, report.panics), (0, 0, 0), "{:#?}", report.failures);
    assert!(report.stuck > 0);
    for failed in &report.failures {
        assert_eq!(failed.kind, FailureKind::Stuck);
        // It has mounted and shown everything: it is the next writes that it does not take.
        assert!(failed.message.starts_with("writing logical page"), "{failed:?}");
        assert!(failed.message.ends_with(&TORN_GROUP.to_string()), "{failed:?}");
    }
}

#[test]
fn the_flaw_is_found_as_stuck_and_nothing_else_is() {
    let flawed = config(false);
    let report = run(&flawed);
    assert_stuck(&report);
    let id = report.replay.unwrap();
    let again = run(&LabConfig { points: Points::Replay(id.clone()), ..flawed });
    assert_eq!((again.stuck, again.replay), (1, Some(id)));
}

#[test]
fn only_a_torn_page_that_reads_as_an_ecc_error_makes_the_flaw_show() {
    let named = |name: &str| Fault::named(name).unwrap();
    for fault in ["not-started", "unacknowledged", "looks-erased", "partial-mixed", "partial-front", "unstable-erase"] {
        assert_sound(&run(&LabConfig { faults: named(fault), ..config(false) }));
    }
    for fault in ["torn-seen", "torn-unseen", "torn-spare", "unstable"] {
        assert_stuck(&run(&LabConfig { faults: named(fault), ..config(false) }));
    }
}

#[test]
fn where_the_flaw_is_mended_nothing_is_found() {
    assert_sound(&run(&config(true)));
    let points = Points::Some(if thorough() { 200 } else { 8 });
    for workload in Workload::ALL {
        assert_sound(&run(&LabConfig { workload, points: points.clone(), ..config(true) }));
    }
    let geometry = Geometry::new(512, 32, 24, 2, 2).unwrap();
    assert_sound(&run(&LabConfig { geometry, points, ..config(true) }));
}

#[test]
fn where_the_flaw_is_mended_recoveries_may_be_cut_as_well() {
    for (depth, points) in [(2, 6), (3, 1)] {
        let points = Points::Some(if thorough() { 8 * points } else { points });
        let report = run(&LabConfig { depth, points, ..config(true) });
        assert_sound(&report);
        assert!(report.nested_cuts > report.cuts, "recoveries were cut too");
    }
}

fn soak(skips_torn_groups: bool, cycles: u64) -> SoakState {
    let LabConfig { geometry, timing, ftl, seed, threads, .. } = config(skips_torn_groups);
    let config = SoakConfig { geometry, timing, ftl, seed, decay: 0, bad: 0, threads };
    let mut state = SoakState::new(&config);
    config.soak(&mut state, cycles, &mut |state| state.failed == 0).unwrap();
    if let Some(found) = state.found.first() {
        assert_eq!(config.relive(found.life).unwrap().as_ref(), Some(found));
    }
    state
}

#[test]
fn a_soak_finds_the_flaw_and_nothing_where_it_is_mended() {
    let flawed = soak(false, 10_000);
    let found = flawed.found.first().unwrap();
    assert_eq!(found.kind, "stuck", "{found:#?}");
    assert!(found.message.ends_with(&TORN_GROUP.to_string()), "{found:#?}");
    let mended = soak(true, if thorough() { 20_000 } else { 300 });
    assert!(mended.found.is_empty(), "{:#?}", mended.found);
    assert!(mended.cuts > 0 && mended.recovery_cuts > 0);
}
