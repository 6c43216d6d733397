//! HP SRT 1.3 (Ruemmler and Wilkes, UNIX disk access patterns): a text header, then big-endian records.
//!
//! The header begins with `$$TR_IOREC` and ends with a form feed. A record is 14 32-bit integers: `size, id, sec, usec,
//! start_us, stop_us, bytes, sector, device, drivertype, cylinder, flags, info, qlen`.
//!
//! Sectors are 256 bytes and absolute on the disk, so sections of a disk share its address space. The device is the
//! disk (bits 8 to 15 of the device field). Flags bit 0 is set for a read.

use std::io::BufRead;
use std::sync::Arc;

use super::binary::{BinaryRecords, RecordParser, at};
use super::{Item, Records};
use crate::TraceError;
use crate::request::Op;
use crate::skipped::SkipReason;

const RECORD_BYTES: usize = 56;
/// The sector that HP's disks have unless an option says otherwise, in bytes.
pub(crate) const SECTOR_BYTES: u64 = 256;
const SHORT_IO_ID: i32 = 0x0004_0001;
const HEADER_BYTES_MAX: usize = 64 * 1024;
const HEADER_END: u8 = 0x0c;

/// How every file begins.
pub(crate) const MAGIC: &[u8] = b"$$TR_IOREC";

struct HpSrt {
    sector_bytes: u64,
}

impl RecordParser<RECORD_BYTES> for HpSrt {
    fn parse(&mut self, bytes: &[u8; RECORD_BYTES]) -> Result<Item, String> {
        let field = |index: usize| i32::from_be_bytes(at(bytes, index * 4));
        let (size, id) = (field(0), field(1));
        if size != RECORD_BYTES as i32 {
            return Err(format!("the record size is {size}, {RECORD_BYTES} would be right"));
        }
        if id != SHORT_IO_ID {
            return Ok(Item::Skip(SkipReason::OtherEvent));
        }
        let positive = |index: usize, what: &str| {
            let value = field(index);
            u64::try_from(value).map_err(|_| format!("{what} is negative ({value}), 0 or more would be right"))
        };
        let (sec, usec) = (positive(2, "the second")?, positive(3, "the microsecond")?);
        let (length, sector) = (positive(6, "the size")?, positive(7, "the sector")?);
        let device = (field(8) as u32 >> 8) & 0xff;
        let op = if field(11) & 1 == 1 { Op::Read } else { Op::Write };
        let time_ns = sec * 1_000_000_000 + usec * 1_000;
        Ok(Item::in_units(time_ns, device, op, (sector, self.sector_bytes), (length, 1)))
    }
}

pub(crate) fn open(
    mut stream: Box<dyn BufRead + Send>,
    file: Arc<str>,
    sector_bytes: u64,
) -> Result<Box<dyn Records>, TraceError> {
    let mut header_bytes = 0;
    loop {
        let available = match stream.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.map_err(|source| TraceError::io(&file, "reading the header failed", source))?,
        };
        let end = memchr::memchr(HEADER_END, available);
        let used = end.map_or(available.len(), |at| at + 1);
        stream.consume(used);
        header_bytes += used;
        if end.is_some() && header_bytes <= HEADER_BYTES_MAX {
            break;
        }
        if used == 0 || header_bytes > HEADER_BYTES_MAX {
            let what =
                format!("the hp-srt header does not end; a form feed within {HEADER_BYTES_MAX} bytes would be right");
            return Err(TraceError::file(&file, what));
        }
    }
    Ok(Box::new(BinaryRecords::new(stream, HpSrt { sector_bytes }, file, header_bytes as u64)))
}
