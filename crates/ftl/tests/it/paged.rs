//! Every mapping with every validity store, against a plain map: random requests on small drives with small caches,
//! with metadata collection busy, and the FTL's own check all along.

use crate::common::{Host, Step, chips, composition, config, most_pages, most_pages_of, scaled, small, thorough};
use phelsuma_ftl::{Composition, Config, MappingPart, MetadataPart, ValidityPart};
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Block, Kind, Nand, Op, Page, Purpose, SpareRead, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

const TREE: (&str, &str) = ("mapping.directory", "b-tree");
/// Several levels, however small the drive.
const FANOUT: (&str, &str) = ("mapping.fanout", "2");

fn compositions() -> Vec<Composition> {
    let mut all = Vec::new();
    for mapping in [
        &[("mapping", "ram-table")][..],
        &[("mapping", "paged"), ("mapping.on-miss", "fetch"), ("mapping.cache", "16")],
        &[("mapping", "paged"), ("mapping.on-miss", "lazy"), ("mapping.cache", "16")],
        &[
            ("mapping", "paged"),
            ("mapping.on-miss", "lazy"),
            ("mapping.cache", "200"),
            ("mapping.evict", "two-level"),
            ("mapping.prefetch", "selective"),
            ("mapping.condense", "models"),
        ],
        &[
            ("mapping", "paged"),
            ("mapping.on-miss", "lazy"),
            ("mapping.cache", "400"),
            ("mapping.condense", "segments"),
            TREE,
            FANOUT,
            ("mapping.nodes", "1"),
        ],
        &[
            ("mapping", "paged"),
            ("mapping.on-miss", "fetch"),
            ("mapping.cache", "300"),
            ("mapping.evict", "two-level"),
            ("mapping.prefetch", "request"),
            ("mapping.condense", "runs"),
            TREE,
            FANOUT,
            ("mapping.nodes", "1"),
        ],
    ] {
        for validity in [
            &[("validity", "ram-bitmap")][..],
            &[("validity", "flash-bitmap")],
            &[("validity", "page-validity-log")],
            &[("validity", "gecko")],
            &[("validity", "gecko"), ("gecko.merge", "two-way"), ("gecko.partitions", "4")],
            &[("validity", "gecko"), ("gecko.size-ratio", "4")],
        ] {
            for metadata in [("metadata", "collected"), ("metadata", "left")] {
                all.push(composition(&[mapping, validity, &[metadata]].concat()));
            }
        }
    }
    all
}

#[test]
fn every_composition_is_a_map() {
    for (pages_per_block, blocks, channels, dies) in [(32, 128, 1, 1), (16, 256, 2, 2)] {
        let geometry = small(pages_per_block, blocks, channels, dies);
        for composition in compositions() {
            let most = most_pages_of(composition, geometry);
            assert!(most > 500, "{:?} leaves {most} pages", composition.names());
            let half = thorough().then_some(most / 2);
            for logical_pages in std::iter::once(most).chain(half) {
                let mut host = Host::new(chips(geometry), Config::new("any", composition, logical_pages, 7), 1);
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(logical_pages));
                let context = |n: u32| format!("{:?} with {logical_pages} pages, step {n}", composition.names());
                host.overwrite().unwrap_or_else(|e| panic!("{}: {e}", context(0)));
                for n in 0..scaled(2_000, 100_000) {
                    let step = Step::by_chance(&mut rng, logical_pages);
                    host.step(&step).unwrap_or_else(|e| panic!("{}: {e}", context(n)));
                    if n % 500 == 0 {
                        let findings = host.ftl.as_mut().unwrap().check(&mut host.plug);
                        assert!(findings.is_empty(), "{}: {findings:#?}", context(n));
                    }
                }
                host.compare_all();
                host.check();
                // Everything at once: more than any one step sets room aside for.
                host.trim(0, logical_pages).unwrap_or_else(|e| panic!("trimming all: {}: {e}", context(0)));
                host.check();
                host.overwrite().unwrap_or_else(|e| panic!("after trimming all: {}: {e}", context(0)));
                host.close().unwrap_or_else(|e| panic!("closing: {}: {e}", context(0)));
                host.compare_all();
                host.check();
                // Lines name next to nothing of pages that were written at random.
                if ["runs", "segments"].iter().any(|form| composition.names()[0].contains(form)) {
                    assert!(host.counter("condensed_hits") > 100, "{}: {}", context(0), host.counter("condensed_hits"));
                }
                if composition.names()[0].contains("b-tree") {
                    assert!(host.counter("inner_nodes") >= 2 && host.counter("node_programs") > 100, "{}", context(0));
                }
                if composition.page_mapped().unwrap().metadata == MetadataPart::Collected && has_metadata(&composition)
                {
                    assert!(host.counter("metadata_collections") > 10, "{}", context(0));
                }
            }
        }
    }
}

