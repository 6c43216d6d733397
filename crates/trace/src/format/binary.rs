//! The common part of all binary formats: records of a fixed size, numbered, with a truncated last one refused.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use super::{Item, Record, Records};
use crate::TraceError;
use crate::noted::{Note, Noted};

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
    stream: Box<dyn BufRead + Send>,
    parser: P,
    file: Arc<str>,
    /// Records begun so far.
    record: u64,
    /// Bytes consumed so far, a header included.
    byte: u64,
}

impl<P: RecordParser<N>, const N: usize> BinaryRecords<P, N> {
    pub(crate) fn new(stream: Box<dyn BufRead + Send>, parser: P, file: Arc<str>, header_bytes: u64) -> Self {
        BinaryRecords { stream, parser, file, record: 0, byte: header_bytes }
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
            let mut bytes = [0; N];
            let failed = |source| TraceError::io(&self.file, format!("reading at byte {start} failed"), source);
            let filled = read_up_to(&mut self.stream, &mut bytes).map_err(failed)?;
            if filled == 0 {
                return Ok(None);
            }
            self.record += 1;
            self.byte += filled as u64;
            if filled < N {
                return Err(self.error(start, format!("the file ends {filled} bytes into a record of {N}")));
            }
            let item = self.parser.parse(&bytes).map_err(|what| self.error(start, what))?;
            let trailing = self.parser.trailing_bytes(&bytes);
            if trailing > 0 {
                let passed = io::copy(&mut self.stream.by_ref().take(trailing), &mut io::sink());
                let passed = passed.map_err(|source| {
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

fn read_up_to(stream: &mut dyn BufRead, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Numbers at fixed places of a fixed-size record. A place past the end reads as zeros; every caller
/// uses constants, so that never happens.
pub(crate) fn at<const N: usize, const W: usize>(bytes: &[u8; N], place: usize) -> [u8; W] {
    bytes.get(place..place + W).and_then(|slice| slice.try_into().ok()).unwrap_or([0; W])
}
