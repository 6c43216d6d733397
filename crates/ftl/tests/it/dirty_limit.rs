//! How many entries may be dirty, for how long, and a recovery that synchronizes them all.

use crate::common::{Host, Step, below, chips, most_pages_of, scaled, small};
use phelsuma_ftl::{Composition, Config, Preset, recover};
use phelsuma_nand::Geometry;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn lazyftl(parameters: &[(&str, &str)]) -> Composition {
    let mut composition = Preset::named("lazyftl").unwrap().composition;
    composition.set_all(parameters).unwrap();
    composition
}

fn host(composition: Composition, geometry: Geometry, share: f64, seed: u64) -> Host {
    let logical_pages = (f64::from(most_pages_of(composition, geometry)) * share) as u32;
    Host::new(chips(geometry), Config::new("lazyftl", composition, logical_pages, seed), seed)
}

#[test]
fn no_more_entries_are_dirty_than_the_limit_says() {
    for (percent, limit) in [("10", 12), ("50", 64), ("1", 1)] {
        for synchronize in ["translation-page", "physical-block"] {
            let parameters =
                [("mapping.cache", "128"), ("mapping.dirty-limit", percent), ("mapping.synchronize", synchronize)];
            let mut host = host(lazyftl(&parameters), small(32, 200, 1, 1), 0.9, 1);
            let logical_pages = host.logical_pages();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut most = 0;
            for _ in 0..20_000 {
                host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
                most = most.max(host.counter("dirty_entries"));
            }
            assert_eq!(most, limit, "{percent} % of 128, {synchronize}");
            let of_blocks = synchronize == "physical-block" && limit > 1;
            assert_eq!(host.counter("block_synchronizations") > 0, of_blocks);
            host.check();
            host.compare_all();
        }
    }
}

/// A few pages that are written over and over stay dirty in LazyFTL as the paper has it. A recovery would have to scan
/// everything that was written meanwhile.
#[test]
fn an_entry_that_is_updated_over_and_over_bounds_no_scan() {
    let geometry = small(32, 200, 1, 1);
    let mut host = host(lazyftl(&[("mapping.cache", "320")]), geometry, 0.9, 1);
    host.overwrite().unwrap();
    let limit = 32;
    for n in 0..3_000 {
        host.write(n % 7, 1, false).unwrap();
    }
    assert!(host.counter("dirty_entries") <= 7);
    host.plug.pull(host.at);
    host.power_back();
    let (_, report) = recover(&mut host.plug, &host.config, host.at).unwrap();
    let scan = report.steps.iter().find(|step| step.name == "pages written last").unwrap();
    // In whole blocks: the pages of 2 D updates since a translation page was written, and of the 2 D that its mark may
    // be old. Besides, those of the updates between two marks.
    let blocks = (4 * limit + limit / 8) / 32 + 2;
    assert!(scan.spare_reads <= blocks * 33, "{scan:?}");
}

/// Each cut of a recovery that has many translation pages to write may leave a part-filled block behind.
#[test]
fn a_recovery_that_writes_many_translation_pages_survives_a_storm_of_cuts() {
    for (geometry, operations_max, seed) in [
        (small(16, 500, 1, 1), 4, 1),
        (small(16, 500, 1, 1), 12, 2),
        (small(16, 500, 1, 1), 40, 3),
        (small(16, 500, 2, 2), 6, 4),
        (small(16, 500, 2, 2), 30, 5),
    ] {
        let parameters = [("mapping.cache", "256"), ("mapping.dirty-limit", "40")];
        let mut host = host(lazyftl(&parameters), geometry, 1.0, seed);
        let logical_pages = host.logical_pages();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        host.overwrite().unwrap();
        host.plug.overlap = true;
        let cuts = scaled(300, 5_000);
        for cut in 0..cuts {
            // Every few cuts so many entries are dirty that the recovery is met over and over.
            let operations = below(&mut rng, operations_max);
            let long = if cut % 20 == 0 { 200 } else { 0 };
            host.plug.arm(operations);
            if host.ftl.is_none()
                && let Err(error) = host.recover()
            {
                assert!(host.plug.cut_at().is_some(), "seed {seed}, cut {cut}: recovery fails: {error}");
            }
            if host.plug.cut_at().is_none() {
                host.plug.arm(operations + long);
            }
            while host.plug.cut_at().is_none() {
                if let Err(error) = host.step(&Step::by_chance(&mut rng, logical_pages)) {
                    assert!(host.plug.cut_at().is_some(), "seed {seed}, cut {cut}: {error}");
                }
            }
            host.power_back();
        }
        host.plug.disarm();
        host.recover().unwrap();
        host.check();
        for _ in 0..2 {
            host.overwrite().unwrap();
            host.compare_all();
        }
    }
}
