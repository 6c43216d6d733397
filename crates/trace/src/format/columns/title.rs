//! What the line of a heading says beside the names of columns: brackets, comments, meanings of operations.

use super::heading::has_word;
use super::{ops, split};
use crate::number::unquoted;
use crate::request::Op;

/// The names in a heading. Separators within brackets separate nothing, as in `LBA[4KB blocks]`, and blanks before them.
pub(super) fn split_names(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut names, mut begin, mut depth) = (Vec::new(), 0, 0usize);
    let behind = |at: usize| line.get(at + 1);
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            b'"' => return split(line, separator),
            _ => {}
        }
        let is_blank = separator == b' ' && matches!(byte, b' ' | b'\t');
        let opens = is_blank && matches!(behind(at), Some(b'[' | b'('));
        if depth == 0 && (*byte == separator || is_blank) && !opens {
            names.push(line.get(begin..at).unwrap_or_default());
            begin = at + 1;
        }
    }
    names.push(line.get(begin..).unwrap_or_default());
    names.retain(|name| separator != b' ' || !name.is_empty());
    if depth > 0 { split(line, separator) } else { names.into_iter().map(unquoted).collect() }
}

/// What a heading says of words for operations, as `opcode(28=read,2a=write)` does.
pub(super) fn meanings(name: &[u8]) -> Vec<(String, Op)> {
    let text = String::from_utf8_lossy(name);
    let inside = text.split_once(['(', '[']).map_or("", |(_, inside)| inside).trim_end_matches([')', ']']);
    let pairs = inside.split([',', ';', '|', ' ']).filter_map(|pair| pair.split_once(['=', ':']));
    let of = |(one, other): (&str, &str)| {
        let means = |word: &str| ops::of(word.as_bytes());
        match (means(one), means(other)) {
            (_, Some(op)) => Some((one.to_ascii_lowercase(), op)),
            (Some(op), None) => Some((other.to_ascii_lowercase(), op)),
            (None, None) => None,
        }
    };
    pairs.filter_map(of).collect()
}

/// Operations as NVMe numbers them, where names are those of its commands.
pub(super) fn nvme_ops(names: &[Vec<u8>]) -> &'static [(&'static str, Op)] {
    const OPS: &[(&str, Op)] = &[
        ("0x01", Op::Write),
        ("0x1", Op::Write),
        ("01h", Op::Write),
        ("0x02", Op::Read),
        ("0x2", Op::Read),
        ("02h", Op::Read),
        ("0x00", Op::Flush),
        ("0x0", Op::Flush),
        ("0x09", Op::Trim),
        ("0x9", Op::Trim),
    ];
    if names.iter().any(|name| has_word(name, &["slba", "nlb", "nsid"])) { OPS } else { &[] }
}

/// What a comment says behind its mark.
pub(super) fn of_comment(line: &[u8]) -> Option<&[u8]> {
    const TITLES: [&str; 6] = ["columns", "fields", "format", "header", "names", "record"];
    let marks = line.iter().take_while(|byte| matches!(byte, b'#' | b' ' | b'\t')).count();
    let comment = line.get(marks..).filter(|_| line.starts_with(b"#"))?;
    let colon = comment.iter().position(|byte| *byte == b':').unwrap_or_default();
    let (title, rest) = comment.split_at_checked(colon)?;
    let is_title = TITLES.iter().any(|known| title.eq_ignore_ascii_case(known.as_bytes()));
    Some(if is_title { rest.get(1..).unwrap_or_default().trim_ascii() } else { comment })
}
