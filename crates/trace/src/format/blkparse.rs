//! blkparse's default text: `maj,min cpu seq time pid action RWBS sector + sectors [process]`, seconds,
//! 512-byte sectors.
//!
//! A request appears several times (queued, inserted, issued, completed, …). The request proper is the
//! issue to the drive (D). A trace recorded without those has only Q, one of a device without a queue
//! only C. The reader takes D if the first 64 KiB hold one, else Q, else C, unless an option says which.
//! A request that is issued, requeued (R) and issued again counts once. Times of several CPUs interleave
//! and may go backwards. The summary at the end is skipped, as are plug, unplug and message lines.
//!
//! [`super::rwbs`] says what the letters of the RWBS column mean.

use super::event::{BlkparseEvent, Seen};
use super::line_parser::LineParser;
use super::{Item, TimeUnit, rwbs};
use crate::noted::{self, Note};
use crate::number::{self, Flaw, split_blank};
use crate::record::Stage;
use crate::skipped::SkipReason;

pub(crate) struct Blkparse {
    time: TimeUnit,
    event: BlkparseEvent,
    sector_bytes: u64,
    completions: u64,
    /// The device of the latest request: of its other events nothing need be counted.
    latest: Option<u32>,
}

impl Blkparse {
    pub(crate) fn new(time: TimeUnit, event: BlkparseEvent, sector_bytes: u64) -> Self {
        Blkparse { time, event, sector_bytes, completions: 0, latest: None }
    }

    /// What goes to the drive may do so once more.
    fn issued(&self, item: Item) -> Item {
        if self.event == BlkparseEvent::Issued { item.at(Stage::Issued) } else { item }
    }

    /// Another event than the one that stands for the request: of interest where it ends or repeats one.
    fn other(&self, time_ns: u64, device: u32, action: &[u8], letters: &[u8], range: Option<(&[u8], &[u8])>) -> Item {
        let stage = match action {
            b"R" if self.event == BlkparseEvent::Issued => Stage::PutBack,
            b"C" if self.event == BlkparseEvent::Issued => Stage::Completed,
            b"C" | b"D" | b"Q" if range.is_some() && self.latest != Some(device) => {
                return Item::end_of(Stage::Other, time_ns, device, (0, 1));
            }
            _ => return Item::Skip(SkipReason::OtherEvent),
        };
        let sectors = || range.map_or(Ok(0), |(_, sectors)| number::whole(sectors, "the number of sectors"));
        if letters.contains(&b'F') && sectors().is_ok_and(|sectors| rwbs::is_flush(letters, sectors)) {
            return Item::flush(time_ns, device).at(stage);
        }
        let (sector, _) = range.unwrap_or_default();
        match number::whole(sector, "the sector") {
            Ok(sector) => Item::end_of(stage, time_ns, device, (sector, self.sector_bytes)),
            Err(_) => Item::Skip(SkipReason::OtherEvent),
        }
    }
}

impl LineParser for Blkparse {
    fn notes(&self) -> Vec<(Note, u64)> {
        noted::some(&[(Note::Completion, self.completions)])
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 10];
        let count = split_blank(line, &mut columns);
        let [device, cpu, sequence, time, pid, action, letters, sector, plus, sectors] = columns;
        let Some((major, minor)) = major_minor(device) else {
            if is_damaged([cpu, sequence, time, pid]) {
                return Err(Flaw::Shape("no `major,minor` in front of the columns of an event".to_owned()));
            }
            return Ok(Item::Skip(SkipReason::RecorderLine));
        };
        number::need_columns(count, 6..=usize::MAX)?;
        number::whole(cpu, "the CPU")?;
        number::whole(sequence, "the sequence number")?;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        number::whole(pid, "the pid")?;
        let device = linux_device(major, minor)?;
        let has_range = count >= 10 && plus == b"+";
        if action != self.event.letter().as_bytes() {
            return Ok(self.other(time_ns, device, action, letters, has_range.then_some((sector, sectors))));
        }
        let is_request = rwbs::op_of(letters).is_some();
        self.completions += u64::from(is_request && self.event == BlkparseEvent::Completed);
        if is_request {
            self.latest = Some(device);
        }
        if !has_range || !is_request {
            return Ok(self.issued(rwbs::item(time_ns, device, letters, None, self.sector_bytes)));
        }
        let sector = number::whole(sector, "the sector")?;
        let sectors = number::whole(sectors, "the number of sectors")?;
        let item = rwbs::item(time_ns, device, letters, Some((sector, sectors)), self.sector_bytes);
        Ok(if sectors > 0 || rwbs::is_flush(letters, sectors) { self.issued(item) } else { item })
    }
}

/// Whether the columns after the device are those of an event, but for one at the most. blkparse's own lines have words.
fn is_damaged(columns: [&[u8]; 4]) -> bool {
    let number = |column: &&[u8]| column.first().is_some_and(u8::is_ascii_digit) && column.last() != Some(&b',');
    columns.iter().filter(|column| number(column)).count() >= 3
}

/// The two numbers of `major,minor`.
pub(crate) fn major_minor(text: &[u8]) -> Option<(&[u8], &[u8])> {
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
pub(crate) fn event_of(sample: &[u8]) -> Option<BlkparseEvent> {
    let mut seen = Seen::default();
    for line in sample.split(|&byte| byte == b'\n') {
        let mut columns = [&[][..]; 7];
        if split_blank(line.trim_ascii(), &mut columns) > 6 && major_minor(columns[0]).is_some() {
            seen.look(|event| columns[5] == event.letter().as_bytes());
        }
    }
    seen.best()
}
