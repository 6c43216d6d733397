//! A page that was read to be copied.

use crate::medium::NewPage;
use crate::medium::marks::SpareMarks;
use alloc::vec::Vec;
use phelsuma_nand::{Content, Kind, Spare, Time};

/// A page that was read to be copied. Its bytes, where it is not hollow, are in a buffer that its reader has.
#[derive(Clone, Copy)]
pub(super) struct Fetched {
    version: u64,
    data_crc: u32,
    hollow: Option<u64>,
    /// When it was there.
    pub(super) ready: Time,
}

impl Fetched {
    /// The reading, with its bytes put into `buffer`.
    pub(super) fn of(content: Content<'_>, spare: &Spare, buffer: &mut Vec<u8>, ready: Time) -> Self {
        let hollow = match content {
            Content::Hollow(tag) => Some(tag),
            Content::Bytes(bytes) => {
                buffer.clear();
                buffer.extend_from_slice(bytes);
                None
            }
        };
        Self { version: spare.version, data_crc: spare.data_crc, hollow, ready }
    }

    /// A page that cannot be read any more, or has another key, is copied as that: a page whose data do not fit their
    /// CRC. So it stays a read error, over every merge and power cut, until it is written again. Flash that keeps bytes
    /// has zeros there, and no page of zeros has this CRC.
    pub(super) fn lost(version: u64, ready: Time) -> Self {
        Self { version, data_crc: !Content::Hollow(0).crc(), hollow: Some(0), ready }
    }

    /// Its copy, with the same version.
    pub(super) fn page<'b>(&self, key: u32, buffer: &'b [u8]) -> NewPage<'b> {
        debug_assert!(self.hollow.is_some() || !buffer.is_empty(), "the bytes of page {key} are not there any more");
        let content = self.hollow.map_or(Content::Bytes(buffer), Content::Hollow);
        let (version, data_crc) = (self.version, self.data_crc);
        NewPage { kind: Kind::User, key, version, content, data_crc, marks: SpareMarks::NONE }
    }
}
