//! The integrity methods of DFTL (LAST++ section 5.3): how many translation pages each writes, computed here, and what
//! a recovery from translation pages alone brings back.

use crate::common::{Host, Plug, chips, config, most_pages, plugged, small};
use phelsuma_ftl::{Config, Ftl, Hint, HostData, HostPage, RecoveryReport, Step, WriteRequest, format, recover};
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Op, Purpose, SpareRead, Time};

const SECOND: u64 = 1_000_000_000;

/// Entries of a translation page of 512 bytes.
const ENTRIES: u32 = 128;

/// 640 logical pages, which are five translation pages, on 1,024; and a cache for all entries, so that none must go.
struct Drive {
    config: Config,
    ftl: Box<dyn Ftl<Plug>>,
    nand: Plug,
    at: Time,
    tag: u64,
}

impl Drive {
    fn new(ftl: &str, settings: &[(&str, &str)]) -> Self {
        let mut config = config(ftl, 5 * ENTRIES);
        config.composition.set("mapping.cache", "640").unwrap();
        config.composition.set_all(settings).unwrap();
        let mut nand = plugged(small(16, 64, 1, 1));
        let (ftl, at) = format(&mut nand, &config, Time::ZERO).unwrap();
        Self { config, ftl, nand, at, tag: 0 }
    }

    /// Writes pages; the tag of the first.
    fn write(&mut self, first: u32, pages: u32) -> u64 {
        self.tag += 1_000;
        let data = HostData::Numbered(self.tag);
        let request = WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None };
        self.at = self.ftl.write(&mut self.nand, &request, self.at).unwrap();
        self.tag
    }

    fn flush(&mut self) {
        self.at = self.ftl.flush(&mut self.nand, self.at).unwrap();
    }

    /// The tag of a page; 0 for zeros, and none where it cannot be read.
    fn read(&mut self, page: u32) -> Option<u64> {
        let mut found = None;
        let mut sink = |_: LogicalPage, page: HostPage<'_>| {
            found = match page {
                HostPage::Zeros => Some(0),
                HostPage::Data(Content::Hollow(tag)) => Some(tag),
                HostPage::Data(Content::Bytes(_)) => panic!("somebody else's page"),
                HostPage::Unreadable => None,
            };
        };
        self.ftl.read(&mut self.nand, LogicalPage(page), 1, Purpose::Host, self.at, &mut sink).unwrap();
        found
    }

    /// The power fails at rest, and is back.
    fn cut(&mut self) -> RecoveryReport {
        self.nand.sim().power_cycle();
        let (ftl, report) = recover(&mut self.nand, &self.config, Time::ZERO).unwrap();
        assert!(report.is_within_bound());
        (self.ftl, self.at) = (ftl, report.done);
        report
    }

    fn translation_pages_written(&self) -> u64 {
        self.nand.stats().of(Purpose::Translation).programs
    }

    fn counter(&self, name: &str) -> u64 {
        self.ftl.counters().iter().find(|counter| counter.name == name).unwrap().value
    }

    /// Whether some block has data of both logical pages.
    fn share_a_block(&mut self, a: u32, b: u32) -> bool {
        let geometry = *self.nand.geometry();
        (0..geometry.blocks()).map(Block).any(|block| {
            let holds = |nand: &mut Plug, key: u32| {
                (0..geometry.pages_per_block()).any(|index| {
                    let spare = nand.read_spare(geometry.page(block, index), Op::new(Time::ZERO, Purpose::Recovery)).0;
                    matches!(spare, SpareRead::Written(spare) if (spare.kind, spare.key) == (Kind::User, key))
                })
            };
            holds(&mut self.nand, a) && holds(&mut self.nand, b)
        })
    }
}

/// Four requests of 4 + 4 + 1 + 1 pages. The second is of translation pages 0 and 1: 126 and 127 of the one, 128 and
/// 129 of the other. The others are of one each: 0, 0 and 2.
fn four_requests(drive: &mut Drive) {
    for (first, pages) in [(0, 4), (126, 4), (5, 1), (300, 1)] {
        drive.write(first, pages);
    }
}

