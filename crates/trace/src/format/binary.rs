//! The common part of all binary formats: records of a fixed size, numbered, with a truncated last one refused.

use std::io::BufRead;
use std::sync::Arc;

use super::{Item, Record, Records};
use crate::TraceError;
use crate::noted::{Note, Noted};
use crate::window::Window;

/// Reads one record of `N` bytes.
pub(crate) trait RecordParser<const N: usize>: Send {
    /// The record, or its error.
    fn parse(&mut self, bytes: &[u8; N]) -> Result<Item, String>;

    /// What is odd about the records so far.
    fn notes(&self) -> Vec<(Note, u64)> {
        Vec::new()
    }

    /// How many bytes follow this record before the next one.
    fn trailing_bytes(&self, _: &[u8; N]) -> u64 {
        0
    }
}

/// A binary trace as a stream of records.
pub(crate) struct BinaryRecords<P, const N: usize> {
    window: Window,
    parser: P,
    file: Arc<str>,
    /// Records begun so far.
    record: u64,
    /// Bytes consumed so far, a header included.
    byte: u64,
}

impl<P: RecordParser<N>, const N: usize> BinaryRecords<P, N> {
    pub(crate) fn new(stream: Box<dyn BufRead + Send>, parser: P, file: Arc<str>, header_bytes: u64) -> Self {
        BinaryRecords { window: Window::new(stream), parser, file, record: 0, byte: header_bytes }
    }

    fn error(&self, start: u64, what: String) -> TraceError {
        TraceError::Record { file: Arc::clone(&self.file), record: self.record, byte: start, what }
    }
}

impl<P: RecordParser<N>, const N: usize> Records for BinaryRecords<P, N> {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.parser.notes()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        loop {
            let start = self.byte;
            let failed = |source| TraceError::io(&self.file, format!("reading at byte {start} failed"), source);
            while self.window.rest().len() < N && self.window.fill().map_err(failed)? > 0 {}
            let Some(bytes) = self.window.rest().first_chunk::<N>() else {
                let filled = self.window.rest().len();
                if filled == 0 {
                    return Ok(None);
                }
                self.record += 1;
                return Err(self.error(start, format!("the file ends {filled} bytes into a record of {N}")));
            };
            self.record += 1;
            self.byte += N as u64;
            let item = self.parser.parse(bytes);
            let trailing = self.parser.trailing_bytes(bytes);
            self.window.consume(N);
            let item = item.map_err(|what| self.error(start, what))?;
            if trailing > 0 {
                let passed = self.window.skip(trailing).map_err(|source| {
                    TraceError::io(&self.file, format!("reading at byte {} failed", self.byte), source)
                })?;
                self.byte += passed;
                if passed < trailing {
                    return Err(self.error(start, format!("the file ends {passed} bytes into a payload of {trailing}")));
                }
            }
            match item {
                Item::Record(record) => return Ok(Some(record)),
                Item::Header => {}
                Item::Skip(reason) => noted.skip(reason),
            }
        }
    }
}

/// Numbers at fixed places of a fixed-size record. A place past the end reads as zeros; every caller
/// uses constants, so that never happens.
pub(crate) fn at<const N: usize, const W: usize>(bytes: &[u8; N], place: usize) -> [u8; W] {
    bytes.get(place..place + W).and_then(|slice| slice.try_into().ok()).unwrap_or([0; W])
}
