//! SYSTOR '17 traces: a header `Timestamp,Response,IOType,LUN,Offset,Size`, then Unix seconds, bytes,
//! IOType R, W or blank (unknown; skipped).
//!
//! The header is required in front of the first record unless the format is named: without it six columns could mean
//! anything.
//! It may occur again where files were joined.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::format::diskmon::r_or_w;
use crate::number::{self, Flaw, split_comma};
use crate::skipped::SkipReason;

pub(crate) const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size";

pub(crate) struct Systor {
    time: TimeUnit,
    /// The header may be missing: a slice of a file, whose format is named.
    headed: bool,
}

impl Systor {
    pub(crate) fn new(time: TimeUnit, needs_header: bool) -> Self {
        Systor { time, headed: !needs_header }
    }
}

impl LineParser for Systor {
    fn allows_junk(&self) -> bool {
        false
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if number::is_heading(line, HEADER) {
            self.headed = true;
            return Ok(Item::Header);
        }
        if !self.headed {
            return Err(Flaw::Shape("the header is missing".to_owned()));
        }
        let mut columns = [&[][..]; 6];
        number::need_columns(split_comma(line, &mut columns), 6..=6)?;
        let [time, _, op, lun, offset, size] = columns;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        if op.is_empty() {
            return Ok(Item::Skip(SkipReason::BlankOperation));
        }
        let op = r_or_w(op)?;
        let device = number::device(lun, "the LUN")?;
        let offset = number::whole(offset, "the offset")?;
        let size = number::whole(size, "the size")?;
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (size, 1)))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(6)
    }
}
