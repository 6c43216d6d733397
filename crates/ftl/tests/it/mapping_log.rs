//! The mapping log on drives where its merges take longer than from one spill to the next.

use crate::common::{Host, Step, below, chips, config, most_pages, scaled, small};
use phelsuma_ftl::{Config, recover};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{Block, Geometry, Kind, Page, Spare, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

fn drive(preset: &str) -> (Geometry, Config) {
    let geometry = small(32, 3200, 1, 1);
    let mut config = config(preset, most_pages(preset, geometry) / 10 * 9);
    config.composition.set("mapping.cache", "128").unwrap();
    (geometry, config)
}

/// Overwrites all pages by chance, hardly any of them twice: few entries of the log give way, so folds go on during
/// merges. Checks the drive now and then.
fn overwritten((geometry, config): (Geometry, Config)) -> Host {
    let mut host = Host::new(chips(geometry), config, 1);
    let pages = host.logical_pages();
    let scattered = |n: u32| (u64::from(n) * 7919 % u64::from(pages)) as u32;
    for n in 0..2 * pages {
        host.write(scattered(n), 1, false).unwrap();
        if n % 64 == 0 {
            host.write(scattered(n + pages - pages / 9), 1, false).unwrap();
        }
        if n % (pages / 16) == 0 {
            host.check();
        }
    }
    host
}

/// A recovery between what a merge and a fold have reported, and trims of what waits in both.
#[test]
fn a_cut_in_the_midst_of_a_merge_loses_nothing() {
    let mut host = overwritten(drive("geckoftl+long-log+slices"));
    let pages = host.logical_pages();
    let scattered = |n: u32| (u64::from(n) * 5003 % u64::from(pages)) as u32;
    for round in 0..12 {
        for n in 0..pages / 40 {
            host.write(scattered(n + round * pages / 40), 1, false).unwrap();
        }
        host.trim(scattered(round), 3).unwrap();
        host.step(&Step::Cut).unwrap();
    }
    host.compare_all();
}

#[test]
fn a_fold_in_the_midst_of_a_merge_reports_no_page_again() {
    for preset in ["geckoftl+long-log", "geckoftl+long-log+slices", "geckoftl+long-log+lifetimes+slices"] {
        let mut host = overwritten(drive(preset));
        assert!(host.counter("log_pages") > 64, "{preset}: {}", host.counter("log_pages"));
        host.compare_all();
    }
}

/// A page of a run goes bad, again and again: while the drive serves its data alone, at a mount the spare area in turn.
fn loses_pages_of_runs(mut host: Host) {
    for round in 0..scaled(24, 400) {
        let pages = host.plug.pages_of(Kind::MappingLog);
        let (page, _) = pages[round as usize * 7919 % pages.len()];
        host.plug.spoiled_data.insert(page);
        host.compare_all();
        if round % 2 == 0 {
            host.plug.spoiled.insert(page);
        }
        host.restart(|_| {}).unwrap();
        host.compare_all();
        for n in 0..host.logical_pages() / 60 {
            host.write((n * 37 + round) % host.logical_pages(), 1, false).unwrap();
        }
        host.plug.spoiled.clear();
        host.plug.spoiled_data.clear();
    }
    host.check();
}

/// Nothing else has the entries of such a page.
#[test]
fn a_page_of_a_run_that_goes_bad_is_made_again() {
    for preset in ["geckoftl+long-log", "geckoftl+long-log+slices"] {
        loses_pages_of_runs(overwritten(drive(preset)));
    }
}

type Pages = Vec<(Page, Spare)>;

fn pages(of: &Pages) -> impl Iterator<Item = Page> + '_ {
    of.iter().map(|(page, _)| *page)
}

/// The parity pages of the longest run on flash, and its others.
fn longest_run(host: &mut Host) -> (Pages, Pages) {
    host.flush().unwrap();
    let pages = host.plug.pages_of(Kind::MappingLog);
    let of_run = |version| pages.iter().copied().filter(move |(_, spare)| spare.version == version);
    let longest = pages.iter().map(|(_, spare)| spare.version).max_by_key(|version| of_run(*version).count());
    let (parity, own): (Pages, Pages) = of_run(longest.unwrap()).partition(|(_, spare)| spare.key & 1 << 30 != 0);
    assert!(own.len() > 8 && !parity.is_empty(), "{} pages", own.len());
    (parity, own)
}

