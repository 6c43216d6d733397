//! GeckoRec's block log: what a mount saves by it, and what becomes of a drive whose log fails.

use crate::common::{Host, Plug, Step, below, chips, config, most_pages, small};
use phelsuma_ftl::{Config, RecoveryReport, recover};
use phelsuma_nand::sim::{Decay, EraseFault, ProgramFault};
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, Spare, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const LOG: &str = "geckoftl+log";
const ANEW: &str = "block log written anew";

fn host_on(geometry: Geometry, share: f64, prepare: &dyn Fn(&mut Config), seed: u64) -> Host {
    let mut config = config(LOG, (f64::from(most_pages(LOG, geometry)) * share) as u32);
    prepare(&mut config);
    Host::new(chips(geometry), config, seed)
}

fn host(share: f64) -> Host {
    host_on(small(16, 160, 1, 1), share, &|_| {}, 1)
}

/// Some steps, with the power on.
fn work(host: &mut Host, steps: u32, rng: &mut Xoshiro256PlusPlus) {
    for _ in 0..steps {
        host.step(&Step::by_chance(rng, host.logical_pages())).unwrap();
    }
}

/// The pages of the log that can be read, the oldest first.
fn log_pages(host: &mut Host) -> Vec<(Page, Spare)> {
    let mut pages = host.plug.pages_of(Kind::BlockLog);
    pages.sort_by_key(|(_, spare)| spare.seq);
    pages
}

/// What a mount of the same flash reports.
fn report_of(host: &Host) -> RecoveryReport {
    recover(&mut Plug::from(host.plug.copy()), &host.config, Time::ZERO).unwrap().1
}

fn is_written_anew(report: &RecoveryReport) -> bool {
    report.steps.iter().any(|step| step.name == ANEW)
}

fn cut(host: &mut Host) {
    host.step(&Step::Wait).unwrap();
    let at = host.at;
    host.plug.pull(at);
    host.power_back();
}

/// Ages of blocks are no reason to read all of them at a mount: first pages are read later, each once.
#[test]
fn ages_of_blocks_are_read_while_the_drive_serves() {
    let learned: &dyn Fn(&mut Config) = &|config| config.composition.set("victim", "cost-benefit-learned").unwrap();
    let mut host = host_on(small(16, 400, 1, 1), 0.7, learned, 1);
    for _ in 0..2 {
        host.overwrite().unwrap();
    }
    cut(&mut host);
    let report = report_of(&host);
    let step = report.steps.iter().find(|step| step.name.starts_with("1 ")).unwrap();
    assert!(!is_written_anew(&report) && step.spare_reads < 110, "{}", step.spare_reads);
    host.recover().unwrap();
    let unread = |host: &Host| {
        host.ftl.as_ref().unwrap().ram().papers().any(|(name, bytes)| name == "blocks.times_to_read" && bytes > 0)
    };
    assert!(unread(&host));
    for page in 0..1_200 {
        host.write(page, 1, false).unwrap();
    }
    assert!(!unread(&host));
    host.compare_all();
}

