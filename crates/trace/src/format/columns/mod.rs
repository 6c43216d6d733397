//! Any columns: what each column of a text file is, said by a person, by the file's heading, or guessed for an error.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::TimeUnit;
use crate::TraceError;
use crate::number::unquoted;
use crate::request::Op;

pub(crate) mod parser;
pub(crate) mod suggest;

/// So many columns can be named.
const COLUMNS_MAX: usize = 64;

/// The largest unit of addresses and sizes: a page of 1 MiB.
const UNIT_BYTES_MAX: u64 = 1 << 20;

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Time(TimeUnit),
    Device,
    Op,
    /// First byte, in units of so many bytes.
    Address(u64),
    /// Length, in units of so many bytes.
    Size(u64),
    /// Passed over.
    Other,
}

/// The columns of a text file. Prints as it parses: `time:us,device,op,lba:512,size:512,-`.
///
/// | column | names | units |
/// | --- | --- | --- |
/// | time | `time` | `s`, `ms`, `us`, `100ns`, `ns`; seconds when absent |
/// | device | `device`; numbers, or names that are numbered as they appear | |
/// | what is asked | `op` | |
/// | first byte | `offset`, `lba` | bytes, or `page` for 4,096; bytes of `offset` and 512 of `lba` when absent |
/// | length | `size` | the same; bytes when absent |
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

    /// The same with names of operations: `read=0|R,write=1|W,trim=2,flush=3,skip=4`.
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

    /// The columns that a heading names, if these are enough for requests.
    pub(crate) fn of_heading(line: &[u8]) -> Option<Self> {
        let separator = separator_of(line);
        let names = split(line, separator);
        let columns: Vec<Column> = names.iter().map(|name| named(name)).collect();
        let spec = ColumnSpec { columns, separator: Some(separator), skip_lines: 0, ops: Vec::new() };
        spec.check().is_ok().then_some(spec)
    }

    /// What separates columns, where that is settled.
    pub(crate) fn separator(&self) -> Option<u8> {
        self.separator
    }

    /// The unit of times, if there are any.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        self.columns.iter().find_map(|column| if let Column::Time(unit) = column { Some(*unit) } else { None })
    }

    fn check(&self) -> Result<(), String> {
        let count = |is: fn(&Column) -> bool| self.columns.iter().filter(|column| is(column)).count();
        let each = [
            ("time", count(|column| matches!(column, Column::Time(_))), 0),
            ("device", count(|column| matches!(column, Column::Device)), 0),
            ("op", count(|column| matches!(column, Column::Op)), 1),
            ("offset or lba", count(|column| matches!(column, Column::Address(_))), 1),
            ("size", count(|column| matches!(column, Column::Size(_))), 1),
        ];
        for (name, found, least) in each {
            if found < least {
                return Err(format!("no column is {name}, one would be right"));
            }
            if found > 1 {
                return Err(format!("{found} columns are {name}, one at the most would be right"));
            }
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
    let bytes = |absent: u64| match unit {
        None => Ok(absent),
        Some("bytes" | "b" | "B") => Ok(1),
        Some("page") => Ok(4096),
        Some("sector") => Ok(512),
        Some(unit) => match unit.parse() {
            Ok(bytes @ 1..=UNIT_BYTES_MAX) => Ok(bytes),
            _ => Err(format!(
                "unit `{}` is none; bytes, sector, page or a number of bytes would be right",
                unit.escape_debug()
            )),
        },
    };
    let column = match name {
        "time" => Column::Time(match unit {
            None => TimeUnit::S,
            Some(unit) => unit.parse().map_err(|error: TraceError| error.to_string())?,
        }),
        "device" => Column::Device,
        "op" => Column::Op,
        "offset" => Column::Address(bytes(1)?),
        "lba" => Column::Address(bytes(512)?),
        "size" => Column::Size(bytes(1)?),
        "-" => Column::Other,
        _ => {
            return Err(format!(
                "`{}` is no column; time, device, op, offset, lba, size or - would be right",
                name.escape_debug()
            ));
        }
    };
    match (column, unit) {
        (Column::Device | Column::Op | Column::Other, Some(_)) => Err(format!("{name} has no unit")),
        _ => Ok(column),
    }
}

impl fmt::Display for ColumnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, column) in self.columns.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match column {
                Column::Time(unit) => write!(f, "{comma}time:{unit}")?,
                Column::Device => write!(f, "{comma}device")?,
                Column::Op => write!(f, "{comma}op")?,
                Column::Address(1) => write!(f, "{comma}offset")?,
                Column::Address(bytes) => write!(f, "{comma}lba:{bytes}")?,
                Column::Size(1) => write!(f, "{comma}size")?,
                Column::Size(bytes) => write!(f, "{comma}size:{bytes}")?,
                Column::Other => write!(f, "{comma}-")?,
            }
        }
        Ok(())
    }
}

