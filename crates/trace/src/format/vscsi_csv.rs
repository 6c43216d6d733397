//! VSCSI traces as CSV, as libCacheSim publishes its sample: `version,time,op,size,lbn` with or without
//! that header; microseconds, bytes, 512-byte sectors.
//!
//! The operation is a SCSI code, in hexadecimal or decimal. It is hexadecimal if any of the first 64 KiB
//! has a letter or `0x`, else what makes reads, writes and flushes of more of them.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit, scsi};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_comma};
use crate::request::Op;
use crate::skipped::SkipReason;

const HEADER: &[u8] = b"version,time,op,size,lbn";

pub(crate) struct VscsiCsv {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
    pub(crate) radix: u32,
}

impl LineParser for VscsiCsv {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.eq_ignore_ascii_case(HEADER) {
            return Ok(Item::Header);
        }
        let mut columns = [&[][..]; 5];
        number::need_columns(split_comma(line, &mut columns), 5..=5)?;
        let [version, time, op, size, sector] = columns;
        if !matches!(version, b"1" | b"2") {
            return Err(Flaw::Shape(format!("the version is {} where 1 or 2 belongs", excerpt(version))));
        }
        let command = code_of(op, self.radix).ok_or_else(|| {
            Flaw::Shape(format!("the operation is {} where a SCSI code such as 2a belongs", excerpt(op)))
        })?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let size = number::whole(size, "the size")?;
        let sector = number::whole(sector, "the sector")?;
        Ok(match scsi::op_of(command) {
            None => Item::Skip(SkipReason::OtherCommand),
            Some(Op::Flush) => Item::flush(time_ns, 0),
            Some(op) => Item::in_units(time_ns, 0, op, (sector, self.sector_bytes), (size, 1)),
        })
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(5)
    }
}

/// A SCSI operation code; codes are of one byte.
fn code_of(text: &[u8], radix: u32) -> Option<u16> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    let digits = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    u8::from_str_radix(digits, radix).ok().map(u16::from)
}

/// Whether the operations of a sample are hexadecimal (16) or decimal (10).
pub(crate) fn radix_of(sample: &[u8]) -> u32 {
    let (mut hexadecimal, mut decimal) = (0, 0);
    for line in sample.split(|&byte| byte == b'\n') {
        let mut columns = [&[][..]; 5];
        if split_comma(line, &mut columns) < 5 || !matches!(columns[0], b"1" | b"2") {
            continue;
        }
        let op = columns[2];
        if code_of(op, 16).is_some() && !op.iter().all(u8::is_ascii_digit) {
            return 16;
        }
        let known = |radix| u32::from(code_of(op, radix).and_then(scsi::op_of).is_some());
        hexadecimal += known(16);
        decimal += known(10);
    }
    if decimal > hexadecimal { 10 } else { 16 }
}
