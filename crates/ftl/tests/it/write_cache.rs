//! A write cache of each policy is a drive: what it reads, what it absorbs, how long it waits, what its FTL gets.

use crate::common::{Plug, config, plugged, small};
use phelsuma_ftl::{CachePolicy, Ftl, Hint, HostData, HostPage, Step, WriteCache, WriteRequest, format, recover};
use phelsuma_nand::{Content, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const POLICIES: [CachePolicy; 6] = [
    CachePolicy::Fifo,
    CachePolicy::Subset,
    CachePolicy::Sorted,
    CachePolicy::Prefix,
    CachePolicy::Lies,
    CachePolicy::Protected,
];
const PAGES: u32 = 300;
const CACHE_PAGES: u32 = 20;

struct Drive {
    nand: Plug,
    ftl: Box<dyn Ftl<Plug>>,
    at: Time,
}

impl Drive {
    fn new(ftl: &str, policy: CachePolicy) -> Self {
        let mut nand = plugged(small(16, 96, 1, 2));
        let cache = WriteCache { bytes: u64::from(CACHE_PAGES) * 512, policy, seed: 3 };
        let (ftl, at) = format(&mut nand, &config(ftl, PAGES).cached(Some(cache)), Time::ZERO).unwrap();
        Self { nand, ftl, at }
    }

    fn write(&mut self, first: u32, pages: u32, tag: u64) -> Time {
        let data = HostData::Numbered(tag);
        let request = WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None };
        self.ftl.write(&mut self.nand, &request, self.at).unwrap()
    }

    fn read(&mut self, first: u32, pages: u32) -> Vec<u64> {
        let mut found = Vec::new();
        let mut sink = |_: LogicalPage, page: HostPage<'_>| {
            found.push(match page {
                HostPage::Zeros => 0,
                HostPage::Data(Content::Hollow(tag)) => tag,
                other => panic!("{other:?}"),
            });
        };
        self.ftl.read(&mut self.nand, LogicalPage(first), pages, Purpose::Host, self.at, &mut sink).unwrap();
        found
    }

    fn mapped(&mut self, first: u32, pages: u32) -> Vec<bool> {
        let mut found = Vec::new();
        let mut sink = |_: LogicalPage, is_mapped: bool| found.push(is_mapped);
        self.ftl.find_mapped(&mut self.nand, LogicalPage(first), pages, self.at, &mut sink).unwrap();
        found
    }

    fn dirty(&mut self) -> u32 {
        self.ftl.write_cache().unwrap().look().dirty
    }

    fn counter(&self, name: &str) -> u64 {
        self.ftl.counters().iter().find(|counter| counter.name == name).unwrap().value
    }

    fn host_programs(&self) -> u64 {
        self.nand.stats().of(Purpose::Host).programs
    }
}

#[test]
fn behind_every_policy_a_drive_reads_what_was_written_last() {
    for (n, policy) in POLICIES.into_iter().enumerate() {
        for ftl in ["page", "geckoftl", "fast"] {
            let mut drive = Drive::new(ftl, policy);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(n as u64);
            let mut below = move |bound: u32| (random.next_u64() % u64::from(bound)) as u32;
            let mut model = vec![0u64; PAGES as usize];
            for number in 1..=4000u64 {
                // Some are longer than the cache.
                let pages = if below(20) == 0 { 1 + below(3 * CACHE_PAGES) } else { 1 + below(4) };
                let first = if below(2) == 0 { below(30) } else { below(PAGES - pages) };
                let range = first as usize..(first + pages) as usize;
                match below(20) {
                    0..10 => {
                        drive.at = drive.write(first, pages, number << 32);
                        model[range].iter_mut().zip(0..).for_each(|(page, n)| *page = (number << 32) + n);
                    }
                    10..13 => {
                        drive.ftl.trim(&mut drive.nand, LogicalPage(first), pages, drive.at).unwrap();
                        model[range].fill(0);
                    }
                    13 => {
                        let at = drive.ftl.flush(&mut drive.nand, drive.at).unwrap();
                        assert!(
                            at >= drive.at
                                && (drive.dirty() == 0) != (policy == CachePolicy::Lies && drive.dirty() > 0)
                        );
                        drive.at = at;
                    }
                    14 => {
                        let cache = drive.ftl.write_cache().unwrap();
                        drive.at = cache.force(&mut drive.nand, LogicalPage(first), pages, drive.at).unwrap();
                    }
                    15 => _ = drive.ftl.background_step(&mut drive.nand, drive.at).unwrap(),
                    16 => {
                        let mapped: Vec<bool> = model[range].iter().map(|tag| *tag != 0).collect();
                        assert_eq!(drive.mapped(first, pages), mapped, "{ftl}, {policy:?}, request {number}");
                    }
                    _ => assert_eq!(drive.read(first, pages), model[range], "{ftl}, {policy:?}, request {number}"),
                }
                assert!(drive.dirty() <= CACHE_PAGES);
            }
            assert_eq!(drive.read(0, PAGES), model, "{ftl}, {policy:?}");
            assert_eq!(drive.ftl.check(&mut drive.nand), [], "{ftl}, {policy:?}");
            drive.ftl.close(&mut drive.nand, drive.at).unwrap();
            let (mut mounted, _) = recover(&mut drive.nand, &config(ftl, PAGES), drive.at).unwrap();
            std::mem::swap(&mut drive.ftl, &mut mounted);
            assert_eq!(drive.read(0, PAGES), model, "{ftl}, {policy:?}: closed, and mounted without a cache");
        }
    }
}

