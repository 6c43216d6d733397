//! What the numbers and words of a column show, and how those of two columns lie to each other.

use std::collections::BTreeSet;

use super::{date, ops};

/// What is known of a column.
#[derive(Default)]
pub(super) struct Seen<'a> {
    pub(super) numbers: usize,
    pub(super) ops: usize,
    pub(super) dates: usize,
    /// What is no number, no operation and no date.
    pub(super) names: BTreeSet<&'a [u8]>,
    pub(super) named: usize,
    pub(super) fractions: usize,
    pub(super) ascending: bool,
    /// Values that are not their predecessor and one.
    pub(super) jumps: usize,
    pub(super) last: Option<f64>,
    pub(super) first: f64,
    pub(super) largest: f64,
    /// Every number, bit by bit or.
    pub(super) bits: u64,
    pub(super) different: BTreeSet<u64>,
}

/// A cell that is a number, also in hexadecimal or with a decimal comma.
pub(super) fn number(cell: &[u8], separator: u8) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    let text = if separator == b',' { text.to_owned() } else { text.replacen(',', ".", 1) };
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0),
    }
}

/// What the cells of a column show.
pub(super) fn look<'a>(cells: impl Iterator<Item = &'a [u8]>, separator: u8) -> Seen<'a> {
    let mut seen = Seen { ascending: true, ..Seen::default() };
    for cell in cells {
        let is_op = ops::of(cell).is_some();
        seen.ops += usize::from(is_op);
        seen.dates += usize::from(date::looks_like(cell));
        let Some(value) = number(cell, separator) else {
            if !is_op && !date::looks_like(cell) {
                seen.names.insert(cell);
                seen.named += 1;
            }
            continue;
        };
        if seen.numbers == 0 {
            seen.first = value;
        }
        seen.numbers += 1;
        seen.fractions += usize::from(cell.iter().any(|byte| matches!(byte, b'.' | b',')));
        seen.ascending &= seen.last.is_none_or(|last| last <= value);
        seen.jumps += usize::from(seen.last.is_some_and(|last| value - last != 1.0));
        seen.last = Some(value);
        seen.largest = seen.largest.max(value);
        seen.bits |= value as u64;
        seen.different.insert(value.to_bits());
    }
    seen
}

/// Whether each value of one column is a little above that of another, as completions are above begins.
pub(super) fn follows(rows: &[&Vec<&[u8]>], after: usize, before: usize, separator: u8) -> bool {
    let value = |row: &[&[u8]], index: usize| row.get(index).and_then(|cell| number(cell, separator));
    let pairs = || rows.iter().filter_map(|row| Some((value(row, before)?, value(row, after)?)));
    let Some(((first, _), (last, _))) = pairs().next().zip(pairs().next_back()) else { return false };
    let most = pairs().map(|(before, after)| after - before).fold(0.0, f64::max);
    let count = pairs().count();
    count > 2 && pairs().all(|(before, after)| before <= after) && most > 0.0 && most * 2.0 < last - first
}
