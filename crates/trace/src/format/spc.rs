//! SPC traces (UMass): `ASU,LBA,size,opcode,time[,…]`, 512-byte sectors, size in bytes, opcode R or W
//! in any case, seconds. The application storage unit (ASU) is the device.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::format::diskmon::r_or_w;
use crate::number::{self, Flaw, split_comma};

pub(crate) struct Spc {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl LineParser for Spc {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 5];
        number::need_columns(split_comma(line, &mut columns), 5..=64)?;
        let [asu, lba, size, op, time] = columns;
        let op = r_or_w(op)?;
        let device = number::device(asu, "the ASU")?;
        let lba = number::whole(lba, "the address")?;
        let size = number::whole(size, "the size")?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        Ok(Item::in_units(time_ns, device, op, (lba, self.sector_bytes), (size, 1)))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(5)
    }
}
