//! Requests at the edges: nothing that is refused does anything, and nothing that fits is refused.

use crate::common::{
    Host, Step, chips, config, large_enough, most_pages, plugged, small, surviving, thorough, with_metadata,
};
use phelsuma_ftl::{Ftl, FtlError, Hint, HostData, HostPage, MappingPart, WriteRequest, format};
use phelsuma_nand::{LogicalPage, Nand, Purpose, Time};

fn host(preset: &str) -> Host {
    let geometry = with_metadata(preset, small(32, 40, 1, 1));
    let mut host = Host::new(chips(geometry), config(preset, 500), 1);
    host.write(0, 500, false).unwrap();
    host
}

/// Requests that reach past the end: first page, pages.
const BEYOND: &[(u32, u32)] = &[
    (500, 1),
    (499, 2),
    (0, 501),
    (501, 0),
    (u32::MAX, 0),
    (u32::MAX, 1),
    (1, u32::MAX),
    (u32::MAX, u32::MAX),
    (2, u32::MAX - 1),
];

fn out_of_range<T: std::fmt::Debug>(result: Result<T, FtlError>) {
    assert!(matches!(result, Err(FtlError::OutOfRange { logical_pages: 500, .. })), "{result:?}");
}

#[test]
fn requests_past_the_end_are_errors_and_change_nothing() {
    for preset in surviving() {
        let mut host = host(preset.name);
        let before = *host.plug.sim().stats();
        for (first, pages) in BEYOND {
            let first = LogicalPage(*first);
            let at = host.at;
            let ftl = host.ftl.as_mut().unwrap();
            let request = WriteRequest { first, pages: *pages, data: HostData::Hollow(77), hint: Hint::None };
            out_of_range(ftl.write(&mut host.plug, &request, at));
            out_of_range(ftl.trim(&mut host.plug, first, *pages, at));
            let mut sink = |_: LogicalPage, _: HostPage<'_>| panic!("a page of a refused read");
            out_of_range(ftl.read(&mut host.plug, first, *pages, Purpose::Host, at, &mut sink));
        }
        assert_eq!(*host.plug.sim().stats(), before, "a refused request has touched the flash");
        host.compare_all();
        host.check();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn the_last_page_is_in_range() {
    for preset in surviving() {
        let mut host = host(preset.name);
        host.write(499, 1, true).unwrap();
        host.compare(499, 1);
        host.trim(499, 1).unwrap();
        host.compare(499, 1);
    }
}

#[test]
fn requests_of_no_pages_do_nothing() {
    for preset in surviving() {
        let mut host = host(preset.name);
        let before = *host.plug.sim().stats();
        for first in [0, 250, 500] {
            for bytes in [false, true] {
                host.write(first, 0, bytes).unwrap();
            }
            host.trim(first, 0).unwrap();
            assert!(host.read(first, 0).is_empty());
        }
        host.flush().unwrap();
        assert_eq!(*host.plug.sim().stats(), before);
        host.compare_all();
    }
}

#[test]
fn data_of_the_wrong_length_are_refused_before_anything_is_written() {
    for preset in surviving() {
        let mut host = host(preset.name);
        let before = *host.plug.sim().stats();
        for (pages, given) in [(1, 0), (1, 511), (1, 513), (1, 1024), (3, 1024), (0, 512), (2, 1023)] {
            let data = vec![1; given];
            let request = WriteRequest { first: LogicalPage(4), pages, data: HostData::Bytes(&data), hint: Hint::None };
            let result = host.ftl.as_mut().unwrap().write(&mut host.plug, &request, host.at);
            assert_eq!(result, Err(FtlError::Length { given, pages, page_bytes: 512 }));
        }
        assert_eq!(*host.plug.sim().stats(), before);
        host.compare_all();
    }
}

#[test]
fn pages_never_written_read_as_zeros() {
    for preset in surviving() {
        let geometry = with_metadata(preset.name, small(32, 40, 1, 1));
        let mut host = Host::new(chips(geometry), config(preset.name, 500), 1);
        assert!(host.read(0, 500).iter().all(|tag| *tag == 0));
        host.step(&Step::Cut).unwrap();
        assert!(host.read(0, 500).iter().all(|tag| *tag == 0));
        host.trim(0, 500).unwrap();
        host.flush().unwrap();
        if preset.composition.page_mapped().is_some_and(|parts| parts.mapping == MappingPart::RamTable) {
            assert_eq!(host.counter("tombstones_written"), 0, "nothing was there to discard");
        }
    }
}

#[test]
fn bytes_come_back_byte_for_byte_through_collection_and_recovery() {
    for preset in surviving() {
        let geometry = large_enough(preset.name, small(32, 40, 2, 1));
        let most = most_pages(preset.name, geometry);
        let mut host = Host::new(chips(geometry), config(preset.name, most), 1);
        host.overwrite().unwrap();
        for n in 0..2 * u64::from(most) {
            let first = (n * n * 7919 % u64::from(most - 5)) as u32;
            host.write(first, 1 + n as u32 % 5, true).unwrap();
        }
        assert!(host.counter("pages_moved") > 0);
        host.compare_all();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn what_does_not_fit_names_the_largest_ratio_that_does() {
    // With lifetimes, how many blocks are open depends on the logical pages.
    for name in surviving().into_iter().map(|preset| preset.name).chain(["page+lifetimes"]) {
        for pages_per_block in [4, 16, 32, 100] {
            for (channels, dies) in [(1, 1), (1, 4), (2, 2), (8, 1)] {
                for blocks in [32, 41, 64, 150, 400] {
                    let geometry = small(pages_per_block, blocks, channels, dies);
                    let formats = |logical: u32| format(&mut plugged(geometry), &config(name, logical), Time::ZERO);
                    let Err(FtlError::DoesNotFit { usable_pages, largest_ratio, logical_pages, .. }) =
                        formats(u32::MAX)
                    else {
                        panic!("four billion pages fit {geometry:?}");
                    };
                    assert_eq!(logical_pages, u32::MAX);
                    let usable = u32::try_from(usable_pages).unwrap();
                    let of_ratio = (largest_ratio * geometry.pages() as f64) as u32;
                    let next = ((largest_ratio + 0.0001) * geometry.pages() as f64).ceil() as u32;
                    let what = format!("{name} on {geometry:?}: {largest_ratio}");
                    assert!(of_ratio <= usable && usable <= next, "{what}");
                    assert!(matches!(formats(next.max(usable + 1)), Err(FtlError::DoesNotFit { .. })), "{what}");
                    assert!(matches!(formats(usable + 1), Err(FtlError::DoesNotFit { .. })), "{what}");
                    assert!(matches!(formats(0), Err(FtlError::DoesNotFit { .. })), "{what}");
                    if usable > 0 {
                        assert!(formats(usable).is_ok(), "{what}");
                    }
                    if of_ratio > 0 {
                        assert!(formats(of_ratio).is_ok(), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_fits_can_really_be_written_over() {
    for preset in surviving() {
        for pages_per_block in [4, 16, 100] {
            for (channels, dies) in [(1, 1), (2, 2), (8, 1)] {
                for blocks in [41, 100].into_iter().take(if thorough() { 2 } else { 1 }) {
                    let geometry = small(pages_per_block, blocks, channels, dies);
                    let most = most_pages(preset.name, geometry);
                    if most == 0 {
                        continue;
                    }
                    let mut host = Host::new(chips(geometry), config(preset.name, most), 1);
                    for _ in 0..3 {
                        host.overwrite().unwrap();
                    }
                    host.check();
                    host.trim(0, most).unwrap();
                    host.flush().unwrap();
                    host.overwrite().unwrap();
                    host.compare_all();
                    host.step(&Step::Cut).unwrap();
                }
            }
        }
    }
}

#[test]
fn pl_greedy_keeps_moved_pages_apart_from_what_the_host_writes() {
    let geometry = small(32, 60, 1, 2);
    for preset in ["pl-greedy", "page"] {
        let mut host = Host::new(chips(geometry), config(preset, most_pages(preset, geometry)), 1);
        for _ in 0..4 {
            host.overwrite().unwrap();
        }
        assert!(host.counter("pages_moved") > 100);
        let nand = host.plug.sim();
        let (mut of_host, mut moved, mut mixed) = (0, 0, 0);
        for block in (0..geometry.blocks()).map(phelsuma_nand::Block) {
            let mut streams = std::collections::BTreeSet::new();
            for index in 0..32 {
                let page = geometry.page(block, index);
                let read = nand.read_spare(page, phelsuma_nand::Op::new(Time::ZERO, Purpose::Host)).0;
                if let phelsuma_nand::SpareRead::Written(s) = read
                    && s.kind == phelsuma_nand::Kind::User
                {
                    streams.insert(s.stream);
                }
            }
            of_host += u32::from(streams.contains(&0));
            moved += u32::from(streams.contains(&1));
            mixed += u32::from(streams.len() > 1);
        }
        assert_eq!(mixed, 0, "{preset}: blocks that hold both");
        assert!(of_host > 0);
        assert_eq!(moved > 0, preset == "pl-greedy");
    }
}

#[test]
fn pl_greedy_never_programs_for_host_and_collection_into_one_block() {
    use phelsuma_nand::{Action, Event, Observer};
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    type Owners = Arc<Mutex<BTreeMap<u32, Purpose>>>;
    struct Watch(Owners, phelsuma_nand::Geometry);
    impl Observer for Watch {
        fn observe(&mut self, event: &Event) {
            let mut owners = self.0.lock().unwrap();
            match event.action {
                Action::Erase(block) => {
                    owners.remove(&block.0);
                }
                Action::Program(page) => {
                    let owner = *owners.entry(self.1.block_of(page).0).or_insert(event.purpose);
                    assert_eq!(owner, event.purpose, "{page} is written for another purpose than its block");
                }
                _ => {}
            }
        }
    }
    let geometry = small(32, 60, 2, 1);
    let mut nand = plugged(geometry);
    nand.sim().observe(Some(Box::new(Watch(Owners::default(), geometry))));
    let logical = most_pages("pl-greedy", geometry);
    let (mut ftl, mut at) = format(&mut nand, &config("pl-greedy", logical), Time::ZERO).unwrap();
    for n in 0..20 * u64::from(logical) {
        let first = LogicalPage((n * n % 7919 * n % u64::from(logical)) as u32);
        let request = WriteRequest { first, pages: 1, data: HostData::Hollow(n + 1), hint: Hint::None };
        at = ftl.write(&mut nand, &request, at).unwrap();
    }
    assert!(nand.stats().of(Purpose::Gc).programs > 1000);
    assert!(ftl.check(&mut nand).is_empty());
    assert!(nand.geometry() == &geometry && Ftl::shape(ftl.as_ref()).logical_pages == logical);
}
