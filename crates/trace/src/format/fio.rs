//! fio iologs, versions 2 and 3: the header `fio version N iolog`, file actions, and requests in bytes.
//!
//! File actions are `file add|open|close`. Requests are `file read|write|trim|sync|datasync offset length`. Version 3
//! has the time in microseconds in front of each line.
//!
//! Version 2 has no times but `file wait us` lines, each counted from the wait before it. Files are devices, numbered
//! in order of appearance; their names may hold blanks. sync, datasync and syncfs are flushes. sync_file_range is none:
//! it starts to write dirty pages and makes nothing durable.

use super::line_parser::LineParser;
use super::names::Names;
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;
use crate::skipped::SkipReason;

/// How the first line begins and ends, around the version.
pub(crate) fn version_of(first_line: &[u8]) -> Option<u8> {
    match first_line.trim_ascii() {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}

pub(crate) struct Fio {
    time: TimeUnit,
    version: u8,
    header_seen: bool,
    files: Names,
    /// Version 2: the sum of the waits so far.
    clock_ns: u64,
}

impl Fio {
    pub(crate) fn new(version: u8, time: TimeUnit) -> Self {
        Fio { time, version, header_seen: false, files: Names::default(), clock_ns: 0 }
    }

    /// With devices numbered as the names of the whole trace are.
    pub(crate) fn numbered(self, files: Names) -> Self {
        Fio { files, ..self }
    }

    fn device(&mut self, name: &[u8]) -> Result<u32, Flaw> {
        self.files.device(name, "files")
    }
}

/// A line after its time.
struct Action<'a> {
    name: &'a [u8],
    word: &'a [u8],
    arguments: [&'a [u8]; 2],
    count: usize,
}

impl<'a> Action<'a> {
    /// Read from the end, because the name in front may hold blanks.
    fn of(line: &'a [u8]) -> Self {
        let (before_last, last) = last_word(line);
        let (before_second, second) = last_word(before_last);
        let (before_third, third) = last_word(before_second);
        let stands_alone = |word: &[u8]| is_file_action(word) || is_sync(word);
        if before_second.is_empty() || stands_alone(last) {
            Action { name: before_last, word: last, arguments: [&[]; 2], count: 0 }
        } else if second == b"wait" || before_third.is_empty() {
            Action { name: before_second, word: second, arguments: [last, &[]], count: 1 }
        } else {
            Action { name: before_third, word: third, arguments: [second, last], count: 2 }
        }
    }
}

fn is_file_action(word: &[u8]) -> bool {
    matches!(word, b"add" | b"open" | b"close")
}

fn is_sync(word: &[u8]) -> bool {
    matches!(word, b"sync" | b"datasync" | b"syncfs" | b"sync_file_range")
}

/// What precedes the last word, and that word.
fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_end();
    let start = text.iter().rposition(|byte| matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    let (before, word) = text.split_at_checked(start).unwrap_or((&[], text));
    (before.trim_ascii_end(), word)
}

impl LineParser for Fio {
    fn allows_junk(&self) -> bool {
        false
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if !self.header_seen {
            if version_of(line) != Some(self.version) {
                return Err(Flaw::Shape(format!("the header `fio version {} iolog` is missing", self.version)));
            }
            self.header_seen = true;
            return Ok(Item::Header);
        }
        let mut time_ns = self.clock_ns;
        let mut rest = line;
        let timed = self.version == 3;
        if timed {
            let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
            let (time, after) = line.split_at_checked(end).unwrap_or((line, &[]));
            number::need_columns(split_blank(line, &mut [&[][..]; 1]), 3..=usize::MAX)?;
            time_ns = number::time(time, self.time.tick(), "the time")?;
            rest = after.trim_ascii_start();
        } else {
            number::need_columns(split_blank(line, &mut [&[][..]; 1]), 2..=usize::MAX)?;
        }
        let Action { name, word: action, arguments: [offset, length], count: arguments } = Action::of(rest);
        let op = match action {
            b"add" | b"open" | b"close" => {
                self.device(name)?;
                return Ok(Item::Skip(SkipReason::FileAction));
            }
            b"wait" if !timed && arguments >= 1 => {
                let wait_ns = number::time(offset, self.time.tick(), "the wait")?;
                self.clock_ns = self.clock_ns.saturating_add(wait_ns);
                return Ok(Item::Skip(SkipReason::FileAction));
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"syncfs" => Op::Flush,
            b"sync_file_range" => {
                self.device(name)?;
                return Ok(Item::Skip(SkipReason::WriteOutHint));
            }
            _ => {
                let what = format!(
                    "the action is {}; add, open, close, read, write, trim, sync, datasync, syncfs, sync_file_range or \
                     (version 2) wait with its time would be right",
                    excerpt(action)
                );
                return Err(Flaw::Value(what));
            }
        };
        let device = self.device(name)?;
        if op == Op::Flush {
            return Ok(Item::flush(time_ns, device));
        }
        if arguments != 2 {
            return Err(Flaw::Value(format!("{} needs an offset and a length", excerpt(action))));
        }
        let offset = number::whole(offset, "the offset")?;
        let length = number::whole(length, "the length")?;
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (length, 1)))
    }
}
