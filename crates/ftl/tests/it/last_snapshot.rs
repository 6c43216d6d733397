//! The snapshot that LAST++ writes when it is closed, and when a start believes it.

use crate::common::{Host, chips, config, most_pages, scaled, small};
use phelsuma_ftl::{Config, FtlError, RecoveryReport, recover};
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Geometry, Kind, Page, Purpose, Spare, Time};

/// The label of a snapshot's pages.
const SNAPSHOT: u8 = 5;

/// One die, and four on two channels.
fn geometries() -> [Geometry; 2] {
    [small(16, 128, 1, 1), small(8, 300, 2, 2)]
}

/// A drive that has been written over, with trims that no flush has made durable.
fn used(geometry: Geometry, change: impl Fn(&mut Config)) -> Host {
    let mut config = config("last++", most_pages("last++", geometry));
    change(&mut config);
    let mut host = Host::new(chips(geometry), config, 1);
    host.overwrite().unwrap();
    host.write(0, 40, true).unwrap();
    (0..60).for_each(|n| host.write(n * n % host.logical_pages(), 1, n % 2 == 0).unwrap());
    host.trim(5, 3).unwrap();
    host
}

/// The power fails at rest and is back: how the drive comes up. It is there then, and what it shows was looked at.
fn start(host: &mut Host) -> RecoveryReport {
    host.plug.pull(host.at);
    host.power_back();
    let (_, report) = recover(&mut host.plug, &host.config, Time::ZERO).unwrap();
    host.plug.pull(Time::ZERO);
    host.power_back();
    host.recover().unwrap();
    report
}

fn is_from_snapshot(report: &RecoveryReport) -> bool {
    let has = |name| report.steps.iter().any(|step| step.name == name);
    assert!(has("read the snapshot") || has("scan log blocks"), "{report:?}");
    !has("scan log blocks")
}

/// The pages of the snapshot, the seal last.
fn snapshot(host: &mut Host) -> Vec<(Page, Spare)> {
    let mut pages = host.plug.pages_of(Kind::Map);
    pages.retain(|(_, spare)| spare.stream == SNAPSHOT);
    pages.sort_by_key(|(_, spare)| spare.seq);
    assert_eq!(pages.last().unwrap().1.key, 0, "the seal is the last page");
    pages
}

fn checkpoints(host: &mut Host) -> u64 {
    host.plug.sim().stats().of(Purpose::Checkpoint).programs
}

#[test]
fn a_start_after_a_close_reads_the_snapshot_and_scans_nothing() {
    for geometry in geometries() {
        let mut host = used(geometry, |_| ());
        let after_cut = start(&mut host);
        assert!(!is_from_snapshot(&after_cut));
        host.close().unwrap();
        // As long as nothing is programmed, the same is found however often the power fails.
        for _ in 0..3 {
            let before = host.plug.sim().stats().total();
            let report = start(&mut host);
            assert!(is_from_snapshot(&report), "{report:?}");
            let spares = |report: &RecoveryReport| report.steps.iter().map(|step| step.spare_reads).sum::<u64>();
            assert!(spares(&report) < spares(&after_cut), "{report:?} {after_cut:?}");
            let after = host.plug.sim().stats().total();
            assert_eq!((after.programs, after.erases), (before.programs, before.erases));
        }
        // Nor is another written.
        let before = checkpoints(&mut host);
        host.close().unwrap();
        assert_eq!(checkpoints(&mut host), before);
        host.overwrite().unwrap();
        host.close().unwrap();
        assert!(checkpoints(&mut host) > before && is_from_snapshot(&start(&mut host)));
    }
}

/// A request, on a drive that was closed and stays in use or has come up from its snapshot, and the next start.
fn behind_a_close(config: &dyn Fn(&mut Config), request: fn(&mut Host) -> Result<(), FtlError>) {
    for (geometry, starts) in geometries().into_iter().flat_map(|geometry| [(geometry, false), (geometry, true)]) {
        let mut host = used(geometry, config);
        host.close().unwrap();
        if starts {
            assert!(is_from_snapshot(&start(&mut host)));
        }
        request(&mut host).unwrap();
        let report = start(&mut host);
        assert!(!is_from_snapshot(&report), "{report:?}");
        host.compare_all();
        host.check();
    }
}

const REQUESTS: [fn(&mut Host) -> Result<(), FtlError>; 5] = [
    |host| host.write(9, 1, true),
    |host| host.write(64, 20, false),
    |host| host.trim(0, 256),
    |host| host.trim(70, 2).and_then(|()| host.flush()),
    |host| host.overwrite(),
];

#[test]
fn whatever_is_written_makes_a_snapshot_void() {
    REQUESTS.into_iter().for_each(|request| behind_a_close(&|_| (), request));
}

#[test]
fn a_snapshot_that_cannot_be_read_in_full_is_none() {
    for geometry in geometries() {
        for which in 0..2 {
            let mut host = used(geometry, |_| ());
            host.close().unwrap();
            let pages = snapshot(&mut host);
            let (page, _) = pages[if which == 0 { pages.len() - 1 } else { which - 1 }];
            host.restart(|plug| plug.sim().decay(page, Decay::Uncorrectable)).unwrap();
            host.check();
            host.compare_all();
            host.overwrite().unwrap();
            host.compare_all();
        }
    }
}

/// What comes up without the seal is what comes up with it.
#[test]
fn a_close_that_is_cut_anywhere_and_what_follows_it_lose_nothing() {
    for geometry in geometries() {
        let mut host = used(geometry, |_| ());
        host.plug.pull(host.at);
        host.power_back();
        for cut in 0..u64::from(scaled(24, 200)) {
            let mut host = host.fork(cut);
            host.recover().unwrap();
            host.plug.arm(cut);
            let mut act = || {
                host.write(3, 2, true)?;
                host.close()?;
                host.write(100, 3, false)?;
                host.close()
            };
            let _ = act();
            host.plug.disarm();
            if host.plug.cut_at().is_none() {
                host.plug.pull(host.at);
            }
            host.power_back();
            host.recover().unwrap();
            host.overwrite().unwrap();
            host.compare_all();
            host.check();
        }
    }
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn a_snapshot_is_believed_that_is_not_so_any_more() {
        for rule in [Barrier::SnapshotClosesBlocks, Barrier::SealIsYoungest] {
            let goes_wrong = |forgets: Option<Barrier>| {
                let run = || behind_a_close(&|config| config.forgets = forgets, |host| host.write(9, 1, true));
                std::panic::catch_unwind(run).is_err()
            };
            assert!(goes_wrong(Some(rule)), "{rule:?}");
            assert!(!goes_wrong(None));
        }
    }
}
