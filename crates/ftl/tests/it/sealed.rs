//! What a battery saves besides mapping entries, and when a recovery believes it.

use crate::common::{Host, Step, chips, composition, most_pages_of, plugged, scaled, small};
use phelsuma_ftl::{Composition, Config, Preset, format, recover};
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Geometry, Kind, Page, Purpose, Spare, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// `dftl`, `mu-ftl-pvb`, and that with a tree of several levels of which next to nothing is cached.
fn with_a_battery() -> Vec<Composition> {
    let named = |name: &str, more: &[(&str, &str)]| {
        let mut composition = Preset::named(name).unwrap().composition;
        composition.set("mapping.cache", "24").unwrap();
        more.iter().for_each(|(name, value)| composition.set(name, value).unwrap());
        composition
    };
    let tall = [("mapping.fanout", "2"), ("mapping.nodes", "1")];
    let lazy = [tall[0], ("mapping.nodes", "4"), ("mapping.on-miss", "lazy")];
    vec![named("dftl", &[]), named("mu-ftl-pvb", &[]), named("mu-ftl-pvb", &tall), named("mu-ftl-pvb", &lazy)]
}

/// The same on one die and on four, as full as may be.
fn hosts() -> impl Iterator<Item = Host> {
    let geometries = [small(32, 256, 1, 1), small(16, 700, 2, 2)];
    with_a_battery().into_iter().flat_map(move |composition| {
        geometries.map(|geometry| {
            let most = most_pages_of(composition, geometry);
            assert!(most > 2_000, "{:?} leaves {most} pages", composition.names());
            Host::new(chips(geometry), Config::new("any", composition, most, 7), 1)
        })
    })
}

fn work(host: &mut Host, rng: &mut Xoshiro256PlusPlus, steps: u32) {
    for _ in 0..steps {
        let step = Step::by_chance(rng, host.logical_pages());
        host.step(&step).unwrap();
    }
}

/// The pages that the battery wrote at the last failure of the power, the seal last.
fn saved(host: &mut Host) -> Vec<(Page, Spare)> {
    let mut pages: Vec<(Page, Spare)> =
        [Kind::Bitmap, Kind::Translation].into_iter().flat_map(|kind| host.plug.pages_of(kind)).collect();
    pages.sort_by_key(|(_, spare)| spare.seq);
    let seal = pages.last().unwrap().1;
    assert_eq!((seal.kind, seal.key), (Kind::Bitmap, u32::MAX), "the seal is the last page of all");
    pages
}

fn recovery_reads(host: &mut Host) -> u64 {
    host.plug.sim().stats().of(Purpose::Recovery).reads
}

#[test]
fn a_recovery_reads_what_was_saved_and_not_the_table() {
    for mut host in hosts() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        host.overwrite().unwrap();
        work(&mut host, &mut rng, 600);
        let battery = |host: &mut Host| host.plug.sim().stats().of(Purpose::Battery).programs;
        let (before, budget) = (battery(&mut host), host.ftl.as_ref().unwrap().shape().battery_programs);
        let at = host.ftl.as_mut().unwrap().power_fail(&mut host.plug, host.at).unwrap();
        let programs = battery(&mut host) - before;
        assert!((1..=u64::from(budget)).contains(&programs), "{programs} of {budget}");
        host.at = host.at.max(at);
        host.plug.pull(host.at);
        host.power_back();
        // As long as nothing is programmed, the same is found however often the power fails.
        for _ in 0..3 {
            let before = host.plug.sim().stats().total();
            let (_, report) = recover(&mut host.plug, &host.config, Time::ZERO).unwrap();
            let reads = host.plug.sim().stats().total().reads - before.reads;
            assert!(reads < host.logical_pages().div_ceil(128).into(), "the table was read: {report:?}");
            assert_eq!(host.plug.sim().stats().total().programs, before.programs);
            host.plug.pull(Time::ZERO);
            host.power_back();
        }
        host.recover().unwrap();
        host.compare_all();
        // Reading has filled up the reserve. So another cut, without warning, finds the seal broken, and the table.
        host.plug.pull(host.at);
        host.power_back();
        host.recover().unwrap();
        host.overwrite().unwrap();
        host.compare_all();
        host.check();
    }
}

