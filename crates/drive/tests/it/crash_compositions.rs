//! Sweeps of power cuts over compositions that no preset has, with every fault that they promise to survive.
//!
//! - `geckoftl` with placements that sort pages by age, and the victims that go with them. The reads that find the old
//!   copies of pages are part of it.
//! - `mu-ftl` with caches that are full all the time.
//!
//! `PHELSUMA_THOROUGH=1 cargo test --release -p phelsuma-drive --test it -- --nocapture crash_compositions::` goes over
//! every workload with many cuts and prints their numbers.
//!
//! Not tested: the same placements where the mapping is in RAM. Presets have those and `crash_workloads.rs` goes over
//! them.

use crate::room;
#[cfg(phelsuma_mutants)]
use phelsuma_drive::lab::SoakConfig;
use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Arrival, Drive, Input, RunConfig, RunResult};
#[cfg(phelsuma_mutants)]
use phelsuma_ftl::Barrier;
use phelsuma_ftl::{Composition, Config, Preset};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand, Timing};
use phelsuma_trace::Source;

type Settings = &'static [(&'static str, &'static str)];

/// Settings of `geckoftl`, each with the treatment of a page whose old copy is not in its mapping.
const COMPOSITIONS: [Settings; 12] = [
    &[("placement", "dual-greedy"), ("victim", "dual-greedy")],
    &[("placement", "dual-greedy"), ("victim", "dual-greedy"), ("placement.unknown", "fetch")],
    &[("placement", "dac"), ("victim", "cat"), ("cat.wear", "off")],
    &[("placement", "dac"), ("victim", "cat"), ("cat.wear", "off"), ("placement.unknown", "fetch")],
    &[("placement", "dac"), ("dac.page-times", "spare"), ("placement.unknown", "fetch")],
    &[("placement", "sepbit"), ("victim", "cost-benefit-sealed")],
    &[("placement", "sepbit"), ("sepbit.page-times", "spare"), ("victim", "cost-benefit-sealed")],
    &[("placement", "sepbit"), ("sepbit.page-times", "spare"), ("placement.unknown", "fetch")],
    &[("placement", "midas"), ("victim", "midas")],
    &[("placement", "lifetimes"), ("victim", "cost-benefit-sealed")],
    &[("placement", "lifetimes"), ("placement.unknown", "fetch")],
    &[("collection", "slices"), ("placement", "lifetimes"), ("wear", "levelling")],
];

/// What `mu-ftl` is given.
const TREES: [Settings; 3] = [
    &[("mapping.write-pages", "0"), ("validity.bitmap-cache", "0"), ("partitions.pages", "100")],
    &[("mapping.read-pages", "1"), ("mapping.write-pages", "1"), ("validity.bitmap-cache", "3")],
    &[("mapping.write-pages", "3"), ("validity.bitmap-cache", "3"), ("partitions.pages", "100")],
];

fn thorough() -> bool {
    std::env::var_os("PHELSUMA_THOROUGH").is_some()
}

fn composition(ftl: &str, settings: Settings) -> Composition {
    let preset = Preset::named(ftl).unwrap().composition;
    let mut composition = preset;
    composition.set_all(settings).unwrap();
    // It is recovered as the preset is, and nothing less is promised.
    assert_eq!(composition.power(), preset.power(), "{settings:?}");
    assert_eq!(composition.why_not_survivable(), None, "{settings:?}");
    composition
}

fn config(ftl: &str, settings: Settings, workload: Workload, writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    let several = dies.0 * dies.1 > 1;
    let (blocks, ratio): (u32, f64) = match (ftl, several) {
        // A tree of pages of 512 bytes has room for no more.
        ("mu-ftl", true) => (256, 0.1),
        ("mu-ftl", false) => (64, 0.3),
        (_, true) => (256, 0.4),
        (_, false) => (128, 0.5),
    };
    let mut composition = composition(ftl, settings);
    if composition.has_cache() {
        // Small for the drive, so that entries are evicted and old copies are not known.
        composition.set("mapping.cache", "64").unwrap();
    }
    let logical_pages = (f64::from(blocks) * 32.0 * ratio) as u32;
    let geometry = room::roomy(ftl, composition, logical_pages, blocks.into(), dies);
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(ftl, composition, logical_pages, 1),
        workload,
        writes,
        points: Points::Every,
        faults: match ftl {
            // Its recoveries write much.
            "mu-ftl" if depth > 1 && !thorough() => Fault::named("torn-seen").unwrap(),
            _ => Fault::all(),
        },
        depth,
        seed: 1,
        threads: 2,
    }
}

