//! The promises of a drive with a battery for announced cuts.
//!
//! How many programs do they take, also where some of them fail, and what comes back?

use crate::common::{Host, Plug, Step, chips, config, most_pages_of, scaled, small};
use phelsuma_ftl::FtlError;
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Op, Page, Purpose, SpareRead, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Entries of a translation page of 512 bytes.
const ENTRIES: u32 = 128;
/// Programs that may fail on battery.
const FAILURES: u32 = 4;

/// A drive with a cache of so many entries, `share` of what fits being logical pages.
fn dftl(geometry: Geometry, cache: u32, share: f64) -> Host {
    let mut config = config("dftl", 0);
    config.composition.set("mapping.cache", &cache.to_string()).unwrap();
    config.logical_pages = (f64::from(most_pages_of(config.composition, geometry)) * share) as u32;
    Host::new(chips(geometry), config, 1)
}

/// What dftl saves besides translation pages: their directory, the bitmap of live pages, the counters, the seal.
fn saved_pages(geometry: &Geometry, translation_pages: u32) -> u32 {
    let bytes = |n: u32| n.div_ceil(geometry.page_bytes());
    bytes(translation_pages * 4) + bytes(geometry.pages() as u32 / 8) + bytes(geometry.blocks() * 2) + 1
}

impl Host {
    fn battery_programs(&self) -> u32 {
        self.ftl.as_ref().unwrap().shape().battery_programs
    }

    /// The power fails, with `failing` programs failing on battery, and is back: how many programs that took.
    fn power_fails(&mut self, failing: u32) -> Result<u64, FtlError> {
        let before = self.plug.sim().stats().of(Purpose::Battery).programs;
        self.plug.failing_on_battery = failing;
        let done = self.ftl.as_mut().unwrap().power_fail(&mut self.plug, self.at)?;
        assert!(failing == 0 || self.plug.failing_on_battery < failing, "no program failed");
        self.plug.failing_on_battery = 0;
        let programs = self.plug.sim().stats().of(Purpose::Battery).programs - before;
        self.at = self.at.max(done);
        self.plug.pull(self.at);
        self.power_back();
        Ok(programs)
    }
}

#[test]
fn the_budget_of_a_battery_is_what_it_takes_at_the_worst_and_not_a_program_more() {
    for geometry in [small(32, 160, 1, 1), small(16, 320, 2, 2)] {
        for cache in [16, 20, 100] {
            for failing in 0..=FAILURES {
                let mut host = dftl(geometry, cache, 0.9);
                // An entry of as many translation pages as can be: the drive is empty, so nothing else needs the cache.
                let translation_pages = host.logical_pages().div_ceil(ENTRIES);
                let dirty = cache.min(translation_pages);
                assert!(dirty == if cache == 100 { translation_pages } else { cache });
                for part in 0..dirty {
                    host.write(part * ENTRIES, 1, false).unwrap();
                }
                let saved = saved_pages(&geometry, translation_pages);
                assert_eq!(host.battery_programs(), dirty + saved + FAILURES);
                assert_eq!(host.power_fails(failing).unwrap(), u64::from(dirty + saved + failing));
                host.recover().unwrap();
                host.compare_all();
                host.overwrite().unwrap();
                host.compare_all();
                host.check();
            }
        }
    }
}

#[test]
fn a_full_drive_can_pay_for_programs_that_fail_on_battery() {
    for (geometry, cache) in [(small(32, 160, 1, 1), 24), (small(32, 160, 1, 1), 200), (small(16, 320, 2, 2), 200)] {
        let mut host = dftl(geometry, cache, 0.75);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        host.overwrite().unwrap();
        host.overwrite().unwrap();
        for round in 0..scaled(8, 24) {
            for _ in 0..200 + round * 31 {
                let pages = host.logical_pages();
                host.step(&Step::by_chance(&mut rng, pages)).unwrap();
            }
            let budget = u64::from(host.battery_programs());
            let programs = host.power_fails(if round % 2 == 0 { FAILURES } else { 0 }).unwrap();
            assert!(programs <= budget, "{programs} of {budget}");
            host.recover().unwrap();
            host.compare_all();
        }
    }
}

/// A drive that can gain no space takes trims from its reserve, one translation page for each however small. The blocks
/// that the battery needs stay.
#[test]
fn trims_on_a_drive_that_is_full_leave_the_battery_what_it_needs() {
    let geometry = small(32, 160, 1, 1);
    for (cache, broken) in [(24, 3), (24, 4), (200, 3), (200, 4)] {
        let mut host = dftl(geometry, cache, 1.0);
        host.overwrite().unwrap();
        let mut sim = host.plug.copy();
        for block in (2..160).step_by(broken) {
            sim.break_at_erase(Block(block));
        }
        host.plug.replace(sim);
        assert!((0..4).any(|_| host.overwrite().is_err()), "the drive is not full");
        host.forgive_refused();
        let free = host.counter("free_blocks");
        // What power_fail needs: its translation pages, a block for where they begin, and one for each failure.
        let needed = u64::from((host.battery_programs() - FAILURES).div_ceil(32) + 1 + FAILURES);
        let mut refused = 0;
        for n in 0..host.logical_pages() {
            // Not next to each other: each in another translation page than the one before.
            let page = n * 1_009 % host.logical_pages();
            if let Err(error) = host.trim(page, 1) {
                assert!(matches!(error, FtlError::Full { .. }), "{error}");
                refused += 1;
                host.forgive_refused();
            }
            let left = host.counter("free_blocks");
            assert!(left >= needed, "{left} free blocks of {free} after trim {n}, and the battery needs {needed}");
            if refused > 20 {
                break;
            }
        }
        assert!(refused > 0, "there is room for every trim");
        host.power_fails(0).unwrap();
        host.recover().unwrap();
        host.compare_all();
    }
}

