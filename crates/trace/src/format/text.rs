//! The common part of all text formats: lines in, records out, and the lines that may be skipped.
//!
//! Lines that do not look like a record may precede the first one (a heading, leftovers of an archive), at most
//! [`JUNK_LINES_MAX`]. After the first record such a line is an error: skipping it would be guessing. Two kinds are no
//! guess: comments, and the heading once more, where files were joined. Of unknown columns, a few lines may be behind the
//! last record. A line that looks like a record but holds an
//! impossible value is always an error.

use std::sync::Arc;

use super::dialect::Lenient;
use super::line_parser::LineParser;
use super::{Format, Item, Record, Records};
use crate::TraceError;
use crate::error::excerpt;
use crate::lines::{LINE_BYTES_MAX, Lines, NextLine};
use crate::noted::{Note, Noted};
use crate::number::Flaw;
use crate::skipped::SkipReason;
use crate::unicode::UTF8_MARK;

/// How many lines of junk may precede the first record.
pub(crate) const JUNK_LINES_MAX: u64 = 64;

/// How many may be behind the last one.
const LINES_BEHIND_MAX: u64 = 8;

/// A text trace as a stream of records.
pub(crate) struct TextRecords<P> {
    lines: Lines,
    parser: Lenient<P>,
    file: Arc<str>,
    format: Format,
    record_seen: bool,
    /// The first line that is no record; a heading only if there is nothing else.
    first_junk: Option<FirstJunk>,
    junk_lines: u64,
    heading: Option<Box<[u8]>>,
}

impl<P: LineParser> TextRecords<P> {
    pub(crate) fn new(lines: Lines, parser: Lenient<P>, file: Arc<str>, format: Format) -> Self {
        TextRecords { lines, parser, file, format, record_seen: false, first_junk: None, junk_lines: 0, heading: None }
    }

    fn junk(&mut self, number: u64, odd: Odd, what: String, noted: &mut Noted) -> Result<(), TraceError> {
        match odd {
            Odd::Comment => {
                noted.skip(SkipReason::Comment);
                return Ok(());
            }
            Odd::Heading(text) if self.heading.as_ref() == Some(&text) => {
                noted.skip(SkipReason::Heading);
                return Ok(());
            }
            _ => {}
        }
        let plain = what;
        let what = match self.format {
            Format::Columns => format!("{plain}{}", self.advice()),
            format => format!("{plain}; a {format} record is `{}`", format.record()),
        };
        if self.record_seen || !self.parser.allows_junk() {
            return Err(TraceError::line(&self.file, number, what));
        }
        self.junk_lines += 1;
        let is_heading = matches!(odd, Odd::Heading(_));
        if self.first_junk.as_ref().is_none_or(|first| first.is_heading && !is_heading) {
            self.first_junk = Some(FirstJunk { number, what: what.clone(), is_heading });
        }
        if self.junk_lines > JUNK_LINES_MAX
            && let Some(first) = &self.first_junk
        {
            let what = format!("no {} record in the first {JUNK_LINES_MAX} lines: {}", self.format, first.what);
            return Err(TraceError::line(&self.file, first.number, what));
        }
        match odd {
            Odd::Heading(text) => {
                self.heading = Some(text);
                noted.skip(SkipReason::Heading);
            }
            _ => {
                noted.skip(SkipReason::JunkBeforeFirst);
                let what = if self.format == Format::Columns { plain } else { what };
                noted.remark(&self.file, &format!("line {number} is left out: {what}"));
            }
        }
        Ok(())
    }

    /// What a person may do about a line that is no record of columns.
    fn advice(&self) -> &'static str {
        if self.record_seen {
            "; a filter such as `grep -v` leaves out lines that are no records"
        } else {
            "; --columns names each column of a line, `-` one that is passed over, and --skip-lines lines before them"
        }
    }

    /// The end of a file whose records have a line behind them that is none, such as a number of rows. What is behind a
    /// record and before another is an error.
    #[cold]
    fn end(&mut self, number: u64, what: String, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        let mut lines = 1;
        loop {
            let line = match self.lines.next_line() {
                Ok(NextLine::Line(line)) => line.trim_ascii(),
                Ok(NextLine::End) => break,
                Ok(NextLine::TooLong) => return Err(TraceError::line(&self.file, number, what)),
                Err(source) => {
                    return Err(TraceError::io(&self.file, format!("reading behind line {number} failed"), source));
                }
            };
            if line.is_empty() {
                noted.skip(SkipReason::BlankLine);
                continue;
            }
            match self.parser.parse(line, false) {
                Ok(Item::Header) => {}
                Ok(Item::Skip(reason)) if !reason.has_record_shape() => noted.skip(reason),
                Err(Flaw::Shape(_)) if lines < LINES_BEHIND_MAX => lines += 1,
                _ => return Err(TraceError::line(&self.file, number, what + self.advice())),
            }
        }
        (0..lines).for_each(|_| noted.skip(SkipReason::JunkAfterLast));
        let more = if lines > 1 { format!(", and {} after it", lines - 1) } else { String::new() };
        noted.remark(&self.file, &format!("line {number} behind the last record is left out{more}: {what}"));
        Ok(None)
    }

    /// Passes on what the parser noticed of the file.
    fn note(&mut self, noted: &mut Noted) {
        if self.parser.extra_columns > 0 {
            noted.extra_columns += std::mem::take(&mut self.parser.extra_columns);
        }
        if let Some(remark) = self.parser.take_remark() {
            noted.remark(&self.file, &remark);
        }
    }
}