#[test]
fn each_method_writes_as_many_translation_pages_as_it_says() {
    // PAGE: one after each of 4 + 4 + 1 + 1 pages. REQ: one for each translation page of a request, 1 + 2 + 1 + 1.
    for (ftl, written, of) in [
        ("dftl-noflush", 0, ""),
        ("dftl-page", 10, "flushed_after_host_writes"),
        ("dftl-req", 5, "flushed_after_host_writes"),
    ] {
        let mut drive = Drive::new(ftl, &[]);
        four_requests(&mut drive);
        assert_eq!(drive.translation_pages_written(), written, "{ftl}");
        if !of.is_empty() {
            assert_eq!(drive.counter(of), written, "{ftl}");
        }
        assert_eq!(drive.counter("dirty_entries"), if written == 0 { 4 + 4 + 1 + 1 } else { 0 }, "{ftl}");
        // Nothing is dirty with those two, and a scan finds the dirty ones.
        drive.flush();
        assert_eq!(drive.translation_pages_written(), written, "{ftl}");
    }
    // The entries that a recovery from translation pages alone is to find, a flush of the host's writes: pages 0, 1 and
    // 2 of the table.
    for ftl in ["dftl-noflush", "dftl-timeout"] {
        let mut drive = Drive::new(ftl, &[("power", "fast")]);
        four_requests(&mut drive);
        assert_eq!(drive.translation_pages_written(), 0, "{ftl}");
        drive.flush();
        assert_eq!((drive.translation_pages_written(), drive.counter("flushed_for_host_flushes")), (3, 3), "{ftl}");
    }
}

/// The reserve is for what REQ flushes at once: not for every translation page of the drive.
#[test]
fn a_request_over_every_translation_page_needs_no_reserve_for_all_of_them() {
    let geometry = small(16, 512, 1, 1);
    // A cache for all entries: none of them goes before it is flushed.
    let all_cached = |ftl: &str| {
        let pages = most_pages(ftl, geometry) * 9 / 10;
        let mut config = config(ftl, pages);
        config.composition.set("mapping.cache", &pages.to_string()).unwrap();
        Host::new(chips(geometry), config, 1)
    };
    let reserve = |ftl: &str| all_cached(ftl).ftl.unwrap().shape().reserve_blocks;
    // Sixteen translation pages are a block.
    assert!(reserve("dftl-req") <= reserve("dftl-page") + 2);
    let mut host = all_cached("dftl-req");
    let pages = host.logical_pages();
    let parts = u64::from(pages.div_ceil(ENTRIES));
    assert!(parts > 2 * 16, "{parts} translation pages");
    for round in 1..4 {
        host.write(0, pages, false).unwrap();
        // Where a request is cut, a translation page is flushed with its first entries and with the rest. From the second
        // round on collections flush most of them.
        let flushed = host.counter("flushed_after_host_writes");
        assert!((parts..=round * (parts + parts / 4)).contains(&flushed), "{flushed} of {parts}");
    }
    host.check();
    host.restart(|_| ()).unwrap();
    host.compare_all();
}

#[test]
fn a_timeout_counts_from_the_first_change_and_also_under_load() {
    let mut drive = Drive::new("dftl-timeout", &[]);
    assert_eq!(drive.ftl.due(), None);
    let begun = drive.at;
    four_requests(&mut drive);
    let due = Time(begun.0 + 30 * SECOND);
    assert_eq!(drive.ftl.due(), Some(due));
    // More is written all the time; that puts nothing off.
    drive.at = Time(begun.0 + 29 * SECOND);
    drive.write(500, 1);
    assert_eq!(drive.ftl.due(), Some(due));
    let (early, nand) = (Time(due.0 - 1), &mut drive.nand);
    assert_eq!(drive.ftl.background_step(nand, early).unwrap(), Step::Nothing);
    assert_eq!(drive.translation_pages_written(), 0);
    // Translation pages 0, 1, 2 and 3.
    assert!(matches!(drive.ftl.background_step(&mut drive.nand, due).unwrap(), Step::Did(done) if done > due));
    assert_eq!((drive.translation_pages_written(), drive.counter("flushed_at_timeouts")), (4, 4));
    assert_eq!((drive.ftl.due(), drive.counter("dirty_entries"), drive.counter("timeouts")), (None, 0, 1));
    drive.at = Time(begun.0 + 100 * SECOND);
    drive.write(0, 1);
    assert_eq!(drive.ftl.due(), Some(Time(begun.0 + 130 * SECOND)));
}