fn has_metadata(composition: &Composition) -> bool {
    let parts = composition.page_mapped().unwrap();
    parts.mapping != MappingPart::RamTable || parts.validity == ValidityPart::FlashBitmap
}

/// 10⁷ random requests in the thorough mode: every FTL reads as the same plain map.
#[test]
fn geckoftl_dftl_page_and_ib_ftl_return_the_same_data() {
    let geometry = small(32, 160, 1, 1);
    let pages = |preset| most_pages(preset, geometry);
    let logical_pages = pages("geckoftl").min(pages("dftl")).min(pages("page")).min(pages("ib-ftl"));
    let mut hosts: Vec<Host> = ["geckoftl", "dftl", "page", "ib-ftl"]
        .map(|preset| {
            let mut config = config(preset, logical_pages);
            if preset != "page" {
                config.composition.set("mapping.cache", "24").unwrap();
            }
            Host::new(chips(geometry), config, 1)
        })
        .into();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    for n in 0..scaled(30_000, 10_000_000) {
        let step = Step::by_chance(&mut rng, logical_pages);
        for host in &mut hosts {
            host.step(&step).unwrap();
        }
        if n % 20_000 == 0 {
            for host in &mut hosts {
                host.check();
                host.compare_all();
            }
        }
    }
    for host in &mut hosts {
        host.check();
        host.compare_all();
    }
    assert!(hosts[1].counter("metadata_collections") > 100, "dftl collects metadata");
    assert!(hosts[0].counter("gecko_merges") > 100, "gecko merges");
    assert!(hosts[3].counter("pvl_reinserted") > 100, "ib-ftl cleans its log");
}

/// A translation page that has gone bad costs its own pages, as read errors, and brings no older version back.
#[test]
fn a_translation_page_that_goes_bad_brings_nothing_old_back() {
    let geometry = small(32, 160, 1, 1);
    for preset in ["dftl", "geckoftl"] {
        let logical_pages = most_pages(preset, geometry);
        let mut host = Host::new(chips(geometry), config(preset, logical_pages), 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        host.overwrite().unwrap();
        for round in 0..scaled(4, 40) {
            damage_translation_pages(&mut host, round % 3);
            for n in 0..3_000 {
                let step = Step::by_chance(&mut rng, logical_pages);
                if !matches!(step, Step::Read { .. }) {
                    host.step(&step).unwrap();
                }
                if n % 500 == 0 {
                    host.compare_or_unreadable();
                }
            }
        }
        assert!(host.counter("translation_pages_unreadable") > 0);
        host.compare_or_unreadable();
        host.overwrite().unwrap();
        host.compare_all();
    }
}

/// Flips a bit in the newest copy of every third translation page.
fn damage_translation_pages(host: &mut Host, which: u32) {
    let geometry = *host.plug.geometry();
    let mut newest: BTreeMap<u32, (u64, Page)> = BTreeMap::new();
    for block in 0..geometry.blocks() {
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(Block(block), index);
            if let SpareRead::Written(spare) = host.plug.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0
                && spare.kind == Kind::Translation
            {
                let newest = newest.entry(spare.key).or_insert((0, page));
                if spare.seq >= newest.0 {
                    *newest = (spare.seq, page);
                }
            }
        }
    }
    let mut sim = host.plug.copy();
    for (_, (_, page)) in newest.iter().filter(|(key, _)| *key % 3 == which) {
        sim.decay(*page, Decay::Data(77));
    }
    host.plug.replace(sim);
}
