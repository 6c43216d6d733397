//! Phelsuma's own CSV: exact to the nanosecond, and the only one with trims and flushes of any drive.

use std::fmt::Write;

use super::encoder::{Encoder, thousandths};
use crate::format::csv::{HEADER, HEADER_WITH_HANDLE};
use crate::request::Request;

pub(super) struct Csv {
    /// The header has a column of handles.
    handles: bool,
}

impl Csv {
    pub(super) fn new(handles: bool) -> Self {
        Csv { handles }
    }
}

impl Encoder for Csv {
    fn header(&mut self, text: &mut String) {
        text.push_str(if self.handles { HEADER_WITH_HANDLE } else { HEADER });
        text.push('\n');
    }

    fn encode(&mut self, request: &Request, text: &mut String) -> Result<(), String> {
        let Request { time_ns, device, op, offset_bytes, size_bytes, handle } = *request;
        if handle != 0 && !self.handles {
            // As in files that were joined.
            self.handles = true;
            self.header(text);
        }
        thousandths(time_ns, text);
        // Writing to a string cannot fail.
        let _ = write!(text, ",{device},{},{offset_bytes},{size_bytes}", op.name());
        if self.handles {
            let _ = write!(text, ",{handle}");
        }
        text.push('\n');
        Ok(())
    }

    fn has_handles(&self) -> bool {
        true
    }
}
