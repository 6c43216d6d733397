//! Windows disk events as xperf writes them to CSV, among them Microsoft's production server traces: a
//! block `BeginHeader` … `EndHeader` that names the columns of every event, then events with their name
//! in front. Microseconds, bytes in hexadecimal.
//!
//! ```text
//! DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, …
//! DiskFlush, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ElapsedTime, DiskNum, …
//! ```
//!
//! The requests are DiskRead, DiskWrite and DiskFlush, written when they complete. DiskReadInit and others
//! that precede them hold no addresses; they and events of other kinds are skipped.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::number::{self, Flaw, split_comma};
use crate::request::Op;
use crate::skipped::SkipReason;

/// More columns than any of the three events has in front of the names of files.
const COLUMNS_MAX: usize = 32;

/// Where an event's columns are.
#[derive(Clone, Copy)]
struct Places {
    time: usize,
    /// `Process Name ( PID)`, which may hold commas.
    process: usize,
    disk: usize,
    range: Option<(usize, usize)>,
}

impl Places {
    fn last(self) -> usize {
        self.range.map_or(self.disk, |(_, size)| size.max(self.disk)).max(self.time)
    }

    /// The same in a line where the name of the process holds commas, so that the columns behind it are further on.
    fn behind_name(self, columns: &[&[u8]]) -> Self {
        let name = columns.get(self.process..).unwrap_or_default();
        // Names of files at the line's end may look the same.
        let most = columns.len().saturating_sub(self.last() + 1);
        let name = name.get(..=most).unwrap_or_default();
        let more = name.iter().rposition(|column| ends_name(column)).unwrap_or(0);
        let moved = |place: usize| if place > self.process { place + more } else { place };
        Places {
            time: moved(self.time),
            process: self.process,
            disk: moved(self.disk),
            range: self.range.map(|(offset, size)| (moved(offset), moved(size))),
        }
    }
}

/// Whether a column ends as the name of a process does: `( 4)`.
fn ends_name(column: &[u8]) -> bool {
    let Some(pid) = column.strip_suffix(b")") else { return false };
    let digits = pid.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let front = pid.get(..pid.len() - digits).unwrap_or_default();
    let front = front.strip_suffix(b"-").unwrap_or(front).trim_ascii_end();
    digits > 0 && front.ends_with(b"(")
}

const RANGED: Places = Places { time: 1, process: 2, disk: 8, range: Some((5, 6)) };
const FLUSH: Places = Places { time: 1, process: 2, disk: 6, range: None };

pub(crate) struct Etw {
    time: TimeUnit,
    in_header: bool,
    read: Places,
    write: Places,
    flush: Places,
}

impl Etw {
    pub(crate) fn new(time: TimeUnit) -> Self {
        Etw { time, in_header: false, read: RANGED, write: RANGED, flush: FLUSH }
    }

    fn event(&mut self, name: &[u8]) -> Option<(Op, &mut Places)> {
        match name {
            b"DiskRead" => Some((Op::Read, &mut self.read)),
            b"DiskWrite" => Some((Op::Write, &mut self.write)),
            b"DiskFlush" => Some((Op::Flush, &mut self.flush)),
            _ => None,
        }
    }
}

impl LineParser for Etw {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        match line {
            b"BeginHeader" => self.in_header = true,
            b"EndHeader" => self.in_header = false,
            _ => {}
        }
        if matches!(line, b"BeginHeader" | b"EndHeader") {
            return Ok(Item::Header);
        }
        let mut columns = [&[][..]; COLUMNS_MAX];
        let count = split_comma(line, &mut columns).min(COLUMNS_MAX);
        let columns = columns.get(..count).unwrap_or_default();
        let column = |place: usize| columns.get(place).copied().unwrap_or_default();
        let (in_header, time) = (self.in_header, self.time);
        let names_columns = in_header || column(1).eq_ignore_ascii_case(b"TimeStamp");
        let Some((op, places)) = self.event(column(0)) else {
            return match column(1) {
                _ if names_columns => Ok(Item::Header),
                _ if line.starts_with(b"OS Version") => Ok(Item::Skip(SkipReason::RecorderLine)),
                b"" => Err(Flaw::Shape("no `event, time` in the line".to_owned())),
                _ => Ok(Item::Skip(SkipReason::OtherEvent)),
            };
        };
        if names_columns {
            *places = named(columns, *places);
            return Ok(Item::Header);
        }
        let places = places.behind_name(columns);
        number::need_columns(count, places.last() + 1..=usize::MAX)?;
        let time_ns = number::time(column(places.time), time.tick(), "the time")?;
        let device = number::device(column(places.disk), "the disk")?;
        let Some((offset, size)) = places.range else {
            return Ok(Item::flush(time_ns, device));
        };
        let offset = number::whole_or_hexadecimal(column(offset), "the offset")?;
        let size = number::whole_or_hexadecimal(column(size), "the size")?;
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (size, 1)))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }
}

/// The places that a line of column names gives; those of `usual` for columns that it does not name.
fn named(columns: &[&[u8]], usual: Places) -> Places {
    let place = |name: &[u8], otherwise: usize| {
        columns.iter().position(|column| column.eq_ignore_ascii_case(name)).unwrap_or(otherwise)
    };
    Places {
        time: place(b"TimeStamp", usual.time),
        process: place(b"Process Name ( PID)", usual.process),
        disk: place(b"DiskNum", usual.disk),
        range: usual.range.map(|(offset, size)| (place(b"ByteOffset", offset), place(b"IOSize", size))),
    }
}

/// Whether a text holds a disk event or begins with the header.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let is_disk_event = |line: &[u8]| {
        let mut columns = [&[][..]; 9];
        let count = split_comma(line, &mut columns);
        count >= 9 && matches!(columns[0], b"DiskRead" | b"DiskWrite") && columns[5].starts_with(b"0x")
    };
    match lines.next() {
        Some(b"BeginHeader") => true,
        Some(first) => is_disk_event(first) || lines.any(is_disk_event),
        None => false,
    }
}
