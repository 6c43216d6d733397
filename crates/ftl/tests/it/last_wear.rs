//! Wear levelling of LAST++: its effect on erase counts, and that they are there after power cuts.

use crate::common::{Host, below, chips, config, scaled, small};
use phelsuma_nand::{Block, Nand, Op, Purpose, SpareRead, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const SWAP: [(&str, &str); 2] = [("last.wear", "swap"), ("last.wear-lag", "4")];

/// A drive that was filled once.
fn filled(dies: (u32, u32), settings: &[(&str, &str)]) -> Host {
    let geometry = small(16, 128 * u64::from(dies.0 * dies.1), dies.0, dies.1);
    let mut config = config("last++", geometry.pages() as u32 / 2);
    settings.iter().for_each(|(name, value)| config.composition.set(name, value).unwrap());
    let mut host = Host::new(chips(geometry), config, 1);
    (0..host.logical_pages()).step_by(16).for_each(|first| {
        let pages = 16.min(host.logical_pages() - first);
        host.write(first, pages, false).unwrap();
    });
    host
}

/// Writes mostly to a sixteenth of the pages.
fn work(host: &mut Host, rng: &mut Xoshiro256PlusPlus, writes: u32) {
    let all = u64::from(host.logical_pages());
    for _ in 0..writes {
        let space = if below(rng, 20) == 0 { all } else { all / 16 };
        host.write(below(rng, space) as u32, 1, false).unwrap();
    }
}

/// The standard deviation of erase counts, and all programs.
fn wear(host: &mut Host) -> (f64, u64) {
    let blocks = host.plug.geometry().blocks();
    // The first two hold the drive's description.
    let erases: Vec<f64> = (2..blocks).map(|block| f64::from(host.plug.sim().erases_of(Block(block)))).collect();
    let mean = erases.iter().sum::<f64>() / erases.len() as f64;
    let squares: f64 = erases.iter().map(|erases| (erases - mean).powi(2)).sum();
    ((squares / erases.len() as f64).sqrt(), host.plug.sim().stats().total().programs)
}

#[test]
fn swapping_hot_and_cold_data_wears_blocks_evenly_for_few_programs() {
    for dies in [(1, 1), (2, 2)] {
        let worn = |settings: &[(&str, &str)]| {
            let mut host = filled(dies, settings);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            work(&mut host, &mut rng, scaled(12_000, 60_000) * dies.0 * dies.1);
            host.compare_all();
            host.check();
            wear(&mut host)
        };
        let ((without, programs), (with, more)) = (worn(&[]), worn(&SWAP));
        println!("{dies:?}: {without:.2} and {with:.2} erases, {programs} and {more} programs");
        assert!(with < 0.5 * without, "{dies:?}: {with} of {without} erases");
        assert!((more as f64) < 1.1 * programs as f64, "{dies:?}: {more} for {programs} programs");
    }
}

#[test]
fn erase_counts_are_on_flash_and_a_power_cut_at_rest_loses_none() {
    let mut host = filled((1, 1), &SWAP);
    let blocks = host.plug.geometry().blocks();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for is_closed in [false, true, false] {
        work(&mut host, &mut rng, 3_000);
        if is_closed {
            host.close().unwrap();
        }
        host.restart(|_| ()).unwrap();
        host.check();
    }
    host.compare_all();
    let mut said = 0;
    for block in (2..blocks).map(Block) {
        let page = host.plug.geometry().page(block, 0);
        let erased = host.plug.sim().erases_of(block);
        if let SpareRead::Written(spare) = host.plug.sim().read_spare(page, Op::new(Time::ZERO, Purpose::Host)).0 {
            // The format's own erase is not counted, where there was one.
            assert!(spare.aux == erased || spare.aux + 1 == erased, "{block}: {} of {erased}", spare.aux);
            said += 1;
        }
    }
    assert!(said > 60, "{said}");
}

#[test]
fn power_cuts_among_swaps_lose_nothing() {
    for cut in 0..scaled(6, 60) {
        let mut host = filled((1, 1), &[("last.wear", "swap"), ("last.wear-lag", "1")]);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(cut));
        work(&mut host, &mut rng, 3_000);
        assert!(host.counter("wear_collections") > 10);
        for _ in 0..scaled(20, 100) {
            host.plug.arm(below(&mut rng, 120));
            let all = u64::from(host.logical_pages());
            while host.plug.cut_at().is_none() {
                if host.write(below(&mut rng, all / 16) as u32, 1, false).is_err() {
                    break;
                }
            }
            host.plug.disarm();
            host.power_back();
            host.recover().unwrap();
        }
        host.compare_all();
    }
}
