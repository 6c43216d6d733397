//! Lifetimes of pages and dormant periods of blocks, and runs of the workloads of files.
//!
//! `phelsuma-trace`, which has no drive, counts lifetimes a second time. Dormant periods are compared with what can be
//! said without counting.

use phelsuma_drive::{Arrival, Distributions, Fill, Input, RunConfig, RunError, RunResult, run};
use phelsuma_ftl::PRESETS;
use phelsuma_trace::histogram::modes;
use phelsuma_trace::{InfoOptions, TraceInfo, Workload, WorkloadExtent};

fn config(ftl: &str, spec: &str) -> RunConfig {
    let mut config = RunConfig::new(ftl, Input::Workload(Workload::parse(spec).unwrap())).unwrap();
    config.shape.capacity_bytes = Some(64 << 20);
    config.shape.ratio = 0.55;
    config.distributions = true;
    config
}

fn done(config: &RunConfig) -> RunResult {
    run(config, &|_| true).unwrap()
}

fn observed(config: &RunConfig) -> Distributions {
    done(config).distributions.unwrap()
}

fn sum(histogram: &[u64]) -> u64 {
    histogram.iter().sum()
}

#[test]
fn lifetimes_are_the_workloads_own_whatever_the_ftl_and_however_it_copies() {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    for (turn, spec) in ["hotcold:90/10", "mixed:trim=10,pages=1-4:zipf:0.9"].into_iter().enumerate() {
        let mut expected = None;
        let alone = PRESETS.iter().filter(|preset| !preset.composition.is_per_channel()).enumerate();
        // In the usual mode each has one of them. Those that hardly copy under the first have the second.
        let apart = ["dac", "dac-sealed", "geckoftl-classes", "static-quota"];
        let of = |number, name: &str| if apart.contains(&name) { 1 } else { number % 2 };
        for (_, preset) in alone.filter(|(number, preset)| thorough || of(*number, preset.name) == turn) {
            let mut config = config(preset.name, spec);
            (config.fill, config.warmup, config.passes) = (Fill::None, 0.0, 4.0);
            let result = done(&config);
            // Those have so many of the hot pages apart, this one all by when they die: the blocks they collect are
            // stale.
            let copies = match preset.name {
                name if apart.contains(&name) => spec.starts_with("mixed"),
                name => name != "oracle",
            };
            assert!(result.counters["pages_moved"] > 0 || !copies, "{}: nothing was copied", preset.name);
            let lifetimes = result.distributions.unwrap().page_lifetimes;
            let expected = expected.get_or_insert_with(|| {
                let logical_pages = result.geometry.logical_bytes / 4096;
                let extent = WorkloadExtent { logical_pages, seed: 1, pages_written: Some(result.host.write_pages) };
                let options = InfoOptions { page_bytes: 4096, warmup_pages: 0 };
                TraceInfo::of_workload(&Workload::parse(spec).unwrap(), &extent, &options).unwrap().lifetimes
            });
            assert_eq!(lifetimes.histogram_log2, expected.histogram_log2, "{} {spec}", preset.name);
            let quantiles = [expected.p50_at_most, expected.p90_at_most, expected.p99_at_most];
            assert_eq!([lifetimes.p50_at_most, lifetimes.p90_at_most, lifetimes.p99_at_most], quantiles);
        }
    }
}

#[test]
fn lengths_of_extents_are_told_by_place_where_there_are_any() {
    let mut config = config("mu-ftl", "mixed:pages=4:hotcold:90/10");
    // Extents are as long as they can be when the drive has been filled in order, and then cut by each request.
    let mut mean_after = |passes: f64| {
        (config.warmup, config.passes) = (0.0, passes);
        let means = observed(&config).extent_pages_mean.unwrap();
        assert_eq!(means.len(), 256);
        // Parts in which no extent begins have none.
        assert!(means.iter().all(|pages| *pages == 0.0 || (1.0..=128.0).contains(pages)), "{means:?}");
        means.iter().sum::<f64>() / means.iter().filter(|pages| **pages > 0.0).count() as f64
    };
    let (few, many) = (mean_after(0.01), mean_after(0.2));
    assert!(few > 3.0 * many, "{few} and {many} pages");
    let result = done(&config);
    // Looking changes nothing of the run.
    config.distributions = false;
    let same = done(&config);
    assert_eq!((same.flash, same.counters, same.distributions), (result.flash, result.counters, None));
    config = RunConfig { ftl: "page".into(), ..self::config("page", "uniform") };
    assert_eq!(observed(&config).extent_pages_mean, None);
}

