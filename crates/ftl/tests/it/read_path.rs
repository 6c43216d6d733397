//! What a host read may do to the flash, seen from outside.
//!
//! Tests neither times nor power cuts.

use crate::common::plugged;
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
