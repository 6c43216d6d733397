//! Any columns: what each column of a text file is, said by a person, by the file's heading, or guessed for an error.

use std::fmt;
use std::str::FromStr;

use super::{SECTOR_BYTES, TimeUnit};
use crate::TraceError;
use crate::number::unquoted;
use crate::request::Op;

mod commas;
mod date;
mod finer;
pub(crate) mod foreign;
mod heading;
pub(crate) mod keyed;
mod kinds;
mod lines;
mod nouns;
pub(crate) mod ops;
mod packed;
pub(crate) mod parser;
mod passed;
mod seen;
pub(crate) mod settle;
pub(crate) mod settled;
pub(crate) mod suggest;
mod title;
pub(crate) mod units;
mod volumes;
mod within;

/// So many columns can be named.
const COLUMNS_MAX: usize = 64;

/// So many columns name a device together at the most, as a host, a bus, a target and a unit of it do.
const DEVICE_COLUMNS_MAX: usize = 4;

/// How times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Numbers in a unit.
    Unit(TimeUnit),
    /// Dates with times of day, or these alone.
    Date,
}

/// The unit of addresses or sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) bytes: u64,
    /// A heading does not say it.
    pub(crate) guessed: bool,
    /// Values are one less, as NVMe counts blocks.
    pub(crate) less_one: bool,
    /// Values are hexadecimal, with `0x` in front or without.
    pub(crate) hex: bool,
}

impl Unit {
    fn of(bytes: u64) -> Self {
        Unit { bytes, guessed: false, less_one: false, hex: false }
    }

    /// The same unit in other bytes, which are no guess.
    fn in_bytes(self, bytes: u64) -> Self {
        Unit { bytes, guessed: false, ..self }
    }
}

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The day of a time that is a time of day.
    Day,
    /// Seconds where nothing is said.
    Time(Option<Clock>),
    Device {
        /// Numbers are names as well.
        names: bool,
    },
    Op,
    /// First byte.
    Address(Unit),
    /// Length.
    Size(Unit),
    /// Passed over.
    Other,
    /// Passed over, as it tells no devices apart in the beginning of a file, though its name is one of devices.
    Within,
}

/// The columns of a text file. Prints as it parses: `time:us,device,op,lba:512,size:512,-`. Without any, as the default
/// is, the file's heading names them.
///
/// | column | names | units |
/// | --- | --- | --- |
/// | time | `time` | `s`, `ms`, `us`, `100ns`, `ns`, `ps`, `date`; seconds, or dates, when absent |
/// | day, where the time is one of day | `date` | |
/// | device, in one to four columns | `device` | numbers, or names that are numbered as they appear; `name` where numbers are names, too |
/// | what is asked | `op` | |
/// | first byte | `offset`, `lba` | bytes, `page`, `4KiB`, …; bytes of `offset` and 512 of `lba` when absent; `hex`, also behind another unit, where numbers are hexadecimal |
/// | length | `size`; `size-1` where values are one less | the same; bytes when absent |
/// | passed over | `-` | |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnSpec {
    columns: Vec<Column>,
    /// What separates columns; guessed from the first lines when absent.
    separator: Option<u8>,
    /// So many lines precede the records.
    skip_lines: u64,
    /// Names of operations, in lower case; none are passed over.
    ops: Vec<(String, Option<Op>)>,
}

impl ColumnSpec {
    /// The same with this separator: one character, `tab` or `blank`.
    ///
    /// # Errors
    /// It is none of them.
    pub fn with_separator(mut self, text: &str) -> Result<Self, TraceError> {
        self.separator = Some(match (text, text.as_bytes()) {
            ("tab" | "\\t", _) => b'\t',
            ("blank" | "space", _) => b' ',
            (_, [one]) if !one.is_ascii_alphanumeric() => *one,
            _ => {
                let what =
                    format!("separator `{}` is none; one character, tab or blank would be right", text.escape_debug());
                return Err(TraceError::Option(what));
            }
        });
        Ok(self)
    }

    /// The same with so many lines passed over at the beginning.
    #[must_use]
    pub fn with_skip_lines(self, skip_lines: u64) -> Self {
        ColumnSpec { skip_lines, ..self }
    }

    /// The same with names of operations, besides the usual words: `read=0|R,write=1|W,trim=2,flush=3,skip=4`.
    ///
    /// # Errors
    /// An operation that is none, or no name.
    pub fn with_ops(mut self, text: &str) -> Result<Self, TraceError> {
        self.ops.clear();
        for pair in text.split(',') {
            let wrong = || {
                let what = format!(
                    "`{}` names no operation; OP=NAME|NAME with OP read, write, trim, flush or skip would be right",
                    pair.escape_debug()
                );
                TraceError::Option(what)
            };
            let (op, names) = pair.split_once('=').ok_or_else(wrong)?;
            let op = match op.trim() {
                "skip" => None,
                name => Some(
                    [Op::Read, Op::Write, Op::Trim, Op::Flush]
                        .into_iter()
                        .find(|op| op.name() == name)
                        .ok_or_else(wrong)?,
                ),
            };
            for name in names.split('|').map(str::trim) {
                if name.is_empty() {
                    return Err(wrong());
                }
                self.ops.push((name.to_ascii_lowercase(), op));
            }
        }
        Ok(self)
    }

