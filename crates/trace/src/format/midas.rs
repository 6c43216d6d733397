//! MiDAS's traces: `time type lba size`, seconds, type 0 read, 1 write, 3 trim (2 is not used), addresses
//! in blocks of 4 KiB, sizes in bytes.

use super::line_parser::LineParser;
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;
use crate::skipped::SkipReason;

/// The unit of addresses unless an option says otherwise, in bytes.
pub(crate) const BLOCK_BYTES: u64 = 4096;

pub(crate) struct Midas {
    pub(crate) time: TimeUnit,
    pub(crate) block_bytes: u64,
    /// The format is being guessed, which a type that is not used speaks against.
    pub(crate) guessing: bool,
}

impl LineParser for Midas {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 4];
        number::need_columns(split_blank(line, &mut columns), 4..=4)?;
        let [time, kind, lba, size] = columns;
        let op = match kind {
            b"0" => Some(Op::Read),
            b"1" => Some(Op::Write),
            b"2" if !self.guessing => None,
            b"3" => Some(Op::Trim),
            _ => return Err(Flaw::Shape(format!("the type is {} where 0, 1 or 3 belongs", excerpt(kind)))),
        };
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let lba = number::whole(lba, "the address")?;
        let size = number::whole(size, "the size")?;
        Ok(match op {
            Some(op) => Item::in_units(time_ns, 0, op, (lba, self.block_bytes), (size, 1)),
            None => Item::Skip(SkipReason::OtherCommand),
        })
    }
}
