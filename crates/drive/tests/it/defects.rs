//! Defects besides power cuts, at operations of every workload.
//!
//! Programs and erases fail, pages decay, and blocks were never good. Each is tried alone, and with the power cut
//! behind it.

use phelsuma_drive::lab::{CrashReport, Defect, Fault, LabConfig, LabError, Points, Promise, Subject, Sweep, Workload};
#[cfg(phelsuma_mutants)]
use phelsuma_ftl::Barrier;
use phelsuma_ftl::{Config, PRESETS, Preset};
use phelsuma_nand::{Geometry, Timing};

/// Page-mapped FTLs with each kind of mapping and validity.
const PAGE_MAPPED: [&str; 7] = ["page", "dftl", "mu-ftl", "mu-ftl-pvb", "geckoftl", "lazyftl", "ib-ftl"];

/// Every FTL that keeps data, but for those that on one channel are another one.
fn all() -> impl Iterator<Item = &'static str> {
    let survivors = PRESETS.iter().filter(|preset| preset.composition.why_not_survivable().is_none());
    let kept = survivors.filter(|preset| preset.composition.knowledge().is_none());
    kept.filter(|preset| !preset.composition.is_per_channel()).map(|preset| preset.name)
}

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn config(name: &str, workload: Workload, points: Points) -> LabConfig {
    let (blocks, ratio) = if name == "page" { (64, 0.6) } else { (128, 0.35) };
    let geometry = Geometry::new(512, 32, blocks, 1, 1).unwrap();
    let mut composition = Preset::named(name).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, (geometry.pages() as f64 * ratio) as u32, 1),
        workload,
        writes: 300,
        points,
        faults: Fault::all().into_iter().chain(Fault::defects()).collect(),
        depth: 1,
        seed: 1,
        threads: 2,
    }
}

fn run(config: &LabConfig) -> CrashReport {
    Sweep::new(config).run().unwrap_or_else(|e| panic!("{} {:?}: {e}", config.ftl.name, config.workload))
}

fn assert_sound(report: &CrashReport) {
    assert!(!report.failed(), "{}, {:?}: {:#?}", report.ftl, report.workload, report.failures);
}

#[test]
fn what_is_promised_of_defects_is_kept() {
    for (number, name) in all().enumerate() {
        for (w, workload) in Workload::ALL.into_iter().enumerate() {
            if thorough() || (w + number) % 19 == 0 {
                let points = Points::Some(if thorough() { 40 } else { 5 });
                let report = run(&config(name, workload, points));
                assert_sound(&report);
                assert!(report.defects >= 10, "{name}, {workload:?}: {} defects", report.defects);
                assert_eq!(
                    report.faults.contains(&"announced"),
                    Preset::named(name).unwrap().composition.has_battery()
                );
            }
        }
    }
}

#[test]
fn blocks_that_were_never_good_are_never_used() {
    for name in all() {
        let config = config(name, Workload::Mixed, Points::Some(if thorough() { 40 } else { 2 }));
        let report = Sweep::new(&config).with_factory_bad(config.geometry.blocks() / 20).run().unwrap();
        assert_sound(&report);
        assert!(report.cuts > 2);
    }
}

#[test]
fn an_id_begins_with_the_defect_and_cuts_follow() {
    let replay = |id: &str| Sweep::new(&config("page", Workload::Mixed, Points::Replay(id.parse().unwrap()))).run();
    // Of the workload's operations some are erases.
    let uncut = run(&config("page", Workload::Mixed, Points::Some(0)));
    let (first, end) = (uncut.preconditioning_operations, uncut.operations);
    for (id, cuts) in [
        (format!("{first}.fails"), 1),
        (format!("{first}.host-decays"), 1),
        (format!("{first}.fails/{}.not-started", first + 1), 1),
        (format!("{first}.fails/{}.not-started", first + 3), 1),
    ] {
        let report = replay(&id).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_sound(&report);
        assert_eq!((report.defects, report.cuts), (1, cuts), "{id}");
    }
    for id in [format!("{end}.fails"), format!("{first}.fails/{}.not-started", first + 9)] {
        assert!(matches!(replay(&id), Err(LabError::NoSuchBranch(_))), "{id}");
    }
}

#[test]
fn a_report_of_defects_is_the_same_on_any_number_of_threads() {
    let json = |threads| {
        let config = LabConfig { threads, ..config("geckoftl", Workload::Mixed, Points::Some(6)) };
        serde_json::to_string(&run(&config)).unwrap()
    };
    assert_eq!(json(1), json(3));
}

/// The promise depends on an FTL's parts, not on its name.
#[test]
fn what_an_ftl_has_no_second_source_for_it_does_not_promise() {
    let of = |name: &str, fault| config(name, Workload::Mixed, Points::Some(0)).ftl.promise(fault);
    for name in PAGE_MAPPED {
        assert_eq!(of(name, Fault::Defect(Defect::Fails)), Promise::Kept);
        for fault in Fault::all() {
            let battery = Preset::named(name).unwrap().composition.has_battery();
            assert_eq!(matches!(of(name, fault), Promise::Nothing(_)), battery, "{name}");
        }
    }
    for name in PAGE_MAPPED {
        assert_eq!(of(name, Fault::Defect(Defect::MetadataDecays)), Promise::Detected, "{name}");
        let host = of(name, Fault::Defect(Defect::HostDecays));
        assert_eq!(matches!(host, Promise::Nothing(_)), name == "geckoftl", "{name}");
    }
}

/// A branch of a drive of small blocks: each block of translation pages is soon stale.
fn replayed(id: &str, (writes, seed): (u32, u64), change: impl FnOnce(&mut Config)) -> CrashReport {
    let geometry = Geometry::new(512, 4, 512, 1, 1).unwrap();
    let mut composition = Preset::named("ib-ftl").unwrap().composition;
    composition.set("mapping.cache", "64").unwrap();
    let mut ftl = Config::new("ib-ftl", composition, 614, 1);
    change(&mut ftl);
    let points = Points::Replay(id.parse().unwrap());
    run(&LabConfig { geometry, ftl, writes, points, seed, ..config("ib-ftl", Workload::Mixed, Points::Some(0)) })
}

/// By the time of the cut all else in its block is stale. So is what an erase leaves that was cut.
const LOST_AMONG_STALE: [(&str, (u32, u64)); 2] =
    [("984.metadata-decays", (600, 5)), ("3525.metadata-decays", (300, 1))];
/// A trim was lost with it, and the page that the older version names is blank.
const NAMES_A_BLANK_PAGE: (&str, (u32, u64)) = ("3837.metadata-decays/3838.not-started", (300, 4));

#[test]
fn no_older_version_of_a_translation_page_that_has_gone_bad_is_believed() {
    for (id, of) in LOST_AMONG_STALE.into_iter().chain([NAMES_A_BLANK_PAGE]) {
        let report = replayed(id, of, |_| {});
        assert_sound(&report);
        assert_eq!(report.defects, 1, "{id}");
    }
}

#[cfg(phelsuma_mutants)]
#[test]
fn mutants_that_believe_an_older_version_of_a_translation_page_are_caught() {
    let failed = |(id, of), barrier| replayed(id, of, |ftl: &mut Config| ftl.forgets = Some(barrier)).failed();
    for branch in LOST_AMONG_STALE {
        assert!(failed(branch, Barrier::CutEraseDoubted), "{branch:?}");
    }
    assert!(failed(NAMES_A_BLANK_PAGE, Barrier::OlderVersionsChecked));
}