    /// How times are written, where that is said; none at all without a column of times.
    pub(crate) fn time(&self) -> Option<Option<Clock>> {
        self.columns.iter().find_map(|column| if let Column::Time(clock) = column { Some(*clock) } else { None })
    }

    /// Whether days have a column of their own.
    pub(crate) fn has_day(&self) -> bool {
        self.columns.contains(&Column::Day)
    }

    /// The unit that a person says times are in; dates are in none.
    pub(crate) fn stated_clock(&self) -> Option<Clock> {
        self.time().flatten()
    }

    /// What a word asks for, if it has a meaning: an operation, or none of ours.
    fn op(&self, word: &[u8]) -> Option<Option<Op>> {
        self.op_named(word).or_else(|| ops::of(word).map(Some))
    }

    /// The same of words that a person gives a meaning.
    fn op_named(&self, word: &[u8]) -> Option<Option<Op>> {
        let named = self.ops.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word));
        named.map(|(_, op)| *op)
    }

    /// The same with addresses or sizes in other units, in bytes.
    pub(crate) fn in_units(mut self, address: Option<u64>, size: Option<u64>) -> Self {
        for column in &mut self.columns {
            match (column, address, size) {
                (Column::Address(unit), Some(bytes), _) | (Column::Size(unit), _, Some(bytes)) => {
                    *unit = unit.in_bytes(bytes);
                }
                _ => {}
            }
        }
        self
    }

    /// The same with sizes that are one more than their values.
    pub(crate) fn with_sizes_one_less(mut self) -> Self {
        for column in &mut self.columns {
            if let Column::Size(unit) = column {
                unit.less_one = true;
            }
        }
        self
    }

    /// The same with hexadecimal numbers in a column.
    pub(super) fn in_hexadecimal(mut self, is: fn(&Column) -> bool) -> Self {
        for column in self.columns.iter_mut().filter(|column| is(column)) {
            if let Column::Address(unit) | Column::Size(unit) = column {
                unit.hex = true;
            }
        }
        self
    }

    fn check(&self) -> Result<(), String> {
        let count = |is: fn(&Column) -> bool| self.columns.iter().filter(|column| is(column)).count();
        let each = [
            ("time", count(|column| matches!(column, Column::Time(_))), usize::from(self.has_day())),
            ("date", count(|column| *column == Column::Day), 0),
            ("device", count(|column| matches!(column, Column::Device { .. })), 0),
            ("op", count(|column| matches!(column, Column::Op)), 1),
            ("offset or lba", count(|column| matches!(column, Column::Address(_))), 1),
            ("size", count(|column| matches!(column, Column::Size(_))), 1),
        ];
        for (name, found, least) in each {
            if found < least {
                return Err(format!("no column is {name}, one would be right"));
            }
            let (most, shown) = if name == "device" { (DEVICE_COLUMNS_MAX, "four") } else { (1, "one") };
            if found > most {
                return Err(format!("{found} columns are {name}, {shown} at the most would be right"));
            }
        }
        if self.has_day() && matches!(self.stated_clock(), Some(Clock::Unit(_))) {
            return Err("a time beside a date is one of day, such as 23:59:55, and has no unit".to_owned());
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(format!("over {COLUMNS_MAX} columns"));
        }
        Ok(())
    }
}

impl FromStr for ColumnSpec {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let columns: Result<Vec<Column>, String> = text.split(',').map(|column| column_of(column.trim())).collect();
        let spec = columns.and_then(|columns| {
            let spec = ColumnSpec { columns, separator: None, skip_lines: 0, ops: Vec::new() };
            spec.check().map(|()| spec)
        });
        spec.map_err(|what| TraceError::Option(format!("columns `{}`: {what}", text.escape_debug())))
    }
}

fn column_of(text: &str) -> Result<Column, String> {
    let (name, unit) = text.split_once(':').map_or((text, None), |(name, unit)| (name, Some(unit)));
    let bytes = |absent: u64| {
        let (named, hex) = match unit {
            Some("hex") => (None, true),
            Some(unit) => unit.strip_suffix(":hex").map_or((Some(unit), false), |unit| (Some(unit), true)),
            None => (None, false),
        };
        let bytes = named.map_or(Some(absent), units::unit_bytes).ok_or_else(|| {
            format!(
                "unit `{}` is none; bytes, sector, page or a number of bytes would be right, such as 4KiB, and hex behind \
                 it where numbers are hexadecimal",
                unit.unwrap_or_default().escape_debug()
            )
        })?;
        Ok::<_, String>(Unit { hex, ..Unit::of(bytes) })
    };
    let column = match name {
        "time" => Column::Time(match unit {
            None => None,
            Some("date") => Some(Clock::Date),
            Some(unit) => Some(Clock::Unit(unit.parse().map_err(|error: TraceError| error.to_string())?)),
        }),
        "device" if unit == Some("name") => return Ok(Column::Device { names: true }),
        "device" => Column::Device { names: false },
        "date" => Column::Day,
        "op" => Column::Op,
        "offset" => Column::Address(bytes(1)?),
        "lba" => Column::Address(bytes(SECTOR_BYTES)?),
        "size" => Column::Size(bytes(1)?),
        "size-1" => Column::Size(Unit { less_one: true, ..bytes(1)? }),
        "-" => Column::Other,
        _ => {
            return Err(format!(
                "`{}` is no column; time, date, device, op, offset, lba, size, size-1 or - would be right",
                name.escape_debug()
            ));
        }
    };
    match (column, unit) {
        (Column::Day | Column::Device { .. } | Column::Op | Column::Other | Column::Within, Some(_)) => {
            Err(format!("{name} has no unit"))
        }
        _ => Ok(column),
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bytes != 1 {
            write!(f, ":{}", self.bytes)?;
        }
        f.write_str(if self.hex { ":hex" } else { "" })
    }
}

