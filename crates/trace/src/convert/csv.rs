//! Phelsuma's own CSV: exact to the nanosecond, and the only one with trims and flushes of any drive.

use std::fmt::Write;

use super::encoder::{Encoder, thousandths};
use crate::format::csv::HEADER;
use crate::request::Request;

pub(super) struct Csv;

impl Encoder for Csv {
    fn header(&mut self, text: &mut String) {
        text.push_str(HEADER);
        text.push('\n');
    }

    fn encode(&mut self, request: &Request, text: &mut String) -> Result<(), String> {
        let Request { time_ns, device, op, offset_bytes, size_bytes } = *request;
        thousandths(time_ns, text);
        let _ = writeln!(text, ",{device},{},{offset_bytes},{size_bytes}", op.name());
        Ok(())
    }
}