#[test]
fn every_page_that_becomes_stale_is_the_first_of_its_block_or_ends_a_period() {
    for ftl in ["page", "pl-greedy", "geckoftl"] {
        for spec in ["uniform", "mixed:trim=20,pages=1-9:uniform", "desktop:trim"] {
            let Distributions { page_lifetimes, block_dormant_periods, first_invalidations, .. } =
                observed(&config(ftl, spec));
            let stale = sum(&page_lifetimes.histogram_log2);
            assert!(stale > 1000 && first_invalidations > 0);
            assert_eq!(stale, sum(&block_dormant_periods.histogram_log2) + first_invalidations, "{ftl} {spec}");
        }
    }
}

#[test]
fn blocks_that_become_stale_in_order_are_dormant_for_one_page_write() {
    let result = done(&config("page", "sequential"));
    let distributions = result.distributions.unwrap();
    let written = result.host.write_pages;
    // One in 128 is the first of its block; a block across which the drive's end falls has two such.
    assert!(distributions.first_invalidations.abs_diff(written / 128) <= 2, "{distributions:?}");
    let periods = distributions.block_dormant_periods.histogram_log2;
    assert!(sum(&periods) - periods[0] <= 2, "{periods:?}");
}

#[test]
fn under_uniform_writes_a_full_block_is_dormant_for_the_drives_pages_over_its_own() {
    let mut config = config("page", "uniform");
    // Spare enough that blocks are full of live pages for long.
    config.shape.ratio = 0.2;
    let result = done(&config);
    let logical = result.geometry.logical_bytes as f64 / 4096.0;
    let distributions = result.distributions.unwrap();
    // A block with v live pages of L has one become stale every L / v page writes; v falls from 128.
    let median = distributions.block_dormant_periods.p50_at_most as f64;
    assert!(median >= logical / 128.0 && median <= 4.0 * logical / 128.0, "{median} of {logical}");
    assert_eq!(modes(&distributions.page_lifetimes.histogram_log2), None);
}

#[test]
fn observing_changes_nothing_else() {
    for ftl in ["page", "geckoftl"] {
        let mut with = config(ftl, "mixed:read=10,trim=5,pages=1-3:zipf:0.9");
        with.cut_at_end = true;
        let without = RunConfig { distributions: false, ..with.clone() };
        let [with, without] = [with, without].map(|config| {
            let mut value = serde_json::to_value(done(&config)).unwrap();
            let object = value.as_object_mut().unwrap();
            object.remove("machine").unwrap();
            (object.remove("distributions"), value)
        });
        assert!(with.0.is_some() && without.0.is_none());
        assert_eq!(with.1, without.1, "{ftl}");
    }
}

#[test]
fn media_is_counted_to_its_end_unless_told_otherwise() {
    let whole = done(&config("page", "media:mov"));
    let passes = |result: &RunResult| result.host.write_pages as f64 * 4096.0 / result.geometry.logical_bytes as f64;
    assert!((3.1..3.6).contains(&passes(&whole)), "{}", passes(&whole));

    let mut part = config("page", "media:mov");
    (part.warmup, part.passes) = (0.8, 1.0);
    assert!((0.99..1.01).contains(&passes(&done(&part))));
    part.passes = f64::INFINITY;
    let rest = done(&part);
    assert!((passes(&whole) - passes(&rest) - 0.8).abs() < 0.01, "{}", passes(&rest));

    for (warmup, passes) in [(0.0, 4.0), (4.0, 1.0), (4.0, f64::INFINITY)] {
        (part.warmup, part.passes) = (warmup, passes);
        match run(&part, &|_| true) {
            Err(RunError::Input(text)) => assert!(text.starts_with("media:mov ends after "), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    let mut more = config("page", "media:mov,rounds=40");
    more.passes = 4.0;
    assert!((3.99..4.01).contains(&passes(&done(&more))));
}

#[test]
fn a_desktop_in_an_open_loop_keeps_its_own_time() {
    let mut config = config("page", "desktop");
    config.warmup = 0.5;
    let closed = done(&config);
    config.arrival = Arrival::Timestamps;
    let open = done(&config);
    assert_eq!(closed.host, open.host);
    // There are sixteen to thirty pages of requests a second, and a drive without idle times does hundreds.
    let pages_per_second = |result: &RunResult| result.host.write_pages as f64 / result.simulated_seconds;
    assert!(pages_per_second(&closed) > 150.0, "{}", pages_per_second(&closed));
    assert!((8.0..40.0).contains(&pages_per_second(&open)), "{}", pages_per_second(&open));

    for spec in ["uniform", "media:mov"] {
        let mut untimed = RunConfig { arrival: Arrival::Timestamps, ..self::config("page", spec) };
        untimed.passes = 1.0;
        match run(&untimed, &|_| true) {
            Err(RunError::Input(text)) => assert!(text.contains("--open-loop"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}
