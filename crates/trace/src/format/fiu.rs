//! FIU traces: `ns pid process lba size R|W major minor md5`, 512-byte sectors.
//!
//! Files cut out of tar archives carry tar headers and padding. Those are lines with NUL bytes, also where a record is
//! glued to the end of one.

use super::line_parser::LineParser;
use super::{Item, TimeUnit};
use crate::format::blkparse::linux_device;
use crate::format::diskmon::r_or_w;
use crate::number::{self, Flaw, split_blank};
use crate::skipped::SkipReason;

pub(crate) struct Fiu {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl LineParser for Fiu {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.contains(&0) {
            return Ok(Item::Skip(SkipReason::ArchiveLeftover));
        }
        let mut columns = [&[][..]; 9];
        number::need_columns(split_blank(line, &mut columns), 9..=9)?;
        let [time, pid, _, lba, size, op, major, minor, _] = columns;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        number::whole(pid, "the pid")?;
        let lba = number::whole(lba, "the address")?;
        let size = number::whole(size, "the size")?;
        let op = r_or_w(op)?;
        let device = linux_device(major, minor)?;
        Ok(Item::in_units(time_ns, device, op, (lba, self.sector_bytes), (size, self.sector_bytes)))
    }

    fn columns(&self) -> Option<usize> {
        Some(9)
    }
}