#[test]
fn what_is_written_again_is_absorbed_and_a_flush_writes_it_once() {
    let mut drive = Drive::new("page", CachePolicy::Fifo);
    for number in 1..=100u64 {
        drive.write(7, 3, number << 32);
    }
    assert_eq!((drive.host_programs(), drive.dirty(), drive.counter("write_cache_absorbed")), (0, 3, 297));
    drive.ftl.flush(&mut drive.nand, drive.at).unwrap();
    assert_eq!((drive.host_programs(), drive.dirty()), (3, 0));
    drive.write(7, 3, 200 << 32);
    drive.ftl.trim(&mut drive.nand, LogicalPage(7), 3, drive.at).unwrap();
    assert_eq!((drive.host_programs(), drive.counter("write_cache_dropped")), (3, 3));
}

/// The logical pages on flash, in the order in which they were programmed.
fn programmed(drive: &mut Drive) -> Vec<u32> {
    let op = Op::new(drive.at, Purpose::Host);
    let mut written: Vec<(u64, u32)> = (0..drive.nand.geometry().pages() as u32)
        .filter_map(|page| match drive.nand.read_spare(Page(page), op).0 {
            SpareRead::Written(spare) if spare.kind == Kind::User => Some((spare.seq, spare.key)),
            _ => None,
        })
        .collect();
    written.sort_unstable();
    written.into_iter().map(|(_, key)| key).collect()
}

#[test]
fn a_sorted_cache_writes_out_by_number_and_what_comes_meanwhile_next() {
    let mut drive = Drive::new("page", CachePolicy::Sorted);
    let mut came: Vec<u32> = (0..CACHE_PAGES).map(|n| n * 77 % PAGES).collect();
    // Neighbours are written out together. One that has left is written again, and one comes behind a neighbour.
    came[7] = came[3] + 1;
    let meanwhile = [came[3], came[3] + 2].into_iter().chain((0..CACHE_PAGES).map(|n| n * 91 % PAGES + 1));
    let meanwhile: Vec<u32> = meanwhile.filter(|page| *page == came[3] || !came.contains(page)).collect();
    let mut first = came.clone();
    first.sort_unstable();
    came.iter().for_each(|page| drive.at = drive.write(*page, 1, 1 << 32));
    // Pages behind all of them push the round on until those have left. The first is a neighbour of the round's last.
    let mut pushed = first[first.len() - 1] + 1;
    while !programmed(&mut drive).contains(&(came[3] + 1)) {
        drive.at = drive.write(pushed, 1, 1 << 32);
        pushed += 1;
    }
    meanwhile.iter().for_each(|page| drive.at = drive.write(*page, 1, 1 << 32));
    let written = programmed(&mut drive);
    assert_eq!(written[..first.len()], first, "the first round");
    let next = &written[first.len()..];
    assert!(next.len() > 2 && next.is_sorted(), "the next round: {next:?}");
    // What a flush has written out is not in turn any more.
    drive.ftl.flush(&mut drive.nand, drive.at).unwrap();
    let (before, last) = (programmed(&mut drive).len(), written[written.len() - 1]);
    (0..=CACHE_PAGES).for_each(|n| drive.at = drive.write((last + n * 7) % PAGES, 1, 2 << 32));
    let mut round: Vec<u32> = (0..CACHE_PAGES).map(|n| (last + n * 7) % PAGES).collect();
    round.sort_unstable();
    let written = programmed(&mut drive);
    assert!(written.len() > before && round.starts_with(&written[before..]), "{:?}", &written[before..]);
}

/// A write is done at once while there is room, and as fast as the flash is when there is none.
#[test]
fn a_write_waits_for_room_and_for_nothing_else() {
    let mut drive = Drive::new("page", CachePolicy::Fifo);
    let begun = drive.at;
    let waits: Vec<u64> = (0..200).map(|page| (drive.write(page, 1, 1 << 32).0) - begun.0).collect();
    assert!(waits[..CACHE_PAGES as usize].iter().all(|wait| *wait == 0), "{waits:?}");
    assert!(waits.is_sorted(), "a write overtakes one that waits: {waits:?}");
    // Two dies of a program each millisecond, and an erase each 16 pages of 1.5 ms.
    let (last, programs) = (waits[199] as f64 / 1e6, f64::from(200 - CACHE_PAGES));
    let expected = programs / 2.0 + programs / 16.0 * 1.5 / 2.0;
    assert!((last - expected).abs() < 4.0, "{last} ms where {expected} are expected: {waits:?}");
    assert!(drive.counter("write_cache_waits") > 0);
}

#[test]
fn idle_time_empties_a_cache_that_is_written_out_early_and_no_other() {
    for policy in POLICIES {
        let mut drive = Drive::new("page", policy);
        drive.write(3, 5, 1 << 32);
        while let Step::Did(at) = drive.ftl.background_step(&mut drive.nand, drive.at).unwrap() {
            drive.at = at;
        }
        let empties = matches!(policy, CachePolicy::Fifo | CachePolicy::Protected);
        assert_eq!(drive.dirty(), if empties { 0 } else { 5 }, "{policy:?}");
    }
}

/// Its RAM is stated, as large as it may be.
#[test]
fn the_ledger_has_the_cache() {
    let drive = Drive::new("page", CachePolicy::Fifo);
    let ledger = drive.ftl.ram();
    let of = |name| ledger.all().find(|(of, _)| *of == name).map(|(_, bytes)| bytes);
    // Twenty pages, and a request of thirty-two.
    assert_eq!(of("buffer.write_cache"), Some((u64::from(CACHE_PAGES) + 32) * 512));
    assert!(of("index.write_cache").is_some_and(|bytes| bytes > 0));
}