impl fmt::Display for ColumnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, column) in self.columns.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match column {
                Column::Time(None) => write!(f, "{comma}time")?,
                Column::Time(Some(Clock::Unit(unit))) => write!(f, "{comma}time:{unit}")?,
                Column::Time(Some(Clock::Date)) => write!(f, "{comma}time:date")?,
                Column::Day => write!(f, "{comma}date")?,
                Column::Device { names: false } => write!(f, "{comma}device")?,
                Column::Device { names: true } => write!(f, "{comma}device:name")?,
                Column::Op => write!(f, "{comma}op")?,
                Column::Address(unit) if unit.bytes == 1 => write!(f, "{comma}offset{unit}")?,
                Column::Address(unit) => write!(f, "{comma}lba{unit}")?,
                Column::Size(unit) if unit.less_one => write!(f, "{comma}size-1{unit}")?,
                Column::Size(unit) => write!(f, "{comma}size{unit}")?,
                Column::Other | Column::Within => write!(f, "{comma}-")?,
            }
        }
        Ok(())
    }
}

/// The separator that makes the most columns of a line: a comma, semicolon, tab or bar, else blanks.
pub(crate) fn separator_of(line: &[u8]) -> u8 {
    let count = |separator: u8| {
        let all = line.iter().filter(|&&byte| byte == separator).count();
        if separator == b',' { all - decimal_commas(line) } else { all }
    };
    let most = [b',', b';', b'\t', b'|'].into_iter().max_by_key(|&separator| (count(separator), separator == b','));
    most.filter(|&separator| count(separator) > 0).unwrap_or(b' ')
}

/// How many commas are before the milliseconds of a time of day, as in 23:59:55,005.
fn decimal_commas(line: &[u8]) -> usize {
    let is_time = |window: &&[u8]| {
        matches!(window, [b':', a, b, b':', c, d, b',', e, f, g]
            if [a, b, c, d, e, f, g].iter().all(|digit| digit.is_ascii_digit()))
    };
    let found = line.windows(10).enumerate().filter(|(_, window)| is_time(window));
    // More digits are a number of their own.
    found.filter(|(at, _)| !line.get(at + 10).is_some_and(u8::is_ascii_digit)).count()
}

/// The columns of a line. Separators within quotes separate nothing.
pub(crate) fn split(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut columns, mut begin, mut inside, mut until) = (Vec::new(), 0, false, 0);
    let ends = line.iter().map(Some).chain([None]).enumerate();
    for (at, byte) in ends {
        inside ^= byte == Some(&b'"');
        if byte == Some(&b'\'')
            && at >= until
            && line.get(begin..at).is_some_and(|before| before.trim_ascii().is_empty())
        {
            until = single_quoted_end(line, at, separator).unwrap_or(until);
        }
        let is_end = |byte: &u8| *byte == separator || (separator == b' ' && *byte == b'\t');
        let ends = byte.is_none_or(|byte| !inside && at >= until && is_end(byte));
        if ends && columns.len() <= COLUMNS_MAX {
            let column = line.get(begin..at).unwrap_or_default();
            begin = at + 1;
            // A bracket is no column, as that of `[  5.1]` between blanks.
            if separator != b' ' || !matches!(column, b"" | b"[") {
                columns.push(bare(column));
            }
        }
    }
    columns
}

/// Where a column in single quotes ends that begins there. Without an end, the quote is an apostrophe.
fn single_quoted_end(line: &[u8], begin: usize, separator: u8) -> Option<usize> {
    let rest = line.get(begin + 1..)?;
    let is_end = |pair: &[u8]| pair.first() == Some(&b'\'') && pair.get(1).is_none_or(|byte| *byte == separator);
    (0..rest.len()).find(|at| rest.get(*at..rest.len().min(at + 2)).is_some_and(is_end)).map(|at| begin + 1 + at + 1)
}

/// A column without blanks and quotes around it, which may be single ones.
pub(crate) fn bare(column: &[u8]) -> &[u8] {
    match unquoted(column) {
        [b'\'', inside @ .., b'\''] => inside,
        column => column,
    }
}
