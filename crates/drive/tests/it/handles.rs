//! Placement handles: what they gain on a flash cache, that they mean nothing for a drive's promises, and where pages lie.

use crate::room;
use phelsuma_drive::lab::{Fault, LabConfig, Points, Subject, Sweep, Workload};
use phelsuma_drive::{Arrival, Drive, Input, RunConfig, RunResult, run};
use phelsuma_ftl::{Composition, Config, Hint, Preset};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, Nand, Op as NandOp, Page, Purpose, SimNand, SpareRead, Time, Timing};
use phelsuma_trace::{Op, PageRequest};
use std::collections::BTreeMap;

type Settings = &'static [(&'static str, &'static str)];

const PERSISTENT: Settings = &[("placement", "handles")];
const INITIAL: Settings = &[("placement", "handles"), ("handles.isolation", "initial")];

fn composition(ftl: &str, settings: Settings) -> Composition {
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set_all(settings).unwrap();
    composition
}

/// A drive of 1 GiB of flash, 93 % of it logical, filled, warmed up and measured.
fn cached(settings: Settings) -> RunResult {
    let mut config = RunConfig::new("page", Input::Workload("cache".parse().unwrap())).unwrap();
    config.composition.set_all(settings).unwrap();
    config.shape.capacity_bytes = Some(1 << 30);
    config.shape.ratio = 0.93;
    (config.warmup, config.passes) = (8.0, 4.0);
    run(&config, &|_| true).unwrap()
}

#[test]
fn handles_take_nearly_all_write_amplification_from_a_flash_cache() {
    let of = |settings| cached(settings).write_amplification.unwrap().total;
    let [one, persistent, initial] = [&[], PERSISTENT, INITIAL].map(of);
    println!("one stream {one:.3}, persistent {persistent:.3}, initial {initial:.3}");
    assert!(one > 2.0, "{one}");
    assert!(persistent <= 1.1 && initial <= 1.1, "{persistent}, {initial}");
    let handled = cached(PERSISTENT);
    assert!(!handled.oracle, "hosts send handles");
}

const COUNT: u64 = 4;

fn request(op: Op, first: u64, pages: u32, handle: u64) -> PageRequest {
    PageRequest { at_ns: 0, op, first, pages, partial_first: false, partial_last: false, handle: handle as u8 }
}

fn drive(settings: Settings, logical_pages: u32) -> Drive {
    let geometry = Geometry::new(4096, 32, 256, 1, 1).unwrap();
    let nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
    let mut composition = composition("page", settings);
    composition.set("handles.count", &COUNT.to_string()).unwrap();
    let config = Config::new("page", composition, logical_pages, 1);
    Drive::format(nand, &config, Arrival::QueueDepth(1)).unwrap().to_be_cut()
}

/// A handle that is the page's own, and which blocks of few pages would mix.
fn handle_of(page: u64) -> u64 {
    page % COUNT
}

fn write_at_random(drive: &mut Drive, pages: u64, writes: u64) {
    let mut state = 1u64;
    for _ in 0..writes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let page = (state >> 33) % pages;
        drive.submit(&request(Op::Write, page, 1, handle_of(page))).unwrap();
    }
}

/// By stream of the block's first page: how many pages of each handle lie in blocks of it.
fn lie(drive: &Drive) -> BTreeMap<u8, BTreeMap<u64, u64>> {
    let mut nand = drive.nand().clone();
    let geometry = *Nand::geometry(&nand);
    let mut lie: BTreeMap<u8, BTreeMap<u64, u64>> = BTreeMap::new();
    for block in 0..geometry.blocks() {
        let pages = (0..geometry.pages_per_block()).filter_map(|page| {
            let page = Page(u64::from(block * geometry.pages_per_block() + page) as u32);
            match nand.read_spare(page, NandOp::new(Time::ZERO, Purpose::Host)).0 {
                SpareRead::Written(spare) if spare.kind == phelsuma_nand::Kind::User => Some(spare),
                _ => None,
            }
        });
        let pages: Vec<_> = pages.collect();
        let Some(first) = pages.first() else { continue };
        for spare in &pages {
            *lie.entry(first.stream).or_default().entry(handle_of(spare.key.into())).or_default() += 1;
        }
    }
    lie
}

fn mixed(lie: &BTreeMap<u64, u64>) -> bool {
    lie.len() > 1
}

#[test]
fn persistent_isolation_keeps_handles_apart_for_good_and_initial_isolation_until_pages_move() {
    let pages = 5_000;
    for settings in [PERSISTENT, INITIAL] {
        let mut drive = drive(settings, pages as u32);
        write_at_random(&mut drive, pages, 40_000);
        let lie = lie(&drive);
        let of_host = lie.iter().filter(|(stream, _)| u64::from(**stream) < COUNT);
        assert!(of_host.clone().count() as u64 == COUNT, "{lie:?}");
        assert!(of_host.clone().all(|(stream, pages)| pages.keys().eq([&u64::from(*stream)])), "{lie:?}");
        let moved: Vec<_> = lie.iter().filter(|(stream, _)| u64::from(**stream) >= COUNT).collect();
        if settings == PERSISTENT {
            assert_eq!(moved.len() as u64, COUNT);
            assert!(moved.iter().all(|(stream, pages)| pages.keys().eq([&(u64::from(**stream) - COUNT)])), "{lie:?}");
        } else {
            assert!(moved.len() == 1 && mixed(moved[0].1), "{lie:?}");
        }
    }
}

