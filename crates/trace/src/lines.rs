//! Lines of a stream, one at a time, none longer than a bound.

use std::io::{self, BufRead};

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

/// Reads lines into one reused buffer and counts them.
pub(crate) struct Lines {
    stream: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(crate) fn new(stream: Box<dyn BufRead + Send>) -> Self {
        Lines { stream, buffer: Vec::new(), number: 0 }
    }

    /// Number of the line last returned, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn next_line(&mut self) -> io::Result<NextLine<'_>> {
        self.buffer.clear();
        self.number += 1;
        let mut ended = false;
        while !ended {
            let available = match self.stream.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                if self.buffer.is_empty() {
                    self.number -= 1;
                    return Ok(NextLine::End);
                }
                break;
            }
            let (used, text) = match memchr::memchr(b'\n', available) {
                Some(at) => {
                    ended = true;
                    (at + 1, available.get(..at).unwrap_or_default())
                }
                None => (available.len(), available),
            };
            if self.buffer.len() + text.len() > LINE_BYTES_MAX {
                return Ok(NextLine::TooLong);
            }
            self.buffer.extend_from_slice(text);
            self.stream.consume(used);
        }
        Ok(NextLine::Line(self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer)))
    }
}
