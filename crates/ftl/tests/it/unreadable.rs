//! Pages that can no longer be read, without any power cut.
//!
//! A page that is no longer needed costs nothing. One that is needed is a read error for exactly that page until it is
//! written again.

use crate::common::{Host, SAMPLE, Step, below, chips, composition, config, most_pages, most_pages_of, scaled, small};
use phelsuma_ftl::Config;
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Kind, Page};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

/// Some of these pages go bad.
fn spoil(host: &mut Host, rng: &mut impl RngCore, pages: &[Page], how_many: u32) {
    for _ in 0..how_many.min(pages.len() as u32) {
        host.plug.spoiled.insert(pages[below(rng, pages.len() as u64) as usize]);
    }
}

#[test]
fn a_stale_page_that_can_not_be_read_costs_nothing() {
    let geometry = small(32, 160, 1, 1);
    for (on_miss, validity) in
        [("lazy", "gecko"), ("lazy", "ram-bitmap"), ("lazy", "flash-bitmap"), ("fetch", "ram-bitmap")]
    {
        let composition = composition(&[
            ("mapping", "paged"),
            ("mapping.on-miss", on_miss),
            ("mapping.cache", "300"),
            ("validity", validity),
        ]);
        let logical_pages = most_pages_of(composition, geometry);
        let mut host = Host::new(chips(geometry), Config::new("any", composition, logical_pages, 7), 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        host.overwrite().unwrap();
        for n in 0..scaled(8_000, 80_000) {
            if n % 200 == 0 {
                let (_, older) = host.plug.newest_and_older(Kind::User);
                spoil(&mut host, &mut rng, &older, 200);
            }
            host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
            if n % 400 == 0 {
                host.compare_all();
                host.check();
            }
        }
        host.compare_all();
        host.check();
    }
}

#[test]
fn a_live_page_that_can_not_be_read_costs_itself_alone() {
    let geometry = small(32, 160, 1, 1);
    for preset in ["dftl", "geckoftl"] {
        let mut config = config(preset, 0);
        // Translation pages go on naming for long where pages once were.
        config.composition.set("mapping.cache", "300").unwrap();
        config.logical_pages = most_pages_of(config.composition, geometry);
        let mut host = Host::new(chips(geometry), config, 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let logical_pages = host.logical_pages();
        host.overwrite().unwrap();
        for _ in 0..scaled(6, 60) {
            let (newest, _) = host.plug.newest_and_older(Kind::User);
            spoil(&mut host, &mut rng, &newest, 60);
            for n in 0..1_500 {
                let step = Step::by_chance(&mut rng, logical_pages);
                if !matches!(step, Step::Read { .. }) {
                    host.step(&step).unwrap();
                }
                if n % 300 == 0 {
                    host.compare_or_unreadable();
                }
            }
            host.compare_or_unreadable();
            host.overwrite().unwrap();
            host.compare_all();
            host.check();
        }
        assert!(host.counter("pages_lost_moving") > 0);
    }
}

/// Entries of the first translation page that stay in the cache and dirty: on flash it goes on naming places that have
/// long been used for other pages.
#[test]
fn a_page_that_can_not_be_read_is_found_behind_a_translation_page_out_of_date() {
    let geometry = small(32, 160, 1, 1);
    let kept = 128;
    for preset in ["dftl", "geckoftl"] {
        let mut config = config(preset, 0);
        config.composition.set("mapping.cache", "600").unwrap();
        config.logical_pages = most_pages_of(config.composition, geometry);
        let mut host = Host::new(chips(geometry), config, 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let others = u64::from(host.logical_pages() - kept);
        host.overwrite().unwrap();
        host.close().unwrap();
        for page in 0..kept {
            host.write(page, 1, false).unwrap();
        }
        for n in 0..scaled(8_000, 80_000) {
            if n % 50 == 0 {
                host.compare(0, kept);
            }
            if n % 1_000 == 0 && n > 4_000 {
                let (newest, _) = host.plug.newest_and_older(Kind::User);
                spoil(&mut host, &mut rng, &newest[kept as usize..], 500);
            }
            host.write(kept + below(&mut rng, others) as u32, 1, false).unwrap();
        }
        host.compare_or_unreadable();
        assert!(host.counter("pages_lost_moving") > 50);
        host.overwrite().unwrap();
        host.compare_all();
        host.check();
    }
}

/// Translation pages go bad, the pages that they map are overwritten and trimmed, and the drive mounts again: nothing
/// old may come back.
fn restarts_with_bad_translation_pages(preset: &str, seed: u64) {
    let geometry = small(32, 200, 1, 1);
    let mut config = config(preset, 0);
    config.logical_pages = most_pages_of(config.composition, geometry) * 9 / 10;
    let mut host = Host::new(chips(geometry), config, seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let logical_pages = host.logical_pages();
    host.overwrite().unwrap();
    for _ in 0..scaled(6, 60) {
        // Where a spare area goes bad, the recovery cannot find whose it was.
        let (newest, _) = host.plug.newest_and_older(Kind::Translation);
        for _ in 0..3 {
            host.plug.spoiled_data.insert(newest[below(&mut rng, newest.len() as u64) as usize]);
        }
        for steps in [60, 1_500] {
            for _ in 0..steps {
                let step = Step::by_chance(&mut rng, logical_pages);
                if !matches!(step, Step::Read { .. }) {
                    host.step(&step).unwrap();
                }
            }
            host.compare_or_unreadable();
            host.step(&Step::Flush).unwrap();
            host.restart(|_| {}).unwrap();
            host.compare_or_unreadable();
        }
    }
    host.overwrite().unwrap();
    host.compare_all();
}

#[test]
fn what_a_translation_page_mapped_that_can_not_be_read_does_not_come_back_after_a_restart() {
    for preset in ["lazyftl", "ib-ftl", "ib-ftl+tree"] {
        (1..=3).for_each(|seed| restarts_with_bad_translation_pages(preset, seed));
    }
}

/// Pages go bad that are collected, and the power fails: their places hold other pages by then.
fn lose_in_collections(preset: &str, prepare: impl Fn(&mut Config)) {
    let geometry = small(32, 200, 1, 1);
    let mut config = config(preset, 0);
    prepare(&mut config);
    // Entries stay dirty for long.
    config.composition.set("mapping.cache", "600").unwrap();
    config.logical_pages = most_pages_of(config.composition, geometry);
    let mut host = Host::new(chips(geometry), config, 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let logical_pages = u64::from(host.logical_pages());
    host.overwrite().unwrap();
    for _ in 0..scaled(40, 400) {
        let (newest, _) = host.plug.newest_and_older(Kind::User);
        for _ in 0..100 {
            host.plug.spoiled_data.insert(newest[below(&mut rng, newest.len() as u64) as usize]);
        }
        for _ in 0..100 {
            host.write(below(&mut rng, logical_pages) as u32, 1, false).unwrap();
        }
        host.step(&Step::Flush).unwrap();
        host.restart(|_| {}).unwrap();
        host.compare_or_unreadable();
    }
    host.overwrite().unwrap();
    host.compare_all();
    host.check();
}

#[test]
fn what_was_lost_in_a_collection_stays_lost_after_a_power_cut() {
    for preset in ["lazyftl", "ib-ftl", "geckoftl"] {
        lose_in_collections(preset, |_| {});
    }
}

/// The table is lost while the drive is full: every block seems to be full of live pages, though the table names none
/// of them.
#[test]
fn a_drive_that_has_lost_its_table_can_be_written() {
    let geometry = small(32, 200, 1, 1);
    for preset in ["dftl", "dftl-sampled", "mu-ftl-pvb", "lazyftl", "ib-ftl", "geckoftl"] {
        let mut config = config(preset.trim_end_matches("-sampled"), 0);
        if preset.ends_with("-sampled") {
            SAMPLE.iter().for_each(|(parameter, value)| config.composition.set(parameter, value).unwrap());
        }
        config.composition.set("mapping.cache", "300").unwrap();
        config.logical_pages = most_pages_of(config.composition, geometry);
        let mut host = Host::new(chips(geometry), config, 1);
        for _ in 0..2 {
            host.overwrite().unwrap();
            host.close().unwrap();
            let (newest, _) = host.plug.newest_and_older(Kind::Translation);
            host.plug.spoiled_data.extend(newest);
            host.overwrite().unwrap_or_else(|error| panic!("{preset}: {error}"));
            host.compare_all();
        }
    }
}

/// Pages go bad that were written last. The newest may be in no other record yet, and older ones may have been the only
/// record that others are stale. The logical page of a newest one may be anything until it is written again, and no
/// other is touched.
fn spoil_what_was_written_last(preset: &str, pages_per_block: u32, seed: u64) {
    let geometry = small(pages_per_block, 512 / u64::from(pages_per_block), 1, 1);
    let mut config = config(preset, 0);
    config.composition.set("mapping.cache", "24").unwrap();
    config.logical_pages = most_pages_of(config.composition, geometry) * 3 / 4;
    let mut host = Host::new(chips(geometry), config, seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let logical_pages = host.logical_pages();
    let mut doubtful = BTreeSet::new();
    host.overwrite().unwrap();
    for round in 0..scaled(300, 3_000) {
        let hot = if round % 3 == 0 { logical_pages } else { 12 };
        for _ in 0..1 + below(&mut rng, 24) {
            let page = below(&mut rng, u64::from(hot)) as u32 * 7 % logical_pages;
            host.write(page, 1, false).unwrap();
            doubtful.remove(&page);
        }
        let mut written = host.plug.pages_of(Kind::User);
        written.sort_by_key(|(_, spare)| std::cmp::Reverse(spare.seq));
        let (page, spare) = written[below(&mut rng, 12) as usize];
        // The only page of its block that can be read looks like one whose program was torn.
        let block = geometry.block_of(page);
        let beside = written.iter().filter(|(other, _)| geometry.block_of(*other) == block).count();
        let (newest, _) = host.plug.newest_and_older(Kind::User);
        if beside > 1 && below(&mut rng, 4) > 0 {
            host.plug.spoiled.insert(page);
            doubtful.extend(newest.contains(&page).then_some(spare.key));
        }
        host.restart(|_| {}).unwrap();
        host.compare_others(&doubtful);
        host.check_but_for_bad_pages();
    }
    host.overwrite().unwrap();
    host.compare_all();
}

#[test]
fn a_page_written_last_that_can_not_be_read_costs_no_other() {
    for preset in ["geckoftl", "ib-ftl", "lazyftl"] {
        for pages_per_block in [4, 8] {
            (1..=4).for_each(|seed| spoil_what_was_written_last(preset, pages_per_block, seed));
        }
    }
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn what_was_lost_in_a_collection_and_not_written_through_comes_back_after_a_power_cut() {
        for preset in ["ib-ftl", "geckoftl"] {
            let forget = |config: &mut Config| config.forgets = Some(Barrier::LostWrittenThrough);
            let wrong = std::panic::catch_unwind(|| lose_in_collections(preset, forget));
            assert!(wrong.is_err(), "{preset}");
        }
    }
}

/// Found by the laboratory's defects: an older version of a part of the map was read. A data block that it names had
/// been given back since, and was another logical block's.
#[test]
fn an_older_version_of_a_map_page_takes_no_block_that_is_another_s_by_now() {
    let geometry = small(16, 160, 1, 1);
    // Pages of as many logical blocks as a map page of 512 bytes has room for.
    let per_part = 50 * 16;
    let mut looked = 0;
    for (ftl, writes) in [("block", 60), ("bast", 200), ("fast", 400), ("last++", 400)] {
        let logical_pages = most_pages(ftl, geometry);
        for part in 0..2 {
            let mut host = Host::new(chips(geometry), config(ftl, logical_pages), u64::from(part));
            let own = part * per_part..(part + 1) * per_part;
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            host.overwrite().unwrap();
            // Blocks that the older version names are given back and taken for other logical blocks, and no page of
            // this part is written anew.
            for _ in 0..writes {
                let page = below(&mut rng, u64::from(logical_pages)) as u32;
                if !own.contains(&page) {
                    host.write(page, 1, false).unwrap();
                }
            }
            let newest = host.plug.newest_and_older(Kind::Map).0[part as usize];
            let (of_part, _): (Vec<_>, Vec<_>) =
                host.plug.pages_of(Kind::Map).into_iter().partition(|(_, spare)| spare.key == part);
            looked += u32::from(of_part.len() > 1);
            host.restart(|plug| plug.sim().decay(newest, Decay::Uncorrectable)).unwrap();
            host.check();
            host.compare_others(&own.collect());
            host.overwrite().unwrap();
            host.compare_all();
            host.check();
        }
    }
    assert!(looked > 0);
}
