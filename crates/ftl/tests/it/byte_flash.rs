//! Flash that keeps bytes, as a driver of real chips does. Where an FTL programs a tag, a read gives a page of bytes,
//! whose checksum is another than the spare area's.

use crate::common::{Host, Step, below, large_enough, scaled, small};
use phelsuma_ftl::{PRESETS, Preset};
use phelsuma_nand::Kind;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Pages of a block here.
const PAGES: u32 = 16;

/// A newly formatted drive on flash that keeps bytes.
fn host(preset: &Preset, channels: u32) -> Host {
    let geometry = large_enough(preset.name, small(PAGES, 64, channels, 1));
    let mut host = Host::with_share(preset.name, geometry, 0.8);
    host.plug.keeps_bytes = true;
    host
}

/// A logical page that is the first of no logical block, on one channel or two.
fn not_first(rng: &mut impl RngCore, logical_pages: u32) -> u32 {
    (below(rng, u64::from(logical_pages)) as u32 | 2).min(logical_pages - 1)
}

fn log_block_ftls() -> impl Iterator<Item = &'static Preset> {
    PRESETS.iter().filter(|preset| preset.composition.page_mapped().is_none())
}

#[test]
fn pages_that_were_never_written_read_as_zeros() {
    for preset in PRESETS {
        for channels in [1, 2] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut host = host(preset, channels);
            // The last logical block may be short: its last page is left out, too.
            let pages = host.logical_pages() / (2 * PAGES) * (2 * PAGES);
            for _ in 0..2 * pages {
                host.write(not_first(&mut rng, pages), 1, true).unwrap();
            }
            host.compare_all();
            host.compare_mapped();
            host.check();
            if preset.composition.survives_power_cuts() {
                host.flush().unwrap();
                host.step(&Step::Cut).unwrap();
                host.compare_all();
                host.compare_mapped();
            }
        }
    }
}

#[test]
fn log_block_drives_survive_cuts_in_requests_and_recoveries() {
    let cuts_wanted = scaled(150, 5_000);
    for preset in log_block_ftls() {
        for operations_max in [6, 60] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(operations_max);
            let mut host = host(preset, 2);
            let pages = host.logical_pages() / (2 * PAGES) * (2 * PAGES);
            for _ in 0..pages {
                host.write(not_first(&mut rng, pages), 1, true).unwrap();
            }
            let mut cuts = 0;
            while cuts < cuts_wanted {
                host.waits = below(&mut rng, 2) == 0;
                host.plug.arm(below(&mut rng, operations_max));
                while host.plug.cut_at().is_none() {
                    let first = not_first(&mut rng, pages);
                    let done = match below(&mut rng, 20) {
                        _ if host.ftl.is_none() => host.recover(),
                        0 => host.trim(first, (1 + below(&mut rng, 12) as u32).min(pages - first)),
                        1 => host.flush(),
                        _ => host.write(first, 1, true),
                    };
                    if let Err(error) = done {
                        assert!(host.plug.cut_at().is_some(), "{}: an error with the power on: {error}", preset.name);
                    }
                }
                cuts += 1;
                host.power_back();
            }
            host.plug.disarm();
            host.recover().unwrap();
            host.compare_all();
        }
    }
}

#[test]
fn what_a_merge_can_not_read_stays_a_read_error_after_a_recovery() {
    for preset in log_block_ftls() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut host = host(preset, 1);
        let pages = host.logical_pages() / PAGES * PAGES;
        for page in 0..pages {
            host.write(page, 1, true).unwrap();
        }
        let (newest, _) = host.plug.newest_and_older(Kind::User);
        // The first page of each block, and others by chance.
        let spoiled = newest.iter().enumerate().filter(|(n, _)| n % 16 == 0 || below(&mut rng, 8) == 0);
        let spoiled: Vec<_> = spoiled.map(|(_, page)| *page).collect();
        // Their spare areas are read on their own.
        host.plug.spoiled_data.extend(&spoiled);
        for _ in 0..2 * pages {
            host.write(not_first(&mut rng, pages), 1, true).unwrap();
        }
        host.compare_or_unreadable();
        assert!(host.counter("pages_lost_moving") > 0, "{}: no merge met a page that is lost", preset.name);
        let lost = host.unreadable();
        host.restart(|_| ()).unwrap();
        host.compare_or_unreadable();
        assert!(lost > 0 && host.unreadable() == lost, "{}: {lost} read errors, then others", preset.name);
        for page in 0..host.logical_pages() {
            host.write(page, 1, true).unwrap();
        }
        host.compare_all();
        host.check();
    }
}
