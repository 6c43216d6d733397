//! Sysinternals DiskMon logs: `seq time duration disk Read|Write sector length`, tabs (sometimes one
//! more at the end of the line), seconds, 512-byte sectors.
//!
//! Logs are known whose first records hold garbage addresses; they are skipped as absurd.

use super::line_parser::LineParser;
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;

pub(crate) struct DiskMon {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl LineParser for DiskMon {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 7];
        number::need_columns(split_blank(line, &mut columns), 7..=7)?;
        let [sequence, time, _, disk, op, sector, length] = columns;
        number::whole(sequence, "the sequence number")?;
        let op = read_or_write(op)?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let device = number::device(disk, "the disk")?;
        let sector = number::whole(sector, "the sector")?;
        let length = number::whole(length, "the length")?;
        Ok(Item::in_units(time_ns, device, op, (sector, self.sector_bytes), (length, self.sector_bytes)))
    }
}

/// The words `Read` and `Write` in any case.
pub(crate) fn read_or_write(word: &[u8]) -> Result<Op, Flaw> {
    if word.eq_ignore_ascii_case(b"read") {
        Ok(Op::Read)
    } else if word.eq_ignore_ascii_case(b"write") {
        Ok(Op::Write)
    } else {
        Err(Flaw::Shape(format!("the operation is {} where Read or Write belongs", excerpt(word))))
    }
}

/// The letters `R` and `W` in any case.
pub(crate) fn r_or_w(letter: &[u8]) -> Result<Op, Flaw> {
    match letter {
        b"R" | b"r" => Ok(Op::Read),
        b"W" | b"w" => Ok(Op::Write),
        _ => Err(Flaw::Shape(format!("the operation is {} where R or W belongs", excerpt(letter)))),
    }
}
