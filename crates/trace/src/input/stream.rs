//! Streams of bytes, and what is put back in front of them.

use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;

/// Bytes that come one after the other.
pub(super) type Stream = Box<dyn BufRead + Send>;

/// How much is read at once.
pub(super) const BUFFER_BYTES: usize = 128 * 1024;

/// A name without control characters, so that an error stays one line.
pub(crate) fn printable(name: &str) -> Arc<str> {
    name.chars().map(|char| if char.is_control() { '?' } else { char }).collect::<String>().into()
}

/// Reads up to `count` bytes and puts them back in front of the stream. What precedes an error may still be read; the
/// error comes in its place.
pub(super) fn peek(mut stream: Stream, count: usize) -> io::Result<(Vec<u8>, Stream)> {
    let mut head = Vec::with_capacity(count);
    match stream.by_ref().take(count as u64).read_to_end(&mut head) {
        Ok(_) => Ok((head.clone(), Box::new(Cursor::new(head).chain(stream)))),
        Err(error) if head.is_empty() => Err(error),
        Err(error) => Ok((head.clone(), Box::new(Cursor::new(head).chain(Failing(Some(error)))))),
    }
}

/// Reads so many bytes, or fewer where the stream ends.
#[cfg(feature = "archives")]
pub(super) fn read_up_to(stream: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.by_ref().take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Yields one error, then the end.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

impl BufRead for Failing {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.take().map_or(Ok(&[]), Err)
    }

    fn consume(&mut self, _: usize) {}
}
