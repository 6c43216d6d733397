//! VSCSI traces (VMware's vscsiStats, CloudPhysics): little-endian records, microseconds, 512-byte sectors, sizes in
//! bytes.
//!
//! Version 1, 32 bytes: `sn u32, len u32, nSG u32, cmd u16, ver u16 (0x01xx), lbn u64, ts u64`. Version 2, 40 bytes:
//! `cmd u16, ver u16 (0x02xx), sn u32, len u32, nSG u32, lbn u64, ts u64, rt u64`.
//!
//! A file is taken for one of them on two conditions. Every whole record of its first 64 has that version and a
//! one-byte command. At least half of the commands read, write or flush.

use super::binary::{RecordParser, at};
use super::{Item, TimeUnit, scsi};
use crate::request::Op;
use crate::skipped::SkipReason;

pub(crate) const V1_BYTES: usize = 32;
pub(crate) const V2_BYTES: usize = 40;

/// The fields that both versions have.
struct Fields {
    command: u16,
    version: u16,
    length_bytes: u32,
    sector: u64,
    time: u64,
}

fn v1(bytes: &[u8; V1_BYTES]) -> Fields {
    Fields {
        length_bytes: u32::from_le_bytes(at(bytes, 4)),
        command: u16::from_le_bytes(at(bytes, 12)),
        version: u16::from_le_bytes(at(bytes, 14)),
        sector: u64::from_le_bytes(at(bytes, 16)),
        time: u64::from_le_bytes(at(bytes, 24)),
    }
}

fn v2(bytes: &[u8; V2_BYTES]) -> Fields {
    Fields {
        command: u16::from_le_bytes(at(bytes, 0)),
        version: u16::from_le_bytes(at(bytes, 2)),
        length_bytes: u32::from_le_bytes(at(bytes, 8)),
        sector: u64::from_le_bytes(at(bytes, 16)),
        time: u64::from_le_bytes(at(bytes, 24)),
    }
}

impl Fields {
    fn item(&self, version: u16, unit: TimeUnit, sector_bytes: u64) -> Result<Item, String> {
        if self.version >> 8 != version {
            return Err(format!("the version is {:#06x}, {version:#04x}xx would be right", self.version));
        }
        let time = unit.tick().whole_ns(self.time);
        let time_ns = time.ok_or_else(|| format!("the time {} {unit} is over 584 years", self.time))?;
        Ok(match scsi::op_of(self.command) {
            None => Item::Skip(SkipReason::OtherCommand),
            Some(Op::Flush) => Item::flush(time_ns, 0),
            Some(op) => Item::in_units(time_ns, 0, op, (self.sector, sector_bytes), (u64::from(self.length_bytes), 1)),
        })
    }
}

pub(crate) struct VscsiV1 {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl RecordParser<V1_BYTES> for VscsiV1 {
    fn parse(&mut self, bytes: &[u8; V1_BYTES]) -> Result<Item, String> {
        v1(bytes).item(1, self.time, self.sector_bytes)
    }
}

pub(crate) struct VscsiV2 {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl RecordParser<V2_BYTES> for VscsiV2 {
    fn parse(&mut self, bytes: &[u8; V2_BYTES]) -> Result<Item, String> {
        v2(bytes).item(2, self.time, self.sector_bytes)
    }
}

/// Whether a sample holds records of version 1.
pub(crate) fn looks_like_v1(sample: &[u8]) -> bool {
    looks_like(sample.as_chunks::<V1_BYTES>().0.iter().map(v1), 1)
}

/// Whether a sample holds records of version 2.
pub(crate) fn looks_like_v2(sample: &[u8]) -> bool {
    looks_like(sample.as_chunks::<V2_BYTES>().0.iter().map(v2), 2)
}

fn looks_like(records: impl Iterator<Item = Fields>, version: u16) -> bool {
    let (mut known, mut all) = (0, 0);
    for fields in records.take(64) {
        if fields.version >> 8 != version || fields.command > 0xff {
            return false;
        }
        all += 1;
        known += u32::from(scsi::op_of(fields.command).is_some());
    }
    all > 0 && known * 2 >= all
}
