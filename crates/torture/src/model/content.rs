//! What a drive holds: chunks that are not all zeros.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 4096;

type Chunk = [u8; CHUNK_BYTES];

/// A sparse drive. A clone shares its chunks until one side writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    chunks: BTreeMap<u64, Arc<Chunk>>,
}

impl Content {
    /// Reads into a buffer.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) {
        for (chunk, at, range) in pieces(offset, buffer.len()) {
            let length = range.len();
            match self.chunks.get(&chunk) {
                Some(bytes) => buffer[range].copy_from_slice(&bytes[at..at + length]),
                None => buffer[range].fill(0),
            }
        }
    }

    /// Writes.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (chunk, at, range) in pieces(offset, data.len()) {
            let (length, data) = (range.len(), &data[range]);
            if length == CHUNK_BYTES && data.iter().all(|byte| *byte == 0) {
                self.chunks.remove(&chunk);
                continue;
            }
            let bytes = self.chunks.entry(chunk).or_insert_with(|| Arc::new([0; CHUNK_BYTES]));
            Arc::make_mut(bytes)[at..at + length].copy_from_slice(data);
        }
    }

    /// Makes zeros.
    pub fn zero(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length);
        let chunk_bytes = CHUNK_BYTES as u64;
        let found: Vec<u64> =
            self.chunks.range(offset / chunk_bytes..end.div_ceil(chunk_bytes)).map(|(chunk, _)| *chunk).collect();
        for chunk in found {
            let begin = chunk * chunk_bytes;
            let from = offset.saturating_sub(begin).min(chunk_bytes) as usize;
            let to = (end - begin).min(chunk_bytes) as usize;
            if from == 0 && to == CHUNK_BYTES {
                self.chunks.remove(&chunk);
            } else if let Some(bytes) = self.chunks.get_mut(&chunk) {
                Arc::make_mut(bytes)[from..to].fill(0);
            }
        }
    }

    /// All chunks that were written, by offset.
    pub fn chunks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.chunks.iter().map(|(chunk, bytes)| (chunk * CHUNK_BYTES as u64, bytes.as_slice()))
    }

    /// Those that a range touches.
    pub fn chunks_in(&self, range: std::ops::Range<u64>) -> impl Iterator<Item = (u64, &[u8])> {
        let chunk_bytes = CHUNK_BYTES as u64;
        let chunks = range.start / chunk_bytes..range.end.div_ceil(chunk_bytes);
        self.chunks.range(chunks).map(move |(chunk, bytes)| (chunk * chunk_bytes, bytes.as_slice()))
    }

    /// A chunk, unless it is zeros.
    #[must_use]
    pub fn chunk(&self, offset: u64) -> Option<&[u8]> {
        self.chunks.get(&(offset / CHUNK_BYTES as u64)).map(|bytes| bytes.as_slice())
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.chunks.len() as u64 * CHUNK_BYTES as u64
    }
}

/// A range in pieces of one chunk each: the chunk, where in it, and where in the range.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let now = offset + done as u64;
        let at = (now % CHUNK_BYTES as u64) as usize;
        let step = (CHUNK_BYTES - at).min(length - done);
        let range = done..done + step;
        done += step;
        (step > 0).then_some((now / CHUNK_BYTES as u64, at, range))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_zeros_take_no_room() {
        let mut content = Content::default();
        content.write(4000, &[7; 5000]);
        content.zero(4096, 4096);
        let mut read = [1; 6000];
        content.read(3500, &mut read);
        let expected: Vec<u8> = (3500..9500)
            .map(|at| if (4000..4096).contains(&at) || (8192..9000).contains(&at) { 7 } else { 0 })
            .collect();
        assert_eq!(read.as_slice(), expected.as_slice());
        assert_eq!(content.bytes(), 2 * CHUNK_BYTES as u64);
        content.zero(0, 1 << 20);
        assert_eq!(content.bytes(), 0);
    }
}
