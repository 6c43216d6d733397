//! Trims: durable at the flush, never undone afterwards, and never a way back to something older.

use crate::common::{
    Host, Step, below, chips, config, most_pages, scaled, scanned, small, surviving, with_metadata, with_tombstones,
};
use phelsuma_ftl::{Config, FtlError};
use phelsuma_nand::Kind;
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn host(preset: &str, blocks: u64, dies: u32, share: f64) -> Host {
    Host::with_share(preset, small(32, blocks, 1, dies), share)
}

#[test]
fn trims_survive_a_flush_and_a_power_cut() {
    for preset in surviving() {
        let mut host = host(preset.name, 40, 1, 0.8);
        host.overwrite().unwrap();
        host.trim(5, 30).unwrap();
        host.flush().unwrap();
        for _ in 0..3 {
            host.step(&Step::Cut).unwrap();
            assert_eq!(host.read(5, 30), [0; 30]);
        }
        host.write(6, 1, false).unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
        assert_ne!(host.read(6, 1), [0]);
        assert_eq!(host.read(7, 28), [0; 28]);
    }
}

#[test]
fn a_trim_that_was_not_flushed_comes_back_whole_or_not_at_all_and_stays_so() {
    for preset in surviving() {
        let mut host = host(preset.name, 40, 1, 0.8);
        host.overwrite().unwrap();
        host.trim(5, 30).unwrap();
        host.step(&Step::Cut).unwrap();
        let shown = host.read(0, 60);
        for _ in 0..3 {
            host.step(&Step::Cut).unwrap();
            assert_eq!(host.read(0, 60), shown);
        }
    }
}

#[test]
fn a_page_written_after_its_trim_is_there_whatever_is_flushed() {
    for preset in surviving() {
        for flushes in 0..8 {
            let mut host = host(preset.name, 40, 1, 0.8);
            for page in 0..3 {
                let flush = |host: &mut Host, n: u32| {
                    if flushes >> n & 1 == 1 {
                        host.flush().unwrap();
                    }
                };
                host.write(page, 1, false).unwrap();
                flush(&mut host, 0);
                host.trim(page, 1).unwrap();
                flush(&mut host, 1);
                host.write(page, 1, true).unwrap();
                flush(&mut host, 2);
            }
            let written = host.read(0, 3);
            host.step(&Step::Cut).unwrap();
            assert_eq!(host.read(0, 3), written);
        }
    }
}

#[test]
fn a_trimmed_page_never_shows_an_older_content_after_collection_and_power_cuts() {
    for preset in surviving() {
        for (dies, seed) in [(1, 1), (2, 2), (4, 3)] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut host = host(preset.name, 24 + 16 * u64::from(dies), dies, 1.0);
            let logical = host.logical_pages();
            host.overwrite().unwrap();
            for round in 0..scaled(8, 200) {
                // Old copies pile up, then some of the pages go.
                for _ in 0..below(&mut rng, u64::from(logical)) {
                    let page = below(&mut rng, u64::from(logical)) as u32;
                    host.write(page, 1, false).unwrap();
                }
                let first = below(&mut rng, u64::from(logical)) as u32;
                let pages = (1 + below(&mut rng, 40) as u32).min(logical - first);
                host.trim(first, pages).unwrap();
                if below(&mut rng, 2) == 0 {
                    host.flush().unwrap();
                }
                for _ in 0..below(&mut rng, 200) {
                    let page = below(&mut rng, u64::from(logical)) as u32;
                    if page < first || page >= first + pages {
                        host.write(page, 1, false).unwrap();
                    }
                }
                host.compare_all();
                if round % 2 == 0 {
                    host.step(&Step::Cut).unwrap();
                }
            }
            assert!(host.counter("collections") > 0, "nothing was collected: the test tests nothing");
        }
    }
}

