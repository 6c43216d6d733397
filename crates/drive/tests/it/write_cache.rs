//! A write cache between host and FTL: what power cuts leave of it, and what it changes of a run.
//!
//! `PHELSUMA_THOROUGH=1` cuts at every operation, nested, on four dies too.

use crate::room;
use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Arrival, Fill, Input, Machine, RunConfig, RunResult, Saving, run, run_saving};
use phelsuma_ftl::{CachePolicy, Config, Preset, WriteCache};
use phelsuma_nand::Timing;

/// Cache pages in the laboratory: requests are of a few pages, so some are written out by the way and some stay.
const LAB_PAGES: u64 = 12;

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn sweep(ftl: &str, policy: CachePolicy, workload: Workload, dies: (u32, u32)) -> CrashReport {
    let mut composition = Preset::named(ftl).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    let (blocks, ratio): (u32, f64) = match (ftl, dies) {
        ("mu-ftl", _) => (64, 0.3),
        ("phelsuma", _) => (192, 0.3),
        (_, (1, 1)) => (64, 0.5),
        _ => (128, 0.4),
    };
    let logical_pages = (f64::from(blocks) * 32.0 * ratio) as u32;
    let geometry = room::roomy(ftl, composition, logical_pages, blocks.into(), dies);
    let cache = WriteCache { bytes: LAB_PAGES * 512, policy, seed: 1 };
    let config = LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(ftl, composition, logical_pages, 1).cached(Some(cache)),
        workload,
        writes: 60,
        points: if thorough() { Points::Every } else { Points::Some(12) },
        faults: Fault::all(),
        depth: if thorough() { 2 } else { 1 },
        seed: 1,
        threads: 2,
    };
    Sweep::new(&config).run().unwrap()
}

#[test]
fn a_cut_leaves_of_a_cache_what_its_policy_allows() {
    let dies: &[(u32, u32)] = if thorough() { &[(1, 1), (2, 2)] } else { &[(1, 1)] };
    let (mut taken_back, mut turn) = (0, 0);
    for ftl in ["page", "geckoftl", "last++", "lazyftl", "mu-ftl", "phelsuma", "dftl-timeout"] {
        for policy in
            [CachePolicy::Fifo, CachePolicy::Subset, CachePolicy::Sorted, CachePolicy::Prefix, CachePolicy::Protected]
        {
            // Each of them meets some of the workloads, and each workload some of them.
            turn += 1;
            let workloads = Workload::ALL.into_iter().enumerate();
            let workloads = workloads.filter(|(n, _)| thorough() || *n == turn % Workload::ALL.len());
            for (workload, dies) in workloads.flat_map(|(_, workload)| dies.iter().map(move |dies| (workload, *dies))) {
                let report = sweep(ftl, policy, workload, dies);
                assert!(!report.failed(), "{ftl}, {policy:?}, {workload:?}: {:#?}", report.failures);
                assert!(report.cuts > 0, "{ftl}, {policy:?}, {workload:?}");
                if policy != CachePolicy::Protected {
                    taken_back += report.taken_back.map_or(0, |taken| u64::from(taken.pages.max));
                }
            }
        }
    }
    assert!(taken_back > 0, "no cut took anything back");
}

/// The proof that the laboratory looks: this cache forgets its flushes.
#[test]
fn a_cache_that_ignores_flushes_is_found_out() {
    for ftl in ["page", "geckoftl", "last++"] {
        let report = sweep(ftl, CachePolicy::Lies, Workload::Mixed, (1, 1));
        assert!(report.failed(), "{ftl}: {} cuts found nothing", report.cuts);
    }
}

fn config(ftl: &str, workload: &str, cache_pages: u64, policy: CachePolicy) -> RunConfig {
    let mut config = RunConfig::new(ftl, Input::Workload(workload.parse().unwrap())).unwrap();
    config.shape.capacity_bytes = Some(64 << 20);
    config.shape.pages_per_block = 32;
    (config.warmup, config.passes) = (2.0, 2.0);
    let bytes = cache_pages * 4096;
    config.write_cache = (cache_pages > 0).then_some(WriteCache { bytes, policy, seed: 1 });
    config
}

fn amplification(config: &RunConfig) -> f64 {
    run(config, &|_| true).unwrap().write_amplification.unwrap().total
}

/// Within half a percent, on a drive of which the cache is a thousandth.
#[test]
fn write_amplification_is_that_without_a_cache_where_nothing_is_absorbed() {
    for ftl in ["page", "fifo", "geckoftl", "phelsuma"] {
        let [without, with] = [0, 12].map(|pages| {
            let mut config = config(ftl, "uniform", pages, CachePolicy::Fifo);
            if ftl == "phelsuma" {
                config.shape.ratio = 0.5;
            }
            amplification(&config)
        });
        assert!((with / without - 1.0).abs() < 0.005, "{ftl}: {with} with a cache, {without} without");
    }
}

#[test]
fn a_cache_absorbs_what_a_skewed_workload_writes_again() {
    let [without, with] = [0, 1024].map(|pages| amplification(&config("page", "zipf:0.99", pages, CachePolicy::Fifo)));
    assert!(with < 0.8 * without, "{with} with a cache of 4 MiB, {without} without");
}

/// A drive with a cache goes on from a file as if nothing had happened, its dirty pages included.
#[test]
fn a_saved_drive_has_its_cache() {
    let path = std::env::temp_dir().join(format!("phelsuma-cached-{}", std::process::id()));
    let text = |result: RunResult| serde_json::to_string(&RunResult { machine: Machine::default(), ..result }).unwrap();
    for policy in [CachePolicy::Fifo, CachePolicy::Subset, CachePolicy::Sorted, CachePolicy::Protected] {
        for ftl in ["page", "geckoftl", "last++"] {
            let mut config = config(ftl, "zipf:0.9", 100, policy);
            (config.fill, config.cut_at_end) = (Fill::Random, true);
            let saving = |from, to| Saving { build: "this build", from, to };
            let whole = text(run_saving(&config, &saving(None, Some(&path)), &|_| true).unwrap());
            let resumed = text(run_saving(&config, &saving(Some(&path), None), &|_| true).unwrap());
            assert_eq!(resumed, whole, "{ftl}, {policy:?}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// The FTL's time is hidden while there is room, and the dies work side by side. With enough requests in progress the flash
/// writes no faster than without.
#[test]
fn a_cache_hides_time_and_the_flash_is_no_faster() {
    let seconds = |depth, pages| {
        let mut config = config("page", "uniform", pages, CachePolicy::Fifo);
        config.arrival = Arrival::QueueDepth(depth);
        (config.shape.channels, config.shape.dies_per_channel) = (2, 2);
        run(&config, &|_| true).unwrap().simulated_seconds
    };
    let alone = seconds(1, 64) / seconds(1, 0);
    assert!((0.25..0.5).contains(&alone), "one request at a time takes {alone} of the time");
    let many = seconds(64, 64) / seconds(64, 0);
    assert!((0.97..1.03).contains(&many), "64 take {many} of the time");
}
