//! How a text file writes its columns where it differs from its format: other separators, quotes, columns after the last.
//!
//! A line that a format refuses for its shape is tried again in other dialects. What fits is kept for the lines after it,
//! so a file in its format's own dialect is read as fast as before.

use crate::noted::Note;
use crate::number::Flaw;

use super::Item;
use super::line_parser::{LineParser, Separator};

/// The separators that files have.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// So many columns after those of a format leave a guess standing.
const EXTRA_COLUMNS_GUESSED: usize = 2;

/// What a file does otherwise than its format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Dialect {
    /// This byte stands where the format has that one.
    separator: Option<(u8, u8)>,
    /// Columns are in quotes.
    quoted: bool,
    /// Only so many columns are the format's.
    columns: Option<usize>,
}

/// A parser that takes its format in other dialects as well.
pub(crate) struct Lenient<P> {
    parser: P,
    dialect: Dialect,
    /// The dialect is the format's own.
    is_native: bool,
    /// A separator that the file names itself, as `sep=;`.
    named: Option<u8>,
    scratch: Vec<u8>,
    /// Lines with more columns than the format has.
    pub(crate) extra_columns: u64,
    /// The format is being guessed, which many more columns than it has speak against.
    guessing: bool,
    /// The dialect is known, so that nothing else is tried.
    settled: bool,
}

impl<P: LineParser> Lenient<P> {
    pub(crate) fn new(parser: P) -> Self {
        let dialect = Dialect::default();
        let (scratch, named) = (Vec::new(), None);
        let (guessing, settled) = (false, false);
        Lenient { parser, dialect, is_native: true, named, scratch, extra_columns: 0, guessing, settled }
    }

    /// One that takes a line as its parser does, and no other way.
    pub(crate) fn settled(parser: P) -> Self {
        Lenient { settled: true, ..Self::new(parser) }
    }

    /// One with which a format is guessed.
    pub(crate) fn guessing(parser: P) -> Self {
        Lenient { guessing: true, ..Self::new(parser) }
    }

    /// What the file does otherwise than its format, for a person. Quotes change nothing.
    pub(crate) fn remark(&self) -> Option<String> {
        match self.dialect.separator? {
            // What the file names is no guess.
            (separator, _) if self.named == Some(separator) => None,
            (separator, native) if separator == native => Some("times have decimal commas".to_owned()),
            (b'\t', _) => Some("columns are separated by tabs".to_owned()),
            (separator, _) => Some(format!("columns are separated by `{}`", char::from(separator))),
        }
    }

    /// Reads a line that the format refuses as it stands. `first` says that no record was read before it.
    fn otherwise(&mut self, line: &[u8], refused: Flaw, first: bool) -> Result<Item, Flaw> {
        if self.settled {
            return Err(refused);
        }
        let quoted = line.contains(&b'"');
        let native = self.parser.separator().byte();
        let mut separators = vec![self.dialect.separator];
        if first {
            if native == b' ' && line.contains(&b',') {
                separators.push(Some((native, native)));
            }
            let named = self.named.into_iter();
            let others = SEPARATORS.into_iter().filter(|_| self.named.is_none());
            separators.extend(named.chain(others).filter(|&other| other != native).map(|other| Some((other, native))));
        }
        for columns in [None, self.parser.columns()] {
            for &separator in &separators {
                let dialect = Dialect { separator, quoted, columns: columns.or(self.dialect.columns) };
                if separator.is_some_and(|(from, to)| to == b' ' && from != to && has_blank_within(line, from)) {
                    continue;
                }
                if dialect == self.dialect || (columns.is_some() && columns == self.dialect.columns) {
                    continue;
                }
                let extra = normalise(line, dialect, self.parser.separator(), &mut self.scratch);
                if columns.is_some() && (extra == 0 || (self.guessing && extra > EXTRA_COLUMNS_GUESSED)) {
                    continue;
                }
                let item = self.parser.parse(&self.scratch);
                let fits = match &item {
                    Ok(Item::Record(_) | Item::Header) => true,
                    Ok(Item::Skip(reason)) => reason.has_record_shape(),
                    // Two things that are wrong at once are too many for a guess.
                    Err(Flaw::Value(_)) => !self.guessing,
                    Err(Flaw::Shape(_)) => false,
                };
                if fits {
                    self.dialect = dialect;
                    self.is_native = dialect == Dialect::default();
                    self.extra_columns += u64::from(columns.is_some());
                    return item;
                }
            }
        }
        Err(refused)
    }

    /// Reads a line; `first` says that no record was read before it.
    pub(crate) fn parse(&mut self, line: &[u8], first: bool) -> Result<Item, Flaw> {
        if first && let Some(separator) = named_separator(line) {
            self.named = Some(separator);
            self.parser.blank();
            return Ok(Item::Header);
        }
        let item = if self.is_native {
            self.parser.parse(line)
        } else {
            let extra = normalise(line, self.dialect, self.parser.separator(), &mut self.scratch);
            let item = self.parser.parse(&self.scratch);
            self.extra_columns += u64::from(extra > 0 && !matches!(item, Err(Flaw::Shape(_))));
            item
        };
        match item {
            Err(Flaw::Shape(what)) => self.otherwise(line, Flaw::Shape(what), first),
            other => other,
        }
    }

    pub(crate) fn blank(&mut self) {
        self.parser.blank();
    }

