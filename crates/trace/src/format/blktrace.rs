//! blktrace binary, in the byte order that the magic shows.
//!
//! ```text
//! magic u32, sequence u32, time u64 (ns), sector u64, bytes u32, action u32, pid u32, device u32, cpu u32, error u16,
//! pdu_len u16, then pdu_len bytes of payload
//! ```
//!
//! The low 16 bits of the action are the event, the high ones categories. As in blkparse's text, the request is the
//! issue to the drive if the first 64 KiB hold one. Else it is the queueing, unless an option decides. blktrace writes
//! one file per CPU; a file joined from several goes back in time.

use super::binary::{RecordParser, at};
use super::event::BlkparseEvent;
use super::{Item, SECTOR_BYTES};
use crate::request::Op;
use crate::skipped::SkipReason;

pub(crate) const RECORD_BYTES: usize = 48;

/// The magic without its last byte, which is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

const EVENT_QUEUED: u32 = 1;
const EVENT_ISSUED: u32 = 7;

const READ: u32 = 1 << 0;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const COMMAND: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

#[derive(Clone, Copy)]
pub(crate) struct Blktrace {
    pub(crate) big_endian: bool,
    pub(crate) event: BlkparseEvent,
}

impl Blktrace {
    fn u32_at(self, bytes: &[u8; RECORD_BYTES], place: usize) -> u32 {
        let field = at(bytes, place);
        if self.big_endian { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
    }

    fn u64_at(self, bytes: &[u8; RECORD_BYTES], place: usize) -> u64 {
        let field = at(bytes, place);
        if self.big_endian { u64::from_be_bytes(field) } else { u64::from_le_bytes(field) }
    }

    fn payload_bytes(self, bytes: &[u8; RECORD_BYTES]) -> u64 {
        let field = at(bytes, 46);
        u64::from(if self.big_endian { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) })
    }
}

impl RecordParser<RECORD_BYTES> for Blktrace {
    fn parse(&mut self, bytes: &[u8; RECORD_BYTES]) -> Result<Item, String> {
        let magic = self.u32_at(bytes, 0);
        if magic != MAGIC | VERSION {
            return Err(format!("the magic is {magic:#010x}, {:#010x} would be right", MAGIC | VERSION));
        }
        let action = self.u32_at(bytes, 28);
        let (event, category) = (action & 0xffff, action >> 16);
        if category & NOTIFY != 0 {
            return Ok(Item::Skip(SkipReason::RecorderLine));
        }
        let wanted = match self.event {
            BlkparseEvent::Issued => EVENT_ISSUED,
            BlkparseEvent::Queued => EVENT_QUEUED,
        };
        if event != wanted {
            return Ok(Item::Skip(SkipReason::OtherEvent));
        }
        let time_ns = self.u64_at(bytes, 8);
        let sector = self.u64_at(bytes, 16);
        let size = u64::from(self.u32_at(bytes, 24));
        let device = self.u32_at(bytes, 36);
        let is = |flag| category & flag != 0;
        let op = if is(COMMAND) {
            return Ok(Item::Skip(SkipReason::OtherCommand));
        } else if is(DISCARD) {
            Op::Trim
        } else if is(FLUSH) && size == 0 {
            return Ok(Item::in_units(time_ns, device, Op::Flush, (0, 1), (0, 1)));
        } else if is(WRITE) {
            Op::Write
        } else if is(READ) {
            Op::Read
        } else {
            return Ok(Item::Skip(SkipReason::OtherCommand));
        };
        Ok(Item::in_units(time_ns, device, op, (sector, SECTOR_BYTES), (size, 1)))
    }

    fn trailing_bytes(&self, bytes: &[u8; RECORD_BYTES]) -> u64 {
        self.payload_bytes(bytes)
    }
}

/// The byte order of a sample, big-endian or not, if it is a blktrace file.
pub(crate) fn looks_like(sample: &[u8]) -> Option<bool> {
    let first: [u8; 4] = sample.get(..4)?.try_into().ok()?;
    if u32::from_le_bytes(first) & !0xff == MAGIC {
        Some(false)
    } else if u32::from_be_bytes(first) & !0xff == MAGIC {
        Some(true)
    } else {
        None
    }
}

/// Which event stands for the request, going by a sample.
pub(crate) fn event_of(sample: &[u8], big_endian: bool) -> BlkparseEvent {
    let reader = Blktrace { big_endian, event: BlkparseEvent::Issued };
    let mut rest = sample;
    while let Some((bytes, after)) = rest.split_first_chunk::<RECORD_BYTES>() {
        let action = reader.u32_at(bytes, 28);
        if action & 0xffff == EVENT_ISSUED && (action >> 16) & NOTIFY == 0 {
            return BlkparseEvent::Issued;
        }
        rest = after.get(reader.payload_bytes(bytes) as usize..).unwrap_or(&[]);
    }
    BlkparseEvent::Queued
}
