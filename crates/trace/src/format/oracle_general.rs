//! libCacheSim's oracleGeneral: little-endian records of 24 bytes, `time u32 (s), object u64, size u32
//! (bytes), next access i64`, where the last is the place in the file of the object's next record, -1 or
//! the largest number if there is none.
//!
//! The format is made for caches. It has no operations, so every request is a read, and no addresses, so
//! the number of an object is taken for that of a block of 4 KiB. Numbers that are hashes make no address;
//! they are absurd.
//!
//! A file is taken for it when times never decrease over its first 64 KiB, sizes are plausible, every next
//! access is later, and those within the sample are of the same object.

use super::binary::{RecordParser, at};
use super::{Item, TimeUnit};
use crate::request::Op;

pub(crate) const RECORD_BYTES: usize = 24;

/// The unit of addresses unless an option says otherwise, in bytes.
pub(crate) const BLOCK_BYTES: u64 = 4096;

pub(crate) struct OracleGeneral {
    pub(crate) time: TimeUnit,
    pub(crate) block_bytes: u64,
}

struct Fields {
    time: u32,
    object: u64,
    size_bytes: u32,
    next: i64,
}

fn fields(bytes: &[u8; RECORD_BYTES]) -> Fields {
    Fields {
        time: u32::from_le_bytes(at(bytes, 0)),
        object: u64::from_le_bytes(at(bytes, 4)),
        size_bytes: u32::from_le_bytes(at(bytes, 12)),
        next: i64::from_le_bytes(at(bytes, 16)),
    }
}

impl RecordParser<RECORD_BYTES> for OracleGeneral {
    fn parse(&mut self, bytes: &[u8; RECORD_BYTES]) -> Result<Item, String> {
        let Fields { time, object, size_bytes, .. } = fields(bytes);
        let time_ns = self.time.tick().whole_ns(u64::from(time));
        let time_ns = time_ns.ok_or_else(|| format!("the time {time} {} is over 584 years", self.time))?;
        Ok(Item::in_units(time_ns, 0, Op::Read, (object, self.block_bytes), (u64::from(size_bytes), 1)))
    }
}

/// Whether a sample holds such records; `is_all` if it is the whole file.
pub(crate) fn looks_like(sample: &[u8], is_all: bool) -> bool {
    let (records, rest) = sample.as_chunks::<RECORD_BYTES>();
    if records.is_empty() || (is_all && !rest.is_empty()) {
        return false;
    }
    let never = |next: i64| next == -1 || next == i64::MAX;
    let (mut last_time, mut followed, mut ended) = (0, 0usize, 0usize);
    for (place, record) in records.iter().map(fields).enumerate() {
        if record.time < last_time || record.size_bytes > 1 << 30 {
            return false;
        }
        last_time = record.time;
        if never(record.next) {
            ended += 1;
            continue;
        }
        let Some(next) = usize::try_from(record.next).ok().filter(|next| *next > place) else { return false };
        // Places are counted from 0 or from 1.
        let same = |place: usize| records.get(place).map(|bytes| fields(bytes).object == record.object);
        match (same(next), same(next - 1)) {
            (Some(true), _) => followed += 1,
            (_, Some(true)) if next - 1 > place => followed += 1,
            (None, _) => {}
            _ => return false,
        }
    }
    followed > 0 || ended == records.len()
}
