//! Lines of a stream, one at a time, none longer than a bound.

use std::io::{self, BufRead};

use crate::window::Window;

/// The longest line that any text format may have, in bytes without its end.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;

/// What came next in the stream.
pub(crate) enum NextLine<'a> {
    /// A line without its end (`\n` or `\r\n`).
    Line(&'a [u8]),
    /// A line over [`LINE_BYTES_MAX`]; reading on is pointless.
    TooLong,
    /// The end of the stream.
    End,
}

/// Reads lines and counts them.
pub(crate) struct Lines {
    window: Window,
    /// Bytes of the line last returned, with its end.
    last: usize,
    number: u64,
}

impl Lines {
    pub(crate) fn new(stream: Box<dyn BufRead + Send>) -> Self {
        Lines { window: Window::new(stream), last: 0, number: 0 }
    }

    /// Number of the line last returned, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn next_line(&mut self) -> io::Result<NextLine<'_>> {
        self.window.consume(self.last);
        self.last = 0;
        let mut searched = 0;
        let length = loop {
            let rest = self.window.rest();
            if let Some(at) = memchr::memchr(b'\n', rest.get(searched..).unwrap_or_default()) {
                self.last = searched + at + 1;
                break searched + at;
            }
            searched = rest.len();
            if searched > LINE_BYTES_MAX || self.window.fill()? == 0 {
                self.last = searched;
                break searched;
            }
        };
        if self.last == 0 {
            return Ok(NextLine::End);
        }
        self.number += 1;
        if length > LINE_BYTES_MAX {
            return Ok(NextLine::TooLong);
        }
        let line = self.window.rest().get(..length).unwrap_or_default();
        Ok(NextLine::Line(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}
