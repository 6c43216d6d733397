//! What the tests of the simulated chip set share.

use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{
    Block, Content, Geometry, Kind, Nand, Op, Page, PageRead, ProgramError, Purpose, SimNand, Spare, SpareRead, Time,
    Timing,
};

/// Pages in a block of [`chips`].
pub(crate) const PAGES: u32 = 8;

/// Four blocks of eight pages of 512 bytes, with tags and a fingerprint.
pub(crate) fn chips() -> SimNand {
    SimNand::new(&SimConfig { tagged: true, fingerprint: true, ..SimConfig::new(shape(1, 1), times()) })
}

/// Pages of 512 bytes, eight a block, four blocks a die.
pub(crate) fn shape(channels: u32, dies_per_channel: u32) -> Geometry {
    let blocks = u64::from(4 * channels * dies_per_channel);
    Geometry::new(512, PAGES, blocks, channels, dies_per_channel).unwrap()
}

/// Times that distinguish operations.
pub(crate) fn times() -> Timing {
    Timing::array(100, 3, 1000, 5000)
}

pub(crate) fn page(nand: &SimNand, block: u32, index: u32) -> Page {
    nand.geometry().page(Block(block), index)
}

/// An operation of the host's at time 0.
pub(crate) fn host() -> Op {
    Op::new(Time::ZERO, Purpose::Host)
}

/// The spare area of these data as a user page.
pub(crate) fn spare_of(content: Content<'_>, key: u32, seq: u64) -> Spare {
    Spare { kind: Kind::User, stream: 0, key, version: seq, seq, data_crc: content.crc(), aux: 0 }
}

/// Programs a hollow page.
pub(crate) fn write(nand: &mut SimNand, block: u32, index: u32, tag: u64) -> Result<Time, ProgramError> {
    let content = Content::Hollow(tag);
    let to = nand.geometry().page(Block(block), index);
    nand.program(to, content, &spare_of(content, index, 100 * u64::from(block) + u64::from(index) + 1), host())
}

/// The content of a page, owned: the tag or the bytes, and the spare area.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen {
    Hollow(u64, Spare),
    Bytes(Vec<u8>, Spare),
    Erased,
    Unreadable,
}

pub(crate) fn see(nand: &mut SimNand, page: Page) -> Seen {
    match nand.read(page, host()).0 {
        PageRead::Written { content: Content::Hollow(tag), spare, .. } => Seen::Hollow(tag, spare),
        PageRead::Written { content: Content::Bytes(bytes), spare, .. } => Seen::Bytes(bytes.to_vec(), spare),
        PageRead::Erased => Seen::Erased,
        PageRead::Unreadable => Seen::Unreadable,
    }
}

/// Everything on the flash, page by page, and its fingerprint. Read from a copy: reading may wear out unstable pages.
pub(crate) fn everything(nand: &SimNand) -> (Vec<(Seen, SpareRead)>, Vec<bool>, Option<u128>) {
    let mut copy = nand.clone();
    let geometry = *copy.geometry();
    let mut pages = Vec::new();
    let mut bad = Vec::new();
    for block in (0..geometry.blocks()).map(Block) {
        bad.push(copy.is_bad(block));
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(block, index);
            let spare = copy.read_spare(page, host()).0;
            pages.push((see(&mut copy, page), spare));
        }
    }
    (pages, bad, nand.fingerprint())
}

/// `thorough` in the thorough mode, `quick` else.
pub(crate) fn scaled(quick: u32, thorough: u32) -> u32 {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1") { thorough } else { quick }
}
