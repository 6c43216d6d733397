//! WiscSee event lists: `pid D|C read|write|discard offset size time delta sync`, bytes, seconds.
//! The request is the issue (D); completions (C) are skipped.

use super::line_parser::LineParser;
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;
use crate::skipped::SkipReason;

pub(crate) struct WiscSee {
    pub(crate) time: TimeUnit,
}

impl LineParser for WiscSee {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 8];
        number::need_columns(split_blank(line, &mut columns), 8..=8)?;
        let [pid, event, op, offset, size, time, ..] = columns;
        number::whole(pid, "the pid")?;
        let op = match op {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"discard" => Op::Trim,
            _ => {
                let what = format!("the operation is {} where read, write or discard belongs", excerpt(op));
                return Err(Flaw::Shape(what));
            }
        };
        let offset = number::whole(offset, "the offset")?;
        let size = number::whole(size, "the size")?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        match event {
            b"D" => Ok(Item::in_units(time_ns, 0, op, (offset, 1), (size, 1))),
            b"C" => Ok(Item::Skip(SkipReason::OtherEvent)),
            _ => Err(Flaw::Shape(format!("the event is {} where D or C belongs", excerpt(event)))),
        }
    }
}
