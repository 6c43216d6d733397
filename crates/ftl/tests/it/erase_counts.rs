//! Erase counts in spare areas: right as long as the power stays on, and lost of few blocks where it does not.

use crate::common::{Host, Step, below, config, plugged, scaled, small};
use phelsuma_ftl::{FtlError, format, recover};
use phelsuma_nand::{Block, Nand, Op, Purpose, SpareRead, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The count in the first page of each block, with how often the block was erased since the drive was formatted.
fn counts(host: &mut Host, formatted: &[u32]) -> Vec<(u32, u32)> {
    let geometry = *host.plug.geometry();
    let mut counts = Vec::new();
    for block in (2..geometry.blocks()).map(Block) {
        let erased = host.plug.sim().erases_of(block) - formatted[block.index()];
        let op = Op::new(Time::ZERO, Purpose::Host);
        if let SpareRead::Written(spare) = host.plug.sim().read_spare(geometry.page(block, 0), op).0 {
            counts.push((spare.aux, erased));
        }
    }
    counts
}

fn formatted(host: &mut Host) -> Vec<u32> {
    let blocks = host.plug.geometry().blocks();
    (0..blocks).map(|block| host.plug.sim().erases_of(Block(block))).collect()
}

fn host(preset: &str, dies: u32) -> (Host, Vec<u32>) {
    let mut host = Host::with_share(preset, small(16, 40 + 16 * u64::from(dies), 1, dies), 0.8);
    let formatted = formatted(&mut host);
    host.overwrite().unwrap();
    (host, formatted)
}

#[test]
fn every_block_says_how_often_it_was_erased() {
    for (preset, dies) in [("page+wear", 1), ("page+wear", 4), ("dftl+wear", 1), ("geckoftl+wear", 1)] {
        let (mut host, formatted) = host(preset, dies);
        let logical_pages = host.logical_pages();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..4_000 {
            host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
        }
        // A cut between operations loses nothing.
        host.step(&Step::Cut).unwrap();
        let counts = counts(&mut host, &formatted);
        assert!(counts.len() > 20);
        assert_eq!(counts.iter().find(|(said, erased)| said != erased), None, "{preset} with {dies} dies");
    }
}

#[test]
fn a_cut_loses_the_counts_of_no_more_blocks_than_can_be_in_flight() {
    for (preset, dies, in_flight) in [("page+wear", 1, 1), ("geckoftl+wear", 1, 1), ("page+wear", 2, 4)] {
        for cuts in [1u32, 4, 12] {
            let (mut host, formatted) = host(preset, dies);
            let logical_pages = host.logical_pages();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(cuts));
            for _ in 0..cuts {
                for _ in 0..scaled(600, 6_000) {
                    host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
                }
                host.plug.arm(below(&mut rng, 60));
                while host.plug.cut_at().is_none() {
                    let _ = host.step(&Step::by_chance(&mut rng, logical_pages));
                }
                host.power_back();
                host.recover().unwrap();
            }
            host.overwrite().unwrap();
            let counts = counts(&mut host, &formatted);
            let lost = counts.iter().filter(|(said, erased)| said != erased).count();
            assert!(lost <= cuts as usize * in_flight, "{preset}: {lost} counts are wrong after {cuts} cuts");
            let most = counts.iter().map(|(_, erased)| *erased).max().unwrap();
            assert!(counts.iter().all(|(said, _)| (1..=most + 1).contains(said)), "{preset}: {counts:?}");
        }
    }
}

#[test]
fn levelling_goes_on_after_power_cuts() {
    for preset in ["page+wear", "dftl+wear", "geckoftl+wear"] {
        let (mut host, formatted) = host(preset, 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let (logical_pages, mut collected) = (host.logical_pages(), Vec::new());
        for _ in 0..4 {
            for _ in 0..20 * logical_pages {
                host.write(below(&mut rng, u64::from(logical_pages) / 2) as u32, 1, false).unwrap();
            }
            collected.push(host.counter("wear_collections"));
            assert!(host.counter("wear_erases_max") > 0 && host.counter("wear_scans") > 10);
            host.step(&Step::Cut).unwrap();
        }
        assert!(collected.iter().all(|blocks| *blocks > 10), "{preset}: {collected:?}");
        let erased: Vec<u32> = counts(&mut host, &formatted).into_iter().map(|(_, erased)| erased).collect();
        let average = erased.iter().sum::<u32>() / erased.len() as u32;
        let least = erased.iter().min().unwrap();
        assert!(2 * least > average, "{preset}: {least} erases and {average} on average");
        host.compare_all();
        host.check();
    }
}

/// Parameters set one by one leave `power` as it was, so the drive itself is what refuses.
#[test]
fn a_drive_whose_recovery_keeps_marks_where_the_counts_are_is_refused() {
    for preset in ["lazyftl", "ib-ftl"] {
        let mut config = config(preset, 300);
        config.composition.set("wear", "levelling").unwrap();
        let mut flash = plugged(small(16, 64, 1, 1));
        let formatted = format(&mut flash, &config, Time::ZERO).map(|_| ());
        assert!(matches!(formatted, Err(FtlError::Unsupported(_))), "{preset}: {formatted:?}");
        assert!(recover(&mut flash, &config, Time::ZERO).is_err(), "{preset}");
    }
}