/// Of every third translation page, `which` of three, the newest copy.
fn some_newest(plug: &mut Plug, which: u32) -> Vec<Page> {
    let (newest, _) = plug.newest_and_older(Kind::Translation);
    newest.into_iter().skip(which as usize).step_by(3).collect()
}

fn work(host: &mut Host, rng: &mut Xoshiro256PlusPlus, steps: u32) {
    for n in 0..steps {
        let step = Step::by_chance(rng, host.logical_pages());
        if !matches!(step, Step::Read { .. }) {
            host.step(&step).unwrap();
        }
        if n % 300 == 0 {
            host.compare_or_unreadable();
        }
    }
    host.compare_or_unreadable();
}

/// What comes after damage: more requests, more cuts, and a drive that is as good as new once it is written anew.
fn go_on(host: &mut Host, rng: &mut Xoshiro256PlusPlus, round: u32) {
    for more in 0..3 {
        work(host, rng, 10 + 400 * round * more);
        host.cut_and_damage(|_| {}).unwrap();
    }
    host.overwrite().unwrap();
    host.compare_all();
    host.cut_and_damage(|_| {}).unwrap();
    host.compare_all();
}

#[test]
fn a_translation_page_that_went_bad_while_the_power_was_off_brings_nothing_old_back() {
    for (geometry, cache) in [(small(32, 160, 1, 1), 24), (small(32, 160, 1, 1), 200), (small(16, 320, 2, 2), 24)] {
        let mut host = dftl(geometry, cache, 0.9);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        host.overwrite().unwrap();
        for round in 0..scaled(6, 30) {
            work(&mut host, &mut rng, 600);
            let mut bad = 0;
            host.cut_and_damage(|plug| {
                let pages = some_newest(plug, round % 3);
                bad = pages.len() as u32;
                let mut sim = plug.copy();
                pages.iter().for_each(|page| sim.decay(*page, Decay::Data(77)));
                plug.replace(sim);
            })
            .unwrap();
            // The pages of the rest of the table are there.
            assert!((1..=bad * ENTRIES).contains(&host.unreadable()));
            go_on(&mut host, &mut rng, round);
        }
    }
}

#[test]
fn a_translation_page_that_can_not_say_whose_it_was_lets_no_older_one_win() {
    for (geometry, cache) in [(small(32, 160, 1, 1), 24), (small(32, 160, 1, 1), 200), (small(16, 320, 2, 2), 24)] {
        let mut host = dftl(geometry, cache, 0.9);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
        host.overwrite().unwrap();
        let mut unreadable = 0;
        for round in 0..scaled(6, 30) {
            work(&mut host, &mut rng, 600);
            host.cut_and_damage(|plug| {
                let geometry = *plug.geometry();
                let mut pages = some_newest(plug, round % 3);
                // The last page of a block may be one that a failed program left.
                pages.retain(|page| {
                    let next = Page(page.0 + 1);
                    let is_in_block = geometry.block_of(next) == geometry.block_of(*page);
                    let op = Op::new(Time::ZERO, Purpose::Recovery);
                    is_in_block && plug.read_spare(next, op).0 != SpareRead::Erased
                });
                plug.spoiled.extend(pages.into_iter().take(if round < 3 { 1 } else { 10 }));
            })
            .unwrap();
            unreadable += host.unreadable();
            // Until nothing is left of the bad page and of the page before it, without a record of the lost entries.
            for n in 0..5_000 {
                host.write(n % 64, 1, false).unwrap();
            }
            host.cut_and_damage(|_| {}).unwrap();
            go_on(&mut host, &mut rng, round);
        }
        assert!(unreadable > 0);
    }
}

#[test]
fn the_very_last_translation_page_is_missed_if_it_can_not_be_read() {
    let mut host = dftl(small(16, 200, 1, 1), 24, 0.9);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(13);
    host.overwrite().unwrap();
    // Wherever in a block it stands.
    for more in 0..40 {
        work(&mut host, &mut rng, 100 + more);
        host.cut_and_damage(|plug| {
            let last = plug.pages_of(Kind::Translation).into_iter().max_by_key(|(_, spare)| spare.seq);
            plug.spoiled.insert(last.unwrap().0);
        })
        .unwrap();
        assert!(host.unreadable() > 0);
        host.overwrite().unwrap();
        host.cut_and_damage(|_| {}).unwrap();
        host.compare_all();
    }
}

#[test]
fn a_translation_page_that_is_lost_in_a_collection_lets_no_older_one_win_after_a_cut() {
    for cache in [24, 200] {
        let mut host = dftl(small(32, 160, 1, 1), cache, 0.9);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(14);
        host.overwrite().unwrap();
        for round in 0..scaled(6, 30) {
            work(&mut host, &mut rng, 600);
            let pages = some_newest(&mut host.plug, round % 3);
            host.plug.spoiled.extend(pages);
            // Pages of the first quarter alone: the other translation pages are moved and not written.
            for n in 0..4_000 {
                let page = n * 37 % (host.logical_pages() / 4);
                host.write(page, 1, false).unwrap();
            }
            host.compare_or_unreadable();
            // A page that is bad still has not been met by a collection.
            host.plug.spoiled.clear();
            go_on(&mut host, &mut rng, round);
        }
    }
}
