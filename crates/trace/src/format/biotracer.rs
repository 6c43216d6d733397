//! BIOtracer logs of a smartphone: `lba sectors bytes type generated processed submitted finished`,
//! double tabs, 512-byte sectors, absolute Unix seconds. Type bit 0 is set for a write.
//!
//! The first time column (generated) is the request's time. The file is in order of submission, so it
//! may go backwards, and the phone's clock may be set while it records.

use super::line_parser::LineParser;
use super::{Item, TimeUnit};
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;

pub(crate) struct BioTracer {
    pub(crate) time: TimeUnit,
    pub(crate) sector_bytes: u64,
}

impl LineParser for BioTracer {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 8];
        number::need_columns(split_blank(line, &mut columns), 8..=8)?;
        let [lba, sectors, bytes, kind, generated, ..] = columns;
        let lba = number::whole(lba, "the address")?;
        let sectors = number::whole(sectors, "the size in sectors")?;
        let bytes = number::whole(bytes, "the size in bytes")?;
        let kind = number::whole(kind, "the type")?;
        let time_ns = number::time(generated, self.time.tick(), "the time")?;
        if sectors.checked_mul(self.sector_bytes) != Some(bytes) {
            return Err(Flaw::Value(format!(
                "{sectors} sectors are not {bytes} bytes, {} times as many would be right",
                self.sector_bytes
            )));
        }
        let op = if kind & 1 == 1 { Op::Write } else { Op::Read };
        Ok(Item::in_units(time_ns, 0, op, (lba, self.sector_bytes), (bytes, 1)))
    }

    fn columns(&self) -> Option<usize> {
        Some(8)
    }
}