#[test]
fn what_was_not_flushed_is_as_it_was_and_what_was_is_there() {
    for ftl in ["dftl-noflush", "dftl-timeout"] {
        let mut drive = Drive::new(ftl, &[("power", "fast")]);
        let flushed = drive.write(0, 3);
        drive.flush();
        let (again, new) = (drive.write(1, 1), drive.write(9, 1));
        assert_eq!([0, 1, 2, 9].map(|page| drive.read(page)), [flushed, again, flushed + 2, new].map(Some));
        let report = drive.cut();
        assert_eq!(report.lost_entries, 0, "{ftl}");
        assert_eq!([0, 1, 2, 9].map(|page| drive.read(page)), [flushed, flushed + 1, flushed + 2, 0].map(Some));
    }
    // With the other recovery and with the other methods it is all there.
    for (ftl, power) in [
        ("dftl-noflush", "synchronize"),
        ("dftl-timeout", "synchronize"),
        ("dftl-page", "fast"),
        ("dftl-page", "synchronize"),
        ("dftl-req", "fast"),
        ("dftl-req", "synchronize"),
    ] {
        let mut drive = Drive::new(ftl, &[("power", power)]);
        let first = drive.write(0, 3);
        let again = drive.write(1, 1);
        assert_eq!(drive.cut().lost_entries, 0, "{ftl}");
        assert_eq!([0, 1, 2].map(|page| drive.read(page)), [first, again, first + 2].map(Some), "{ftl} {power}");
    }
}

/// Page 7 is written again and not flushed, and the block that its translation page names is erased and written anew.
/// Then the power is cut. How many dangling entries were found.
fn page_seven_is_erased(drive: &mut Drive) -> u64 {
    for first in (0..5 * ENTRIES).step_by(16) {
        drive.write(first, 16);
    }
    // It comes among pages of the last translation page, and its own has no others that are ever written again.
    drive.write(7, 1);
    for page in 600..615 {
        drive.write(page, 1);
    }
    drive.flush();
    assert!(drive.share_a_block(7, 600));
    drive.write(7, 1);
    // All pages beside it are written again, until its block is collected. The flushes before victims are released take
    // along the dirty entries of their translation pages: those of the last alone.
    for _ in 0..40 {
        for page in 600..615 {
            drive.write(page, 1);
        }
    }
    assert!(drive.counter("collections") > 0);
    drive.cut().lost_entries
}

#[test]
fn an_entry_that_names_what_was_erased_is_a_read_error_and_never_another_pages_data() {
    let mut drive = Drive::new("dftl-noflush", &[("power", "fast")]);
    let lost = page_seven_is_erased(&mut drive);
    let unreadable = (600..615).filter(|page| drive.read(*page).is_none()).count();
    assert_eq!((lost, drive.read(7)), (1 + unreadable as u64, None));
    // Pages that were not written again are as they were: sixteen pages a request, of which the first was the first
    // 1,000.
    for page in (0..600).chain(615..640).filter(|page| *page != 7) {
        assert_eq!(drive.read(page), Some(1_000 * u64::from(page / 16 + 1) + u64::from(page % 16)), "page {page}");
    }
    // It stays so, until it is written.
    assert_eq!(drive.cut().lost_entries, 0);
    assert_eq!(drive.read(7), None);
    let tag = drive.write(7, 1);
    drive.flush();
    drive.cut();
    assert_eq!(drive.read(7), Some(tag));
}

