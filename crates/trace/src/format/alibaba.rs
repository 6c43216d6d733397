//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`, bytes, microseconds, opcode R or W.
//! That line may be there as a header, also again where files were joined.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::format::diskmon::r_or_w;
use crate::number::{self, Flaw, split_comma};

const HEADER: &[u8] = b"device_id,opcode,offset,length,timestamp";

pub(crate) struct Alibaba {
    pub(crate) time: TimeUnit,
}

impl LineParser for Alibaba {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line == HEADER {
            return Ok(Item::Header);
        }
        let mut columns = [&[][..]; 5];
        number::need_columns(split_comma(line, &mut columns), 5..=5)?;
        let [device, op, offset, length, time] = columns;
        let op = r_or_w(op)?;
        let device = number::device(device, "the device")?;
        let offset = number::whole(offset, "the offset")?;
        let length = number::whole(length, "the length")?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (length, 1)))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(5)
    }
}
