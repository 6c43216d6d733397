//! What a host read may do to the flash, seen from outside.
//!
//! Tests no power cuts.

use crate::common::{Host, Plug, chips, config, plugged};
use phelsuma_ftl::{Config, Hint, HostData, HostPage, Preset, WriteRequest, format};
use phelsuma_nand::{Geometry, LogicalPage, Purpose, Time, Timing};

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

/// Reads metadata of a drive that has just been mounted: of two requests of one moment the second may find what the first has
/// had read, but not before it is there. A read that takes less than two pages one after the other was answered too early.
#[test]
fn what_another_request_reads_is_there_when_its_read_ends() {
    let (pages, dies) = (4096, 4);
    let geometry = Geometry::new(2048, 32, 512, dies, 1).unwrap();
    let timing = Timing::preset("gecko").unwrap();
    let page = timing.read_ns + timing.transfer_ns;
    for (preset, behind, one_after_another) in [
        ("dftl", 1, 2),
        ("tpftl", 1, 2),
        ("s-ftl", 1, 2),
        ("leaftl", 1, 2),
        ("learnedftl", 1, 2),
        ("mu-ftl", 1, 2),
        // Of the next logical block, in the same map.
        ("superblock", 32, 2),
        // The next translation page, below the same node.
        ("ib-ftl", 512, 3),
    ] {
        let mut config = config(preset, pages);
        if config.composition.has_cache() {
            config.composition.set("mapping.cache", if preset == "tpftl" { "24" } else { "2048" }).unwrap();
        }
        if preset == "ib-ftl" {
            [("mapping.fanout", "3"), ("mapping.nodes", "4")].map(|(name, value)| config.composition.set(name, value).unwrap());
        }
        let mut host = Host::new(chips(geometry), config, 1);
        (0..pages / 64).for_each(|part| host.write(64 * part, 64, false).unwrap());
        host.restart(|_| ()).unwrap();
        let (nand, ftl) = (&mut host.plug, host.ftl.as_mut().unwrap());
        let mut overtaken = 0;
        let mut at = host.acked;
        // In order at last, so that nodes leave for entries: then tpftl has more of them come along.
        for first in (0..7).map(|part| 512 * part).chain((0..7).flat_map(|part| (512 * part + 100..512 * part + 160).step_by(2))) {
            let mut sink = |_: LogicalPage, page: HostPage<'_>| assert!(matches!(page, HostPage::Data(_)), "{preset}");
            let mut read = |nand: &mut Plug, key| {
                let before = *nand.stats();
                let done = ftl.read(nand, LogicalPage(key), 1, Purpose::Host, at, &mut sink).unwrap();
                let done_of = nand.stats().since(&before);
                (done, done_of.total().reads + done_of.total().spare_reads)
            };
            let (done, alone) = read(nand, first);
            let (done_behind, reads) = read(nand, first + behind);
            if alone >= one_after_another && reads < alone {
                overtaken += 1;
                let least = Time(at.0 + one_after_another * page);
                assert!(done_behind >= least, "{preset}: {first} from {at} to {done}, behind it to {done_behind}");
            }
            at = done.max(done_behind);
        }
        assert!(preset == "dftl" || overtaken > 0, "{preset}: no request found what another had read");
    }
}
