//! Chips that program several pages at once, under every FTL.
//!
//! `PHELSUMA_THOROUGH=1` cuts under every workload, at every operation.

use crate::room;
use phelsuma_drive::lab::{Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_drive::{Input, RunConfig, run};
use phelsuma_ftl::{Config, PRESETS, Preset};
use phelsuma_nand::{Geometry, Timing};

fn units_of(pages: u32) -> Timing {
    Timing { transfer_ns: 5_000, unit_pages: pages, sense_pages: pages.min(4), ..Timing::preset("gecko").unwrap() }
}

/// What an FTL programs depends on no time, but for those that flush by the clock.
#[test]
fn every_ftl_writes_to_units_what_it_writes_without() {
    for preset in PRESETS {
        let of = |pages: u32| {
            let mut config = RunConfig::new(preset.name, Input::Workload("uniform".parse().unwrap())).unwrap();
            config.shape.capacity_bytes = Some(32 << 20);
            (config.shape.pages_per_block, config.shape.ratio) = (24, 0.5);
            (config.shape.channels, config.shape.dies_per_channel) = (2, 1);
            (config.timing, config.warmup, config.passes) = (units_of(pages), 0.5, 0.5);
            // Logs of logical blocks, and a tree, need another drive.
            let smaller = [0.5, 0.3, 0.1, 0.05].into_iter().find_map(|ratio| {
                config.shape.ratio = ratio;
                run(&config, &|_| true).ok()
            });
            smaller.unwrap_or_else(|| panic!("{} does not run", preset.name)).write_amplification.unwrap().total
        };
        let [one, four, twelve] = [1, 4, 12].map(of);
        for of_units in [four, twelve] {
            assert!((of_units / one - 1.0).abs() < 0.005, "{}: {of_units} and not {one}", preset.name);
        }
    }
}

#[test]
fn power_cuts_on_four_dies_lose_nothing_of_what_units_hold() {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    for (turn, ftl) in ["page", "lazyftl", "ib-ftl", "geckoftl", "last++", "phelsuma"].into_iter().enumerate() {
        let mut composition = Preset::named(ftl).unwrap().composition;
        if composition.has_cache() {
            composition.set("mapping.cache", "64").unwrap();
        }
        let (blocks, ratio): (u32, f64) = (192, 0.3);
        let logical_pages = (f64::from(blocks) * 32.0 * ratio) as u32;
        let geometry = room::roomy(ftl, composition, logical_pages, blocks.into(), (2, 2));
        for pages in [4, 12] {
            for (n, workload) in Workload::ALL.into_iter().enumerate() {
                if !thorough && n != (turn + pages as usize) % Workload::ALL.len() {
                    continue;
                }
                let config = LabConfig {
                    geometry,
                    timing: units_of(pages),
                    ftl: Config::new(ftl, composition, logical_pages, 1),
                    workload,
                    writes: 100,
                    points: if thorough { Points::Every } else { Points::Some(4) },
                    faults: Fault::all(),
                    depth: 1,
                    seed: 1,
                    threads: 2,
                };
                let report = Sweep::new(&config).run().unwrap();
                assert!(!report.failed(), "{ftl}, {workload:?}: {:#?}", report.failures);
                assert!(report.cuts > 0, "{ftl}, {workload:?}");
            }
        }
    }
}

/// Page numbers of a drive have gaps where the pages of a block are no power of two.
#[test]
fn power_cuts_lose_nothing_where_the_pages_of_a_block_are_no_power_of_two() {
    for (turn, ftl) in ["lazyftl", "ib-ftl", "geckoftl", "last++", "phelsuma"].into_iter().enumerate() {
        let mut composition = Preset::named(ftl).unwrap().composition;
        if composition.has_cache() {
            composition.set("mapping.cache", "64").unwrap();
        }
        let geometry = Geometry::new(512, 24, 256, 1, 1).unwrap();
        let logical_pages = (geometry.pages() as f64 * 0.3) as u32;
        let config = LabConfig {
            geometry,
            timing: units_of(12),
            ftl: Config::new(ftl, composition, logical_pages, 1),
            workload: Workload::ALL[turn],
            writes: 60,
            points: Points::Some(3),
            faults: Fault::all(),
            depth: 1,
            seed: 1,
            threads: 2,
        };
        let report = Sweep::new(&config).run().unwrap();
        assert!(!report.failed() && report.cuts > 0, "{ftl}: {:#?}", report.failures);
    }
}
