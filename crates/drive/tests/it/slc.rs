//! An SLC cache: the host's writes are fast until it is full, it is folded into other blocks, and power cuts lose nothing.
//!
//! `PHELSUMA_THOROUGH=1` cuts under every workload, at every operation, nested, on four dies too.

use crate::room;
use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Fill, Input, RunConfig, RunResult, run};
use phelsuma_ftl::{Composition, Config, Preset};
use phelsuma_nand::Timing;

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn composition(ftl: &str, room: &str, settings: &[(&str, &str)]) -> Composition {
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set_all(&[("slc", "cache"), ("slc.room", room)]).unwrap();
    composition.set_all(settings).unwrap();
    assert_eq!(composition.why_not_survivable(), None, "{ftl}");
    composition
}

fn sweep(ftl: &str, (slc, full): (&str, &str), workload: Workload, dies: (u32, u32)) -> CrashReport {
    let mut composition = composition(ftl, slc, &[("slc.blocks", "6"), ("slc.full", full)]);
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    let (blocks, ratio): (u32, f64) = if dies == (1, 1) { (96, 0.4) } else { (192, 0.3) };
    let logical_pages = (f64::from(blocks) * 32.0 * ratio) as u32;
    let geometry = room::roomy(ftl, composition, logical_pages, blocks.into(), dies);
    let config = LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(ftl, composition, logical_pages, 1),
        workload,
        writes: 150,
        points: if thorough() { Points::Every } else { Points::Some(7) },
        faults: Fault::all(),
        depth: if thorough() { 2 } else { 1 },
        seed: 1,
        threads: 2,
    };
    Sweep::new(&config).run().unwrap()
}

#[test]
fn power_cuts_lose_nothing_of_an_slc_cache() {
    let dies: &[(u32, u32)] = if thorough() { &[(1, 1), (2, 2)] } else { &[(1, 1)] };
    let mut turn = 0;
    for ftl in ["page", "fifo", "lazyftl", "ib-ftl", "geckoftl", "dftl", "dftl-timeout"] {
        // A dynamic one that is bypassed when full is not used by a drive that was overwritten.
        for slc in [("static", "fold"), ("dynamic", "fold"), ("static", "bypass")] {
            turn += 1;
            let workloads = Workload::ALL.into_iter().enumerate();
            let workloads = workloads.filter(|(n, _)| thorough() || *n == turn % Workload::ALL.len());
            for (workload, dies) in workloads.flat_map(|(_, workload)| dies.iter().map(move |dies| (workload, *dies))) {
                let report = sweep(ftl, slc, workload, dies);
                assert!(!report.failed(), "{ftl}, {slc:?}, {workload:?}: {:#?}", report.failures);
                assert!(report.cuts > 0, "{ftl}, {slc:?}, {workload:?}");
            }
        }
    }
}

/// A drive of 512 blocks of which 32 are an SLC cache of a third of their pages, with programs that take a tenth.
fn ran(settings: &[(&str, &str)], change: impl Fn(&mut RunConfig)) -> RunResult {
    ran_with("static", &[&[("slc.blocks", "32")], settings].concat(), change)
}

fn ran_with(room: &str, settings: &[(&str, &str)], change: impl Fn(&mut RunConfig)) -> RunResult {
    let mut config = RunConfig::new("page", Input::Workload("uniform".parse().unwrap())).unwrap();
    config.composition = composition("page", room, settings);
    config.shape.capacity_bytes = Some(128 << 20);
    (config.shape.pages_per_block, config.shape.ratio) = (64, 0.6);
    config.timing = Timing { slc_program_ns: 100_000, slc_read_ns: 50_000, ..Timing::preset("gecko").unwrap() };
    (config.warmup, config.passes, config.interval) = (0.0, 0.25, Some(128));
    config.fill = Fill::None;
    change(&mut config);
    run(&config, &|_| true).unwrap()
}

/// Pages a second that were written between two points of a series, by its number.
fn rates(result: &RunResult) -> Vec<f64> {
    let series = result.series.windows(2);
    series.map(|two| 128.0 / (two[1].simulated_seconds - two[0].simulated_seconds)).collect()
}

