//! Lines that name each value: `ts=0.5 op=R lba=8 len=8`, `ts: 0.5, op: R, lba: 8, len: 8`, and JSON, an object a line.
//!
//! The keys of the first such line are the names of the columns. Later lines may have them in another order, and lack
//! some.

use super::split;
use crate::input::way::{Step, Way};

/// A request has an operation, an address and a size.
const KEYS_LEAST: usize = 3;

/// Makes an object a line of any JSON, with nothing in it but values.
const FLATTEN: &str = "jq -c 'if type==\"array\" then .[] else . end|\
    [paths(scalars|tostring) as $p|{($p|map(tostring)|join(\"_\")):getpath($p)}]|add'";

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
        [b'=', b':'].into_iter().find_map(|mark| {
            let name = |cell| pair(cell, mark).map_or(Vec::new(), |(key, _)| key.to_vec());
            let names: Vec<Vec<u8>> = split(object(line), separator).into_iter().map(name).collect();
            let mut keys: Vec<&Vec<u8>> = names.iter().filter(|name| !name.is_empty()).collect();
            let count = keys.len();
            keys.sort_unstable();
            keys.dedup();
            (count >= KEYS_LEAST && keys.len() == count).then_some(Keys { mark, names })
        })
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

/// The columns of a line; with keys, in their order.
pub(super) fn cells<'a>(line: &'a [u8], separator: u8, keys: Option<&Keys>) -> Vec<&'a [u8]> {
    keys.map_or_else(|| split(line, separator), |keys| keys.values(line, separator))
}

/// Whether a line is only the begin or the end of an array of objects.
pub(super) fn is_bracket(line: &[u8]) -> bool {
    matches!(line, b"[" | b"]")
}

/// A key and its value, without the quotes of JSON.
fn pair(cell: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let bare = |text: &'_ [u8]| -> std::ops::Range<usize> {
        let begin = text.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'"')).unwrap_or(text.len());
        let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'"')).map_or(begin, |last| last + 1);
        begin..end
    };
    let (key, value) = cell.split_at_checked(memchr::memchr(mark, cell)?)?;
    let value = value.get(1..)?;
    let (key, value) = (key.get(bare(key))?, value.get(bare(value))?);
    let begins = key.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_' || !byte.is_ascii());
    begins.then_some((key, if value == b"null" { b"" } else { value }))
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

/// Whether a line has objects or arrays within its object.
fn is_nested(line: &[u8]) -> bool {
    let mut inside = false;
    let is_json = line.starts_with(b"{") || line.starts_with(b"[");
    is_json
        && object(line).iter().any(|byte| {
            inside ^= *byte == b'"';
            !inside && matches!(byte, b'{' | b'[')
        })
}

/// What to do with JSON that is not an object a line, or has more than values in one.
pub(crate) fn json_of_other_shape(text: &[u8], file: &str) -> Option<String> {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !is_bracket(line))?;
    let is_line = object(first).len() + 2 <= first.len() && !is_nested(first);
    let is_json =
        first.starts_with(b"{") || first.strip_prefix(b"[").is_some_and(|line| line.trim_ascii().starts_with(b"{"));
    (is_json && !is_line).then(|| {
        let commands = Way::from(Some(file)).then(Step::Filter(FLATTEN)).commands();
        format!("of JSON, lines are read that are an object of values alone; {commands} makes such lines of it")
    })
}
