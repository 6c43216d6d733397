//! Columns that would fit a file of no known format, for the error that says so.

use std::collections::BTreeSet;

use super::{Clock, Column, ColumnSpec, Unit, date, ops, separator_of, split};
use crate::format::TimeUnit;
use crate::format::dialect::named_separator;

/// So many lines are looked at.
const LINES: usize = 200;

/// What is known of a column.
#[derive(Default)]
struct Seen<'a> {
    numbers: usize,
    ops: usize,
    dates: usize,
    /// What is no number, no operation and no date.
    names: BTreeSet<&'a [u8]>,
    named: usize,
    fractions: usize,
    ascending: bool,
    last: Option<f64>,
    first: f64,
    largest: f64,
    /// Every number, bit by bit or.
    bits: u64,
    different: BTreeSet<u64>,
}

/// A `--columns` and a `--separator` that would read these lines, if there is one.
pub(crate) fn options(text: &[u8]) -> Option<String> {
    let lines: Vec<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .take(LINES)
        .collect();
    // The last line has no heading in front.
    let separator = lines.first().and_then(|line| named_separator(line)).unwrap_or(separator_of(lines.last()?));
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| split(line, separator)).collect();
    let count = rows.last()?.len();
    let rows: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == count).collect();
    if count < 3 || rows.len() * 2 < lines.len() {
        return None;
    }
    let seen: Vec<Seen> =
        (0..count).map(|index| look(rows.iter().filter_map(|row| row.get(index).copied()), separator)).collect();
    let spec = ColumnSpec { columns: kinds(&seen, rows.len())?, separator: None, skip_lines: 0, ops: Vec::new() };
    spec.check().ok()?;
    let is_text = |line: &[u8]| line.is_empty() || line.starts_with(b"#");
    let is_record = |line: &[u8]| {
        let cells = split(line, separator);
        !is_text(line) && cells.len() == count && cells.iter().any(|cell| number(cell, separator).is_some())
    };
    let before: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).take_while(|line| !is_record(line)).collect();
    let skip = if before.iter().all(|line| is_text(line)) { 0 } else { before.len() };
    let codes = spec.columns.iter().position(|column| *column == Column::Op).and_then(|index| seen.get(index));
    let mut options = format!("--columns {spec}");
    if codes.is_some_and(|codes| codes.ops == 0) {
        options += " --ops read=0,write=1";
    }
    if skip > 0 {
        options += &format!(" --skip-lines {skip}");
    }
    Some(options)
}

fn number(cell: &[u8], separator: u8) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?;
    let text = if separator == b',' { text.to_owned() } else { text.replacen(',', ".", 1) };
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0),
    }
}

fn look<'a>(cells: impl Iterator<Item = &'a [u8]>, separator: u8) -> Seen<'a> {
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
        seen.last = Some(value);
        seen.largest = seen.largest.max(value);
        seen.bits |= value as u64;
        if seen.different.len() < 64 {
            seen.different.insert(value.to_bits());
        }
    }
    seen
}

/// What each column is, by what is most telling first.
fn kinds(seen: &[Seen<'_>], rows: usize) -> Option<Vec<Column>> {
    let mut kinds = vec![None; seen.len()];
    let mostly = |count: usize| count * 2 > rows;
    let give = |kinds: &mut Vec<Option<Column>>, index: Option<usize>, kind: Column| {
        if let Some(slot) = index.and_then(|index| kinds.get_mut(index)) {
            *slot = Some(kind);
        }
        index
    };
    let free = |kinds: &[Option<Column>], index: usize| kinds.get(index).is_some_and(Option::is_none);
    let indices = || 0..seen.len();
    let of = |index: usize| seen.get(index);
    // Words for operations, else few small codes.
    let words = indices().find(|&index| of(index).is_some_and(|column| mostly(column.ops)));
    // Times are dates, or ascend and are the first column that does.
    let dates = indices().find(|&index| of(index).is_some_and(|column| mostly(column.dates)));
    give(&mut kinds, dates, Column::Time(Some(Clock::Date)));
    let time = indices().filter(|_| dates.is_none()).find(|&index| {
        Some(index) != words
            && of(index).is_some_and(|column| {
                let differ = column.different.len() > 1 || (column.fractions > 0 && rows == 1);
                mostly(column.numbers) && column.ascending && differ
            })
    });
    if let Some(column) = time.and_then(of) {
        let unit = match column.last.unwrap_or_default() - column.first {
            _ if column.fractions > 0 => TimeUnit::S,
            // A second or more of nanoseconds, microseconds or milliseconds, by their size.
            span if column.first > 1e17 || span > 1e12 => TimeUnit::Ns,
            span if column.first > 1e14 || span > 1e7 => TimeUnit::Us,
            _ => TimeUnit::Ms,
        };
        give(&mut kinds, time, Column::Time(Some(Clock::Unit(unit))));
    }
    let codes = || {
        indices().find(|&index| {
            free(&kinds, index)
                && of(index).is_some_and(|c| mostly(c.numbers) && c.largest <= 3.0 && c.different.len() == 2)
        })
    };
    let op = words.or_else(codes)?;
    give(&mut kinds, Some(op), Column::Op);
    let numeric = |kinds: &[Option<Column>]| -> Vec<usize> {
        let mut all: Vec<usize> = indices()
            .filter(|&index| free(kinds, index) && of(index).is_some_and(|c| mostly(c.numbers) && c.fractions == 0))
            .collect();
        // Addresses differ most, do not ascend as numbers of records do, and are large.
        let rank = |index: usize| {
            let seen = of(index).map_or((0, false, 0), |c| (c.different.len(), !c.ascending, c.largest as u64));
            std::cmp::Reverse(seen)
        };
        all.sort_by_key(|&index| rank(index));
        all
    };
    let address = *numeric(&kinds).first()?;
    let bytes_of =
        |index: usize| Unit::of(of(index).map_or(1, |column| if column.bits.is_multiple_of(512) { 1 } else { 512 }));
    give(&mut kinds, Some(address), Column::Address(bytes_of(address)));
    // Sizes stand beside addresses, most of them behind.
    let rest = numeric(&kinds);
    let beside = [address + 1, address.wrapping_sub(1)];
    let size = beside.into_iter().find(|index| rest.contains(index)).or(rest.first().copied())?;
    give(&mut kinds, Some(size), Column::Size(bytes_of(size)));
    // Few names that come again are devices.
    let named = indices().find(|&index| {
        free(&kinds, index) && of(index).is_some_and(|c| mostly(c.named) && c.names.len() * 3 <= c.named * 2)
    });
    let device = named.or_else(|| numeric(&kinds).into_iter().find(|&index| index < address));
    give(&mut kinds, device, Column::Device { names: false });
    Some(kinds.into_iter().map(|kind| kind.unwrap_or(Column::Other)).collect())
}
