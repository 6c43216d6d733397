//! A stream's bytes through a window that is filled in large pieces: a call into the stream for thousands of records.

use std::io::{self, BufRead, ErrorKind};

/// So much is asked of the stream at once, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// What is next in a stream.
pub(crate) struct Window {
    stream: Box<dyn BufRead + Send>,
    bytes: Vec<u8>,
    /// The first byte that is not consumed.
    start: usize,
    /// Behind the last byte that was read.
    end: usize,
}

impl Window {
    pub(crate) fn new(stream: Box<dyn BufRead + Send>) -> Self {
        Window { stream, bytes: Vec::new(), start: 0, end: 0 }
    }

    /// The bytes that were read and are not consumed.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads more behind the rest; 0 at the end of the stream.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() < self.end + PIECE_BYTES {
            self.bytes.resize(self.end + PIECE_BYTES, 0);
        }
        loop {
            match self.stream.read(self.bytes.get_mut(self.end..).unwrap_or_default()) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes over so many bytes of the rest, or over all of it.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// Passes over so many bytes of the stream; how many there were.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let here = (self.rest().len() as u64).min(left);
            self.consume(here as usize);
            left -= here;
            if left > 0 && self.fill()? == 0 {
                break;
            }
        }
        Ok(count - left)
    }
}