/// All parity pages of the longest run are lost, as after cuts. Behind the next mount any of its pages may be.
fn loses_parity_and_then_a_page(mut host: Host) {
    let (parity, own) = longest_run(&mut host);
    host.restart(|plug| plug.spoiled.extend(pages(&parity))).unwrap();
    host.compare_all();
    host.restart(|plug| plug.spoiled_data.extend([own[1].0])).unwrap();
    host.compare_all();
}

#[test]
fn a_parity_page_that_was_torn_is_written_again() {
    loses_parity_and_then_a_page(overwritten(drive("geckoftl+long-log")));
}

/// A page of the longest run is lost, and behind each further mount its neighbour: its data alone, or its spare area too.
#[test]
fn a_page_of_a_run_that_has_gone_bad_is_programmed_again() {
    for spare_too in [false, true] {
        let mut host = overwritten(drive("geckoftl+long-log"));
        let (_, own) = longest_run(&mut host);
        for (page, _) in &own[1..6] {
            host.restart(|plug| {
                let spoiled = if spare_too { &mut plug.spoiled } else { &mut plug.spoiled_data };
                spoiled.insert(*page);
            })
            .unwrap();
            host.compare_all();
        }
        host.check();
    }
}

/// A page of the longest run is lost, and so are all parity pages of that. At the next mount no older entries answer for its
/// own, and those of its neighbours can be read.
#[test]
fn a_page_of_a_run_that_is_lost_costs_its_own_entries_alone() {
    for place in [1, 5] {
        let mut host = overwritten(drive("geckoftl+long-log"));
        let (parity, own) = longest_run(&mut host);
        let lost = own.iter().find(|(_, spare)| spare.key & !(1 << 31) == place).unwrap().0;
        host.restart(|plug| plug.spoiled_data.extend(pages(&parity).chain([lost]))).unwrap();
        host.compare_or_unreadable();
        let (unreadable, entries) = (host.unreadable(), 58);
        // Logical pages between its entries as well: nothing shows that it had none of them.
        assert!((1..20 * entries).contains(&unreadable), "{unreadable} read errors");
    }
}

/// With room for a trim of many pages in one run.
fn of_few_pages(preset: &str) -> Config {
    let mut config = config(preset, 308);
    config.composition.set("mapping.cache", "64").unwrap();
    config
}

/// A trim of all pages of some blocks is cut after `first` operations, and leaves a run that reads well until the power
/// fails again. That is in the recovery that has read it, after `again` operations.
fn trimmed_by_a_run_that_turns_bad(config: Config, (first, again): (u64, u64)) {
    let trimmed = 64..96;
    let mut host = Host::new(chips(small(4, 512, 1, 1)), config, 1);
    for _ in 0..8 {
        host.overwrite().unwrap();
    }
    host.write(0, 96, false).unwrap();
    host.plug.program_faults = vec![ProgramFault::Unstable];
    host.plug.erase_faults = vec![EraseFault::NotStarted];
    host.plug.arm(first);
    let _ = host.trim(trimmed.start, 32).and_then(|()| host.flush());
    if host.plug.cut_at().is_none() {
        host.plug.pull(host.at);
    }
    host.power_back();
    // Of user blocks those alone can be erased that the run has emptied.
    let user = host.plug.pages_of(Kind::User);
    let block_of = |page: Page| Block(page.0 / 4);
    let of_user: BTreeSet<Block> = user.iter().map(|(page, _)| block_of(*page)).collect();
    let (newest, _) = host.plug.newest_and_older(Kind::User);
    let is_newest_of_trimmed = |page: &Page, key: u32| trimmed.contains(&key) && newest.contains(page);
    let emptied = user.iter().filter(|(page, spare)| is_newest_of_trimmed(page, spare.key));
    let emptied: BTreeSet<Block> = emptied.map(|(page, _)| block_of(*page)).collect();
    host.plug.failing_to_erase = &of_user - &emptied;
    host.plug.program_faults = vec![ProgramFault::TornSeen];
    host.plug.erase_faults = vec![EraseFault::Unacknowledged];
    host.plug.arm(again);
    // The reads that check it may be cut as well: they evict entries.
    let _ = host.recover();
    if host.plug.cut_at().is_none() {
        host.plug.pull(host.at);
    }
    host.plug.failing_to_erase.clear();
    host.power_back();
    host.recover().unwrap();
    host.compare_all();
}

