//! blkparse's default text: `maj,min cpu seq time pid action RWBS sector + sectors [process]`, seconds,
//! 512-byte sectors.
//!
//! A request appears several times (queued, inserted, issued, completed, …). The request proper is the
//! issue to the drive (D); a trace recorded without those has only Q. The reader takes D if the first
//! 64 KiB hold one, else Q, unless an option says which. Times of several CPUs interleave and may go
//! backwards. The summary at the end is skipped, as are plug, unplug and message lines.
//!
//! RWBS: R read, W write, D discard, F a flush (before W: flush first; after W: force unit access),
//! N none of them; S, M, A and others only qualify. A write with F counts as a write; F alone, or
//! without sectors, is a flush.

use super::event::BlkparseEvent;
use super::text::LineParser;
use super::{Item, SECTOR_BYTES, TimeUnit};
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;
use crate::skipped::SkipReason;

pub(crate) struct Blkparse {
    pub(crate) time: TimeUnit,
    pub(crate) event: BlkparseEvent,
}

impl LineParser for Blkparse {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 10];
        let count = split_blank(line, &mut columns);
        let [device, cpu, sequence, time, pid, action, rwbs, sector, plus, sectors] = columns;
        let Some((major, minor)) = major_minor(device) else {
            return Ok(Item::Skip(SkipReason::RecorderLine));
        };
        number::need_columns(count, 6..=usize::MAX)?;
        number::whole(cpu, "the CPU")?;
        number::whole(sequence, "the sequence number")?;
        let time_ns = number::time(time, self.time.ns(), "the time")?;
        number::whole(pid, "the pid")?;
        let device = linux_device(major, minor)?;
        if action != self.event.letter().as_bytes() {
            return Ok(Item::Skip(SkipReason::OtherEvent));
        }
        let has_range = count >= 10 && plus == b"+";
        let op = match op_of(rwbs) {
            Some(Op::Flush) => return Ok(flush(time_ns, device)),
            Some(_) if !has_range && rwbs.contains(&b'F') => return Ok(flush(time_ns, device)),
            Some(op) if has_range => op,
            _ => return Ok(Item::Skip(SkipReason::OtherCommand)),
        };
        let sector = number::whole(sector, "the sector")?;
        let sectors = number::whole(sectors, "the number of sectors")?;
        if sectors == 0 && rwbs.contains(&b'F') {
            return Ok(flush(time_ns, device));
        }
        Ok(Item::in_units(time_ns, device, op, (sector, SECTOR_BYTES), (sectors, SECTOR_BYTES)))
    }
}

fn flush(time_ns: u64, device: u32) -> Item {
    Item::in_units(time_ns, device, Op::Flush, (0, 1), (0, 1))
}

fn op_of(rwbs: &[u8]) -> Option<Op> {
    let has = |letter| rwbs.contains(&letter);
    if has(b'D') {
        Some(Op::Trim)
    } else if has(b'W') {
        Some(Op::Write)
    } else if has(b'R') {
        Some(Op::Read)
    } else if has(b'F') {
        Some(Op::Flush)
    } else {
        None
    }
}

fn major_minor(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let comma = memchr::memchr(b',', text)?;
    let (major, minor) = (text.get(..comma)?, text.get(comma + 1..)?);
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    (digits(major) && digits(minor)).then_some((major, minor))
}

/// Linux's device number: 12 bits of major above 20 bits of minor.
pub(crate) fn linux_device(major: &[u8], minor: &[u8]) -> Result<u32, Flaw> {
    let (major, minor) = (number::whole(major, "the major number")?, number::whole(minor, "the minor number")?);
    match (u32::try_from(major), u32::try_from(minor)) {
        (Ok(major), Ok(minor)) if major < 1 << 12 && minor < 1 << 20 => Ok(major << 20 | minor),
        _ => Err(Flaw::Value(format!("device {major},{minor} is none of Linux's (below 4096,1048576)"))),
    }
}

/// Which event stands for the request, going by a sample.
pub(crate) fn event_of(sample: &[u8]) -> BlkparseEvent {
    let issued = sample.split(|&byte| byte == b'\n').any(|line| {
        let mut columns = [&[][..]; 7];
        split_blank(line.trim_ascii(), &mut columns) > 6 && columns[5] == b"D"
    });
    if issued { BlkparseEvent::Issued } else { BlkparseEvent::Queued }
}
