//! The content of a page to be programmed, besides its moments of the drive's clocks.

use super::marks::SpareMarks;
use phelsuma_nand::{Content, Kind};

/// The content of a page to be programmed.
pub(crate) struct NewPage<'a> {
    pub(crate) kind: Kind,
    pub(crate) key: u32,
    pub(crate) version: u64,
    pub(crate) content: Content<'a>,
    /// What else the spare area says.
    pub(crate) marks: SpareMarks,
    // Not beside `key`: the compiler would copy both by one load, which waits for the two stores before it.
    pub(crate) data_crc: u32,
}

impl<'a> NewPage<'a> {
    /// New content, of whose page nothing else has to be said.
    #[inline]
    pub(crate) fn of(kind: Kind, key: u32, version: u64, content: Content<'a>) -> Self {
        Self { kind, key, version, content, data_crc: content.crc(), marks: SpareMarks::NONE }
    }
}
