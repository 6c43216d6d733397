//! Every mapping with every validity store, against a plain map: random requests on small drives with small caches,
//! with metadata collection busy, and the FTL's own check all along.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Host, Step, chips, composition, config, most_pages, most_pages_of, scaled, small};
use phelsuma_ftl::{Composition, Config, MappingPart, MetadataPart, ValidityPart};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn compositions() -> Vec<Composition> {
    let mut all = Vec::new();
    for mapping in [
        &[("mapping", "ram-table")][..],
        &[("mapping", "paged"), ("mapping.on-miss", "fetch"), ("mapping.cache", "16")],
        &[("mapping", "paged"), ("mapping.on-miss", "lazy"), ("mapping.cache", "16")],
        &[("mapping", "paged"), ("mapping.on-miss", "lazy"), ("mapping.cache", "200")],
    ] {
        for validity in [
            &[("validity", "ram-bitmap")][..],
            &[("validity", "flash-bitmap")],
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
    for (pages_per_block, blocks, channels, dies) in [(32, 96, 1, 1), (16, 256, 2, 2)] {
        let geometry = small(pages_per_block, blocks, channels, dies);
        for composition in compositions() {
            let most = most_pages_of(composition, geometry);
            assert!(most > 500, "{:?} leaves {most} pages", composition.names());
            for logical_pages in [most, most / 2] {
                let mut host = Host::new(chips(geometry), Config::new("any", composition, logical_pages, 7), 1);
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(logical_pages));
                let context = |n: u32| format!("{:?} with {logical_pages} pages, step {n}", composition.names());
                host.overwrite().unwrap_or_else(|e| panic!("{}: {e}", context(0)));
                for n in 0..scaled(4_000, 100_000) {
                    let step = Step::by_chance(&mut rng, logical_pages);
                    host.step(&step).unwrap_or_else(|e| panic!("{}: {e}", context(n)));
                    if n % 500 == 0 {
                        let findings = host.ftl.as_mut().unwrap().check(&mut host.plug);
                        assert!(findings.is_empty(), "{}: {findings:#?}", context(n));
                    }
                }
                host.compare_all();
                host.check();
                if composition.metadata == MetadataPart::Collected && has_metadata(&composition) {
                    assert!(host.counter("metadata_collections") > 10, "{}", context(0));
                }
            }
        }
    }
}

fn has_metadata(composition: &Composition) -> bool {
    composition.mapping != MappingPart::RamTable || composition.validity == ValidityPart::FlashBitmap
}

/// 10⁷ random requests in the thorough mode: every FTL reads as the same plain map.
#[test]
fn geckoftl_dftl_and_page_return_the_same_data() {
    let geometry = small(32, 160, 1, 1);
    let pages = |preset| most_pages(preset, geometry);
    let logical_pages = pages("geckoftl").min(pages("dftl")).min(pages("page"));
    let mut hosts: Vec<Host> = ["geckoftl", "dftl", "page"]
        .map(|preset| {
            let mut config = config(preset, logical_pages);
            if preset != "page" {
                config.composition.set("mapping.cache", "24").unwrap();
            }
            Host::new(chips(geometry), config, 1)
        })
        .into();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    for n in 0..scaled(60_000, 10_000_000) {
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
}