/// The columns of a file that begins like this: as a person says, or as its heading does. The separator is settled.
pub(crate) fn of(named: Option<&ColumnSpec>, sample: &[u8], file: &Arc<str>) -> Result<ColumnSpec, TraceError> {
    let mut lines = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(named) = named else {
        let heading = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default();
        return ColumnSpec::of_heading(heading).ok_or_else(|| {
            let what = "the first line names no columns that make a request; --columns would name them";
            TraceError::file(file, what)
        });
    };
    let mut spec = named.clone();
    if spec.separator.is_none() {
        let skip = usize::try_from(spec.skip_lines).unwrap_or(usize::MAX);
        let text = lines.skip(skip).filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(16);
        // A heading may have other separators than records; what makes the right number of columns is right.
        let right = spec.columns.len();
        let most =
            text.map(|line| [b' ', b',', b';', b'\t', b'|'].into_iter().find(|&s| split(line, s).len() == right));
        spec.separator = most.flatten().last().or(Some(b','));
    }
    Ok(spec)
}

/// What a name in a heading stands for. A unit may follow behind an underscore or in parentheses: `size_bytes`, `Time (us)`.
fn named(name: &[u8]) -> Column {
    let text = String::from_utf8_lossy(unquoted(name)).to_ascii_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let unit = |absent: u64| {
        if has(&["bytes", "byte", "b"]) {
            1
        } else if has(&["sectors", "sector", "lba", "lbn", "512"]) {
            512
        } else if has(&["pages", "page", "4k", "4096"]) {
            4096
        } else {
            absent
        }
    };
    let time_unit = || {
        let units = [("ns", TimeUnit::Ns), ("us", TimeUnit::Us), ("ms", TimeUnit::Ms), ("s", TimeUnit::S)];
        units.into_iter().find(|(name, _)| has(&[name])).map_or(TimeUnit::S, |(_, unit)| unit)
    };
    if has(&["response", "responsetime", "latency", "elapsed", "duration", "completion"]) {
        Column::Other
    } else if has(&["time", "timestamp", "ts", "t"]) {
        Column::Time(time_unit())
    } else if has(&["op", "opcode", "operation", "type", "iotype", "rw", "action", "command", "cmd"]) {
        Column::Op
    } else if has(&["size", "length", "len", "blocks", "count", "nbytes"]) {
        Column::Size(unit(if has(&["blocks"]) { 512 } else { 1 }))
    } else if has(&["offset", "address", "addr", "start", "lba", "lbn", "sector", "block"]) {
        Column::Address(unit(if has(&["block"]) { 512 } else { 1 }))
    } else if has(&["device", "dev", "disk", "disknumber", "lun", "volume", "asu", "diskid"]) {
        Column::Device
    } else {
        Column::Other
    }
}

/// The separator that makes the most columns of a line: a comma, semicolon, tab or bar, else blanks.
pub(crate) fn separator_of(line: &[u8]) -> u8 {
    let count = |separator: u8| line.iter().filter(|&&byte| byte == separator).count();
    let most = [b',', b';', b'\t', b'|'].into_iter().max_by_key(|&separator| (count(separator), separator == b','));
    most.filter(|&separator| count(separator) > 0).unwrap_or(b' ')
}

/// The columns of a line.
pub(crate) fn split(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let parts = line.split(move |&byte| byte == separator || (separator == b' ' && byte == b'\t'));
    let parts = parts.filter(|part| separator != b' ' || !part.is_empty()).map(unquoted);
    parts.take(COLUMNS_MAX + 1).collect()
}
