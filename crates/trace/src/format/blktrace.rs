//! blktrace binary, in the byte order and the version that the magic shows.
//!
//! ```text
//! version 7: magic u32, sequence u32, time u64 (ns), sector u64, bytes u32, action u32, pid u32, device u32, cpu u32,
//!            error u16, pdu_len u16, then pdu_len bytes of payload
//! version 8: magic u32, sequence u32, time u64 (ns), sector u64, bytes u32, pid u32, action u64, device u32, cpu u32,
//!            error u16, pdu_len u16, padding to 64 bytes, then pdu_len bytes of payload
//! ```
//!
//! Version 8 is that of Linux 6.19 and has zone operations. The low 16 bits of the action are the event, the high ones
//! categories. As in blkparse's text, the request is the issue to the drive if the first 64 KiB hold one. Else it is the
//! queueing, else the completion, unless an option decides. A requeued request counts once. blktrace writes one file per
//! CPU; a file joined from several goes back in time.
//!
//! Version 7 has no category for zone operations. Linux requests them without a size, so they are skipped; an append is
//! a write there.

use super::Item;
use super::binary::{RecordParser, at};
use super::event::{BlkparseEvent, Seen};
use crate::noted::{self, Note};
use crate::record::Stage;
use crate::request::Op;
use crate::skipped::SkipReason;

pub(crate) const V7_BYTES: usize = 48;
pub(crate) const V8_BYTES: usize = 64;

/// The magic without its last byte, which is the version.
const MAGIC: u32 = 0x6561_7400;
const V7: u32 = 7;
const V8: u32 = 8;

const EVENT_QUEUED: u64 = 1;
const EVENT_REQUEUED: u64 = 6;
const EVENT_ISSUED: u64 = 7;
const EVENT_COMPLETED: u64 = 8;
/// The event came from a control group, whose number precedes the payload.
const EVENT_OF_CGROUP: u64 = 1 << 8;

const READ: u64 = 1 << 0;
const WRITE: u64 = 1 << 1;
const FLUSH: u64 = 1 << 2;
const COMMAND: u64 = 1 << 9;
const NOTIFY: u64 = 1 << 10;
const DISCARD: u64 = 1 << 13;
// Version 8 alone. The kernel sets READ or WRITE beside them.
const ZONE_APPEND: u64 = 1 << 16;
const ZONE_RESET: u64 = 1 << 17;
const ZONE_RESET_ALL: u64 = 1 << 18;
const ZONE_FINISH: u64 = 1 << 19;
const ZONE_OPEN: u64 = 1 << 20;
const ZONE_CLOSE: u64 = 1 << 21;

/// How a file's records are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) big_endian: bool,
    pub(crate) wide: bool,
}

/// What is usual, where the beginning of a file says nothing.
const USUAL: Layout = Layout { big_endian: false, wide: false };

/// The fields that both versions have.
struct Fields {
    magic: u32,
    time_ns: u64,
    sector: u64,
    size_bytes: u64,
    action: u64,
    device: u32,
    payload_bytes: u64,
}

impl Fields {
    fn event(&self) -> u64 {
        self.action & 0xffff & !EVENT_OF_CGROUP
    }

    fn category(&self) -> u64 {
        self.action >> 16
    }

    /// The event that may stand for a request; `None` for others, and for the recorder's own records.
    fn stands_for(&self) -> Option<BlkparseEvent> {
        match self.event() {
            _ if self.category() & NOTIFY != 0 => None,
            EVENT_ISSUED => Some(BlkparseEvent::Issued),
            EVENT_QUEUED => Some(BlkparseEvent::Queued),
            EVENT_COMPLETED => Some(BlkparseEvent::Completed),
            _ => None,
        }
    }

    /// What is asked; `None` for a command that moves no data and forgets none.
    fn op(&self) -> Option<Op> {
        let category = self.category();
        let is = |flags| category & flags != 0;
        if is(COMMAND) || is(ZONE_FINISH | ZONE_OPEN | ZONE_CLOSE) {
            None
        } else if is(ZONE_RESET | ZONE_RESET_ALL) {
            (self.size_bytes > 0).then_some(Op::Trim)
        } else if is(DISCARD) {
            Some(Op::Trim)
        } else if is(FLUSH) && self.size_bytes == 0 {
            Some(Op::Flush)
        } else if is(WRITE | ZONE_APPEND) {
            Some(Op::Write)
        } else if is(READ) {
            Some(Op::Read)
        } else {
            None
        }
    }
}

impl Layout {
    fn u16_at<const N: usize>(self, bytes: &[u8; N], place: usize) -> u16 {
        let field = at(bytes, place);
        if self.big_endian { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) }
    }

    fn u32_at<const N: usize>(self, bytes: &[u8; N], place: usize) -> u32 {
        let field = at(bytes, place);
        if self.big_endian { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
    }

    fn u64_at<const N: usize>(self, bytes: &[u8; N], place: usize) -> u64 {
        let field = at(bytes, place);
        if self.big_endian { u64::from_be_bytes(field) } else { u64::from_le_bytes(field) }
    }

    fn v7(self, bytes: &[u8; V7_BYTES]) -> Fields {
        Fields {
            magic: self.u32_at(bytes, 0),
            time_ns: self.u64_at(bytes, 8),
            sector: self.u64_at(bytes, 16),
            size_bytes: u64::from(self.u32_at(bytes, 24)),
            action: u64::from(self.u32_at(bytes, 28)),
            device: self.u32_at(bytes, 36),
            payload_bytes: u64::from(self.u16_at(bytes, 46)),
        }
    }

    fn v8(self, bytes: &[u8; V8_BYTES]) -> Fields {
        Fields {
            magic: self.u32_at(bytes, 0),
            time_ns: self.u64_at(bytes, 8),
            sector: self.u64_at(bytes, 16),
            size_bytes: u64::from(self.u32_at(bytes, 24)),
            action: self.u64_at(bytes, 32),
            device: self.u32_at(bytes, 40),
            payload_bytes: u64::from(self.u16_at(bytes, 50)),
        }
    }
}

