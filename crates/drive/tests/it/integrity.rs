//! DFTL's integrity methods on a drive with a clock, and in the crash laboratory.

use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, Points, Promise, Subject, Sweep, Workload};
use phelsuma_drive::{Arrival, Drive};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::sim::{EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{Geometry, Purpose, SimNand, Timing};
use phelsuma_trace::{Op, PageRequest};

const SECOND: u64 = 1_000_000_000;

fn config(ftl: &str, settings: &[(&str, &str)], logical_pages: u32) -> Config {
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set_all(settings).unwrap();
    Config::new(ftl, composition, logical_pages, 1)
}

/// Translation pages that a drive has written after each of these requests, which arrive in these seconds.
fn written_after(requests: &[(u64, Op, u64)]) -> Vec<u64> {
    let nand =
        SimNand::new(&SimConfig::new(Geometry::new(4096, 32, 128, 1, 1).unwrap(), Timing::preset("gecko").unwrap()));
    let mut drive = Drive::format(nand, &config("dftl-timeout", &[], 2_048), Arrival::Timestamps).unwrap();
    let mut written = |&(second, op, first)| {
        let pages = if op == Op::Flush { 0 } else { 1 };
        let request = PageRequest {
            at_ns: second * SECOND,
            op,
            first,
            pages,
            partial_first: false,
            partial_last: false,
            handle: 0,
        };
        drive.submit(&request).unwrap();
        drive.nand().stats().of(Purpose::Translation).programs
    };
    requests.iter().map(&mut written).collect()
}

/// 2,048 entries are two translation pages.
#[test]
fn dirty_entries_are_written_when_they_are_thirty_seconds_old_whatever_the_host_does() {
    use Op::{Flush, Read, Write};
    // Under load: a write each second. A flush that was due at second 31 is done before the request of that second, one
    // translation page. At 61 there are two, with what the other has of seconds 40 on.
    let load: Vec<_> = (1..70).map(|second| (second, Write, if second < 40 { second } else { 2_000 })).collect();
    let written = written_after(&load);
    let at = |second: usize| written[second - 1];
    assert_eq!([at(30), at(31), at(60), at(61), at(69)], [0, 1, 1, 3, 3]);
    // A drive that waits does it when it was due, which a read after that finds done; and nothing, where nothing is
    // dirty.
    assert_eq!(written_after(&[(1, Write, 0), (20, Read, 0), (50, Read, 0), (500, Read, 0)]), [0, 0, 1, 1]);
    // A flush of the host's leaves nothing to be due.
    assert_eq!(written_after(&[(1, Write, 0), (2, Flush, 0), (90, Read, 0), (91, Write, 0)]), [0, 1, 1, 1]);
}

fn crash(ftl: &str, settings: &[(&str, &str)], workload: Workload) -> CrashReport {
    let settings: Vec<_> = settings.iter().copied().chain([("mapping.cache", "64")]).collect();
    let config = LabConfig {
        geometry: Geometry::new(512, 8, 128, 1, 1).unwrap(),
        timing: Timing::preset("gecko").unwrap(),
        ftl: config(ftl, &settings, 500),
        workload,
        writes: 60,
        points: Points::Some(120),
        faults: vec![Fault::Program(ProgramFault::NotStarted), Fault::Program(ProgramFault::TornSeen)],
        depth: 1,
        seed: 1,
        threads: 1,
    };
    let report = Sweep::new(&config).run().unwrap();
    assert!(!report.failed() && report.cuts > 100, "{ftl}: {report:?}");
    report
}

#[test]
fn what_cuts_take_back_is_counted_and_less_where_it_is_flushed_more_often() {
    let never = crash("dftl-noflush", &[("power", "fast")], Workload::Mixed).taken_back.unwrap();
    let often = crash("dftl-timeout", &[("integrity.timeout", "10")], Workload::Mixed).taken_back.unwrap();
    for taken in [&never, &often] {
        assert!(taken.branches > 50 && taken.pages.min <= taken.pages.median && taken.pages.median <= taken.pages.max);
        assert!(taken.pages.max <= taken.older.max + taken.unreadable.max);
    }
    assert!(never.pages.median > 2 * often.pages.median, "{never:?} {often:?}");
    assert!(never.pages.max > often.pages.max, "{never:?} {often:?}");
    // The other recovery, and the other methods, take nothing back, and do not count.
    for (ftl, settings) in [
        ("dftl-noflush", &[][..]),
        ("dftl-timeout", &[("power", "synchronize")]),
        ("dftl-page", &[]),
        ("dftl-req", &[]),
    ] {
        assert!(crash(ftl, settings, Workload::Large).taken_back.is_none(), "{ftl}");
    }
}

/// The first spare area of a block that an erase has met in part may be as before: its pages are named, and blank.
/// Where only flushed writes are promised they are read errors, and nothing is wrong for good.
#[test]
fn a_block_that_is_erased_in_part_is_taken_for_what_it_was_where_one_page_of_it_is_read() {
    let config = LabConfig {
        geometry: Geometry::new(512, 5, 96, 1, 1).unwrap(),
        timing: Timing::preset("gecko").unwrap(),
        ftl: config("dftl-noflush", &[("power", "fast"), ("mapping.cache", "64")], 192),
        workload: Workload::Skewed,
        writes: 300,
        points: Points::Every,
        faults: vec![Fault::Erase(EraseFault::PartialMixed)],
        depth: 1,
        seed: 2,
        threads: 2,
    };
    let report = Sweep::new(&config).run().unwrap();
    assert!(!report.failed() && report.cuts > 60, "{report:?}");
}

#[test]
fn what_is_promised_is_what_the_method_flushes() {
    let cut = Fault::Program(ProgramFault::TornSeen);
    for (ftl, settings, promise) in [
        ("dftl-noflush", &[][..], Promise::Kept),
        ("dftl-noflush", &[("power", "fast")], Promise::Flushed),
        ("dftl-timeout", &[], Promise::Flushed),
        ("dftl-timeout", &[("power", "synchronize")], Promise::Kept),
        ("dftl-page", &[], Promise::Kept),
        ("dftl-req", &[], Promise::Kept),
    ] {
        assert_eq!(config(ftl, settings, 500).promise(cut), promise, "{ftl} {settings:?}");
    }
}
