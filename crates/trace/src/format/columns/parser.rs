//! Lines of any columns as records.

use super::{Column, ColumnSpec};
use crate::error::excerpt;
use crate::format::line_parser::{LineParser, Separator};
use crate::format::{Item, TimeUnit};
use crate::number::{self, Flaw};
use crate::request::Op;
use crate::skipped::SkipReason;

/// So many devices can have names.
const DEVICES_MAX: usize = 65_536;

const NAME_BYTES_MAX: usize = 256;

/// The words that most files have for what is asked, in lower case.
const OPS: [(&[&str], Op); 4] = [
    (&["r", "rd", "read", "reads", "rs", "ra"], Op::Read),
    (&["w", "wr", "wt", "write", "writes", "ws", "wfs", "wsm"], Op::Write),
    (&["t", "trim", "d", "discard", "ds", "unmap", "deallocate"], Op::Trim),
    (&["f", "flush", "fs", "ff", "fn", "sync", "fsync", "fdatasync"], Op::Flush),
];

/// Whether a word is one that files have for an operation.
pub(crate) fn is_op(word: &[u8]) -> bool {
    word_of(word).is_some()
}

fn word_of(word: &[u8]) -> Option<Op> {
    let word = std::str::from_utf8(word).ok()?;
    OPS.iter().find(|(words, _)| words.iter().any(|known| known.eq_ignore_ascii_case(word))).map(|(_, op)| *op)
}

pub(crate) struct AnyColumns {
    spec: ColumnSpec,
    separator: Separator,
    time: TimeUnit,
    lines_left: u64,
    devices: hashbrown::HashMap<Box<[u8]>, u32>,
}

impl AnyColumns {
    pub(crate) fn new(spec: ColumnSpec, time: TimeUnit) -> Self {
        let separator = if spec.separator == Some(b' ') { Separator::Blank } else { Separator::Comma };
        let lines_left = spec.skip_lines;
        AnyColumns { spec, separator, time, lines_left, devices: hashbrown::HashMap::new() }
    }

    fn op(&self, word: &[u8]) -> Result<Option<Op>, Flaw> {
        let named = std::str::from_utf8(word).ok().map(str::to_ascii_lowercase);
        if let Some((_, op)) = self.spec.ops.iter().find(|(name, _)| Some(name) == named.as_ref()) {
            return Ok(*op);
        }
        match word_of(word) {
            Some(op) if self.spec.ops.is_empty() => Ok(Some(op)),
            _ => Err(Flaw::Value(format!(
                "the operation {} has no meaning yet; --ops would give it one, such as read=R,write={}",
                excerpt(word),
                excerpt(word)
            ))),
        }
    }

    fn device(&mut self, text: &[u8]) -> Result<u32, Flaw> {
        if let Ok(number) = number::device(text, "the device") {
            return Ok(number);
        }
        if let Some(&number) = self.devices.get(text) {
            return Ok(number);
        }
        if self.devices.len() >= DEVICES_MAX || text.len() > NAME_BYTES_MAX {
            let what = format!("over {DEVICES_MAX} names of devices, or one over {NAME_BYTES_MAX} bytes");
            return Err(Flaw::Value(what));
        }
        let number = self.devices.len() as u32;
        self.devices.insert(text.into(), number);
        Ok(number)
    }
}

/// A whole number, also in hexadecimal, or one with a fraction of zeros, as spreadsheets and data frames write them.
fn whole(text: &[u8], what: &str) -> Result<u64, Flaw> {
    if let Some(digits) = text.strip_prefix(b"0x") {
        let value = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
        return value.ok_or_else(|| Flaw::Shape(format!("{what} is no hexadecimal number: {}", excerpt(text))));
    }
    let point = memchr::memchr(b'.', text).unwrap_or(text.len());
    let (digits, fraction) = text.split_at_checked(point).unwrap_or((text, &[]));
    let zeros = fraction.get(1..).unwrap_or_default().iter().all(|&byte| byte == b'0');
    number::whole(if zeros { digits } else { text }, what)
}

impl LineParser for AnyColumns {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if self.lines_left > 0 {
            self.lines_left -= 1;
            return Ok(Item::Skip(SkipReason::Heading));
        }
        let columns = super::split(line, if self.separator == Separator::Blank { b' ' } else { b',' });
        let right = self.spec.columns.len();
        number::need_columns(columns.len(), right..=right)?;
        let (mut time_ns, mut device, mut op, mut address, mut size) = (0, 0, None, (0, 1), (0, 1));
        for index in 0..right {
            let (Some(kind), Some(text)) = (self.spec.columns.get(index).copied(), columns.get(index).copied()) else {
                continue;
            };
            match kind {
                Column::Time(_) => time_ns = number::time(text, self.time.tick(), "the time")?,
                Column::Device => device = self.device(text)?,
                Column::Op => op = Some(text),
                Column::Address(unit) if !text.is_empty() => address = (whole(text, "the address")?, unit),
                Column::Size(unit) if !text.is_empty() => size = (whole(text, "the size")?, unit),
                // A flush may have no range.
                Column::Address(_) | Column::Size(_) | Column::Other => {}
            }
        }
        Ok(match self.op(op.unwrap_or_default())? {
            None => Item::Skip(SkipReason::OtherCommand),
            Some(Op::Flush) => Item::in_units(time_ns, device, Op::Flush, (0, 1), (0, 1)),
            Some(op) => Item::in_units(time_ns, device, op, address, size),
        })
    }

    fn separator(&self) -> Separator {
        self.separator
    }

    fn columns(&self) -> Option<usize> {
        Some(self.spec.columns.len())
    }
}
