//! Block requests in the output of `spdk_trace`: `core: us owner EVENT key: value …`.
//!
//! ```text
//! 0: 141193.578 b00 BDEV_IO_START   id:    i429   type:  2   ctx:   0x7ffb7d48b110   offset:12048   len:   2
//! ```
//!
//! The requests are BDEV_IO_START; their completions and all other events are skipped. Addresses and sizes
//! are in blocks of the device, of which the trace does not say the size: 512 bytes unless an option says
//! otherwise. Newer versions have the number of blocks as `size:`, the oldest ones no range at all. The
//! device is what stands in front of the event, in order of appearance.

use super::line_parser::LineParser;
use super::names::Names;
use super::{Item, TimeUnit};
use crate::number::{self, Flaw};
use crate::request::Op;
use crate::skipped::SkipReason;

const START: &[u8] = b"BDEV_IO_START";

pub(crate) struct Spdk {
    time: TimeUnit,
    block_bytes: u64,
    owners: Names,
}

impl Spdk {
    pub(crate) fn new(time: TimeUnit, block_bytes: u64) -> Self {
        Spdk { time, block_bytes, owners: Names::default() }
    }

    /// With devices numbered as the names of the whole trace are.
    pub(crate) fn numbered(self, owners: Names) -> Self {
        Spdk { owners, ..self }
    }
}

impl LineParser for Spdk {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.starts_with(b"TSC Rate") || line.starts_with(b"Trace Size") {
            return Ok(Item::Skip(SkipReason::RecorderLine));
        }
        let Some((time, rest)) = after_core(line) else {
            return Err(Flaw::Shape("no `core: time` in the line".to_owned()));
        };
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let Some(at) = memchr::memmem::find(rest, START) else {
            return Ok(Item::Skip(SkipReason::OtherEvent));
        };
        let (owner, fields) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        let op = match value_of(fields, b"type:") {
            Some(b"1") => Op::Read,
            // Writes, writes of zeros, appends to a zone.
            Some(b"2" | b"9" | b"13") => Op::Write,
            Some(b"3") => Op::Trim,
            Some(b"4") => Op::Flush,
            Some(kind) => {
                number::whole(kind, "the type")?;
                return Ok(Item::Skip(SkipReason::OtherCommand));
            }
            None => return Err(Flaw::Shape("no `type:` in the event".to_owned())),
        };
        let device = self.owners.device(owner.trim_ascii(), "devices")?;
        if op == Op::Flush {
            return Ok(Item::flush(time_ns, device));
        }
        let blocks = value_of(fields, b"len:").or_else(|| value_of(fields, b"size:"));
        let (Some(offset), Some(blocks)) = (value_of(fields, b"offset:"), blocks) else {
            return Ok(Item::Skip(SkipReason::RangeUnknown));
        };
        let offset = number::whole_or_hexadecimal(offset, "the offset")?;
        let blocks = number::whole(blocks, "the number of blocks")?;
        Ok(Item::in_units(time_ns, device, op, (offset, self.block_bytes), (blocks, self.block_bytes)))
    }
}

/// The time and what follows it: behind the first word of digits that ends in a colon.
fn after_core(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let core = line.get(..colon)?.rsplit(|byte| *byte == b' ').next()?;
    let rest = line.get(colon + 1..)?.trim_ascii_start();
    let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    let (time, rest) = rest.split_at_checked(end)?;
    let numeric = !core.is_empty() && core.iter().all(u8::is_ascii_digit) && time.first()?.is_ascii_digit();
    // Some versions add the processor's counter in brackets.
    let rest = rest.trim_ascii_start();
    let counter = rest.strip_prefix(b"(").and_then(|inner| Some((inner, memchr::memchr(b')', inner)?)));
    let rest = counter.map_or(rest, |(inner, end)| inner.get(end + 1..).unwrap_or_default());
    numeric.then_some((time, rest))
}

/// The word behind a key.
fn value_of<'a>(fields: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(fields, key)?;
    let value = fields.get(at + key.len()..)?.trim_ascii_start();
    value.split(|byte| *byte == b' ').next().filter(|value| !value.is_empty())
}

/// Whether a text holds a request of SPDK's.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let is_start = |line: &[u8]| after_core(line).is_some_and(|(_, rest)| memchr::memmem::find(rest, START).is_some());
    memchr::memmem::find(text, START).is_some() && text.split(|&byte| byte == b'\n').any(is_start)
}
