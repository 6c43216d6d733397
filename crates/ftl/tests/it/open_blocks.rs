//! How long a block of the users' is open, and what a recovery reads for it.

use crate::common::{Host, Step, below, chips, config, most_pages, small};
use phelsuma_ftl::Config;
use phelsuma_nand::{Geometry, Nand, Purpose, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn drive(preset: &str, dies: u32) -> (Geometry, Config) {
    let geometry = small(32, 400 * u64::from(dies), 1, dies);
    (geometry, config(preset, most_pages(preset, geometry) / 10 * 8))
}

/// A drive on which all pages were overwritten, and then a few of them for so long that streams of the others rest.
fn rested(drive: (Geometry, Config)) -> Host {
    rested_for(4, drive)
}

/// The same, where as many pages are written meanwhile as so many drives have.
fn rested_for(drive_writes: u32, (geometry, config): (Geometry, Config)) -> Host {
    let mut host = Host::new(chips(geometry), config, 1);
    host.overwrite().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let pages = host.logical_pages();
    for n in 0..(2 + drive_writes) * pages {
        let of = if n < 2 * pages { pages } else { pages / 50 };
        host.write(below(&mut rng, of.into()) as u32, 1, false).unwrap();
    }
    host.flush().unwrap();
    host
}

/// The spare areas that a recovery reads after a cut, and those of them that it reads for the pages written last.
fn read_by_recovery(host: &mut Host) -> (u64, u64) {
    host.plug.pull(host.at);
    host.power_back();
    let reads = |host: &Host| host.plug.stats().of(Purpose::Recovery).spare_reads;
    let before = reads(host);
    let (_, report) = phelsuma_ftl::recover(&mut host.plug, &host.config, Time::ZERO).unwrap();
    let last = report.steps.iter().find(|step| step.name == "6 entries of the pages written last").unwrap();
    let read = reads(host) - before;
    host.recover().unwrap();
    (read, last.spare_reads)
}

#[test]
fn a_stream_that_rests_does_not_hold_a_recovery_back() {
    for (preset, dies) in [("geckoftl+lifetimes", 1), ("geckoftl+lifetimes", 4), ("geckoftl+lifetimes+mapping-log", 1)]
    {
        let mut host = rested(drive(preset, dies));
        assert!(host.counter("blocks_taken_over") > 0, "{preset} on {dies} dies");
        host.check();
        let blocks = u64::from(host.plug.geometry().blocks());
        let (read, last) = read_by_recovery(&mut host);
        // The first page of each block, and some two for each in all other steps. On four dies the drive has more blocks
        // than a choice of a victim scores: 3.28 for each block were read. Where all are scored it is less than 3.125.
        let most = 3 * blocks + if dies == 1 { blocks / 8 } else { blocks * 3 / 8 };
        assert!(
            preset.ends_with("log") || read < most,
            "{preset} on {dies} dies: {read} spare areas of {blocks} blocks are read"
        );
        // Whatever a log has of pages: where the pages written last are looked for, less than one for each block.
        assert!(last < blocks, "{preset} on {dies} dies: {last} of {blocks} blocks for the pages written last");
        host.overwrite().unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn blocks_that_streams_share_survive_cuts() {
    for (preset, dies) in [("geckoftl+lifetimes", 1), ("geckoftl+lifetimes+mapping-log+slices", 2)] {
        let mut host = rested(drive(preset, dies));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
        for _ in 0..20 {
            for _ in 0..60 {
                host.step(&Step::by_chance(&mut rng, host.logical_pages())).unwrap();
            }
            host.step(&Step::Cut).unwrap();
        }
        host.compare_all();
    }
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn a_recovery_reads_more_where_blocks_stay_open() {
        let (geometry, config) = drive("geckoftl+lifetimes", 1);
        let forgetful = Config { forgets: Some(Barrier::OpenBounded), ..config.clone() };
        let bounded = read_by_recovery(&mut rested_for(8, (geometry, config))).0;
        let unbounded = read_by_recovery(&mut rested_for(8, (geometry, forgetful))).0;
        // The last pages of half of the blocks.
        assert!(unbounded > bounded + 200, "{unbounded} and {bounded} spare areas are read");
    }
}