struct FirstJunk {
    number: u64,
    what: String,
    is_heading: bool,
}

/// A line that is no record.
enum Odd {
    Comment,
    /// Names where numbers belong.
    Heading(Box<[u8]>),
    /// What may be behind the last record: it begins as no record does, or has words.
    Behind,
    Junk,
}

impl Odd {
    fn of(line: &[u8]) -> Self {
        let columns = || line.split(|byte| matches!(byte, b',' | b';' | b'|' | b' ' | b'\t')).filter(|c| !c.is_empty());
        let number = |column: &[u8]| column.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'"' | b'-'));
        if line.starts_with(b"#") || line.starts_with(b"//") || line == b"--" || line.starts_with(b"-- ") {
            Odd::Comment
        } else if columns().count() > 2 && !columns().any(number) {
            Odd::Heading(line.into())
        } else if is_cut(line) {
            Odd::Junk
        } else {
            Odd::Behind
        }
    }
}

/// Whether a line may be the beginning of a record.
fn is_cut(line: &[u8]) -> bool {
    let is_word = |word: &[u8]| word.len() > 2 && word.iter().all(u8::is_ascii_alphabetic);
    let begins = line.first().is_none_or(|byte| matches!(byte, b'0'..=b'9' | b'"' | b'\'' | b'-' | b'.' | b'{' | b'['));
    begins && !line.split(|byte| *byte == b' ').any(is_word)
}

/// A flaw with its line, since a shape says little without it.
#[cold]
fn told(line: &[u8], flaw: Flaw) -> (Option<Odd>, String) {
    match flaw {
        Flaw::Shape(what) => (Some(Odd::of(line)), format!("`{}`: {what}", excerpt(line))),
        Flaw::Value(what) => (None, what),
    }
}

impl<P: LineParser> Records for TextRecords<P> {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.parser.notes()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        loop {
            let number = self.lines.number() + 1;
            let parsed = match self.lines.next_line() {
                Ok(NextLine::Line(line)) => {
                    let line = line.trim_ascii();
                    if line.is_empty() {
                        self.parser.blank();
                        noted.skip(SkipReason::BlankLine);
                        continue;
                    }
                    let parsed = self.parser.parse(line, !self.record_seen);
                    let parsed = match (parsed, line.strip_prefix(UTF8_MARK)) {
                        // Files were joined.
                        (Err(_), Some(line)) => self.parser.parse(line, !self.record_seen),
                        (parsed, _) => parsed,
                    };
                    parsed.map_err(|flaw| told(line, flaw))
                }
                Ok(NextLine::TooLong) => {
                    let what = format!("the line is over {LINE_BYTES_MAX} bytes, so this is no {} trace", self.format);
                    return Err(TraceError::line(&self.file, number, what));
                }
                Ok(NextLine::End) => {
                    return match self.first_junk.take() {
                        Some(FirstJunk { number, what, .. }) if !self.record_seen => {
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
                    self.note(noted);
                    if !self.record_seen {
                        self.record_seen = true;
                        if let Some(remark) = self.parser.remark() {
                            noted.remark(&self.file, &remark);
                        }
                    }
                    return Ok(Some(record));
                }
                Ok(Item::Header) => {}
                Ok(Item::Skip(reason)) => {
                    self.record_seen |= reason.has_record_shape();
                    noted.skip(reason);
                }
                Err((Some(Odd::Behind), what)) if self.record_seen && self.format == Format::Columns => {
                    return self.end(number, what, noted);
                }
                Err((Some(odd), what)) => self.junk(number, odd, what, noted)?,
                Err((None, what)) => return Err(TraceError::line(&self.file, number, what)),
            }
        }
    }
}
