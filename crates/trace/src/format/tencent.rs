//! Tencent CBS traces: `Timestamp,Offset,Size,IOType,VolumeID`, seconds, 512-byte sectors, IOType 0 is
//! a read and 1 a write. That line may be there as a header, also again where files were joined.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_comma};
use crate::request::Op;

const HEADER: &[u8] = b"Timestamp,Offset,Size,IOType,VolumeID";

pub(crate) struct Tencent {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl LineParser for Tencent {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line == HEADER {
            return Ok(Item::Header);
        }
        let mut columns = [&[][..]; 5];
        number::need_columns(split_comma(line, &mut columns), 5..=5)?;
        let [time, offset, size, op, volume] = columns;
        let op = match op {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(Flaw::Shape(format!("the operation is {} where 0 or 1 belongs", excerpt(op)))),
        };
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let offset = number::whole(offset, "the offset")?;
        let size = number::whole(size, "the size")?;
        let device = number::device(volume, "the volume")?;
        Ok(Item::in_units(time_ns, device, op, (offset, self.sector_bytes), (size, self.sector_bytes)))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(5)
    }
}