#[test]
fn writes_are_fast_until_the_cache_is_full() {
    let pages = 32 * (64 / 3);
    for full in ["fold", "bypass"] {
        let result = ran(&[("slc.full", full)], |_| {});
        let rates = rates(&result);
        let cliff = pages / 128;
        let fast = &rates[..cliff - 2];
        // 100 µs a page, and an erase of 1.5 ms for 21.
        let expected = 21.0 / (21.0 * 100e-6 + 1.5e-3);
        assert!(fast.iter().all(|rate| (rate / expected - 1.0).abs() < 0.1), "{full}: {rates:?} where {expected}");
        let slow = &rates[cliff + 2..rates.len() - 1];
        let (least, most) = if full == "fold" { (500.0, 900.0) } else { (900.0, 1000.0) };
        assert!(slow.iter().all(|rate| (least..most).contains(rate)), "{full}: {slow:?}");
        let counter = |name: &str| result.counters[name];
        let written = result.host.write_pages;
        assert_eq!(counter("slc_pages") + counter("slc_bypassed"), written);
        assert_eq!(counter("slc_bypassed") > 0, full == "bypass");
        assert_eq!(counter("slc_folds") > 0, full == "fold");
        assert!(counter("slc_full_blocks") <= 32);
    }
}

/// Each page that is folded is written once more, and nothing else is while there is no other collection.
#[test]
fn write_amplification_of_folding_is_counted() {
    let result = ran(&[], |_| {});
    let (written, folded) = (result.host.write_pages as f64, result.counters["slc_pages_folded"] as f64);
    let total = result.write_amplification.as_ref().unwrap().total;
    assert!((total - (1.0 + folded / written)).abs() < 1e-9, "{total}: {folded} of {written} pages were folded");
    assert!(folded > 0.5 * written, "{folded} of {written}");
}

#[test]
fn a_full_drive_with_an_slc_cache_can_be_overwritten_for_ever() {
    for full in ["fold", "bypass"] {
        let result = ran(&[("slc.full", full)], |config| {
            (config.fill, config.warmup, config.passes) = (Fill::Sequential, 2.0, 1.0);
            config.shape.ratio = 0.85;
            config.cut_at_end = true;
        });
        assert!(result.recovery.is_some());
        let total = result.write_amplification.as_ref().unwrap().total;
        assert!((1.5..12.0).contains(&total), "{full}: {total}");
    }
}

/// Blocks of the cache have the fewest pages of all. The victim policy leaves them alone: they would be collected as soon
/// as they are full.
#[test]
fn collection_leaves_the_cache_to_be_folded() {
    for slc in ["static", "dynamic"] {
        let result = ran_with(slc, &[("slc.blocks", "32"), ("slc.full", "bypass")], |config| {
            (config.fill, config.warmup, config.passes) = (Fill::Sequential, 1.0, 1.0);
        });
        let counter = |name: &str| result.counters[name];
        assert!(counter("collections") > 100, "{slc}");
        let (cached, bypassed) = (counter("slc_pages"), counter("slc_bypassed"));
        // Without a pause a static cache is full and stays so. A dynamic one gives way to collection, and gets free blocks.
        if slc == "static" {
            assert_eq!((cached, counter("slc_folds"), counter("slc_full_blocks")), (0, 0, 32));
        }
        assert!(bypassed > 9 * cached, "{slc}: {cached} and {bypassed}");
    }
}

/// A dynamic cache has the blocks that are free anyway, and none is set aside. It comes back where pages are stale.
#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills() {
    let ran = |room, ratio, passes| {
        ran_with(room, &[("slc.full", "bypass")], |config| (config.shape.ratio, config.passes) = (ratio, passes))
    };
    let [fixed, dynamic] = ["static", "dynamic"].map(|room| ran(room, 0.75, 0.25));
    assert_eq!(fixed.counters["slc_pages"], 32 * 21);
    assert_eq!(dynamic.counters["slc_pages"], 128 * 21, "a quarter of the drive");
    let reserve = |result: &RunResult| result.geometry.reserve_blocks;
    assert_eq!(reserve(&fixed) - reserve(&dynamic), 32);
    let full = ran("dynamic", 0.75, 4.0);
    assert!(full.counters["slc_full_blocks"] < 8, "{}", full.counters["slc_full_blocks"]);
    assert!(full.counters["slc_folds"] > 100);
    // Most writes of a drive that holds little go to the cache, however often it was overwritten.
    let overwritten = ran_with("dynamic", &[("slc.full", "fold")], |config| {
        (config.shape.ratio, config.fill, config.warmup, config.passes) = (0.3, Fill::Sequential, 3.0, 1.0);
    });
    let counter = |name: &str| overwritten.counters[name];
    assert!(counter("slc_pages") > 9 * counter("slc_bypassed"), "{} {}", counter("slc_pages"), counter("slc_bypassed"));
}

/// A sample does not tell blocks of the cache from others.
#[test]
fn a_sampled_victim_and_an_slc_cache_are_refused_together() {
    for ftl in ["page", "geckoftl"] {
        let mut composition = Preset::named(ftl).unwrap().composition;
        let error = composition.set_all(&[("victim", "sampled"), ("slc", "cache")]).unwrap_err().to_string();
        assert!(error.contains("may choose a block of an SLC cache"), "{error}");
    }
}