/// What sweeps came to.
#[derive(Default, Debug)]
struct Sum {
    sweeps: u32,
    cuts: u64,
    nested_cuts: u64,
    covered: u64,
}

impl Sum {
    fn add(&mut self, settings: Settings, report: &CrashReport) {
        assert!(!report.failed(), "{settings:?}, {:?}: {:#?}", report.workload, report.failures);
        assert!(report.cuts > 0, "{settings:?}: no cut was made");
        self.sweeps += 1;
        self.cuts += report.cuts;
        self.nested_cuts += report.nested_cuts;
        self.covered += report.covered_by_equality;
    }
}

/// `cuts` of each. Not in the long mode it is a sample: each composition under one workload, or two.
fn sweep_all(
    what: &str,
    (ftl, compositions): (&str, &[Settings]),
    cuts: (u32, u32),
    writes: (u32, u32),
    depth: u32,
    dies: (u32, u32),
) {
    let of = |(few, many): (u32, u32)| if thorough() { many } else { few };
    for (number, settings) in compositions.iter().copied().enumerate() {
        let mut sum = Sum::default();
        for (_, workload) in
            Workload::ALL.into_iter().enumerate().filter(|(w, _)| thorough() || w % compositions.len().max(9) == number)
        {
            let points = Points::Some(of(cuts));
            let config = LabConfig { points, ..config(ftl, settings, workload, of(writes), depth, dies) };
            let report = Sweep::new(&config).run().unwrap_or_else(|e| panic!("{settings:?} {workload:?}: {e}"));
            sum.add(settings, &report);
        }
        println!("{ftl}, {what}, {settings:?}: {sum:?}");
    }
}

const SORTED: (&str, &[Settings]) = ("geckoftl", &COMPOSITIONS);
const SMALL_TREES: (&str, &[Settings]) = ("mu-ftl", &TREES);

#[test]
fn mu_ftl_with_full_caches_survives_cuts_of_every_workload() {
    sweep_all("cuts", SMALL_TREES, (8, 300), (300, 1_000), 1, (1, 1));
}

#[test]
fn mu_ftl_with_full_caches_survives_cuts_of_its_recoveries() {
    sweep_all("nested", SMALL_TREES, (1, 3), (100, 200), 2, (1, 1));
}

#[test]
fn mu_ftl_with_full_caches_survives_cuts_on_several_dies() {
    sweep_all("dies", SMALL_TREES, (1, 40), (100, 300), 1, (2, 2));
}

#[test]
fn geckoftl_that_sorts_pages_by_age_survives_cuts_of_every_workload() {
    sweep_all("cuts", SORTED, (3, 300), (300, 1_000), 1, (1, 1));
}

#[test]
fn geckoftl_that_sorts_pages_by_age_survives_cuts_of_its_recoveries() {
    sweep_all("nested", SORTED, (1, 8), (200, 300), 2, (1, 1));
}

#[test]
fn geckoftl_that_sorts_pages_by_age_survives_cuts_on_several_dies() {
    sweep_all("dies", SORTED, (1, 40), (200, 300), 1, (2, 2));
}

/// A drive of four pages a block with a block log: 38 logical pages.
fn with_block_log(cache: &str, seed: u64) -> (Geometry, Config) {
    let mut composition = composition("geckoftl", &[]);
    composition.set_all(&[("power.block-log", "on"), ("mapping.cache", cache)]).unwrap();
    (Geometry::new(512, 4, 64, 1, 1).unwrap(), Config::new("geckoftl", composition, 38, seed))
}

/// Closes and mounts, one after the other: a chain of the block log that begins later than the pages that a recovery looks
/// at, and first pages that failed their program.
#[test]
fn geckoftl_with_a_block_log_survives_cuts_between_mounts() {
    let cut = |points, faults, again| {
        let (geometry, ftl) = with_block_log("32", 4);
        let timing = Timing::preset("gecko").unwrap();
        let (workload, writes, depth, seed, threads) = (Workload::Closes, 300, 1, 4, 2);
        let config = LabConfig { geometry, timing, ftl, workload, writes, points, faults, depth, seed, threads };
        let report = Sweep::new(&config).cutting_recoveries_again(again).run().unwrap();
        assert!(!report.failed() && report.cuts > 0, "{report:#?}");
    };
    let points = |few| if thorough() { Points::Some(400) } else { few };
    cut(points(Points::Replay("1605.unstable".parse().unwrap())), Fault::all(), 3);
    cut(points(Points::Some(30)), Fault::all().into_iter().chain(Fault::defects()).collect(), 0);
}

