//! Lines that name each value: `ts=0.5 op=R lba=8 len=8`, `ts: 0.5, op: R, lba: 8, len: 8`, and JSON, an object a line.
//!
//! The keys of the first such line are the names of the columns. Later lines may have them in another order, and lack
//! some.

use super::{date, heading, ops, split};
use crate::input::way::{Step, Way};

/// What may be between a key and its value, and how many keys of a line it takes. Colons are in much else.
const MARKS: [(u8, usize); 2] = [(b'=', 2), (b':', 3)];

/// Makes an object a line of any JSON, with nothing in it but values.
const FLATTEN: &str = "jq -c '(first(..|arrays|select(.[0]|type==\"object\"))|.[])//.|\
    [paths(scalars|tostring) as $p|{($p|map(tostring)|join(\"_\")):getpath($p)}]|add'";

/// Makes a line with commas of each array.
const LINES: &str = "jq -r 'if (.[0]|type)==\"array\" then .[] else . end|@csv'";

/// The keys of a line, in its order.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// What is between a key and its value.
    mark: u8,
    /// Empty where a value has no key.
    pub(super) names: Vec<Vec<u8>>,
}

impl Keys {
    /// Those of a line that has enough for a request.
    pub(super) fn of(line: &[u8], separator: u8) -> Option<Self> {
        if is_nested(line) {
            return None;
        }
        MARKS.into_iter().find_map(|(mark, least)| {
            let name = |cell| pair(cell, mark).map_or(Vec::new(), |(key, _)| key.to_vec());
            let cells = split(object(line), separator);
            let mut names: Vec<Vec<u8>> = cells.iter().copied().map(name).collect();
            let mut keys: Vec<&Vec<u8>> = names.iter().filter(|name| !name.is_empty()).collect();
            let count = keys.len();
            keys.sort_unstable();
            keys.dedup();
            let right = count >= least && keys.len() == count;
            if right {
                name_time(&mut names, &cells);
                name_op(&mut names, &cells);
            }
            right.then_some(Keys { mark, names })
        })
    }

    /// Those of the first line that has some; loggers write other lines before it.
    pub(super) fn of_first<'a>(mut lines: impl Iterator<Item = &'a [u8]>, separator: u8) -> Option<Self> {
        lines.find_map(|line| Self::of(line, separator))
    }

    /// Whether a line has one of these keys.
    pub(super) fn is_in(&self, line: &[u8], separator: u8) -> bool {
        let cells = split(object(line), separator);
        cells
            .into_iter()
            .filter_map(|cell| pair(cell, self.mark))
            .any(|(key, _)| self.names.iter().any(|name| name == key))
    }

    /// The values of a line in the order of the keys, empty where there is none, and values of other keys behind. One
    /// without a key stays where it is.
    fn values<'a>(&self, line: &'a [u8], separator: u8) -> Vec<&'a [u8]> {
        let cells = split(object(line), separator);
        let mut values: Vec<&[u8]> = vec![b""; self.names.len()];
        for (at, cell) in cells.into_iter().enumerate() {
            let (at, value) = match pair(cell, self.mark) {
                Some((key, value)) => (self.names.iter().position(|name| name == key), value),
                None => (Some(at), cell),
            };
            match at.and_then(|at| values.get_mut(at)) {
                Some(slot) => *slot = value,
                None => values.push(value),
            }
        }
        values
    }
}

/// Names a time among the words without keys, as loggers write one in front, where no key has one.
fn name_time(names: &mut [Vec<u8>], cells: &[&[u8]]) {
    if names.iter().any(|name| heading::is_time(name)) {
        return;
    }
    let open = |at: &usize| names.get(*at).is_some_and(Vec::is_empty);
    let of = |at: usize| cells.get(at).copied().unwrap_or_default();
    let is_number =
        |cell: &[u8]| std::str::from_utf8(cell).is_ok_and(|text| text.contains('.') && text.parse::<f64>().is_ok());
    let mut words = (0..names.len()).take_while(open);
    let Some(time) = words.find(|&at| {
        let bare = date::without_brackets(of(at));
        date::looks_like(bare) || date::is_clock(bare) || (at == 0 && is_number(bare))
    }) else {
        return;
    };
    let is_day = date::is_day(date::without_brackets(of(time)));
    let clock = Some(time + 1).filter(|at| is_day && open(at) && date::is_clock(of(*at)));
    for (at, name) in [(Some(time), if is_day { "date" } else { "time" }), (clock, "time")] {
        let slot = at.and_then(|at| names.get_mut(at));
        slot.into_iter().for_each(|slot| *slot = name.as_bytes().to_vec());
    }
}

