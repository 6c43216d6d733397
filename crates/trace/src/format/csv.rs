//! Phelsuma's own CSV: the header `time_us,device,op,offset_bytes,size_bytes`, then one request per line.
//!
//! Times are microseconds and may have a fraction; op is read, write, trim or flush. Lines that begin with `#` are
//! comments and may precede the header. The header may occur again where files were joined.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_comma};
use crate::request::Op;
use crate::skipped::SkipReason;

/// The first line that is no comment.
pub(crate) const HEADER: &str = "time_us,device,op,offset_bytes,size_bytes";

pub(crate) struct Csv {
    time: TimeUnit,
    /// The header may be missing: a slice of a file, whose format is named.
    headed: bool,
}

impl Csv {
    pub(crate) fn new(time: TimeUnit, needs_header: bool) -> Self {
        Csv { time, headed: !needs_header }
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
        if number::is_heading(line, HEADER) {
            self.headed = true;
            return Ok(Item::Header);
        }
        if !self.headed {
            return Err(Flaw::Shape("the header is missing".to_owned()));
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

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(5)
    }
}
