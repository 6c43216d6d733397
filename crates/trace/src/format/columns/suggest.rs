//! Columns that would fit a file of no known format, for the error that says so.

use super::{Column, ColumnSpec, separator_of, split};
use crate::format::TimeUnit;
use crate::format::columns::parser::is_op;
use crate::number::unquoted;

/// So many lines are looked at.
const LINES: usize = 200;

/// What is known of a column.
#[derive(Default)]
struct Seen {
    numbers: usize,
    ops: usize,
    fractions: usize,
    ascending: bool,
    last: Option<f64>,
    first: f64,
    largest: f64,
    /// Every number, bit by bit or.
    bits: u64,
    different: std::collections::BTreeSet<u64>,
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
    let separator = separator_of(lines.last()?);
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| split(line, separator)).collect();
    let count = rows.last()?.len();
    let rows: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == count).collect();
    if count < 3 || rows.len() * 2 < lines.len() {
        return None;
    }
    let seen: Vec<Seen> = (0..count).map(|index| look(rows.iter().filter_map(|row| row.get(index).copied()))).collect();
    let spec = ColumnSpec { columns: kinds(&seen, rows.len())?, separator: None, skip_lines: 0, ops: Vec::new() };
    spec.check().ok()?;
    let skip = rows.iter().take_while(|row| !row.iter().any(|cell| number(cell).is_some())).count();
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

fn number(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(unquoted(cell)).ok()?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0),
    }
}

fn look<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Seen {
    let mut seen = Seen { ascending: true, ..Seen::default() };
    for cell in cells {
        seen.ops += usize::from(is_op(cell));
        let Some(value) = number(cell) else { continue };
        if seen.numbers == 0 {
            seen.first = value;
        }
        seen.numbers += 1;
        seen.fractions += usize::from(cell.contains(&b'.'));
        seen.ascending &= seen.last.is_none_or(|last| last <= value);
        seen.last = Some(value);
        seen.largest = seen.largest.max(value);
        seen.bits |= value as u64;
        if seen.different.len() < 64 {
            seen.different.insert(value as u64);
        }
    }
    seen
}

/// What each column is, by what is most telling first.
fn kinds(seen: &[Seen], rows: usize) -> Option<Vec<Column>> {
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
    // Times ascend, and are the first column that does.
    let time = indices().find(|&index| {
        Some(index) != words
            && of(index).is_some_and(|column| mostly(column.numbers) && column.ascending && column.different.len() > 1)
    });
    if let Some(column) = time.and_then(of) {
        let unit = match column.last.unwrap_or_default() - column.first {
            _ if column.fractions > 0 => TimeUnit::S,
            // A second or more of nanoseconds, microseconds or milliseconds, by their size.
            span if column.first > 1e17 || span > 1e12 => TimeUnit::Ns,
            span if column.first > 1e14 || span > 1e7 => TimeUnit::Us,
            _ => TimeUnit::Ms,
        };
        give(&mut kinds, time, Column::Time(unit));
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
    let bytes_of = |index: usize| of(index).map_or(1, |column| if column.bits % 512 == 0 { 1 } else { 512 });
    give(&mut kinds, Some(address), Column::Address(bytes_of(address)));
    // Sizes stand beside addresses, most of them behind.
    let rest = numeric(&kinds);
    let beside = [address + 1, address.wrapping_sub(1)];
    let size = beside.into_iter().find(|index| rest.contains(index)).or(rest.first().copied())?;
    give(&mut kinds, Some(size), Column::Size(bytes_of(size)));
    let device = numeric(&kinds).into_iter().find(|&index| index < address);
    give(&mut kinds, device, Column::Device);
    Some(kinds.into_iter().map(|kind| kind.unwrap_or(Column::Other)).collect())
}
