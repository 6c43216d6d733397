//! bcc's biosnoop: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, seconds, 512-byte sectors,
//! bytes. Lines are written, and times taken, when requests complete.
//!
//! T of the tool in Python is W for a write and R for everything else, trims and flushes included. T of
//! the one in C has the letters that [`super::rwbs`] describes. Names of tasks may hold blanks, so columns
//! are found from T on. Disks are numbered in order of appearance. bpftrace's biosnoop has no addresses.

use super::line_parser::LineParser;
use super::names::Names;
use super::{Item, TimeUnit, rwbs};
use crate::noted::{self, Note};
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;
use crate::skipped::SkipReason;

/// A name of a task has at most 15 characters, so at most 8 words.
const WORDS_MAX: usize = 20;

pub(crate) struct BioSnoop {
    time: TimeUnit,
    sector_bytes: u64,
    disks: Names,
    /// Requests that the recorder says it lost.
    lost: u64,
}

impl BioSnoop {
    pub(crate) fn new(time: TimeUnit, sector_bytes: u64) -> Self {
        BioSnoop { time, sector_bytes, disks: Names::default(), lost: 0 }
    }

    /// With devices numbered as the names of the whole trace are.
    pub(crate) fn numbered(self, disks: Names) -> Self {
        BioSnoop { disks, ..self }
    }
}

impl LineParser for BioSnoop {
    fn notes(&self) -> Vec<(Note, u64)> {
        noted::some(&[(Note::Lost, self.lost)])
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.starts_with(b"TIME(s)") {
            return Ok(Item::Header);
        }
        if let Some(lost) = line.strip_prefix(b"Possibly lost").or_else(|| line.strip_prefix(b"lost ")) {
            self.lost = self.lost.saturating_add(noted::lost_in(lost));
            return Ok(Item::Skip(SkipReason::RecorderLine));
        }
        let mut words = [&[][..]; WORDS_MAX];
        let count = split_blank(line, &mut words);
        let words = words.get(..count.min(WORDS_MAX)).unwrap_or_default();
        let columns = words.windows(5).enumerate().rev().find_map(|(place, window)| match window {
            &[pid, disk, letters, sector, bytes] if is_request(pid, letters, sector, bytes) => {
                let after = words.get(place + window.len()..).unwrap_or_default();
                are_latencies(after).then_some((disk, letters, sector, bytes))
            }
            _ => None,
        });
        let (Some((disk, letters, sector, bytes)), Some(time)) = (columns, words.first()) else {
            return Err(Flaw::Shape("no `PID DISK T SECTOR BYTES` in the line".to_owned()));
        };
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let device = self.disks.device(disk, "disks")?;
        let op = match rwbs::op_of(letters) {
            // A flush has any sector.
            Some(Op::Flush) => return Ok(rwbs::item(time_ns, device, letters, None, self.sector_bytes)),
            Some(op) => op,
            None => return Ok(Item::Skip(SkipReason::OtherCommand)),
        };
        let bytes = number::whole(bytes, "the size")?;
        if bytes == 0 && letters.contains(&b'F') {
            return Ok(rwbs::item(time_ns, device, letters, None, self.sector_bytes));
        }
        let sector = number::whole(sector, "the sector")?;
        Ok(Item::in_units(time_ns, device, op, (sector, self.sector_bytes), (bytes, 1)))
    }
}

fn is_request(pid: &[u8], letters: &[u8], sector: &[u8], bytes: &[u8]) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let signed = |text: &[u8]| digits(text.strip_prefix(b"-").unwrap_or(text));
    letters.iter().all(u8::is_ascii_uppercase) && digits(pid) && signed(sector) && digits(bytes)
}

/// What follows the size: perhaps a pattern, perhaps the time in the queue, and the latency.
fn are_latencies(words: &[&[u8]]) -> bool {
    let is_number = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    words.len() <= 3 && words.last().is_some_and(|last| is_number(last))
}

/// Whether a file begins as bpftrace's biosnoop does, which has neither addresses nor sizes.
pub(crate) fn is_bpftrace(first_line: &[u8]) -> bool {
    first_line.starts_with(b"TIME(ms)") && first_line.ends_with(b"LAT(ms)")
}