/// Until the run is copied, what it trims is needed: without the run it is mapped.
#[test]
fn what_a_run_trims_that_turns_bad_is_not_erased() {
    for preset in ["geckoftl+long-log", "geckoftl+long-log+wear+slices"] {
        for (first, again) in (0..24).map(|n| (n / 4, n % 4)) {
            trimmed_by_a_run_that_turns_bad(of_few_pages(preset), (first, again));
        }
    }
}

/// Translation pages go bad between cuts that come so close together that the scan reaches far back. Each but the first
/// and the last of a block: those look like torn ones. How many did.
fn loses_translation_pages_between_cuts(config: Config, seed: u64) -> u32 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = Host::new(chips(small(4, 512, 1, 1)), config, seed);
    for _ in 0..3 {
        host.overwrite().unwrap();
    }
    let mut spoiled = 0;
    for round in 0..scaled(40, 400) {
        for _ in 0..below(&mut rng, 12) {
            host.write(below(&mut rng, 308) as u32, 1, false).unwrap();
        }
        host.plug.pull(host.at);
        host.power_back();
        let (newest, _) = host.plug.newest_and_older(Kind::Translation);
        let written: BTreeSet<Page> = host.plug.pages_of(Kind::Translation).into_iter().map(|(page, _)| page).collect();
        for page in newest.into_iter().filter(|page| page.0 % 4 != 0 && written.contains(&Page(page.0 + 1))) {
            let mut other = host.fork(u64::from(round));
            other.plug.spoiled.insert(page);
            let (ftl, report) = recover(&mut other.plug, &other.config, Time::ZERO).unwrap();
            (other.ftl, other.at, other.acked) = (Some(ftl), report.done, report.done);
            other.compare_or_unreadable();
            other.check_but_for_bad_pages();
            spoiled += 1;
        }
        // Recoveries are cut as well, soon after they have begun to write.
        for _ in 0..below(&mut rng, 3) {
            host.plug.arm(below(&mut rng, 12));
            let _ = host.recover();
            if host.plug.cut_at().is_none() {
                host.plug.pull(host.at);
            }
            host.power_back();
        }
        host.recover().unwrap();
    }
    spoiled
}

/// A page that may have been in flight, and that only the lost version names, is copied as well.
#[test]
fn a_translation_page_that_is_lost_between_cuts_costs_read_errors_at_most() {
    for preset in ["geckoftl+long-log", "geckoftl", "geckoftl+long-log+wear+slices"] {
        let spoiled: u32 = (17..=24).map(|seed| loses_translation_pages_between_cuts(of_few_pages(preset), seed)).sum();
        assert!(spoiled > 20, "{preset}: {spoiled} translation pages");
    }
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn a_fold_that_reports_again_what_a_merge_has_reported_is_found() {
        let (geometry, config) = drive("geckoftl+long-log");
        let forgetful = Config { forgets: Some(Barrier::MergesReportOnce), ..config };
        assert!(std::panic::catch_unwind(|| overwritten((geometry, forgetful))).is_err());
    }

    #[test]
    fn a_drive_that_erases_what_such_a_run_trims_is_found() {
        let fails = |cuts| {
            let config = Config { forgets: Some(Barrier::FallbacksHeld), ..of_few_pages("geckoftl+long-log") };
            std::panic::catch_unwind(|| trimmed_by_a_run_that_turns_bad(config, cuts)).is_err()
        };
        assert!((0..24).any(|n| fails((n / 4, n % 4))));
    }

    #[test]
    fn a_log_that_does_without_torn_parity_loses_entries() {
        let (geometry, config) = drive("geckoftl+long-log");
        let forgetful = Config { forgets: Some(Barrier::TornParityAgain), ..config };
        let host = std::panic::AssertUnwindSafe(overwritten((geometry, forgetful)));
        assert!(std::panic::catch_unwind(|| loses_parity_and_then_a_page({ host }.0)).is_err());
    }

    #[test]
    fn a_log_without_the_use_of_its_parity_loses_entries() {
        let (geometry, config) = drive("geckoftl+long-log");
        let forgetful = Config { forgets: Some(Barrier::LostPagesMadeAgain), ..config };
        let host = std::panic::AssertUnwindSafe(overwritten((geometry, forgetful)));
        assert!(std::panic::catch_unwind(|| loses_pages_of_runs({ host }.0)).is_err());
    }
}
