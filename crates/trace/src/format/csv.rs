//! Phelsuma's own CSV: the header `time_us,device,op,offset_bytes,size_bytes`, then one request per
//! line. Times are microseconds and may have a fraction; op is read, write, trim or flush; lines that
//! begin with `#` are comments and may precede the header. A flush has offset and size 0.

use super::text::LineParser;
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_comma};
use crate::request::Op;
use crate::skipped::SkipReason;

/// The first line that is no comment.
pub(crate) const HEADER: &str = "time_us,device,op,offset_bytes,size_bytes";

pub(crate) struct Csv {
    time: TimeUnit,
    header_seen: bool,
}

impl Csv {
    pub(crate) fn new(time: TimeUnit) -> Self {
        Csv { time, header_seen: false }
    }
}

impl LineParser for Csv {
    fn allows_junk(&self) -> bool {
        false
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.starts_with(b"#") {
            return Ok(Item::Skip(SkipReason::Comment));
        }
        if !self.header_seen {
            if line != HEADER.as_bytes() {
                return Err(Flaw::Shape("the header is missing".to_owned()));
            }
            self.header_seen = true;
            return Ok(Item::Header);
        }
        let mut columns = [&[][..]; 5];
        number::need_columns(split_comma(line, &mut columns), 5..=5)?;
        let [time, device, op, offset, size] = columns;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let device = number::device(device, "the device")?;
        let op = match op {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"flush" => Op::Flush,
            _ => {
                let what = format!("the op is {} where read, write, trim or flush belongs", excerpt(op));
                return Err(Flaw::Value(what));
            }
        };
        let offset = number::whole(offset, "the offset")?;
        let size = number::whole(size, "the size")?;
        if op == Op::Flush && (offset, size) != (0, 0) {
            return Err(Flaw::Value("a flush has no range, offset 0 and size 0 would be right".to_owned()));
        }
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (size, 1)))
    }
}
