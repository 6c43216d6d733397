//! Metadata that are wrong behind checksums that fit: the drive mounts, is read and checked, and nothing panics.

use crate::common::{Host, Plug, small};
use phelsuma_ftl::{HostPage, recover};
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Op, PageRead, Purpose, Spare, SpareRead, Time};

const AT: Op = Op { at: Time::ZERO, purpose: Purpose::Host };

/// The newest page of metadata of which this holds, where it stands, and its bytes.
fn newest(host: &mut Host, kind: Kind, which: impl Fn(&Spare) -> bool) -> (Spare, Vec<u8>) {
    let of_it = host.plug.pages_of(kind).into_iter().filter(|(_, spare)| which(spare));
    let (page, spare) = of_it.max_by_key(|(_, spare)| (spare.version, spare.seq)).unwrap();
    match host.plug.sim().read(page, AT).0 {
        PageRead::Written { content: Content::Bytes(bytes), .. } => (spare, bytes.to_vec()),
        other => panic!("a page of metadata reads as {other:?}"),
    }
}

/// Programs these, one after the other, into a block that is blank.
fn program(host: &mut Host, pages: impl IntoIterator<Item = (Spare, Vec<u8>)>) {
    let sim = host.plug.sim();
    let geometry = *sim.geometry();
    let is_blank = |block: &Block| sim.read_spare(geometry.page(*block, 0), AT).0 == SpareRead::Erased;
    let blank = (2..geometry.blocks()).map(Block).find(is_blank).unwrap();
    for (index, (spare, bytes)) in (0..).zip(pages) {
        let content = Content::Bytes(&bytes);
        let spare = Spare { data_crc: content.crc(), ..spare };
        sim.program(geometry.page(blank, index), content, &spare, AT).unwrap();
    }
}

/// The last program order there is.
fn last_seq(host: &mut Host) -> u64 {
    let kinds = [Kind::User, Kind::Translation, Kind::Gecko, Kind::ValidityLog].into_iter();
    kinds.flat_map(|kind| host.plug.pages_of(kind)).map(|(_, spare)| spare.seq).max().unwrap()
}

/// So many newer versions of the first translation page, with some bytes of each changed. The last is newer than all
/// writes, if it `knows_all`. The others are older than the writes since it was synchronized.
fn write_newer_versions(host: &mut Host, times: u64, knows_all: bool, change: impl Fn(u64, &mut [u8])) {
    let last = last_seq(host);
    let (spare, mut bytes) = newest(host, Kind::Translation, |spare| spare.key == 0);
    let versions = (0..times).map(|time| {
        change(time, &mut bytes);
        let seq = last + 1 + time;
        let version = if knows_all && time + 1 == times { seq } else { spare.version + 1 + time };
        (Spare { version, seq, ..spare }, bytes.clone())
    });
    program(host, versions);
}

/// A drive under such an FTL that was written for a while.
fn written(preset: &str) -> Host {
    let mut host = Host::with_share(preset, small(32, 160, 1, 1), 0.6);
    for n in 0..2_000 {
        host.write(n * 7 % 1_000, 1, false).unwrap();
    }
    host.flush().unwrap();
    // Entries that are in no translation page yet.
    host.write(0, 16, false).unwrap();
    host
}

/// It is read and looked at.
fn is_read(host: &Host) {
    let mut sim = Plug::from(host.plug.copy());
    let (mut ftl, _) = recover(&mut sim, &host.config, Time::ZERO).unwrap();
    ftl.check(&mut sim);
    let mut pages = 0;
    let mut sink = |_: LogicalPage, _: HostPage<'_>| pages += 1;
    ftl.read(&mut sim, LogicalPage(0), host.logical_pages(), Purpose::Host, Time::ZERO, &mut sink).unwrap();
    assert_eq!(pages, host.logical_pages(), "{}", host.config.name);
}

/// Drives of which the table says this mount, and are read and checked.
fn comes_up(times: u64, knows_all: bool, change: impl Fn(u64, &mut [u8])) {
    for preset in ["lazyftl", "ib-ftl", "geckoftl"] {
        let mut host = written(preset);
        write_newer_versions(&mut host, times, knows_all, &change);
        is_read(&host);
    }
}

#[test]
fn a_table_that_names_a_page_twice_brings_nobody_down() {
    comes_up(1, true, |_, bytes| bytes.copy_within(..4, 4));
}

#[test]
fn a_table_that_names_pages_that_the_drive_has_not_brings_nobody_down() {
    // The newest version names them, also one that does not have their present places yet. Or one does that has been
    // replaced since.
    let none = |bytes: &mut [u8]| bytes[..64].copy_from_slice(&[0x1f; 64]);
    comes_up(1, true, |_, bytes| none(bytes));
    comes_up(1, false, |_, bytes| none(bytes));
    comes_up(2, true, |time, bytes| if time == 0 { none(bytes) } else { bytes[..64].fill(0xff) });
}

#[test]
fn a_log_that_is_longer_than_the_drive_brings_nobody_down() {
    // Where the page's header has its own number, and that of the oldest page that counts.
    for (at, byte) in [(8 + 4, 1), (8 + 7, 0xff), (16 + 7, 0xff)] {
        let mut host = written("ib-ftl");
        let last = last_seq(&mut host);
        let (spare, mut bytes) = newest(&mut host, Kind::ValidityLog, |_| true);
        bytes[at] = byte;
        program(&mut host, [(Spare { version: last + 1, seq: last + 1, ..spare }, bytes)]);
        is_read(&host);
    }
}

#[test]
fn a_page_of_a_table_that_is_longer_than_the_drive_brings_nobody_down() {
    for preset in ["lazyftl", "ib-ftl", "geckoftl"] {
        let mut host = written(preset);
        let last = last_seq(&mut host);
        let (spare, bytes) = newest(&mut host, Kind::Translation, |spare| spare.key == 0);
        // The last page of its block, which a cut may have torn.
        let spare = Spare { key: 54_321, version: last + 1, seq: last + 1, ..spare };
        program(&mut host, [(spare, bytes)]);
        is_read(&host);
    }
}

#[test]
fn a_gecko_page_in_no_order_brings_nobody_down() {
    for preset in ["geckoftl", "geckoftl+dense"] {
        gecko_pages_in_no_order(preset);
    }
}

fn gecko_pages_in_no_order(preset: &str) {
    let mut host = written(preset);
    // Some stale pages in every block.
    let logical_pages = host.logical_pages();
    for n in 0..3_000u32 {
        host.write((n.wrapping_mul(2_654_435_761) >> 8) % logical_pages, 1, false).unwrap();
    }
    host.flush().unwrap();
    let last = last_seq(&mut host);
    // Every page of the runs once more, with each other entry one of block 0; the newest are as many as a block takes.
    let mut pages = host.plug.pages_of(Kind::Gecko);
    pages.sort_by_key(|(_, spare)| spare.version);
    let pages = pages.split_off(pages.len().saturating_sub(32));
    let mut copies = Vec::new();
    for (number, (_, spare)) in (1..).zip(pages) {
        let is_it = |other: &Spare| (other.version, other.seq) == (spare.version, spare.seq);
        let (_, mut bytes) = newest(&mut host, Kind::Gecko, is_it);
        let entries = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        (1..entries).step_by(2).for_each(|entry| bytes[48 + 4 * entry..][..4].fill(0));
        copies.push((Spare { seq: last + number, ..spare }, bytes));
    }
    program(&mut host, copies);
    // What each block holds is queried.
    is_read(&host);
}
