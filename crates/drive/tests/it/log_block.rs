//! The log-block FTLs: what power cuts and defects may not do to them, and the shapes that the papers give them.

use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Arrival, Input, RunConfig, RunResult, run};
use phelsuma_ftl::{Config, PRESETS};
use phelsuma_nand::{Geometry, Timing};

/// On one channel an FTL for each is the one that it is made of: those are tried on several.
fn on_one_channel() -> impl Iterator<Item = Config> {
    log_block_ftls().filter(|ftl| !ftl.composition.is_per_channel())
}

fn log_block_ftls() -> impl Iterator<Item = Config> {
    let only = std::env::var("PHELSUMA_FTL").ok();
    let asked_for = move |name: &str| only.as_ref().is_none_or(|only| only == name);
    let presets = PRESETS.iter().filter(|preset| preset.composition.page_mapped().is_none());
    let presets = presets.filter(move |preset| asked_for(preset.name));
    presets.map(|preset| Config::new(preset.name, preset.composition, 0, 1))
}

fn lab(ftl: Config, workload: Workload, dies: (u32, u32), points: Points) -> LabConfig {
    let blocks = if dies == (1, 1) { 64 } else { 128 };
    let geometry = Geometry::new(512, 16, blocks, dies.0, dies.1).unwrap();
    let ratio = if dies == (1, 1) { 0.6 } else { 0.4 };
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config { logical_pages: (geometry.pages() as f64 * ratio) as u32, ..ftl },
        workload,
        writes: 200,
        points,
        faults: Fault::all(),
        depth: 1,
        seed: 1,
        threads: 2,
    }
}

fn assert_sound(report: &CrashReport) {
    let shown: Vec<String> = report.failures.iter().take(4).map(|f| format!("{f:?}")).collect();
    assert!(
        !report.failed(),
        "{}, {:?}: lost {} corrupt {} stuck {} panics {}: {shown:#?}",
        report.ftl,
        report.workload,
        report.lost,
        report.corrupt,
        report.stuck,
        report.panics
    );
    assert!(report.cuts > 0);
}

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn cuts_of_every_workload() {
    for ftl in on_one_channel() {
        for workload in Workload::ALL.iter().copied() {
            let points = Points::Some(number("PHELSUMA_CUTS", 6));
            assert_sound(&Sweep::new(&lab(ftl.clone(), workload, (1, 1), points)).run().unwrap());
        }
    }
}

#[test]
fn cuts_of_recoveries() {
    for ftl in on_one_channel() {
        let points = Points::Some(number("PHELSUMA_CUTS", 3));
        let config = LabConfig { depth: 2, ..lab(ftl, Workload::Mixed, (1, 1), points) };
        assert_sound(&Sweep::new(&config).run().unwrap());
    }
}

#[test]
fn cuts_on_several_dies() {
    for ftl in log_block_ftls() {
        let points = Points::Some(number("PHELSUMA_CUTS", 6));
        assert_sound(&Sweep::new(&lab(ftl, Workload::Mixed, (2, 1), points)).run().unwrap());
    }
}

#[test]
fn defects() {
    for ftl in on_one_channel() {
        let points = Points::Some(number("PHELSUMA_CUTS", 6));
        let config = LabConfig { faults: Fault::defects().collect(), ..lab(ftl, Workload::Mixed, (1, 1), points) };
        assert_sound(&Sweep::new(&config).run().unwrap());
    }
}

#[test]
fn an_ftl_for_each_channel() {
    for ftl in log_block_ftls().filter(|ftl| ftl.composition.is_per_channel()) {
        let cuts = |cuts| Points::Some(number("PHELSUMA_CUTS", cuts));
        let on = |dies, workload, points| lab(ftl.clone(), workload, dies, points);
        let not_started = Fault::named("not-started").unwrap();
        let large = LabConfig { writes: 100, ..on((4, 1), Workload::Large, cuts(3)) };
        let nested = LabConfig { depth: 2, writes: 60, faults: not_started, ..on((2, 1), Workload::Trims, cuts(2)) };
        let faults = Fault::defects().collect();
        let defects = LabConfig { faults, writes: 100, ..on((2, 1), Workload::Mixed, cuts(2)) };
        for config in [large, nested, defects] {
            assert_sound(&Sweep::new(&config).run().unwrap());
        }
    }
}

fn measured(ftl: &str, workload: &str, settings: &[(&str, &str)]) -> RunResult {
    measured_on(ftl, workload, settings, 1)
}

fn measured_on(ftl: &str, workload: &str, settings: &[(&str, &str)], channels: u32) -> RunResult {
    let workload = phelsuma_trace::Workload::parse(workload).unwrap();
    let mut config = RunConfig::new(ftl, Input::Workload(workload)).unwrap();
    if channels > 1 {
        (config.shape.channels, config.arrival) = (channels, Arrival::QueueDepth(32));
    }
    config.shape.capacity_bytes = Some(64 << 20);
    config.shape.pages_per_block = 32;
    config.composition.set_all(settings).unwrap();
    run(&config, &|_| true).unwrap()
}

