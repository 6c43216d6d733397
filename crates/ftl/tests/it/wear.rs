//! Blocks that grow bad, and drives that wear out.

use crate::common::{
    Host, Plug, Step, below, chips, config, large_enough, most_pages, most_pages_of, scaled, small, surviving,
    thorough, with_metadata,
};
use phelsuma_ftl::{Config, FtlError, PRESETS, Preset};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Geometry, Nand, SimNand, Timing};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn host(preset: &str, dies: u32, share: f64) -> Host {
    Host::with_share(preset, small(32, 40 + 16 * u64::from(dies), 1, dies), share)
}

/// Runs the host with blocks that grow bad in between.
fn run_with_failures(preset: &str, dies: u32, programs: u32, erases: u32, cuts: bool, seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = host(preset, dies, 0.8);
    host.overwrite().unwrap();
    let blocks = u64::from(host.plug.geometry().blocks());
    let mut broken = std::collections::BTreeSet::new();
    for n in 0..programs + erases {
        let block = loop {
            let block = Block(2 + below(&mut rng, blocks - 2) as u32);
            if broken.insert(block) {
                break block;
            }
        };
        let mut sim = host.plug.copy();
        if n < programs {
            sim.break_at_program(block);
        } else {
            sim.break_at_erase(block);
        }
        host.plug.replace(sim);
        for _ in 0..300 {
            let pages = host.logical_pages();
            host.step(&Step::by_chance(&mut rng, pages)).unwrap();
        }
        host.check();
        if cuts {
            host.step(&Step::Cut).unwrap();
        }
    }
    for _ in 0..4 {
        host.overwrite().unwrap();
    }
    host.compare_all();
    host.check();
    assert_eq!(host.counter("pages_lost_moving"), 0);
    let bad: std::collections::BTreeSet<Block> =
        (0..blocks as u32).map(Block).filter(|b| host.plug.is_bad(*b)).collect();
    assert!(bad.is_subset(&broken), "good blocks were retired: {bad:?} of {broken:?}");
    assert!(bad.len() * 2 >= broken.len(), "only {} of {} were retired", bad.len(), broken.len());
    host.step(&Step::Cut).unwrap();
    host.compare_all();
}

#[test]
fn blocks_that_fail_programs_are_retired_and_nothing_is_lost() {
    for preset in surviving() {
        for (dies, seed) in [(1, 1), (4, 2)] {
            run_with_failures(preset.name, dies, 6, 0, false, seed);
        }
    }
}

#[test]
fn blocks_that_fail_erases_are_retired_and_nothing_is_lost() {
    for preset in surviving() {
        for (dies, seed) in [(1, 1), (4, 2)] {
            run_with_failures(preset.name, dies, 0, 6, false, seed);
        }
    }
}

#[test]
fn blocks_may_fail_either_way_between_power_cuts() {
    for preset in surviving() {
        for (dies, seed) in [(1, 3), (4, 4)] {
            for more in 0..u64::from(scaled(1, 10)) {
                run_with_failures(preset.name, dies, 3, 3, true, seed + more * 7);
            }
        }
    }
}

#[test]
fn blocks_may_fail_either_way_where_a_sample_is_counted() {
    for preset in ["page+sample", "dftl+sample", "mu-ftl-pvb+sample", "lazyftl+sample", "geckoftl+sample"] {
        for (dies, seed) in [(1, 7), (4, 8)] {
            run_with_failures(preset, dies, 3, 3, false, seed);
            run_with_failures(preset, dies, 3, 3, true, seed);
        }
    }
}

#[test]
fn blocks_may_fail_either_way_while_wear_is_levelled() {
    for preset in ["page+wear", "dftl+wear", "geckoftl+wear", "geckoftl+sample+wear"] {
        for (dies, seed) in [(1, 5), (4, 6)] {
            run_with_failures(preset, dies, 3, 3, false, seed);
            run_with_failures(preset, dies, 3, 3, true, seed);
        }
    }
}

/// Those that are more than another one on a drive of one channel.
fn alone() -> impl Iterator<Item = &'static Preset> {
    PRESETS.iter().filter(|preset| !preset.composition.is_per_channel())
}

