//! fio iologs, versions 2 and 3: the header `fio version N iolog`, file actions, and requests in bytes.
//!
//! File actions are `file add|open|close`. Requests are `file read|write|trim|sync|datasync offset length`. Version 3
//! has the time in microseconds in front of each line.
//!
//! Version 2 has no times but `file wait us` lines, each counted from the wait before it. Files are devices, numbered
//! in order of appearance; sync and datasync are flushes.

use super::text::LineParser;
use super::{Item, Record, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;
use crate::skipped::SkipReason;

const FILES_MAX: usize = 65_536;

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
    files: hashbrown::HashMap<Box<[u8]>, u32>,
    /// Version 2: the sum of the waits so far.
    clock_ns: u64,
}

impl Fio {
    pub(crate) fn new(version: u8, time: TimeUnit) -> Self {
        Fio { time, version, header_seen: false, files: hashbrown::HashMap::new(), clock_ns: 0 }
    }

    fn device(&mut self, name: &[u8]) -> Result<u32, Flaw> {
        if let Some(&device) = self.files.get(name) {
            return Ok(device);
        }
        if self.files.len() >= FILES_MAX || name.len() > 4096 {
            return Err(Flaw::Value(format!("over {FILES_MAX} files, or a name over 4096 bytes")));
        }
        let device = self.files.len() as u32;
        self.files.insert(name.into(), device);
        Ok(device)
    }
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
        let mut columns = [&[][..]; 5];
        let timed = usize::from(self.version == 3);
        let count = split_blank(line, &mut columns);
        number::need_columns(count, 2 + timed..=4 + timed)?;
        let mut time_ns = self.clock_ns;
        if timed == 1 {
            time_ns = number::time(columns[0], self.time.ns(), "the time")?;
            columns.rotate_left(1);
        }
        let [name, action, offset, length, _] = columns;
        let arguments = count - timed - 2;
        let op = match action {
            b"add" | b"open" | b"close" => {
                self.device(name)?;
                return Ok(Item::Skip(SkipReason::FileAction));
            }
            b"wait" if timed == 0 && arguments >= 1 => {
                let wait_ns = number::time(offset, self.time.ns(), "the wait")?;
                self.clock_ns = self.clock_ns.saturating_add(wait_ns);
                return Ok(Item::Skip(SkipReason::FileAction));
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            _ => {
                let what = format!(
                    "the action is {}; add, open, close, read, write, trim, sync, datasync or (version 2) wait with its time would be right",
                    excerpt(action)
                );
                return Err(Flaw::Value(what));
            }
        };
        let device = self.device(name)?;
        if op == Op::Flush {
            return Ok(Item::Record(Record { time_ns, device, op, offset_bytes: 0, size_bytes: 0 }));
        }
        if arguments != 2 {
            return Err(Flaw::Value(format!("{} needs an offset and a length", excerpt(action))));
        }
        let offset = number::whole(offset, "the offset")?;
        let length = number::whole(length, "the length")?;
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (length, 1)))
    }
}
