//! Phelsuma's own CSV: the header `time_us,device,op,offset_bytes,size_bytes`, then one request per line.
//!
//! Times are microseconds and may have a fraction; op is read, write, trim or flush. Lines that begin with `#` are
//! comments and may precede the header. The header may occur again where files were joined.
//!
//! The header may end in `,handle`. Then each request has a placement handle, 0 to 255, of which 0 is the default.

use super::line_parser::{LineParser, Separator};
use super::{Item, TimeUnit};
use crate::error::excerpt;
use crate::number::{self, Flaw, split_comma};
use crate::request::Op;
use crate::skipped::SkipReason;

/// The first line that is no comment.
pub(crate) const HEADER: &str = "time_us,device,op,offset_bytes,size_bytes";

/// The same of a trace with placement handles.
pub(crate) const HEADER_WITH_HANDLE: &str = "time_us,device,op,offset_bytes,size_bytes,handle";

/// Whether a line is a header.
pub(crate) fn is_header(line: &[u8]) -> bool {
    number::is_heading(line, HEADER) || number::is_heading(line, HEADER_WITH_HANDLE)
}

/// Whether the first line that is no comment has a column of handles.
pub(crate) fn has_handles(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let is_preface = |line: &[u8]| line.is_empty() || line.starts_with(b"#") || line.starts_with(b"sep=");
    lines.find(|line| !is_preface(line)).is_some_and(|line| number::is_heading(line, HEADER_WITH_HANDLE))
}

pub(crate) struct Csv {
    time: TimeUnit,
    /// The header may be missing: a slice of a file, whose format is named.
    headed: bool,
    /// The last header had a column of handles.
    handles: bool,
}

impl Csv {
    pub(crate) fn new(time: TimeUnit, needs_header: bool) -> Self {
        Csv { time, headed: !needs_header, handles: false }
    }
}

impl LineParser for Csv {
    fn allows_junk(&self) -> bool {
        false
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if line.starts_with(b"#") {
            return Ok(Item::Skip(SkipReason::Comment));
        }
        if is_header(line) {
            self.headed = true;
            self.handles = number::is_heading(line, HEADER_WITH_HANDLE);
            return Ok(Item::Header);
        }
        if !self.headed {
            return Err(Flaw::Shape("the header is missing".to_owned()));
        }
        let mut columns = [&[][..]; 6];
        let count = if self.handles { 6 } else { 5 };
        number::need_columns(split_comma(line, &mut columns), count..=count)?;
        let [time, device, op, offset, size, handle] = columns;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        let device = number::device(device, "the device")?;
        let op = match op {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"flush" => Op::Flush,
            _ => {
                let what = format!("the op is {} where read, write, trim or flush belongs", excerpt(op));
                return Err(Flaw::Value(what));
            }
        };
        let offset = number::whole(offset, "the offset")?;
        let size = number::whole(size, "the size")?;
        if op == Op::Flush && (offset, size) != (0, 0) {
            return Err(Flaw::Value("a flush has no range, offset 0 and size 0 would be right".to_owned()));
        }
        let handle = if self.handles { handle_of(handle)? } else { 0 };
        Ok(Item::in_units(time_ns, device, op, (offset, 1), (size, 1)).of_handle(handle))
    }

    fn separator(&self) -> Separator {
        Separator::Comma
    }

    fn columns(&self) -> Option<usize> {
        Some(if self.handles { 6 } else { 5 })
    }
}

fn handle_of(text: &[u8]) -> Result<u8, Flaw> {
    let handle = number::whole(text, "the handle")?;
    u8::try_from(handle).map_err(|_| Flaw::Value(format!("the handle is {handle}, 0 to 255 would be right")))
}