/// A life in which a first page reads well once: its slice of the block log says something else than a mount has seen.
#[cfg(phelsuma_mutants)]
#[test]
fn a_first_page_that_reads_well_once_leaves_no_block_log_that_goes_by_it() {
    let found = |forgets| {
        let (geometry, mut ftl) = with_block_log("38", 1);
        ftl.forgets = forgets;
        let timing = Timing::preset("gecko").unwrap();
        SoakConfig { geometry, timing, ftl, seed: 3, decay: 0, bad: 0, threads: 1 }.relive(48).unwrap()
    };
    assert!(found(None).is_none());
    assert!(found(Some(Barrier::OutdatedLogWrittenAnew)).is_some());
}

/// Of a drive of the laboratory it takes a short epoch and many writes until MiDAS has groups, which a cut makes it
/// forget.
#[test]
fn midas_that_has_chosen_its_groups_survives_cuts() {
    let geometry = Geometry::new(512, 32, 128, 1, 1).unwrap();
    let mut composition = Preset::named("midas").unwrap().composition;
    composition.set("midas.epoch", "1").unwrap();
    let logical_pages = 2_200;
    let config = LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new("midas", composition, logical_pages, 1),
        workload: Workload::Skewed,
        writes: 9_000,
        points: Points::Some(if thorough() { 2_000 } else { 40 }),
        faults: Fault::all(),
        depth: 1,
        seed: 1,
        threads: 2,
    };
    let nand = SimNand::new(&SimConfig::new(geometry, config.timing));
    let mut drive = Drive::format(nand, &config.ftl, Arrival::QueueDepth(1)).unwrap();
    let mut source: Box<dyn Source> = "zipf:1".parse::<phelsuma_trace::Workload>().unwrap().source(2_200, 512, 1);
    for _ in 0..9_000 {
        drive.submit(&source.next_request().unwrap().unwrap()).unwrap();
    }
    let groups = drive.ftl().counters().into_iter().find(|counter| counter.name == "placement_groups").unwrap();
    assert!(groups.value > 1, "{groups:?}");
    let report = Sweep::new(&config).run().unwrap();
    assert!(!report.failed() && report.cuts > 40, "{report:#?}");
}

fn run(settings: &[(&str, &str)], workload: &str) -> RunResult {
    let mut config = RunConfig::new("geckoftl", Input::Workload(workload.parse().unwrap())).unwrap();
    config.composition.set_all(settings).unwrap();
    config.shape.capacity_bytes = Some(if thorough() { 4 << 30 } else { 256 << 20 });
    phelsuma_drive::run(&config, &|_| true).unwrap()
}

/// An old copy that is not in a lazy mapping is looked up on request, and paid for: each look-up is a read of a
/// translation page, and none is left unknown.
#[test]
fn every_placement_that_asks_for_old_copies_has_them_looked_up_where_that_is_asked_for() {
    // With a table in RAM SepBIT has when a page was written last wherever its old copy is.
    let sorted: [Settings; 4] = [
        &[("placement", "dual-greedy"), ("victim", "dual-greedy")],
        &[("placement", "dac"), ("victim", "cat")],
        &[("placement", "sepbit"), ("sepbit.page-times", "spare"), ("victim", "cost-benefit-sealed")],
        &[("placement", "lifetimes"), ("victim", "cost-benefit-sealed")],
    ];
    for settings in sorted {
        let placement = settings[0].1;
        let by_class = run(settings, "hotcold:80/20");
        let fetched = run(&[settings, &[("placement.unknown", "fetch")]].concat(), "hotcold:80/20");
        let reads = |result: &RunResult| result.flash["translation"].reads;
        let entries = |result: &RunResult| result.counters.get("entries_fetched_for_placement").copied().unwrap_or(0);
        let looked_up = entries(&fetched);
        for (unknown, result) in [("class", &by_class), ("fetch", &fetched)] {
            println!(
                "{placement}, {unknown}: {} pages written, {} translation pages read, {} entries fetched, WA {:.3}, \
                 with reads weighted {:.3}",
                result.host.write_pages,
                reads(result),
                entries(result),
                result.write_amplification.unwrap().total,
                result.write_amplification.unwrap().by_reads_weighted
            );
        }
        assert_eq!(entries(&by_class), 0);
        assert!(looked_up > fetched.host.write_pages / 2, "{placement}: {looked_up}");
        assert!(reads(&fetched) >= looked_up && reads(&fetched) > reads(&by_class), "{placement}");
        for (name, n) in fetched.counters.iter().filter(|(name, _)| name.contains("unknown")) {
            assert_eq!(*n, 0, "{placement}: {name}");
        }
    }
}