#[test]
fn sequential_writes_are_switch_merges_only() {
    for ftl in ["block", "bast", "fast", "superblock"] {
        let result = measured(ftl, "sequential", &[]);
        let count = |name: &str| result.counters[name];
        assert!(count("switch_merges") > 300, "{ftl}: {:?}", result.counters);
        for none in ["partial_merges", "full_merges", "pages_moved"] {
            // The run may begin and end in the middle of a logical block.
            assert!(count(none) <= 32, "{ftl}: {none} {}", count(none));
        }
        let total = result.write_amplification.unwrap().total;
        // A map page for each logical block of 32 pages.
        assert!(total < 1.0 + 2.0 / 32.0, "{ftl}: {total}");
    }
}

#[test]
fn sequential_writes_over_c_channels_take_a_cth_of_the_time() {
    for ftl in ["ftl-mm:bast", "ftl-mm:fast", "ftl-mm:superblock"] {
        // 32 pages are on their way at all times: a share of them for every channel.
        let seconds = |ftl, channels| measured_on(ftl, "sequential", &[], channels).simulated_seconds;
        let one = seconds(ftl, 1);
        for channels in [2, 4] {
            let times = one / seconds(ftl, channels);
            // A map page for each logical block, and an erase, hold up one channel and not the others.
            assert!(
                (0.95..=1.05).contains(&(times / f64::from(channels))),
                "{ftl}, {channels} channels: {times} times"
            );
        }
        // Its purpose: the FTL that it is made of writes a logical block to one die.
        let alone = one / seconds(ftl.strip_prefix("ftl-mm:").unwrap(), 4);
        assert!(alone < 1.6, "{ftl} alone: {alone} times");
    }
}

#[test]
fn bast_thrashes_under_uniform_writes() {
    let result = measured("bast", "uniform", &[]);
    let count = |name: &str| result.counters[name] as f64;
    let merges = count("merged_log_blocks");
    // With 16 log blocks for 350 logical blocks nearly each write is to a logical block without one.
    let used = count("merged_log_pages") / merges;
    assert!(used < 1.2, "{used} pages of a log block are written before it is merged");
    assert_eq!(count("associated_logical_blocks"), count("log_blocks_fully_merged"));
    // A merge a write: the block of 32 is copied but for the written pages, and a map page is.
    let total = result.write_amplification.unwrap().total;
    assert!((28.0..35.0).contains(&total), "{total}");
}

#[test]
fn the_association_degree_of_fast_falls_with_more_log_blocks() {
    let degree = |log_blocks: &str| {
        let result = measured("fast", "uniform", &[("log.blocks", log_blocks)]);
        let merged = result.counters["log_blocks_fully_merged"] as f64;
        result.counters["associated_logical_blocks"] as f64 / merged
    };
    let (few, many) = (degree("4"), degree("128"));
    // With few log blocks hardly any of the 32 pages is overwritten before its block is merged.
    assert!(few > 25.0 && many < few, "{few}, {many}");
}

/// µ-FTL's tables and Dual Greedy's figure 7 (c): a player's films are written in order, on a drive with few log
/// blocks.
#[test]
fn films_are_switch_merges() {
    let all = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    for ftl in if all { vec!["bast", "fast", "superblock", "last++"] } else { vec!["last++"] } {
        let workload = phelsuma_trace::Workload::parse("media:mov").unwrap();
        let mut config = RunConfig::new(ftl, Input::Workload(workload)).unwrap();
        config.shape.capacity_bytes = Some(8_493_568 << 10);
        config.shape.ratio = 0.98;
        config.composition.set("log.blocks", "96").unwrap();
        let result = run(&config, &|_| true).unwrap();
        let count = |name: &str| result.counters[name] as f64;
        let copying = count("partial_merges") + count("full_merges");
        assert!(count("switch_merges") > 50_000.0 && copying < count("switch_merges") / 50.0, "{ftl}: {copying}");
        assert!(result.write_amplification.unwrap().total < 1.03, "{ftl}");
    }
}

/// Small writes among files. BAST's log blocks are merged before they are written to their ends. FAST's have pages of
/// several logical blocks when they are (LAST++ sections 2.2 and 5.2).
#[test]
fn a_desktop_thrashes_bast_and_associates_fast() {
    let of = |ftl| {
        let workload = phelsuma_trace::Workload::parse("desktop").unwrap();
        let mut config = RunConfig::new(ftl, Input::Workload(workload)).unwrap();
        (config.shape.capacity_bytes, config.shape.ratio) = (Some(256 << 20), 0.8);
        let result = run(&config, &|_| true).unwrap();
        let count = |name: &str| result.counters[name] as f64;
        let used = count("merged_log_pages") / count("merged_log_blocks") / 128.0;
        let degree = count("associated_logical_blocks") / count("log_blocks_fully_merged");
        (result.write_amplification.unwrap().total, used, degree)
    };
    let (bast, fast, superblock) = (of("bast"), of("fast"), of("superblock"));
    println!(
        "WA, share of a log block written, association degree: bast {bast:?} fast {fast:?} superblock {superblock:?}"
    );
    assert!(bast.0 > 1.5 * fast.0 && bast.0 > superblock.0);
    assert!(bast.1 < 0.2 && fast.1 > 0.5 && superblock.1 > 0.9);
    assert!(bast.2 <= 1.0 && superblock.2 > 2.0 && fast.2 > superblock.2);
}
