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
    pub(crate) stage: Stage,
    /// The placement handle, 0 where there is none.
    pub(crate) handle: u8,
}

/// What a record says of its request's way through the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The request, of which nothing else is recorded.
    Whole,
    /// It went to the drive, perhaps once more.
    Issued,
    /// It was put back into the queue (requeued); no request by itself.
    PutBack,
    /// It is done; no request by itself.
    Completed,
    /// Something else befell it; no request by itself.
    Other,
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
                Item::Record(Record { time_ns, device, op, offset_bytes, size_bytes, stage: Stage::Whole, handle: 0 })
            }
            _ => Item::Skip(SkipReason::Absurd),
        }
    }

    /// The same with a placement handle.
    pub(crate) fn of_handle(self, handle: u8) -> Self {
        match self {
            Item::Record(record) => Item::Record(Record { handle, ..record }),
            other => other,
        }
    }

    /// The same at a stage of its way through the kernel.
    pub(crate) fn at(self, stage: Stage) -> Self {
        match self {
            Item::Record(record) => Item::Record(Record { stage, ..record }),
            other => other,
        }
    }

    /// A flush, which has no range.
    pub(crate) fn flush(time_ns: u64, device: u32) -> Self {
        Self::in_units(time_ns, device, Op::Flush, (0, 1), (0, 1))
    }

    /// What became of the request that begins at an address; without one that fits 64 bits in bytes, another event.
    pub(crate) fn end_of(stage: Stage, time_ns: u64, device: u32, address: (u64, u64)) -> Self {
        match Self::in_units(time_ns, device, Op::Read, address, (0, 1)).at(stage) {
            Item::Skip(_) => Item::Skip(SkipReason::OtherEvent),
            item => item,
        }
    }
}