#[test]
fn whatever_of_it_goes_bad_the_table_still_tells_all() {
    for mut host in hosts() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        host.overwrite().unwrap();
        for round in 0..scaled(3, 40) {
            work(&mut host, &mut rng, 150);
            let at = host.ftl.as_mut().unwrap().power_fail(&mut host.plug, host.at).unwrap();
            host.at = host.at.max(at);
            host.plug.pull(host.at);
            host.power_back();
            // The seal, a page of the counters, the one before that.
            let pages = saved(&mut host);
            let page = pages[pages.len() - 1 - round as usize % 3].0;
            let mut sim = host.plug.copy();
            sim.decay(page, Decay::Data(5));
            host.plug.replace(sim);
            let reads = recovery_reads(&mut host);
            host.recover().unwrap();
            let least = host.logical_pages().div_ceil(128);
            assert!(recovery_reads(&mut host) - reads >= least.into(), "the table was not read");
            host.check();
            host.compare_all();
            if round % 2 == 0 {
                host.overwrite().unwrap();
                host.check();
            }
        }
        work(&mut host, &mut rng, 300);
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn an_old_seal_is_not_believed_once_anything_was_programmed() {
    for mut host in hosts() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        host.overwrite().unwrap();
        work(&mut host, &mut rng, 300);
        host.step(&Step::Cut).unwrap();
        // Nothing is lost that was written: the cache has room for it, and closing writes it.
        for page in 0..5 {
            host.write(page, 1, false).unwrap();
        }
        host.close().unwrap();
        host.plug.pull(host.at);
        host.power_back();
        let reads = recovery_reads(&mut host);
        host.recover().unwrap();
        assert!(recovery_reads(&mut host) - reads >= u64::from(host.logical_pages().div_ceil(128)));
        host.check();
        host.compare_all();
        host.overwrite().unwrap();
        host.compare_all();
    }
}

#[test]
fn a_tree_takes_less_ram_than_a_directory() {
    let geometry = Geometry::new(512, 64, 16_384, 1, 1).unwrap();
    let ram = |directory: &str| {
        let parts = [("mapping", "paged"), ("mapping.directory", directory), ("power", "battery")];
        let config = Config::new("any", composition(&parts), 600_000, 1);
        let mut nand = plugged(geometry);
        let (ftl, _) = format(&mut nand, &config, Time::ZERO).unwrap();
        let ledger = ftl.ram();
        let of = |name: &str| ledger.papers().find(|(other, _)| *other == name).map(|(_, bytes)| bytes);
        (ledger.all_total(), of("mapping.gmd"), of("mapping.root"), of("mapping.nodes"))
    };
    let (flat, tree) = (ram("flat"), ram("b-tree"));
    // 4,688 translation pages; 37 nodes above them, of which 8 are cached.
    assert_eq!((flat.1, flat.2, flat.3), (Some(4_688 * 4), None, None));
    assert_eq!((tree.1, tree.2, tree.3), (None, Some(37 * 4), Some(8 * 512)));
    assert!(tree.0 + 13_000 < flat.0, "{tree:?} {flat:?}");
}

/// A cut without warning to the battery: nothing is promised for the data. But a drive mounts, or says why not, and it
/// can be written over.
#[test]
fn a_cut_announced_to_nobody_ends_in_a_drive_that_works() {
    for mut host in hosts() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        host.overwrite().unwrap();
        for round in 0..scaled(2, 30) {
            let pages = host.logical_pages();
            host.plug.arm(u64::from(round) * 97 + 5);
            while host.plug.cut_at().is_none() {
                // An FTL that reads goes on whatever becomes of its programs: not on a chip without power.
                let step = Step::by_chance(&mut rng, pages);
                if !matches!(step, Step::Read { .. }) {
                    let _ = host.step(&step);
                }
            }
            host.power_back();
            let (ftl, report) = recover(&mut host.plug, &host.config, Time::ZERO).unwrap();
            host.ftl = Some(ftl);
            host.at = report.done;
            host.overwrite().unwrap();
            host.compare_all();
        }
    }
}