/// A drive whose blocks endure few cycles.
fn mortal(preset: &str, cycles: u32, share: f64) -> Host {
    let geometry = large_enough(preset, small(32, 40, 1, 1));
    let logical = (f64::from(most_pages(preset, geometry)) * share) as u32;
    let timing = Timing::preset("gecko").unwrap();
    let nand = SimNand::new(&SimConfig { tagged: true, cycles_max: Some(cycles), ..SimConfig::new(geometry, timing) });
    Host::new(nand, config(preset, logical), 1)
}

#[test]
fn a_drive_that_wears_out_says_so_and_stays_readable() {
    let names = alone().map(|preset| preset.name);
    for preset in names.chain(["page+wear", "geckoftl+wear", "page+sample", "geckoftl+sample"]) {
        for (cycles, share) in [(3, 1.0), (5, 0.5), (8, 0.8)] {
            let mut host = mortal(preset, cycles, share);
            let error = (0..200).find_map(|_| host.overwrite().err());
            let Some(FtlError::Full { bad_blocks }) = error else { panic!("{preset} with {cycles} cycles: {error:?}") };
            assert!(bad_blocks > 0);
            // The page whose write was refused may be old or new; it is not known to be anything else.
            host.forgive_refused();
            host.compare_all();
            host.check();
        }
    }
}

