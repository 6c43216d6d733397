//! What the numbers and words of a column show, and how those of two columns lie to each other.

use std::collections::BTreeSet;

use super::commas::{self, Commas};
use super::{date, ops, units};
use crate::number;

/// What is known of a column.
#[derive(Default)]
pub(super) struct Seen<'a> {
    pub(super) numbers: usize,
    pub(super) ops: usize,
    /// The words that are operations.
    pub(super) op_words: BTreeSet<&'a [u8]>,
    /// Dates with times of day, or dates alone.
    pub(super) dates: usize,
    /// Dates alone.
    pub(super) days: usize,
    /// Times of day alone.
    pub(super) clocks: usize,
    /// Of these, those with parts of a second.
    pub(super) parts: usize,
    /// Dates in styles that are not read.
    pub(super) unread: Option<&'a [u8]>,
    /// What is no number, no operation and no date.
    pub(super) names: BTreeSet<&'a [u8]>,
    pub(super) named: usize,
    pub(super) fractions: usize,
    /// Numbers with units of bytes.
    pub(super) with_units: usize,
    pub(super) ascending: bool,
    /// Values that are not their predecessor and one.
    pub(super) jumps: usize,
    pub(super) last: Option<f64>,
    pub(super) first: f64,
    pub(super) largest: f64,
    /// Every number, bit by bit or.
    pub(super) bits: u64,
    pub(super) different: BTreeSet<u64>,
    /// Numbers are hexadecimal without a mark.
    pub(super) hexadecimal: bool,
}

/// A column of operations may have a code of two digits.
const HEXADECIMAL_DIGITS: usize = 4;

/// Whether the cells of a column are hexadecimal numbers without a mark.
fn are_hexadecimal<'a>(mut cells: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let shows = |cell: &[u8]| cell.len() >= HEXADECIMAL_DIGITS && number::shows_hexadecimal(cell);
    cells.clone().any(shows) && cells.all(|cell| !cell.is_empty() && cell.iter().all(u8::is_ascii_hexdigit))
}

/// A cell that is a number, also in hexadecimal, with a decimal comma or with a unit of bytes.
pub(super) fn number(cell: &[u8], separator: u8) -> Option<f64> {
    let cell = if cell.starts_with(b"[") { date::without_brackets(cell) } else { cell };
    let text = std::str::from_utf8(cell).ok()?;
    // Within quotes there may be one, whatever separates columns.
    let text = match commas::of(cell) {
        _ if !cell.contains(&b',') => text.to_owned(),
        None if separator == b',' => text.replace(',', ""),
        Some(Commas::Thousands) => text.replace(',', ""),
        _ => text.replacen(',', ".", 1),
    };
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => {
            let plain = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            let timed = || {
                let (number, unit) = units::time_with_unit(cell)?;
                number::time(number, unit.tick(), "").ok().map(|ns| ns as f64 / 1e9)
            };
            plain.or_else(|| units::with_unit(cell).map(|bytes| bytes as f64)).or_else(timed)
        }
    }
}

/// What the cells of a column show.
pub(super) fn look<'a>(cells: impl Iterator<Item = &'a [u8]> + Clone, separator: u8) -> Seen<'a> {
    let hexadecimal = are_hexadecimal(cells.clone());
    let mut seen = Seen { ascending: true, hexadecimal, ..Seen::default() };
    for cell in cells {
        let is_op = ops::of(cell).is_some();
        seen.ops += usize::from(is_op);
        if is_op {
            seen.op_words.insert(cell);
        }
        let is_date = date::looks_like(cell) || date::is_clock(cell);
        seen.dates += usize::from(date::looks_like(cell));
        seen.days += usize::from(date::is_day(cell));
        seen.clocks += usize::from(date::is_clock(cell));
        seen.parts += usize::from(date::is_clock(cell) && cell.iter().any(|byte| matches!(byte, b'.' | b',')));
        if date::unread(cell).is_some() {
            seen.unread = Some(cell);
            continue;
        }
        let of_hexadecimal = || number::hexadecimal(cell, "").ok().map(|value| value as f64);
        let value = if hexadecimal { of_hexadecimal() } else { number(cell, separator) };
        let Some(value) = value else {
            if !is_op && !is_date {
                seen.names.insert(cell);
                seen.named += 1;
            }
            continue;
        };
        if seen.numbers == 0 {
            seen.first = value;
        }
        seen.numbers += 1;
        let with_unit = units::with_unit(cell).is_some();
        seen.with_units += usize::from(with_unit);
        // A time with its unit is one in seconds.
        let in_parts = cell.iter().any(|byte| matches!(byte, b'.' | b',')) || units::time_with_unit(cell).is_some();
        seen.fractions += usize::from(!with_unit && in_parts);
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