#[test]
fn a_drive_trimmed_whole_and_written_again_forgets_its_tombstones() {
    for preset in surviving() {
        let mut host = host(preset.name, 40, 1, 1.0);
        let logical = host.logical_pages();
        for _ in 0..5 {
            host.overwrite().unwrap();
            host.trim(0, logical).unwrap();
            host.flush().unwrap();
            host.step(&Step::Cut).unwrap();
            assert!(host.read(0, logical).iter().all(|tag| *tag == 0));
        }
        host.overwrite().unwrap();
        host.flush().unwrap();
        host.check();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn trims_over_more_regions_than_may_be_pending_all_survive() {
    // A region is 4,096 pages here: 24 regions, of which 16 may be pending.
    for preset in ["page", "pl-greedy"] {
        let geometry = small(64, 1700, 1, 1);
        let mut host = Host::new(chips(geometry), config(preset, 24 * 4096), 1);
        for region in 0..24 {
            host.write(region * 4096, 3, false).unwrap();
            host.write(region * 4096 + 4093, 3, false).unwrap();
        }
        for region in 0..24 {
            host.trim(region * 4096 + 1, 1).unwrap();
            host.trim(region * 4096 + 4095, 1).unwrap();
        }
        assert!(host.counter("tombstones_written") >= 16);
        host.flush().unwrap();
        host.check();
        host.step(&Step::Cut).unwrap();
        for region in 0..24 {
            assert_eq!(host.read(region * 4096 + 1, 1), [0]);
            assert_eq!(host.read(region * 4096 + 4095, 1), [0]);
            assert_ne!(host.read(region * 4096, 1), [0]);
            assert_ne!(host.read(region * 4096 + 4094, 1), [0]);
        }
    }
}

#[test]
fn many_regions_in_tiny_blocks_do_not_exhaust_the_reserve() {
    // Sixteen tombstone pages take four blocks of four pages, in one collection.
    let geometry = small(4, 24_000, 1, 1);
    let logical = 18 * 4096;
    let mut host = Host::new(chips(geometry), config("page", logical), 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    host.overwrite().unwrap();
    for _ in 0..scaled(30, 600) {
        for region in 0..18 {
            host.trim(region * 4096 + below(&mut rng, 4096) as u32, 1).unwrap();
        }
        for _ in 0..200 {
            host.write(below(&mut rng, u64::from(logical)) as u32, 1, false).unwrap();
        }
    }
    host.check();
    host.step(&Step::Cut).unwrap();
}

/// A page is trimmed, and that is flushed. It is written again, and the power fails meanwhile, in a way that leaves a
/// page that reads well until it fails again. So it does, in the recovery, after so many programs and erases each. Then
/// the page is trimmed or new.
fn trimmed_written_and_cut_twice(config: Config, dies: u32, operations: (u64, u64)) {
    let geometry = with_metadata(&config.name, small(16, 40 + 16 * u64::from(dies), 1, dies));
    let mut host = Host::new(chips(geometry), config, 1);
    host.plug.program_faults = vec![ProgramFault::Unstable];
    host.plug.erase_faults = vec![EraseFault::NotStarted];
    host.write(11, 2, false).unwrap();
    host.step(&Step::Cut).unwrap();
    host.step(&Step::Trim { first: 12, pages: 1 }).unwrap();
    host.step(&Step::Flush).unwrap();
    host.plug.arm(operations.0);
    if host.write(11, 2, false).is_ok() && host.plug.cut_at().is_none() {
        host.plug.pull(host.at);
    }
    host.power_back();
    host.plug.arm(operations.1);
    if host.recover().is_err() {
        assert!(host.plug.cut_at().is_some());
        host.power_back();
        host.recover().unwrap();
    }
    host.compare_all();
}

#[test]
fn a_flushed_trim_stays_where_the_page_written_after_it_turns_bad() {
    for preset in scanned() {
        for (dies, at, again) in (0..600).map(|n| (1 + n % 2, u64::from(n) / 2 % 20, u64::from(n) / 40)) {
            trimmed_written_and_cut_twice(config(preset.name, 80), dies, (at, again));
        }
    }
}

/// All of a drive is trimmed, a twentieth written on, and all tombstones go bad: trimmed pages come back wherever they
/// stand. Whether the drive can be written over then. That may need blocks that were kept blank, but not here: the
/// laboratory has a drive that does (`BlankKept`, docs/MUTANTS.md).
fn lose_tombstones(preset: &str, dies: u32) -> Result<(), FtlError> {
    let geometry = with_metadata(preset, small(32, 24 + 32 * u64::from(dies), 1, dies));
    let config = config(preset, most_pages(preset, geometry) * 9 / 10);
    let mut host = Host::new(chips(geometry), config, u64::from(dies));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(dies));
    let (logical, physical) = (host.logical_pages(), geometry.pages() as u32);
    let written_on = logical / 20;
    for _ in 0..2 * physical {
        host.write(below(&mut rng, u64::from(logical)) as u32, 1, false)?;
    }
    host.trim(0, logical)?;
    host.flush()?;
    // Blocks that were free before are written anew, and those that take their place hold trimmed pages.
    for _ in 0..physical / 2 {
        host.write(below(&mut rng, u64::from(written_on)) as u32, 1, false)?;
    }
    host.restart(|plug| {
        let tombstones = plug.pages_of(Kind::Tombstone).into_iter().map(|(page, _)| page);
        plug.spoiled.extend(tombstones);
    })?;
    host.compare(0, written_on);
    let back = host.read(written_on, logical - written_on).iter().filter(|tag| **tag != 0).count();
    assert!(back > geometry.pages_per_block() as usize, "{preset}: {back} pages are back: the test tests nothing");
    for _ in 0..2 {
        host.overwrite()?;
        host.compare_all();
        host.check();
    }
    Ok(())
}

#[test]
fn a_drive_that_has_lost_its_tombstones_can_be_written_over() {
    for preset in with_tombstones() {
        for dies in [1, 2] {
            lose_tombstones(preset.name, dies).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        }
    }
}