#[test]
fn a_worn_out_drive_refuses_every_further_write_and_loses_nothing() {
    for preset in alone() {
        let mut host = mortal(preset.name, 4, 0.7);
        while host.overwrite().is_ok() {}
        host.forgive_refused();
        for page in 0..host.logical_pages().min(50) {
            match host.write(page, 1, false) {
                Ok(()) => {}
                Err(FtlError::Full { .. }) => host.forgive_refused(),
                Err(error) => panic!("{error}"),
            }
        }
        // What gains nothing is not counted as a collection.
        let collections = |host: &Host| {
            let names = ["collections", "emergency_collections", "metadata_fallbacks"];
            let all = host.ftl.as_ref().unwrap().counters().into_iter();
            all.filter(|counter| names.contains(&counter.name)).map(|counter| counter.value).collect::<Vec<_>>()
        };
        let before = collections(&host);
        for _ in 0..20 {
            assert!(host.write(0, 1, false).is_err(), "{} takes writes again", preset.name);
        }
        assert_eq!(collections(&host), before, "{}", preset.name);
        host.forgive_refused();
        match host.flush() {
            Ok(()) | Err(FtlError::Full { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        host.compare_all();
        host.check();
    }
}

#[test]
fn a_drive_with_too_few_good_blocks_left_says_full_and_does_not_turn_for_ever() {
    for preset in surviving() {
        for broken in (1..24).step_by(if thorough() { 1 } else { 3 }) {
            let mut host = host(preset.name, 1, 1.0);
            host.overwrite().unwrap();
            let mut sim = host.plug.copy();
            for block in 0..broken {
                sim.break_at_erase(Block(3 + 2 * block));
            }
            host.plug.replace(sim);
            host.plug.operations = 0;
            host.plug.operations_max = Some(1_000_000);
            match (0..4).find_map(|_| host.overwrite().err()) {
                None | Some(FtlError::Full { .. }) => {}
                Some(error) => panic!("{} with {broken} bad blocks: {error}", preset.name),
            }
            host.forgive_refused();
            host.compare_all();
            host.check();
        }
    }
}

#[test]
fn a_drive_born_with_bad_blocks_is_refused_or_can_be_filled() {
    for preset in surviving() {
        for bad in 0..12 {
            let geometry = small(32, 40, 1, 1);
            let config = config(preset.name, most_pages(preset.name, geometry));
            let mut nand = chips(geometry);
            for block in 0..bad {
                nand.mark_bad(Block(1 + 3 * block));
            }
            match phelsuma_ftl::format(&mut Plug::from(nand.clone()), &config, phelsuma_nand::Time::ZERO) {
                Err(FtlError::DoesNotFit { .. } | FtlError::Full { .. }) => continue,
                Err(error) => panic!("{error}"),
                Ok(_) => {}
            }
            let mut host = Host::new(nand, config, 1);
            host.plug.operations_max = Some(1_000_000);
            for _ in 0..3 {
                host.overwrite().unwrap_or_else(|error| panic!("{} with {bad} bad blocks: {error}", preset.name));
            }
        }
    }
}

#[test]
fn a_block_that_fails_its_first_program_does_not_keep_a_drive_from_being_formatted() {
    for bad in 0..3 {
        let geometry = small(32, 40, 1, 1);
        let mut nand = chips(geometry);
        nand.break_at_program(Block(bad));
        let mut host = Host::new(nand, config("page", 300), 1);
        host.overwrite().unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

/// A drive as large as it can be.
fn full(preset: &str) -> (Geometry, Config) {
    let geometry = match preset {
        // On smaller pages its tree is full before its blocks are.
        "mu-ftl" => Geometry::new(2048, 32, 64, 1, 1).unwrap(),
        _ => with_metadata(preset, small(32, 56, 1, 1)),
    };
    (geometry, config(preset, most_pages(preset, geometry)))
}

/// Drives of which so many blocks go bad that most of them are full. Then all but the last pages are trimmed, so many
/// at a time.
fn trimmed_when_full((geometry, config): &(Geometry, Config), at_a_time: u32) {
    let name = &config.name;
    let mut got_full = 0;
    for broken in 1..geometry.blocks() / 2 - 1 {
        // More where a drive has the spare space for it.
        if broken >= 24 && got_full > 0 {
            break;
        }
        let mut host = Host::new(chips(*geometry), config.clone(), 1);
        host.overwrite().unwrap();
        let mut sim = host.plug.copy();
        for block in 0..broken {
            sim.break_at_erase(Block(3 + 2 * block));
        }
        host.plug.replace(sim);
        host.plug.operations_max = Some(1_000_000);
        if (0..4).all(|_| host.overwrite().is_ok()) {
            continue;
        }
        host.forgive_refused();
        got_full += 1;
        let logical = host.logical_pages();
        for first in (0..logical - 64).step_by(at_a_time as usize) {
            let pages = at_a_time.min(logical - 64 - first);
            host.trim(first, pages).unwrap_or_else(|e| panic!("{name} with {broken}, {first}: {e}"));
        }
        host.flush().unwrap_or_else(|e| panic!("{name} with {broken}: {e}"));
        for _ in 0..4 {
            for page in logical - 64..logical {
                host.write(page, 1, false).unwrap_or_else(|e| panic!("{name} with {broken}: {e}"));
            }
        }
        host.compare_all();
        host.check();
    }
    assert!(got_full > 0, "{name} never got full");
}

#[test]
fn a_full_drive_takes_writes_again_after_a_trim_made_room() {
    for preset in surviving() {
        trimmed_when_full(&full(preset.name), u32::MAX);
    }
}

/// With 19 bad blocks fewer are free than the battery may need, and what one trim takes.
#[test]
fn a_full_drive_with_a_battery_takes_a_trim_in_its_open_block() {
    let (geometry, config) = full("dftl");
    let mut small = config.composition;
    small.set("mapping.cache", "128").unwrap();
    let pages = most_pages_of(small, geometry);
    trimmed_when_full(&(geometry, Config::new("dftl", small, pages, 1)), u32::MAX);
}

#[test]
fn a_full_drive_with_a_tree_takes_trims_one_by_one() {
    let (geometry, config) = full("mu-ftl");
    for at_a_time in [1, 100] {
        trimmed_when_full(&(geometry, config.clone()), at_a_time);
    }
    let mut without = config.composition;
    without.set("mapping.write-pages", "0").unwrap();
    let pages = most_pages_of(without, geometry);
    trimmed_when_full(&(geometry, Config::new("mu-ftl", without, pages, 1)), 1);
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn a_full_drive_that_leaves_no_block_to_its_map_takes_no_trim() {
        let forgets = Some(Barrier::LastBlockForMap);
        let (geometry, config) = full("last++");
        let forgetful = (geometry, Config { forgets, ..config });
        let run = || trimmed_when_full(&forgetful, u32::MAX);
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