#[test]
fn a_mount_reads_the_log_and_few_blocks() {
    // Tables of one page, and of several.
    for (geometry, most) in [(small(16, 160, 1, 1), 110), (small(8, 4_000, 1, 1), 500), (small(8, 4_000, 2, 2), 500)] {
        let mut host = host_on(geometry, 0.8, &|_| {}, 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for _ in 0..2 {
            host.overwrite().unwrap();
        }
        work(&mut host, 500, &mut rng);
        for _ in 0..3 {
            cut(&mut host);
            let report = report_of(&host);
            assert!(!is_written_anew(&report) && report.is_within_bound());
            let step = report.steps.iter().find(|step| step.name.starts_with("1 ")).unwrap();
            let metadata = host.plug.pages_of(Kind::Translation).len() + host.plug.pages_of(Kind::Gecko).len();
            let metadata = metadata as u64 / u64::from(geometry.pages_per_block()) + 20;
            assert!(step.spare_reads < most + metadata, "{} spare areas, {metadata} of metadata", step.spare_reads);
            assert!(step.reads > 0);
            host.recover().unwrap();
            work(&mut host, 300, &mut rng);
            host.compare_all();
        }
    }
}

#[test]
fn the_log_is_counted_and_in_the_ledger() {
    let mut host = host(0.8);
    for _ in 0..3 {
        host.overwrite().unwrap();
    }
    let pages = host.counter("block_log_pages");
    let blocks = u64::from(3 * host.logical_pages() / 16);
    assert!(pages > 3 && pages < blocks, "{pages} pages of the log for {blocks} blocks");
    let ledger = host.ftl.as_ref().unwrap().ram();
    assert!(ledger.all().any(|entry| entry == ("block_log.table", 40)));
}

/// A drive lives through cuts after which the newest page of its log has gone bad, or an older one. Panics at an error.
fn decays(prepare: &dyn Fn(&mut Config), seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = host_on(small(16, 160, 1, 1), 0.9, prepare, seed);
    host.overwrite().unwrap();
    for round in 0..40 {
        let steps = below(&mut rng, 300) as u32;
        work(&mut host, steps, &mut rng);
        cut(&mut host);
        let pages = log_pages(&mut host);
        let newest = pages.last().unwrap().0;
        let page = if round % 4 == 3 { pages[below(&mut rng, pages.len() as u64) as usize].0 } else { newest };
        let bit = below(&mut rng, 4_000);
        let decay = [Decay::Uncorrectable, Decay::Data(bit), Decay::Spare(bit as u32)][round % 3];
        let mut sim = host.plug.copy();
        sim.decay(page, decay);
        host.plug.replace(sim);
        if page == newest && host.config.name == LOG {
            assert!(is_written_anew(&report_of(&host)), "the newest page is bad by {decay:?}, and the log is believed");
        }
        host.recover().unwrap();
        host.compare_all();
    }
    host.overwrite().unwrap();
    host.compare_all();
    host.check();
}

#[test]
fn a_log_whose_newest_page_has_gone_bad_is_not_believed() {
    (1..=3).for_each(|seed| decays(&|_| {}, seed));
}

#[test]
fn a_log_that_was_written_anew_is_believed_again() {
    let mut host = host_on(small(8, 4_000, 1, 1), 0.6, &|_| {}, 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    host.overwrite().unwrap();
    cut(&mut host);
    let newest = log_pages(&mut host).last().unwrap().0;
    let mut sim = host.plug.copy();
    sim.decay(newest, Decay::Uncorrectable);
    host.plug.replace(sim);
    assert!(is_written_anew(&report_of(&host)));
    host.recover().unwrap();
    for _ in 0..4 {
        cut(&mut host);
        assert!(!is_written_anew(&report_of(&host)));
        host.recover().unwrap();
        work(&mut host, 100, &mut rng);
    }
    host.compare_all();
}

/// Blocks of the region fail, one after another, until the log is given up.
#[test]
fn a_log_whose_region_goes_bad_is_given_up() {
    for (seed, geometry) in [(1, small(16, 160, 1, 1)), (2, small(16, 240, 2, 2)), (3, small(8, 4_000, 1, 1))] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut host = host_on(geometry, 0.8, &|_| {}, seed);
        let region: Vec<Block> = (0..geometry.blocks())
            .map(Block)
            .skip(2)
            .take_while(|block| {
                let ftl = host.ftl.as_ref().unwrap();
                let mut looks = vec![phelsuma_ftl::BlockLook::default(); 1];
                ftl.look_at_blocks(*block, &mut looks) && looks[0].kind == Some(Kind::BlockLog)
            })
            .collect();
        assert!(region.len() >= 4, "{} blocks", region.len());
        host.overwrite().unwrap();
        for (n, block) in region.iter().enumerate() {
            let mut sim = host.plug.copy();
            if below(&mut rng, 2) == 0 {
                sim.break_at_program(*block)
            } else {
                sim.break_at_erase(*block)
            };
            host.plug.replace(sim);
            for _ in 0..3 {
                work(&mut host, 700, &mut rng);
                host.compare_all();
                host.check();
            }
            if n % 2 == 0 {
                cut(&mut host);
                assert!(report_of(&host).is_within_bound());
                host.recover().unwrap();
            }
        }
        for _ in 0..6 {
            host.overwrite().unwrap();
        }
        let ftl = host.ftl.as_ref().unwrap();
        assert!(ftl.counters().iter().all(|counter| counter.name != "block_log_pages"), "the log is kept");
        assert!(region.iter().all(|block| host.plug.is_bad(*block)), "blocks are left that a mount may believe");
        for _ in 0..3 {
            cut(&mut host);
            host.recover().unwrap();
            work(&mut host, 300, &mut rng);
            host.compare_all();
        }
    }
}

/// The power fails between two blocks that are marked bad when the log is given up. Panics at an error.
fn given_up(prepare: &dyn Fn(&mut Config), seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = host_on(small(16, 160, 1, 1), 0.9, prepare, seed);
    host.overwrite().unwrap();
    // Until the newest page is one in the middle of a block.
    let newest = loop {
        work(&mut host, 1, &mut rng);
        let (page, _) = *log_pages(&mut host).last().unwrap();
        if log_pages(&mut host).len() > 40 && host.plug.geometry().index_of(page) == 5 {
            break host.plug.geometry().block_of(page);
        }
    };
    let others: Vec<Block> = (2..6).map(Block).filter(|block| *block != newest).collect();
    let oldest = log_pages(&mut host).first().map(|(page, _)| host.plug.geometry().block_of(*page)).unwrap();
    let mut sim = host.plug.copy();
    sim.break_at_program(newest);
    // The two oldest cannot be erased: the third is left.
    let mut behind = others.clone();
    behind.sort_by_key(|block| (block.0 + 4 - oldest.0) % 4);
    behind.iter().take(2).for_each(|block| sim.break_at_erase(*block));
    host.plug.replace(sim);
    host.plug.marks_left = Some(3);
    for _ in 0..5_000 {
        let step = Step::by_chance(&mut rng, host.logical_pages());
        if let Err(error) = host.step(&step) {
            assert!(host.plug.cut_at().is_some(), "{error}");
        }
        if host.plug.cut_at().is_some() {
            break;
        }
    }
    assert!(host.plug.cut_at().is_some(), "the log is not given up");
    host.power_back();
    host.recover().unwrap();
    host.compare_all();
    host.overwrite().unwrap();
    host.compare_all();
    host.check();
}

#[test]
fn a_cut_while_the_log_is_given_up_leaves_no_older_one_to_believe() {
    (1..=4).for_each(|seed| given_up(&|_| {}, seed));
}

/// First pages of all blocks of the region but the newest have gone bad, and so has the newest page. So the log is in
/// doubt, and any block may have been written last. The power fails once the next block is erased. Panics at an error.
fn all_are_silent(prepare: &dyn Fn(&mut Config), seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = host_on(small(16, 160, 1, 1), 0.9, prepare, seed);
    host.overwrite().unwrap();
    let geometry = *host.plug.geometry();
    loop {
        work(&mut host, 20, &mut rng);
        let pages = log_pages(&mut host);
        if pages.len() > 50 && (3..9).contains(&geometry.index_of(pages[pages.len() - 1].0)) {
            break;
        }
    }
    cut(&mut host);
    let newest = log_pages(&mut host).last().unwrap().0;
    let first_pages: Vec<Page> =
        log_pages(&mut host).iter().map(|(page, _)| *page).filter(|page| geometry.index_of(*page) == 0).collect();
    assert_eq!(first_pages.len(), 4, "the region is not full");
    let mut sim = host.plug.copy();
    for page in first_pages.into_iter().filter(|page| geometry.block_of(*page) != geometry.block_of(newest)) {
        sim.decay(page, Decay::Uncorrectable);
    }
    sim.decay(newest, Decay::Uncorrectable);
    host.plug.replace(sim);
    host.plug.erase_faults = vec![EraseFault::Unacknowledged];
    host.plug.arm(0);
    assert!(host.recover().is_err() && host.plug.cut_at().is_some(), "the log is not written anew");
    host.power_back();
    host.plug.disarm();
    host.recover().unwrap();
    host.compare_all();
    host.overwrite().unwrap();
    host.compare_all();
    host.check();
}

#[test]
fn no_older_page_is_believed_where_every_other_block_is_in_doubt() {
    (1..=4).for_each(|seed| all_are_silent(&|_| {}, seed));
}

/// Cuts a few operations apart. Panics at an error.
fn cuts(prepare: &dyn Fn(&mut Config), seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut host = host_on(small(16, 160, 1, 1), 0.9, prepare, seed);
    host.overwrite().unwrap();
    let mut cuts = 0;
    while cuts < 200 {
        if host.ftl.is_some() {
            if let Err(error) = host.step(&Step::by_chance(&mut rng, host.logical_pages())) {
                assert!(host.plug.cut_at().is_some(), "{error}");
            }
        } else if let Err(error) = host.recover() {
            assert!(host.plug.cut_at().is_some(), "{error}");
        }
        if host.plug.cut_at().is_some() {
            cuts += 1;
            host.power_back();
        }
        if host.ftl.is_none() || cuts == 0 {
            host.plug.arm(below(&mut rng, 150));
        }
    }
    host.plug.disarm();
    if host.ftl.is_none() {
        host.recover().unwrap();
    }
    host.compare_all();
}

#[test]
fn cuts_at_any_operation_lose_nothing() {
    (1..=2).for_each(|seed| cuts(&|_| {}, seed));
}

/// The same steps over and over, each time cut at another operation of those requests that write a page of the log.
/// Programs that a cut meets do not begin, and erases are done. Panics at an error.
fn cuts_around_log_pages(prepare: &dyn Fn(&mut Config), seed: u64) {
    let geometry = if seed.is_multiple_of(2) { small(16, 240, 2, 2) } else { small(16, 160, 1, 1) };
    let begin = || {
        let mut host = host_on(geometry, 0.9, prepare, seed);
        host.overwrite().unwrap();
        (host, Xoshiro256PlusPlus::seed_from_u64(seed))
    };
    let (mut host, mut rng) = begin();
    let start = host.plug.operations;
    let mut operations = Vec::new();
    while operations.len() < 120 {
        let before = (host.counter("block_log_pages"), host.plug.operations);
        work(&mut host, 1, &mut rng);
        if host.counter("block_log_pages") > before.0 && host.plug.operations - before.1 < 40 {
            operations.extend(before.1..host.plug.operations);
        }
    }
    for operation in operations {
        let (mut host, mut rng) = begin();
        host.plug.program_faults = vec![ProgramFault::NotStarted];
        host.plug.erase_faults = vec![EraseFault::Unacknowledged];
        host.plug.arm(operation - start);
        while host.plug.cut_at().is_none() {
            let step = Step::by_chance(&mut rng, host.logical_pages());
            if let Err(error) = host.step(&step) {
                assert!(host.plug.cut_at().is_some(), "{error}");
            }
        }
        host.power_back();
        host.recover().unwrap();
        work(&mut host, 20, &mut rng);
    }
}

#[test]
fn cuts_around_pages_of_the_log_lose_nothing() {
    (1..=2).for_each(|seed| cuts_around_log_pages(&|_| {}, seed));
}

#[cfg(phelsuma_mutants)]
#[test]
fn mutants_of_the_block_log_go_wrong() {
    use phelsuma_ftl::Barrier;
    type Suffer = fn(&dyn Fn(&mut Config), u64);
    let tries: [(Barrier, Suffer); 3] = [
        (Barrier::LoggedBeforeOpened, cuts_around_log_pages),
        (Barrier::NewestLogPageFound, decays),
        (Barrier::OldestLogBlockFirst, given_up),
    ];
    for (barrier, suffer) in tries {
        let forget = |config: &mut Config| (config.forgets, config.name) = (Some(barrier), "mutant".into());
        let found = (1..=6)
            .find(|seed| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| suffer(&forget, *seed))).is_err());
        println!("{barrier:?}: seed {found:?}");
        assert!(found.is_some(), "{barrier:?} is forgotten, and nothing goes wrong");
    }
}