#[test]
fn after_a_power_cut_handles_are_kept_apart_as_before_but_for_the_copies_of_the_recovery() {
    let pages = 5_000;
    let mut drive = drive(PERSISTENT, pages as u32);
    write_at_random(&mut drive, pages, 20_000);
    drive.cut_and_recover().unwrap();
    write_at_random(&mut drive, pages, 20_000);
    let lie = lie(&drive);
    for (stream, pages) in &lie {
        // Copies of the recovery are of handle 0: in its blocks others' pages may be.
        if u64::from(*stream) % COUNT != 0 {
            assert!(pages.keys().eq([&(u64::from(*stream) % COUNT)]), "{lie:?}");
        }
    }
}

#[test]
fn a_page_without_a_handle_is_of_handle_0_and_so_is_one_of_a_handle_that_there_is_not() {
    let mut drive = drive(PERSISTENT, 1_000);
    drive.submit(&request(Op::Write, 0, 40, 0)).unwrap();
    drive.submit(&request(Op::Write, 40, 40, COUNT)).unwrap();
    drive.submit(&request(Op::Write, 80, 8, 255)).unwrap();
    let lie = lie(&drive);
    assert_eq!(lie.keys().copied().collect::<Vec<u8>>(), [0]);
    let counters = drive.ftl().counters();
    let invalid = counters.iter().find(|counter| counter.name == "placement_invalid_handles").unwrap();
    assert_eq!(invalid.value, 48);
}

#[test]
fn a_trim_with_a_handle_reads_zeros_also_after_a_power_cut() {
    for settings in [PERSISTENT, INITIAL] {
        let mut drive = drive(settings, 3_000);
        write_at_random(&mut drive, 3_000, 6_000);
        drive.submit(&request(Op::Trim, 100, 700, 3)).unwrap();
        drive.submit(&request(Op::Trim, 2_000, 64, 200)).unwrap();
        drive.submit(&request(Op::Flush, 0, 0, 2)).unwrap();
        drive.submit(&request(Op::Write, 2_010, 1, 1)).unwrap();
        // It checks that pages with data have data, and that all others read as zeros.
        let cut = drive.cut_and_recover().unwrap();
        assert_eq!(cut.lost_pages, None);
        write_at_random(&mut drive, 3_000, 9_000);
        drive.cut_and_recover().unwrap();
    }
}

#[test]
fn the_laboratory_gives_every_handle_and_one_that_there_is_not() {
    let config = Config::new("page", composition("page", &[("placement", "handles"), ("handles.count", "5")]), 100, 1);
    let mut seen = BTreeMap::new();
    for number in 0..2_000 {
        *seen.entry(format!("{:?}", config.hint(number % 64, number))).or_insert(0) += 1;
    }
    let names: Vec<String> = (0..6).map(|handle| format!("{:?}", Hint::Handle(handle))).collect();
    assert_eq!(seen.keys().cloned().collect::<Vec<_>>(), names);
    assert!(seen.values().all(|count| *count > 200), "{seen:?}");
    assert!(!config.is_oracle());
}

#[test]
fn nothing_is_lost_in_a_power_cut_at_any_operation() {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    let workloads = [Workload::Mixed, Workload::Trims];
    for (turn, (ftl, settings)) in
        [("page", PERSISTENT), ("page", INITIAL), ("geckoftl", PERSISTENT)].into_iter().enumerate()
    {
        for workload in if thorough { &workloads[..] } else { &workloads[turn % 2..][..1] }.iter().copied() {
            let mut composition = composition(ftl, settings);
            if composition.has_cache() {
                composition.set("mapping.cache", "64").unwrap();
            }
            let logical_pages = 1_500;
            let config = LabConfig {
                geometry: room::roomy(ftl, composition, logical_pages, 128, (1, 1)),
                timing: Timing::preset("gecko").unwrap(),
                ftl: Config::new(ftl, composition, logical_pages, 1),
                workload,
                writes: if thorough { 600 } else { 60 },
                points: if thorough { Points::Every } else { Points::Some(12) },
                faults: Fault::all(),
                depth: 1,
                seed: 1,
                threads: 2,
            };
            let report = Sweep::new(&config).run().unwrap();
            assert!(!report.failed(), "{ftl} {settings:?} {workload:?}: {:#?}", report.failures);
            println!("{ftl} {settings:?} {workload:?}: {} cuts", report.cuts);
            assert!(report.cuts > if thorough { 300 } else { 60 }, "{ftl}: {}", report.cuts);
        }
    }
}
