//! A copy-on-write view: writes stay in memory, and the file beneath is as it was.

use super::Storage;
use std::collections::HashMap;
use std::io;

/// Bytes that are kept together.
const PIECE: usize = 4096;

/// A [`Storage`] that can be written without changing the one beneath. It keeps the writes in memory, by pieces of 4
/// KiB.
#[derive(Debug)]
pub struct Overlay<S> {
    beneath: S,
    written: HashMap<u64, Box<[u8; PIECE]>>,
}

impl<S: Storage> Overlay<S> {
    /// A view of `beneath` as it is.
    pub fn new(beneath: S) -> Self {
        Self { beneath, written: HashMap::new() }
    }

    /// Bytes of memory for the writes.
    pub fn written_bytes(&self) -> u64 {
        (self.written.len() * PIECE) as u64
    }
}

/// The pieces that so many bytes at a place touch: which, where in them, and which of the bytes.
fn pieces(at: u64, len: usize) -> impl Iterator<Item = (u64, usize, core::ops::Range<usize>)> {
    let mut done = 0;
    core::iter::from_fn(move || {
        let place = at + done as u64;
        let within = (place % PIECE as u64) as usize;
        let count = (PIECE - within).min(len - done);
        let range = done..done + count;
        done += count;
        (count > 0).then_some((place / PIECE as u64, within, range))
    })
}

impl<S: Storage> Storage for Overlay<S> {
    fn len(&self) -> io::Result<u64> {
        self.beneath.len()
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        if self.written.is_empty() {
            return self.beneath.read_at(at, out);
        }
        self.beneath.read_at(at, out)?;
        for (piece, within, range) in pieces(at, out.len()) {
            if let Some(bytes) = self.written.get(&piece) {
                let count = range.len();
                out[range].copy_from_slice(&bytes[within..within + count]);
            }
        }
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let len = self.len()?;
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (piece, within, range) in pieces(at, bytes.len()) {
            if !self.written.contains_key(&piece) {
                let mut copy = Box::new([0; PIECE]);
                let from = piece * PIECE as u64;
                let there = (len - from).min(PIECE as u64) as usize;
                self.beneath.read_at(from, &mut copy[..there])?;
                self.written.insert(piece, copy);
            }
            if let Some(copy) = self.written.get_mut(&piece) {
                copy[within..within + range.len()].copy_from_slice(&bytes[range]);
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_nothing_beneath_changes() {
        let beneath: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        let (mut overlay, mut plain) = (Overlay::new(beneath.clone()), beneath.clone());
        for (at, len) in [(0, 1), (4095, 2), (4096, 4096), (100, 9_900), (9_999, 1), (5_000, 0)] {
            let bytes = vec![at as u8 ^ 0x55; len];
            overlay.write_at(at, &bytes).unwrap();
            plain.write_at(at, &bytes).unwrap();
            let mut read = vec![0; 10_000];
            overlay.read_at(0, &mut read).unwrap();
            assert_eq!(read, plain);
        }
        assert_eq!(overlay.beneath, beneath);
        assert!(overlay.write_at(9_999, &[0, 0]).is_err());
        assert!(overlay.write_at(u64::MAX, &[0]).is_err());
    }
}
