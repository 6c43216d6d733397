//! Every mapping with every validity store, against a plain map: random requests on small drives with small caches, with
//! metadata collection busy, and the FTL's own check all along.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Host, Step, chips, scaled, small};
use phelsuma_ftl::{Composition, Config, FtlError, Preset, format};
use phelsuma_nand::{Geometry, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// `page` with these parameters.
fn composition(parameters: &[(&str, &str)]) -> Composition {
    let mut composition = Preset::named("page").unwrap().composition;
    for (name, value) in parameters {
        composition.set(name, value).unwrap();
    }
    composition
}

fn most_pages(composition: Composition, geometry: Geometry) -> u32 {
    match format(&mut chips(geometry), &Config::new("any", composition, u32::MAX, 7), Time::ZERO) {
        Err(FtlError::DoesNotFit { usable_pages, .. }) => u32::try_from(usable_pages).unwrap(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("four billion pages fit {geometry:?}"),
    }
}

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
            let most = most_pages(composition, geometry);
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
            }
        }
    }
}
