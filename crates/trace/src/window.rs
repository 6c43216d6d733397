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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Bytes that come a few at a time, and between them an interruption.
    struct Slow(Vec<u8>, usize, bool);

    impl Read for Slow {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = out.len().min(self.0.len() - self.1).min(1 + self.1 % 1000);
            out[..count].copy_from_slice(&self.0[self.1..self.1 + count]);
            self.1 += count;
            Ok(count)
        }
    }

    impl BufRead for Slow {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            Ok(&self.0[self.1..])
        }

        fn consume(&mut self, count: usize) {
            self.1 += count;
        }
    }

    #[test]
    fn bytes_come_once_and_in_order_however_the_stream_gives_them() {
        let all: Vec<u8> = (0..3 * PIECE_BYTES as u32 + 17).map(|n| (n % 251) as u8).collect();
        let mut window = Window::new(Box::new(Slow(all.clone(), 0, false)));
        let mut at = 0;
        for step in [1, 48, 70_000, 0, 5, 100_000].into_iter().cycle() {
            while window.rest().len() < 48 && window.fill().unwrap() > 0 {}
            let Some(record) = window.rest().first_chunk::<48>() else { break };
            assert_eq!(record[..], all[at..at + 48]);
            window.consume(48);
            at += 48;
            let passed = window.skip(step).unwrap();
            assert_eq!(passed, step.min((all.len() - at) as u64), "the end alone is no reason to pass over less");
            at += passed as usize;
        }
        assert_eq!(window.rest(), &all[at..]);
        assert!(all.len() - at < 48);
    }
}
