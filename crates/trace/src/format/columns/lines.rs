//! The lines of a file's beginning that may be records.

use super::keyed;

/// Lines behind those that are skipped, without blank ones, comments and the brackets of JSON.
pub(super) fn lines_of(text: &[u8], skip_lines: u64) -> impl Iterator<Item = &[u8]> {
    let skip = usize::try_from(skip_lines).unwrap_or(usize::MAX);
    let lines = text.split(|&byte| byte == b'\n').skip(skip).map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#") && !keyed::is_bracket(line))
}
