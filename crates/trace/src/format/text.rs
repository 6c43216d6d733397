//! What all text formats share: lines in, records out, and which lines may be skipped.
//!
//! Lines that do not look like a record may precede the first one (a heading, leftovers of an
//! archive), at most [`JUNK_LINES_MAX`]. After the first record such a line is an error: skipping it
//! would be guessing. A line that looks like a record but holds an impossible value always is.

use std::sync::Arc;

use super::{Format, Item, Record, Records};
use crate::TraceError;
use crate::error::excerpt;
use crate::lines::{LINE_BYTES_MAX, Lines, NextLine};
use crate::noted::Note;
use crate::number::Flaw;
use crate::skipped::{SkipReason, Skipped};

/// How many lines of junk may precede the first record.
pub(crate) const JUNK_LINES_MAX: u64 = 64;

/// Reads one line of a text format. The line is not blank.
pub(crate) trait LineParser: Send {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw>;

    /// What is odd about the records so far.
    fn notes(&self) -> Vec<(Note, u64)> {
        Vec::new()
    }

    /// Whether junk may precede the first record. Formats with a header say no.
    fn allows_junk(&self) -> bool {
        true
    }
}

/// A text trace as a stream of records.
pub(crate) struct TextRecords<P> {
    lines: Lines,
    parser: P,
    file: Arc<str>,
    format: Format,
    record_seen: bool,
    first_junk: Option<(u64, String)>,
    junk_lines: u64,
}

impl<P: LineParser> TextRecords<P> {
    pub(crate) fn new(lines: Lines, parser: P, file: Arc<str>, format: Format) -> Self {
        TextRecords { lines, parser, file, format, record_seen: false, first_junk: None, junk_lines: 0 }
    }

    fn junk(&mut self, number: u64, what: String, skipped: &mut Skipped) -> Result<(), TraceError> {
        let what = format!("{what}; a {} record is `{}`", self.format, self.format.record());
        if self.record_seen || !self.parser.allows_junk() {
            return Err(TraceError::line(&self.file, number, what));
        }
        self.junk_lines += 1;
        let first = self.first_junk.get_or_insert((number, what));
        if self.junk_lines > JUNK_LINES_MAX {
            let what = format!("no {} record in the first {JUNK_LINES_MAX} lines: {}", self.format, first.1);
            return Err(TraceError::line(&self.file, first.0, what));
        }
        skipped.add(SkipReason::JunkBeforeFirst);
        Ok(())
    }
}

impl<P: LineParser> Records for TextRecords<P> {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.parser.notes()
    }

    fn next_record(&mut self, skipped: &mut Skipped) -> Result<Option<Record>, TraceError> {
        loop {
            let number = self.lines.number() + 1;
            let parsed = match self.lines.next_line() {
                Ok(NextLine::Line(line)) => {
                    let line = line.trim_ascii();
                    if line.is_empty() {
                        skipped.add(SkipReason::BlankLine);
                        continue;
                    }
                    self.parser.parse(line).map_err(|flaw| match flaw {
                        // A shape says little without the line.
                        Flaw::Shape(what) => Flaw::Shape(format!("`{}`: {what}", excerpt(line))),
                        value => value,
                    })
                }
                Ok(NextLine::TooLong) => {
                    let what = format!("the line is over {LINE_BYTES_MAX} bytes, so this is no {} trace", self.format);
                    return Err(TraceError::line(&self.file, number, what));
                }
                Ok(NextLine::End) => {
                    return match self.first_junk.take() {
                        Some((number, what)) if !self.record_seen => {
                            let what = format!("no {} record in the file: {what}", self.format);
                            Err(TraceError::line(&self.file, number, what))
                        }
                        _ => Ok(None),
                    };
                }
                Err(source) => return Err(TraceError::io(&self.file, format!("reading line {number} failed"), source)),
            };
            match parsed {
                Ok(Item::Record(record)) => {
                    self.record_seen = true;
                    return Ok(Some(record));
                }
                Ok(Item::Header) => {}
                Ok(Item::Skip(reason)) => {
                    self.record_seen |= reason.has_record_shape();
                    skipped.add(reason);
                }
                Err(Flaw::Shape(what)) => self.junk(number, what, skipped)?,
                Err(Flaw::Value(what)) => return Err(TraceError::line(&self.file, number, what)),
            }
        }
    }
}
