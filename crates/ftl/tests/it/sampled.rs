//! Drives whose RAM counts the live pages of a sample of the blocks alone.
//!
//! They are maps all the same, with every validity store; the sample and the flash agree; and power cuts leave another
//! sample that is right.
//!
//! `check` compares these with the flash:
//! - the live pages of all blocks that are counted, and the sum;
//! - that nothing is left out that must be counted;
//! - that no block is emptier than a member of the sample that is sure to be the emptiest.

use crate::common::{
    Host, SAMPLE, Step, chips, composition, config, large_enough, most_pages, most_pages_of, plugged, scaled, small,
};
use phelsuma_ftl::{Config, RamLedger, format};
use phelsuma_nand::{Geometry, Purpose, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const TREE: [(&str, &str); 3] = [("mapping.directory", "b-tree"), ("mapping.fanout", "2"), ("mapping.nodes", "1")];

#[test]
fn every_mapping_with_every_validity_is_a_map() {
    let paged = |on_miss| vec![("mapping", "paged"), ("mapping.on-miss", on_miss), ("mapping.cache", "16")];
    let mappings =
        [vec![("mapping", "ram-table")], paged("fetch"), paged("lazy"), [paged("lazy"), TREE.to_vec()].concat()];
    let geometry = small(16, 256, 2, 2);
    for mapping in &mappings {
        for validity in ["ram-bitmap", "flash-bitmap", "page-validity-log", "gecko"] {
            for metadata in ["collected", "left"] {
                let more = [("validity", validity), ("metadata", metadata)];
                let parts = composition(&[mapping.as_slice(), &more, &SAMPLE].concat());
                let logical_pages = most_pages_of(parts, geometry);
                let mut host = Host::new(chips(geometry), Config::new("any", parts, logical_pages, 7), 1);
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
                let context = |n: u32| format!("{:?}, step {n}", parts.names());
                host.overwrite().unwrap_or_else(|e| panic!("{}: {e}", context(0)));
                for n in 0..scaled(3_000, 100_000) {
                    let step = Step::by_chance(&mut rng, logical_pages);
                    host.step(&step).unwrap_or_else(|e| panic!("{}: {e}", context(n)));
                    if n % 200 == 0 {
                        let findings = host.ftl.as_mut().unwrap().check(&mut host.plug);
                        assert!(findings.is_empty(), "{}: {findings:#?}", context(n));
                    }
                }
                assert!(host.counter("sample_looks") > 50, "{}", context(0));
                host.compare_all();
                host.trim(0, logical_pages).unwrap_or_else(|e| panic!("trimming all: {}: {e}", context(0)));
                host.check();
                host.overwrite().unwrap_or_else(|e| panic!("after trimming all: {}: {e}", context(0)));
                host.close().unwrap_or_else(|e| panic!("closing: {}: {e}", context(0)));
                host.compare_all();
                host.check();
            }
        }
    }
}

#[test]
fn a_drive_as_full_as_it_goes_survives_cuts_and_can_be_written_over() {
    for preset in ["page", "dftl", "mu-ftl-pvb", "lazyftl", "geckoftl"] {
        let preset = &format!("{preset}+sample");
        for geometry in [small(32, 64, 1, 1), small(37, 40, 1, 1), small(16, 60, 2, 2)] {
            let geometry = large_enough(preset, geometry);
            let logical_pages = most_pages(preset, geometry);
            let mut host = Host::new(chips(geometry), config(preset, logical_pages), 1);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
            for _ in 0..scaled(4, 60) {
                host.overwrite().unwrap();
                host.check();
                for n in 0..400 {
                    host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
                    if n % 50 == 0 {
                        host.check();
                    }
                }
                host.step(&Step::Cut).unwrap();
            }
            host.compare_all();
        }
    }
}

#[test]
fn a_log_of_stale_pages_is_recovered_too() {
    let parts = crate::common::parts_of("ib-ftl+sample");
    let geometry = small(16, 256, 1, 1);
    let logical_pages = most_pages_of(parts, geometry);
    let mut host = Host::new(chips(geometry), Config::new("any", parts, logical_pages, 7), 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    host.overwrite().unwrap();
    for _ in 0..scaled(12, 100) {
        for _ in 0..300 {
            host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
        }
        host.step(&Step::Cut).unwrap();
    }
    host.overwrite().unwrap();
    host.compare_all();
    host.check();
}

/// The policy may change from one start to the next. The saved counters of a sample are not enough for a policy that
/// needs all of them. The saved counters of all blocks are enough for a sample.
#[test]
fn a_sample_may_begin_and_end_with_any_start() {
    for preset in ["page", "dftl", "mu-ftl-pvb", "lazyftl", "geckoftl"] {
        let (all, sample) = (config(preset, 0).composition, config(&format!("{preset}+sample"), 0).composition);
        let geometry = large_enough(preset, small(32, 64, 1, 1));
        let logical_pages = most_pages(preset, geometry) * 9 / 10;
        let mut host = Host::new(chips(geometry), Config::new(preset, sample, logical_pages, 7), 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        host.overwrite().unwrap();
        for next in [sample, all, all, sample, sample, all, sample] {
            for _ in 0..300 {
                host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
            }
            let (before, sampled) = (host.config.composition, host.config.composition == sample);
            host.config.composition = next;
            let saved = host.ftl.as_mut().unwrap().power_fail(&mut host.plug, host.at).unwrap();
            host.at = host.at.max(saved);
            host.plug.pull(host.at);
            host.power_back();
            let reads = host.plug.sim().stats().of(Purpose::Recovery).reads;
            host.recover().unwrap();
            let reads = host.plug.sim().stats().of(Purpose::Recovery).reads - reads;
            if before.has_battery() {
                let table = u64::from(logical_pages.div_ceil(128));
                assert_eq!(reads >= table, sampled && next == all, "{preset}: {reads} reads for {table} pages");
            }
        }
        host.overwrite().unwrap();
        host.compare_all();
        host.check();
    }
}

/// Nothing is left of the advantage of greedy where all that a sample could hold is new: so all are queried.
#[test]
fn where_the_sample_has_nothing_to_gain_all_blocks_are_asked_about() {
    let geometry = small(32, 512, 1, 1);
    let mut config = config("page+sample", 10_000);
    config.composition.set("victim.looks", "1").unwrap();
    let mut host = Host::new(chips(geometry), config, 1);
    // Every second page of a sixteenth of the written ones is stale, and nothing else.
    host.overwrite().unwrap();
    for _ in 0..40 {
        for page in (0..600).step_by(2) {
            host.write(page, 1, false).unwrap();
        }
    }
    host.compare_all();
    host.check();
    assert!(host.counter("sample_looks_everywhere") > 0);
    assert_eq!(host.counter("emergency_collections"), 0);
}

#[test]
fn a_sample_of_all_is_greedy() {
    let geometry = small(32, 256, 1, 1);
    let work = |parameters: &[(&str, &str)]| {
        let parts = composition(&[&[("placement", "host-gc")], parameters].concat());
        let mut host = Host::new(chips(geometry), Config::new("any", parts, 6_000, 7), 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        host.overwrite().unwrap();
        for _ in 0..6_000 {
            host.step(&Step::by_chance(&mut rng, 6_000)).unwrap();
        }
        (host.counter("collections"), host.counter("pages_moved"))
    };
    let greedy = work(&[]);
    assert_eq!(work(&[("victim", "sampled"), ("victim.sample", "1000000")]), greedy);
    assert!(work(&SAMPLE).1 > greedy.1);
}

fn ledger_of(preset: &str, geometry: Geometry, parameters: &[(&str, &str)]) -> RamLedger {
    let mut config = config(preset, 200_000);
    parameters.iter().for_each(|(name, value)| config.composition.set(name, value).unwrap());
    format(&mut plugged(geometry), &config, Time::ZERO).unwrap().0.ram()
}

#[test]
fn a_sample_takes_as_much_less_ram_as_it_says() {
    let geometry = small(64, 8_192, 1, 1);
    let of = |ledger: &RamLedger, name: &str| {
        ledger.papers().find(|(other, _)| *other == name).map_or(0, |(_, bytes)| bytes)
    };
    for preset in ["page", "dftl", "geckoftl"] {
        let all = ledger_of(preset, geometry, &[]);
        assert_eq!(of(&all, "blocks.counters"), 2 * 8_192);
        assert_eq!(of(&all, "blocks.sample"), 0);
        for (blocks, members) in [("0", 512), ("128", 128), ("2048", 2048), ("99999", 8_192)] {
            let sample = ledger_of(preset, geometry, &[("victim", "sampled"), ("victim.sample", blocks)]);
            // Counter and row, a bit, the sum and the hand.
            let bytes = members * 4 + members / 8 + 12;
            assert_eq!(of(&sample, "blocks.sample"), bytes);
            assert_eq!(of(&sample, "blocks.counters"), 0, "nothing is written so far");
            assert_eq!(all.papers_total() - 2 * 8_192 + bytes, sample.papers_total());
        }
        let small = ledger_of(preset, geometry, &[("victim", "sampled")]);
        assert!(small.all_total() + 13_000 < all.all_total(), "indexes included");
    }
}

/// Open blocks and metadata are counted besides the sample.
#[test]
fn few_blocks_are_counted_besides_the_sample() {
    let geometry = small(64, 2_048, 1, 1);
    let mut host = Host::new(chips(geometry), config("geckoftl+sample", 80_000), 1);
    for _ in 0..2 {
        host.overwrite().unwrap();
    }
    let ftl = host.ftl.as_ref().unwrap();
    let ledger = ftl.ram();
    let bytes = ledger.papers().find(|(name, _)| *name == "blocks.counters").unwrap().1;
    let besides = ftl.shape().metadata_blocks + ftl.shape().open_blocks + 1;
    // A list grows to twice its length at the most.
    assert!(bytes <= u64::from(besides) * 2 * 6 && bytes > 6, "{bytes} bytes for {besides} blocks");
}
