//! The snapshot that LAST++ writes when it is closed, and when a start believes it.

use crate::common::{Host, Plug, below, chips, config, most_pages, scaled, small};
use phelsuma_ftl::{Config, FtlError, HostPage, RecoveryReport, recover};
use phelsuma_nand::sim::Decay;
use phelsuma_nand::{Content, Geometry, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, SimNand, Spare, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The label of a snapshot's pages.
const SNAPSHOT: u8 = 5;

const AT: Op = Op { at: Time::ZERO, purpose: Purpose::Host };

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

/// The power fails at rest and is back: the report of the mount. The drive is there then, and its pages were checked.
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

/// The table of trims on flash says that the page is trimmed, and the log block's page is younger.
#[test]
fn a_snapshot_tells_of_a_page_that_was_trimmed_and_written_again() {
    for geometry in geometries() {
        let mut host = used(geometry, |_| ());
        host.flush().unwrap();
        host.write(6, 1, true).unwrap();
        host.close().unwrap();
        for _ in 0..2 {
            assert!(is_from_snapshot(&start(&mut host)));
            host.compare_all();
            host.check();
        }
        // Pages that are still trimmed, are.
        host.write(6, 1, true).unwrap();
        host.flush().unwrap();
        assert!(!is_from_snapshot(&start(&mut host)));
        host.compare_all();
    }
}

type Asked = fn(&mut Host) -> Result<(), FtlError>;

/// A request, on a drive that was closed and stays in use or has mounted from its snapshot, and the next start.
fn behind_a_close(config: &dyn Fn(&mut Config), request: Asked) {
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

const REQUESTS: [Asked; 5] = [
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

/// Pages that no FTL has written, with checksums that fit.
#[test]
fn whatever_a_snapshot_says_it_is_believed_or_not_and_nobody_panics() {
    let mut host = used(small(16, 128, 1, 1), |_| ());
    host.close().unwrap();
    let pages = snapshot(&mut host);
    let (seal, Spare { seq: last, .. }) = *pages.last().unwrap();
    let base = host.plug.copy();
    let mut read = base.clone();
    let bytes_of = |read: &mut SimNand, page| match read.read(page, AT).0 {
        PageRead::Written { content: Content::Bytes(bytes), .. } => bytes.to_vec(),
        other => panic!("a page of a snapshot reads as {other:?}"),
    };
    let pages: Vec<(Spare, Vec<u8>)> = pages.iter().map(|(page, spare)| (*spare, bytes_of(&mut read, *page))).collect();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut believed = 0;
    for trial in 0..scaled(300, 30_000) {
        let mut sim = base.clone();
        let geometry = *sim.geometry();
        let block = geometry.block_of(seal);
        sim.erase(block, AT).unwrap();
        let (which, edits) = (below(&mut rng, pages.len() as u64) as usize, trial % 4);
        for (index, (spare, bytes)) in pages.iter().enumerate() {
            let mut bytes = bytes.clone();
            if index + 1 == pages.len() {
                bytes[..8].copy_from_slice(&last.to_le_bytes());
            }
            for _ in 0..if index == which { edits } else { 0 } {
                let at = 4 * below(&mut rng, bytes.len() as u64 / 4) as usize;
                let from = 4 * below(&mut rng, bytes.len() as u64 / 4) as usize;
                let word = match below(&mut rng, 4) {
                    0 => 0u32.to_le_bytes(),
                    1 => u32::MAX.to_le_bytes(),
                    2 => (below(&mut rng, 4_000) as u32).to_le_bytes(),
                    _ => [bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]],
                };
                bytes[at..at + 4].copy_from_slice(&word);
            }
            let (content, seq) = (Content::Bytes(&bytes), last + 1 + index as u64);
            let spare = Spare { data_crc: content.crc(), seq, version: spare.version + 100, ..*spare };
            sim.program(geometry.page(block, index as u32), content, &spare, AT).unwrap();
        }
        let mut sim = Plug::from(sim);
        let Ok((mut ftl, report)) = recover(&mut sim, &host.config, Time::ZERO) else { continue };
        believed += u32::from(is_from_snapshot(&report));
        assert!(edits > 0 || is_from_snapshot(&report), "{report:?}");
        let mut sink = |_: LogicalPage, _: HostPage<'_>| {};
        let all = host.config.logical_pages;
        ftl.read(&mut sim, LogicalPage(0), all, Purpose::Host, Time::ZERO, &mut sink).unwrap();
        ftl.check(&mut sim);
    }
    let all = scaled(300, 30_000);
    assert!(believed > all / 4 && believed < all, "{believed} of {all} are believed");
}

/// A mount without the seal gives the same as one with it.
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
