//! A record of a trace, as its format states it.

use crate::request::Op;
use crate::skipped::SkipReason;

/// A record as a format states it, before checks that are the same for all formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Absolute, in the file's own epoch.
    pub(crate) time_ns: u64,
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
}

/// The kind of a line or a binary record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Record(Record),
    /// The format's own header: neither a record nor left out.
    Header,
    Skip(SkipReason),
}

impl Item {
    /// A record whose address and size are in units; absurd if they do not fit 64 bits in bytes.
    pub(crate) fn in_units(time_ns: u64, device: u32, op: Op, address: (u64, u64), size: (u64, u64)) -> Self {
        match (address.0.checked_mul(address.1), size.0.checked_mul(size.1)) {
            (Some(offset_bytes), Some(size_bytes)) => {
                Item::Record(Record { time_ns, device, op, offset_bytes, size_bytes })
            }
            _ => Item::Skip(SkipReason::Absurd),
        }
    }
}
