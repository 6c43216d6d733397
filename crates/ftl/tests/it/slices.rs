//! Collection in slices: how much of it a write waits for, and what a drive looks like between two slices.

use crate::common::{Host, Step, below, chips, config, most_pages, parts_of, small};
use phelsuma_ftl::{Preset, Step as Background};
use phelsuma_nand::Purpose;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const PRESETS: [&str; 6] = ["page", "dftl", "lazyftl", "geckoftl", "geckoftl+sample", "geckoftl+mapping-log"];

/// A drive that is full and was overwritten.
fn overwritten(preset: &str, share: f64) -> (Host, Xoshiro256PlusPlus) {
    let geometry = small(32, 400, 1, 1);
    let config = config(preset, (f64::from(most_pages(preset, geometry)) * share) as u32);
    let mut host = Host::new(chips(geometry), config, 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for first in (0..host.logical_pages()).step_by(8) {
        host.write(first, 8.min(host.logical_pages() - first), false).unwrap();
    }
    for _ in 0..host.logical_pages() {
        write_any(&mut host, &mut rng);
    }
    (host, rng)
}

fn write_any(host: &mut Host, rng: &mut Xoshiro256PlusPlus) {
    let page = below(rng, host.logical_pages().into()) as u32;
    host.write(page, 1, false).unwrap();
}

/// Programs of collection.
fn moved(host: &Host) -> u64 {
    host.plug.stats().of(Purpose::Gc).programs
}

/// The most pages that collection moves for a write, and how many it moves in all.
fn longest(preset: &str) -> (u64, u64) {
    let (mut host, mut rng) = overwritten(preset, 0.8);
    let begin = moved(&host);
    let mut most = 0;
    for _ in 0..host.logical_pages() {
        let before = moved(&host);
        write_any(&mut host, &mut rng);
        most = most.max(moved(&host) - before);
    }
    (most, moved(&host) - begin)
}

#[test]
fn a_write_waits_for_a_few_pages_of_a_collection() {
    for preset in PRESETS {
        let (whole, all_whole) = longest(preset);
        let (slice, all_in_slices) = longest(&format!("{preset}+slices"));
        assert!(whole >= 16, "{preset}: at most {whole} pages move for a write");
        assert!(slice * 4 <= whole, "{preset}: {slice} pages move for a write, {whole} if collections are whole");
        let more = all_in_slices as f64 / all_whole as f64;
        assert!((0.9..1.1).contains(&more), "{preset}: {more} times the pages move in slices");
    }
}

/// Between two slices, and with requests of all kinds.
#[test]
fn a_drive_with_a_collection_under_way_agrees_with_its_flash() {
    for preset in PRESETS {
        for share in [0.8, 1.0] {
            let (mut host, mut rng) = overwritten(&format!("{preset}+slices"), share);
            for _ in 0..150 {
                host.step(&Step::by_chance(&mut rng, host.logical_pages())).unwrap();
                write_any(&mut host, &mut rng);
                host.check();
            }
            assert!(host.counter("collection_slices") > 300, "{preset}: {}", host.counter("collection_slices"));
            host.compare_all();
        }
    }
}

/// A page of the victim may be stale by a trim that waits in RAM, while those behind it are live.
#[test]
fn trims_between_slices_cost_no_live_page() {
    let (mut host, mut rng) = overwritten("geckoftl+mapping-log+slices", 0.8);
    for _ in 0..3000 {
        let first = below(&mut rng, host.logical_pages().into()) as u32;
        host.step(&Step::Trim { first, pages: 1 }).unwrap();
        write_any(&mut host, &mut rng);
        write_any(&mut host, &mut rng);
    }
    host.check();
    host.compare_all();
}

#[test]
fn a_pause_of_the_host_ends_what_is_due() {
    let (mut host, mut rng) = overwritten("geckoftl+slices", 0.8);
    for _ in 0..20 {
        let mut steps = 0;
        while let Background::Did(at) = host.ftl.as_mut().unwrap().background_step(&mut host.plug, host.at).unwrap() {
            host.at = host.at.max(at);
            steps += 1;
            assert!(steps < 500, "slices come to no end");
        }
        let before = moved(&host);
        write_any(&mut host, &mut rng);
        assert_eq!(moved(&host), before, "a slice is due right after a pause");
        (0..40).for_each(|_| write_any(&mut host, &mut rng));
    }
    host.compare_all();
}

#[test]
fn parts_that_cannot_be_left_half_collected_are_refused() {
    for preset in ["mu-ftl", "mu-ftl-pvb", "ib-ftl"] {
        let mut parts = Preset::named(preset).unwrap().composition;
        let error = parts.set_all(&[("collection", "slices")]).unwrap_err().to_string();
        assert!(error.contains("collection=slices needs"), "{error}");
    }
    assert!(parts_of("geckoftl+slices").survives_power_cuts());
    let mut bast = parts_of("bast");
    let error = bast.set("collection", "slices").unwrap_err().to_string();
    assert!(error.contains("only page-mapped FTLs have it"), "{error}");
}
