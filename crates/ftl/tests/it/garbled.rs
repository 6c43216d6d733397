//! Metadata that are wrong behind checksums that fit: the drive comes up, is read and looked at, and nobody panics.

use crate::common::{Host, small};
use phelsuma_ftl::{HostPage, recover};
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Op, PageRead, Purpose, Spare, SpareRead, Time};

const AT: Op = Op { at: Time::ZERO, purpose: Purpose::Host };

/// A newer version of the first translation page, in which the second entry is the same as the first.
fn name_a_page_twice(host: &mut Host) {
    let last = [Kind::User, Kind::Translation, Kind::Gecko, Kind::ValidityLog].into_iter();
    let last = last.flat_map(|kind| host.plug.pages_of(kind)).map(|(_, spare)| spare.seq).max().unwrap();
    let pages = host.plug.pages_of(Kind::Translation);
    let of_first = pages.into_iter().filter(|(_, spare)| spare.key == 0);
    let (page, spare) = of_first.max_by_key(|(_, spare)| (spare.version, spare.seq)).unwrap();
    let sim = host.plug.sim();
    let geometry = *sim.geometry();
    let mut bytes = match sim.read(page, AT).0 {
        PageRead::Written { content: Content::Bytes(bytes), .. } => bytes.to_vec(),
        other => panic!("a translation page reads as {other:?}"),
    };
    bytes.copy_within(..4, 4);
    let is_blank = |block: &Block| sim.read_spare(geometry.page(*block, 0), AT).0 == SpareRead::Erased;
    let blank = (2..geometry.blocks()).map(Block).find(is_blank).unwrap();
    let content = Content::Bytes(&bytes);
    let newer = Spare { version: last + 1, seq: last + 1, data_crc: content.crc(), ..spare };
    sim.program(geometry.page(blank, 0), content, &newer, AT).unwrap();
}

#[test]
fn a_table_that_names_a_page_twice_brings_nobody_down() {
    for preset in ["lazyftl", "ib-ftl", "geckoftl"] {
        let mut host = Host::with_share(preset, small(32, 160, 1, 1), 0.6);
        for n in 0..2_000 {
            host.write(n * 7 % 1_000, 1, false).unwrap();
        }
        host.flush().unwrap();
        name_a_page_twice(&mut host);
        let mut sim = host.plug.copy();
        let (mut ftl, _) = recover(&mut sim, &host.config, Time::ZERO).unwrap();
        ftl.check(&mut sim);
        let mut pages = 0;
        let mut sink = |_: LogicalPage, _: HostPage<'_>| pages += 1;
        ftl.read(&mut sim, LogicalPage(0), host.logical_pages(), Purpose::Host, Time::ZERO, &mut sink).unwrap();
        assert_eq!(pages, host.logical_pages(), "{preset}");
    }
}