    pub(crate) fn allows_junk(&self) -> bool {
        self.parser.allows_junk()
    }

    pub(crate) fn take_remark(&mut self) -> Option<String> {
        self.parser.take_remark()
    }

    pub(crate) fn notes(&self) -> Vec<(Note, u64)> {
        self.parser.notes()
    }
}

/// The separator in a line such as `sep=;`, which spreadsheets write.
pub(crate) fn named_separator(line: &[u8]) -> Option<u8> {
    match line.strip_prefix(b"sep=").or_else(|| line.strip_prefix(b"SEP="))? {
        // A separator that numbers or names are made of is none.
        [separator] if !separator.is_ascii_alphanumeric() => Some(*separator),
        b"" => Some(b'\t'),
        _ => None,
    }
}

/// Writes a line as the format would have it; returns how many columns were cut off.
fn normalise(line: &[u8], dialect: Dialect, native: Separator, out: &mut Vec<u8>) -> usize {
    out.clear();
    let most = dialect.columns.unwrap_or(usize::MAX);
    let (mut inside, mut columns, mut after_separator) = (false, 1, true);
    // A comma means the same within quotes and outside.
    let decimal = dialect.separator.is_some_and(|(from, _)| from != b',') && has_plain_comma(line);
    for (at, &byte) in line.iter().enumerate() {
        if dialect.quoted && byte == b'"' {
            inside = !inside;
            continue;
        }
        if inside && byte == b',' && groups_thousands(line, at) {
            if decimal {
                out.push(b'.');
            }
            continue;
        }
        let byte = match dialect.separator {
            Some((from, to)) if byte == from && !inside => to,
            // Columns are separated by something else, so this is a decimal comma.
            Some(_) if byte == b',' && !inside => b'.',
            _ => byte,
        };
        let separates = match native {
            Separator::Comma => byte == b',',
            Separator::Blank => matches!(byte, b' ' | b'\t'),
        };
        if separates && !inside {
            // Blanks in a row are one separator.
            columns += usize::from(native == Separator::Comma || !after_separator);
        }
        after_separator = separates && !inside;
        if columns <= most {
            // A separator within quotes is part of a name.
            out.push(if separates && inside { b'_' } else { byte });
        }
    }
    columns.saturating_sub(most)
}

/// Whether a comma is outside of all quotes.
fn has_plain_comma(line: &[u8]) -> bool {
    let mut inside = false;
    line.iter().any(|byte| {
        inside ^= *byte == b'"';
        *byte == b',' && !inside
    })
}

/// Whether a column has a blank in it, where columns are separated by this.
fn has_blank_within(line: &[u8], separator: u8) -> bool {
    let columns = line.split(|byte| *byte == separator).map(<[u8]>::trim_ascii);
    columns.filter(|column| !column.starts_with(b"\"")).any(|column| column.contains(&b' '))
}

/// Whether the comma there groups digits by thousands, as in 26,492,928.
fn groups_thousands(line: &[u8], comma: usize) -> bool {
    let digit = |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_digit);
    digit(comma.checked_sub(1)) && (1..=3).all(|place| digit(Some(comma + place))) && !digit(Some(comma + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{TimeUnit, msr::Msr, replayer};

    fn size_of(item: Result<Item, Flaw>) -> Option<u64> {
        match item {
            Ok(Item::Record(record)) => Some(record.size_bytes),
            _ => None,
        }
    }

    #[test]
    fn what_the_first_line_shows_holds_for_the_others() {
        let mut lines = Lenient::new(replayer::parser(TimeUnit::Ms));
        assert_eq!(size_of(lines.parse(b"0.5;0;4096;512;0", true)), Some(512));
        assert_eq!(size_of(lines.parse(b"0.6;0;4096;1024;1", false)), Some(1024));
        assert!(lines.parse(b"0.6;0;4096;1024", false).is_err(), "a column too few is one in every dialect");
        assert_eq!(lines.remark().as_deref(), Some("columns are separated by `;`"));
    }

    #[test]
    fn a_separator_that_the_file_names_is_its_separator() {
        let mut lines = Lenient::new(replayer::parser(TimeUnit::Ms));
        assert!(lines.parse(b"sep=5", true).is_err(), "numbers are made of digits");
        assert_eq!(lines.parse(b"sep=:", true), Ok(Item::Header));
        assert_eq!(size_of(lines.parse(b"0.5:0:4096:512:0", true)), Some(512));
    }

    #[test]
    fn separators_within_quotes_separate_nothing() {
        let mut lines = Lenient::new(Msr::new(TimeUnit::HundredNs));
        let line = br#""128166372003061629","h,m","0","Write","7014912","4096","26""#;
        assert_eq!(size_of(lines.parse(line, true)), Some(4096));
        assert_eq!(size_of(lines.parse(b"128166372003061629,hm,0,Write,7014912,512,26", false)), Some(512));
    }

    #[test]
    fn columns_after_the_last_are_counted() {
        let mut lines = Lenient::new(replayer::parser(TimeUnit::Ms));
        assert_eq!(size_of(lines.parse(b"0.5  0 4096 512 1", true)), Some(512));
        assert_eq!(size_of(lines.parse(b"0.5  0 4096 512 1  7", false)), Some(512));
        assert_eq!(size_of(lines.parse(b"0.5  0 4096 512 1 7 8", false)), Some(512));
        assert_eq!(lines.extra_columns, 2);
    }
}