/// A collection moves pages that were flushed long ago. Their new places are in translation pages when the power fails.
#[test]
fn what_a_collection_moves_is_flushed_before_its_victim_is_released() {
    for ftl in ["dftl-noflush", "dftl-timeout", "dftl-page", "dftl-req"] {
        let mut drive = Drive::new(ftl, &[("power", "fast")]);
        let mut tags = vec![0; 5 * ENTRIES as usize];
        for page in 0..5 * ENTRIES {
            tags[page as usize] = drive.write(page, 1);
        }
        drive.flush();
        // Every other page again: all blocks are half live, and the live pages move.
        for page in (0..5 * ENTRIES).step_by(2).chain((0..5 * ENTRIES).step_by(4)) {
            drive.write(page, 1);
        }
        let moved = drive.counter("pages_moved");
        assert!(moved > 100 && drive.counter("flushed_for_collections") > 0, "{ftl}: {moved}");
        drive.cut();
        for page in (1..5 * ENTRIES).step_by(2) {
            assert_eq!(drive.read(page), Some(tags[page as usize]), "{ftl}: page {page}");
        }
    }
}

#[test]
fn a_drive_that_loses_what_is_not_flushed_says_so() {
    for (ftl, settings, loses) in [
        ("dftl", &[][..], false),
        ("dftl-noflush", &[], false),
        ("dftl-noflush", &[("power", "fast")], true),
        ("dftl-timeout", &[], true),
        ("dftl-timeout", &[("power", "synchronize")], false),
        ("dftl-page", &[], false),
        ("dftl-req", &[], false),
    ] {
        let drive = Drive::new(ftl, settings);
        assert_eq!(drive.ftl.is_safe_when_flushed(), loses, "{ftl} {settings:?}");
        assert_eq!(drive.config.composition.may_lose_what_is_not_flushed(), loses, "{ftl} {settings:?}");
    }
}

/// Writes that were not flushed when a drive mounted from its translation pages are gone for good, and a scan would
/// bring them back.
#[test]
fn a_drive_keeps_its_kind_of_recovery() {
    let mut drive = Drive::new("dftl-noflush", &[("power", "fast")]);
    drive.write(0, 1);
    drive.nand.sim().power_cycle();
    drive.config.composition.set("power", "synchronize").unwrap();
    assert!(recover(&mut drive.nand, &drive.config, Time::ZERO).is_err());
}

/// A request that writes the whole drive over, so that collection uses blocks again that held the old data. The power
/// is cut in the middle, at different operations. Each page is old or new then.
fn goes_wrong_in_a_long_request(prepare: &dyn Fn(&mut Config)) -> Option<u64> {
    (50..1_200).step_by(50).find(|operations| {
        let mut config = config("dftl-req", 5 * ENTRIES);
        config.composition.set("mapping.cache", "640").unwrap();
        prepare(&mut config);
        let mut host = Host::new(chips(small(16, 64, 1, 1)), config, 1);
        for _ in 0..2 {
            host.write(0, 5 * ENTRIES, false).unwrap();
        }
        host.plug.arm(*operations);
        let _ = host.write(0, 5 * ENTRIES, false);
        if host.plug.cut_at().is_none() {
            // It does not come to so many.
            return false;
        }
        host.power_back();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.recover().unwrap())).is_err()
    })
}

#[test]
fn a_request_that_is_cut_leaves_each_page_old_or_new_however_long_it_is() {
    assert_eq!(goes_wrong_in_a_long_request(&|_| ()), None);
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn without_its_entries_flushed_a_long_request_takes_the_older_pages_along() {
        let forgets = |config: &mut Config| config.forgets = Some(Barrier::RequestFlushedBeforeReuse);
        let wrong = goes_wrong_in_a_long_request(&forgets);
        println!("cut at operation {wrong:?}");
        assert!(wrong.is_some(), "nobody notices");
    }

    /// The host's read is the second line.
    #[test]
    fn an_entry_that_is_believed_names_another_pages_data_and_the_key_tells() {
        let mut drive = Drive::new("dftl-noflush", &[("power", "fast")]);
        drive.config.forgets = Some(Barrier::StaleEntriesGivenUp);
        let lost = page_seven_is_erased(&mut drive);
        assert_eq!((lost, drive.read(7)), (0, None));
    }
}