/// Names a word that is an operation, where no key has one.
fn name_op(names: &mut [Vec<u8>], cells: &[&[u8]]) {
    let is_op = |cell: &[u8]| cell.len() > 2 && ops::of(cell).is_some();
    let mut words = names.iter().zip(cells).map(|(name, cell)| name.is_empty() && is_op(cell));
    let op = words.position(|is_op| is_op).filter(|_| !names.iter().any(|name| heading::is_op(name)));
    let slot = op.and_then(|at| names.get_mut(at));
    slot.into_iter().for_each(|slot| *slot = b"op".to_vec());
}

/// The columns of a line; with keys, in their order.
pub(super) fn cells<'a>(line: &'a [u8], separator: u8, keys: Option<&Keys>) -> Vec<&'a [u8]> {
    keys.map_or_else(|| split(line, separator), |keys| keys.values(line, separator))
}

/// Whether a line is only the begin or the end of an array of objects.
pub(super) fn is_bracket(line: &[u8]) -> bool {
    matches!(line, b"[" | b"]")
}

/// A key and its value.
fn pair(cell: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let (key, value) = cell.split_at_checked(memchr::memchr(mark, cell)?)?;
    let (key, value) = (bare(key), bare(value.get(1..)?));
    let begins =
        key.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'@') || !byte.is_ascii());
    begins.then_some((key, if value == b"null" { b"" } else { value }))
}

/// A text without blanks and quotes around it, also where one of these was taken off with the cell's.
fn bare(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'"' | b'\'', inside @ ..] | [inside @ .., b' ' | b'\t' | b'"' | b'\''] = text {
        text = inside;
    }
    text
}

/// What is within the braces of a line that is an object, also of an array that has one a line.
fn object(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    let inside = line.strip_prefix(b"[").unwrap_or(line).trim_ascii_start().strip_prefix(b"{");
    let Some(inside) = inside else { return line };
    let mut end = inside;
    while let [before @ .., b',' | b']' | b' '] = end {
        end = before;
    }
    end.strip_suffix(b"}").unwrap_or(line)
}

/// Whether an object is the first of a line, also in an array.
fn begins_object(line: &[u8]) -> bool {
    line.strip_prefix(b"[").unwrap_or(line).trim_ascii_start().starts_with(b"{")
}

/// Whether a line has objects or arrays within its object.
pub(super) fn is_nested(line: &[u8]) -> bool {
    let mut inside = false;
    begins_object(line)
        && object(line).iter().any(|byte| {
            inside ^= *byte == b'"';
            !inside && matches!(byte, b'{' | b'[')
        })
}

/// What to do with JSON that is not an object a line, or has more than values in one.
pub(crate) fn json_of_other_shape(text: &[u8], file: &str) -> Option<String> {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !is_bracket(line))?;
    if !begins_object(first) {
        let is_array =
            first.starts_with(b"[") && first.contains(&b',') && (first.ends_with(b"]") || first.ends_with(b"],"));
        return is_array.then(|| {
            let commands = Way::from(Some(file)).then(Step::Filter(LINES)).commands();
            format!("of JSON, lines are read that are an object of values; {commands} makes columns of arrays")
        });
    }
    let is_line = object(first).len() < first.len() && !is_nested(first);
    (!is_line).then(|| {
        let commands = Way::from(Some(file)).then(Step::Filter(FLATTEN)).commands();
        format!("of JSON, lines are read that are an object of values alone; {commands} makes such lines of it")
    })
}
