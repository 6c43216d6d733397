//! What a host read may do to the flash, seen from outside.
//!
//! Tests no power cuts.

use crate::common::{Host, Plug, chips, config, plugged};
use phelsuma_ftl::{Config, Hint, HostData, HostPage, Preset, WriteRequest, format};
use phelsuma_nand::{Geometry, LogicalPage, Purpose, Time};

/// The drive writes until a collection is due, and every entry is cached: reading collects nothing and looks nothing
/// up.
#[test]
fn a_read_whose_entry_is_cached_reads_its_page_and_nothing_else() {
    let geometry = Geometry::new(512, 16, 256, 1, 1).unwrap();
    let mut composition = Preset::named("dftl").unwrap().composition;
    composition.set("mapping.cache", "4096").unwrap();
    let config = Config::new("dftl", composition, 512, 1);
    let mut nand = plugged(geometry);
    let (mut ftl, mut at) = format(&mut nand, &config, Time::ZERO).unwrap();
    let mut due = 0;
    for n in 0..20_000u32 {
        let first = LogicalPage(n.wrapping_mul(2_654_435_761) % 512);
        let write = WriteRequest { first, pages: 1, data: HostData::Hollow(0), hint: Hint::None };
        at = ftl.write(&mut nand, &write, at).unwrap();
        let free = ftl.counters().iter().find(|c| c.name == "free_blocks").unwrap().value;
        if free >= u64::from(ftl.shape().reserve_blocks) {
            continue;
        }
        due += 1;
        let before = *nand.stats();
        let mut sink = |_: LogicalPage, page: HostPage<'_>| assert!(matches!(page, HostPage::Data(_)));
        at = ftl.read(&mut nand, first, 1, Purpose::Host, at, &mut sink).unwrap();
        let done = nand.stats().since(&before);
        assert_eq!((done.total().reads, done.of(Purpose::Host).reads), (1, 1));
        assert_eq!((done.total().spare_reads, done.total().programs, done.total().erases), (0, 0, 0));
    }
    assert!(due > 100, "{due} writes left a collection to be done");
}

/// Of two requests of one moment the second finds what the first has had read, but not before that is there. The first
/// reads its own page as soon as it can, on a drive that does nothing else: the second is not done before it.
#[test]
fn what_another_request_reads_is_there_when_its_read_ends() {
    let pages = 8192;
    let geometry = Geometry::new(2048, 32, 1024, 4, 1).unwrap();
    // So many pages behind the first one: on another die than what is read to find both.
    for (preset, behind, cache) in
        [("tpftl", 1, "24"), ("s-ftl", 2, "2048"), ("leaftl", 2, "2048"), ("learnedftl", 1, "2048"), ("mu-ftl", 1, "")]
    {
        let mut config = config(preset, pages);
        if !cache.is_empty() {
            config.composition.set("mapping.cache", cache).unwrap();
        }
        let mut host = Host::new(chips(geometry), config, 1);
        (0..pages / 64).for_each(|part| host.write(64 * part, 64, false).unwrap());
        host.restart(|_| ()).unwrap();
        let (nand, ftl) = (&mut host.plug, host.ftl.as_mut().unwrap());
        let mut at = host.acked;
        let mut found = 0;
        // In order at last, so that nodes leave for entries: then tpftl has more of them come along.
        let in_order = (0..8).flat_map(|part| (1024 * part + 100..1024 * part + 160).step_by(3));
        for first in (0..8).map(|part| 1024 * part).chain(in_order) {
            let mut sink = |_: LogicalPage, page: HostPage<'_>| assert!(matches!(page, HostPage::Data(_)), "{preset}");
            let mut read = |nand: &mut Plug, page| {
                let before = nand.stats().total().reads;
                let done = ftl.read(nand, LogicalPage(page), 1, Purpose::Host, at, &mut sink).unwrap();
                (done, nand.stats().total().reads - before)
            };
            let (done, reads) = read(nand, first);
            let (done_behind, reads_behind) = read(nand, first + behind);
            if reads_behind < reads {
                found += 1;
                assert!(
                    done_behind >= done,
                    "{preset}: page {first} from {at} to {done}, that behind it to {done_behind}"
                );
            }
            at = done.max(done_behind);
        }
        assert!(found > 0, "{preset}: no request found what another had read");
    }
}