pub(crate) struct Blktrace {
    layout: Layout,
    event: BlkparseEvent,
    sector_bytes: u64,
    completions: u64,
    /// The device of the latest request: of its other events nothing need be counted.
    latest: Option<u32>,
    first: bool,
}

impl Blktrace {
    pub(crate) fn new(layout: Layout, event: BlkparseEvent, sector_bytes: u64) -> Self {
        Blktrace { layout, event, sector_bytes, completions: 0, latest: None, first: true }
    }

    /// What goes to the drive may do so once more.
    fn issued(&self, item: Item) -> Item {
        if self.event == BlkparseEvent::Issued { item.at(Stage::Issued) } else { item }
    }

    fn item(&mut self, fields: &Fields, version: u32) -> Result<Item, String> {
        if fields.magic != MAGIC | version {
            // Of a file of a third version the first record is read as what is usual.
            let or = if fields.magic & !0xff == MAGIC && self.first {
                format!(" or {:#010x}", MAGIC | V8)
            } else {
                String::new()
            };
            return Err(format!("the magic is {:#010x}, {:#010x}{or} would be right", fields.magic, MAGIC | version));
        }
        self.first = false;
        if fields.category() & NOTIFY != 0 {
            return Ok(Item::Skip(SkipReason::RecorderLine));
        }
        let address = (fields.sector, self.sector_bytes);
        if fields.stands_for() != Some(self.event) {
            let (time_ns, device) = (fields.time_ns, fields.device);
            let stage = match fields.event() {
                EVENT_REQUEUED if self.event == BlkparseEvent::Issued => Stage::PutBack,
                EVENT_COMPLETED if self.event == BlkparseEvent::Issued => Stage::Completed,
                EVENT_COMPLETED | EVENT_ISSUED | EVENT_QUEUED
                    if fields.size_bytes > 0 && self.latest != Some(device) =>
                {
                    Stage::Other
                }
                _ => return Ok(Item::Skip(SkipReason::OtherEvent)),
            };
            return Ok(match fields.op() {
                Some(Op::Flush) => Item::flush(time_ns, device).at(stage),
                _ => Item::end_of(stage, time_ns, device, address),
            });
        }
        let Some(op) = fields.op() else { return Ok(Item::Skip(SkipReason::OtherCommand)) };
        self.completions += u64::from(self.event == BlkparseEvent::Completed);
        self.latest = Some(fields.device);
        if op == Op::Flush {
            return Ok(self.issued(Item::flush(fields.time_ns, fields.device)));
        }
        let item = Item::in_units(fields.time_ns, fields.device, op, address, (fields.size_bytes, 1));
        Ok(if fields.size_bytes > 0 { self.issued(item) } else { item })
    }
}

impl RecordParser<V7_BYTES> for Blktrace {
    fn parse(&mut self, bytes: &[u8; V7_BYTES]) -> Result<Item, String> {
        self.item(&self.layout.v7(bytes), V7)
    }

    fn notes(&self) -> Vec<(Note, u64)> {
        noted::some(&[(Note::Completion, self.completions)])
    }

    fn trailing_bytes(&self, bytes: &[u8; V7_BYTES]) -> u64 {
        self.layout.v7(bytes).payload_bytes
    }
}

impl RecordParser<V8_BYTES> for Blktrace {
    fn parse(&mut self, bytes: &[u8; V8_BYTES]) -> Result<Item, String> {
        self.item(&self.layout.v8(bytes), V8)
    }

    fn notes(&self) -> Vec<(Note, u64)> {
        noted::some(&[(Note::Completion, self.completions)])
    }

    fn trailing_bytes(&self, bytes: &[u8; V8_BYTES]) -> u64 {
        self.layout.v8(bytes).payload_bytes
    }
}

/// The layout of a file, going by a sample.
pub(crate) fn layout_of(sample: &[u8]) -> Layout {
    looks_like(sample).unwrap_or(USUAL)
}

/// The layout of a sample, if it is a blktrace file.
pub(crate) fn looks_like(sample: &[u8]) -> Option<Layout> {
    let first: [u8; 4] = sample.get(..4)?.try_into().ok()?;
    let (little, big) = (u32::from_le_bytes(first), u32::from_be_bytes(first));
    let (magic, big_endian) = if little & !0xff == MAGIC {
        (little, false)
    } else if big & !0xff == MAGIC {
        (big, true)
    } else {
        return None;
    };
    Some(Layout { big_endian, wide: magic == MAGIC | V8 })
}

/// Which event stands for the request, going by a sample.
pub(crate) fn event_of(sample: &[u8], layout: Layout) -> Option<BlkparseEvent> {
    let mut seen = Seen::default();
    let mut rest = sample;
    while let Some((fields, after)) = first_of(rest, layout) {
        seen.look(|event| fields.stands_for() == Some(event));
        rest = after.get(fields.payload_bytes as usize..).unwrap_or(&[]);
    }
    seen.best()
}

fn first_of(sample: &[u8], layout: Layout) -> Option<(Fields, &[u8])> {
    if layout.wide {
        sample.split_first_chunk().map(|(bytes, after)| (layout.v8(bytes), after))
    } else {
        sample.split_first_chunk().map(|(bytes, after)| (layout.v7(bytes), after))
    }
}
