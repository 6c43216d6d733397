//! Columns that have the same times as another one, with more digits: whole seconds beside microseconds. And whole
//! seconds of which a second column has the parts.

use std::collections::BTreeSet;

use super::seen::number;
use super::{date, units};
use crate::format::TimeUnit;

/// How many of a unit there may be in the unit of the other column.
const RATIOS: [f64; 5] = [1.0, 1e3, 1e6, 1e7, 1e9];

/// So many units of the other column show that both go on alike.
const TELLING_UNITS: f64 = 3.0;

/// So many neighbouring records of one second show that a column has its parts.
const TELLING_PAIRS: usize = 6;

/// The times of a column beside the numbers of another one. Dates are in seconds.
struct Beside(Vec<(f64, f64)>);

impl Beside {
    fn of(rows: &[&Vec<&[u8]>], time: usize, other: usize, is_date: bool, separator: u8) -> Self {
        let coarse = |cell: &[u8]| if is_date { seconds_of(cell) } else { number(cell, separator) };
        let pair = |row: &&Vec<&[u8]>| Some((coarse(row.get(time)?)?, number(row.get(other)?, separator)?));
        Self(rows.iter().filter_map(pair).collect())
    }

    fn ends(&self) -> Option<((f64, f64), (f64, f64))> {
        Some((*self.0.first()?, *self.0.last()?))
    }

    /// Whether no number is below the one before.
    fn ascends(&self, of: fn(&(f64, f64)) -> f64) -> bool {
        self.0.iter().zip(self.0.iter().skip(1)).all(|(one, next)| of(one) <= of(next))
    }

    fn different(&self, of: fn(&(f64, f64)) -> f64) -> usize {
        self.0.iter().map(|pair| of(pair).to_bits()).collect::<BTreeSet<_>>().len()
    }
}

fn coarse(pair: &(f64, f64)) -> f64 {
    pair.0
}

fn fine(pair: &(f64, f64)) -> f64 {
    pair.1
}

/// The one of `others` with the most digits that has the times of this column, and how many of its units are one of this
/// column's.
pub(super) fn than(
    rows: &[&Vec<&[u8]>],
    time: usize,
    others: &[usize],
    is_date: bool,
    separator: u8,
) -> Option<(usize, f64)> {
    let fits = |other: usize| {
        let both = Beside::of(rows, time, other, is_date, separator);
        let finer = both.different(fine);
        let more = finer > both.different(coarse);
        let (first, last) = both.ends()?;
        let tells = last.0 - first.0 >= TELLING_UNITS;
        let goes_on = |ratio: f64, begin: (f64, f64)| {
            let distance = |pair: &(f64, f64)| ((pair.1 - begin.1) - (pair.0 - begin.0) * ratio).abs();
            both.0.iter().all(|pair| distance(pair) <= ratio * 1.001)
        };
        // Both may count from 1970.
        let same = |ratio: f64| units::since_1970(first.0 as u64).is_some() && goes_on(ratio, (0.0, 0.0));
        let ratio = RATIOS.into_iter().find(|&ratio| same(ratio) || (tells && goes_on(ratio, first)))?;
        (more && both.ascends(fine)).then_some((other, ratio, finer))
    };
    let best = others.iter().filter_map(|&other| fits(other)).max_by_key(|(_, _, different)| *different);
    best.map(|(other, ratio, _)| (other, ratio))
}

/// So many different times beside a few of the other column show that both go on alike, where the unit has a name.
const TELLING_TIMES: usize = 16;

/// The same where a name says how many units of a column are one of this one's: fewer of these are enough.
pub(super) fn by_unit(
    rows: &[&Vec<&[u8]>],
    time: usize,
    others: &[(usize, f64)],
    is_date: bool,
    separator: u8,
) -> Option<(usize, f64)> {
    let fits = |&(other, ratio): &(usize, f64)| {
        let both = Beside::of(rows, time, other, is_date, separator);
        let Some((first, last)) = both.ends() else { return false };
        let alike = (last.1 - first.1 - (last.0 - first.0) * ratio).abs() <= ratio;
        // The other column goes on where this one has to.
        let goes_on = last.0 > first.0;
        let times = both.different(fine);
        let many = times >= TELLING_TIMES && times >= both.different(coarse) * 4;
        both.ascends(coarse) && both.ascends(fine) && alike && goes_on && many
    };
    others.iter().copied().filter(|(_, ratio)| *ratio > 1.0).find(fits)
}

fn seconds_of(cell: &[u8]) -> Option<f64> {
    date::ns_since_1970(cell).ok().map(|ns| ns as f64 / 1e9)
}

/// The unit of which there are so many in another one.
pub(super) fn unit_below(unit: TimeUnit, ratio: f64) -> Option<TimeUnit> {
    let ns = unit.tick().ns as f64 / ratio;
    TimeUnit::ALL.into_iter().find(|unit| *unit != TimeUnit::Ps && unit.tick().ns as f64 == ns)
}

/// The column of whole seconds, from 1970 on or of a day, behind which a column has their parts; and how many digits
/// these have.
pub(super) fn parts_behind(rows: &[&Vec<&[u8]>], separator: u8) -> Option<(usize, usize)> {
    let whole = |row: &[&[u8]], at: usize| -> Option<u64> {
        let cell = row.get(at)?;
        if date::is_clock(cell) || date::looks_like(cell) {
            let has_parts = cell.contains(&b'.') || cell.contains(&b',') || date::is_day(cell);
            return date::ns_since_1970(cell).ok().filter(|_| !has_parts).map(|ns| ns / 1_000_000_000);
        }
        let seconds = std::str::from_utf8(cell).ok()?.parse().ok()?;
        (units::since_1970(seconds) == Some(TimeUnit::S)).then_some(seconds)
    };
    let part = |row: &[&[u8]], at: usize| -> Option<u64> { std::str::from_utf8(row.get(at)?).ok()?.parse().ok() };
    (0..rows.first()?.len().saturating_sub(1)).find_map(|at| {
        let pairs = rows.iter().map(|row| Some((whole(row, at)?, part(row, at + 1)?)));
        let pairs: Vec<(u64, u64)> = pairs.collect::<Option<_>>()?;
        let neighbours = || pairs.iter().zip(pairs.iter().skip(1));
        let ascending = neighbours().all(|(one, next)| one <= next);
        let within = neighbours().filter(|(one, next)| one.0 == next.0 && one.1 < next.1).count();
        let begins_anew = neighbours().any(|(one, next)| one.1 > next.1);
        let largest = pairs.iter().map(|(_, part)| *part).max()?;
        let digits = [3, 6, 9].into_iter().find(|&digits| largest < 10u64.pow(digits))? as usize;
        let padded = rows.iter().filter_map(|row| row.get(at + 1)).map(|cell| cell.len()).min()?;
        let digits = if matches!(padded, 6 | 9) { digits.max(padded) } else { digits };
        (ascending && begins_anew && within >= TELLING_PAIRS && separator != b':').then_some((at, digits))
    })
}

/// Whether a column has the parts of the whole seconds that another one has: they go on within each second and begin
/// anew with the next, and fill it. What is numbered within a second goes on by one, and only as far as there are requests.
pub(super) fn has_parts(rows: &[Vec<&[u8]>], time: usize, other: usize) -> bool {
    let whole = |cell: &[u8]| match date::ns_since_1970(cell) {
        Ok(ns) => (ns % 1_000_000_000 == 0).then_some(ns / 1_000_000_000),
        Err(_) => std::str::from_utf8(cell).ok()?.parse().ok(),
    };
    let part = |cell: &[u8]| -> Option<u64> { std::str::from_utf8(cell).ok()?.parse().ok() };
    let pairs = rows.iter().map(|row| Some((whole(row.get(time)?)?, part(row.get(other)?)?)));
    let Some(pairs) = pairs.collect::<Option<Vec<(u64, u64)>>>() else { return false };
    let neighbours = || pairs.iter().zip(pairs.iter().skip(1));
    let within = || neighbours().filter(|(one, next)| one.0 == next.0);
    let largest = pairs.iter().map(|(_, part)| *part).max().unwrap_or_default();
    let fills = [1_000, 1_000_000, 1_000_000_000].iter().any(|second| largest < *second && largest * 2 > *second);
    neighbours().all(|(one, next)| one <= next)
        && neighbours().any(|(one, next)| one.0 < next.0 && one.1 > next.1)
        && within().filter(|(one, next)| one.1 < next.1).count() >= TELLING_PAIRS
        && within().any(|(one, next)| next.1 - one.1 > 1)
        && fills
}

/// What joins the first cells of lines with a separator.
fn awk(separator: u8) -> String {
    match separator {
        b' ' => "awk ".to_owned(),
        b'\t' => r"awk -F'\t' -v OFS='\t' ".to_owned(),
        other => format!("awk -F'{0}' -v OFS='{0}' ", char::from(other)),
    }
}

/// The filter that sums times between requests, and gives their column the name of times.
pub(super) fn summing(at: usize, name: &str, unit: Option<TimeUnit>, separator: u8) -> String {
    let (awk, column) = (awk(separator), at + 1);
    let unit = unit.map_or(String::new(), |unit| format!("_{unit}"));
    format!(
        "{awk}'{{ if (${column} == \"{name}\") ${column} = \"time{unit}\"; else if (${column} ~ /^[0-9.]/) ${column} = \
         sprintf(\"%.9f\", t += ${column}); print }}'"
    )
}

/// The filter that makes one column of seconds and their parts.
pub(super) fn joining(at: usize, digits: usize, separator: u8) -> String {
    let (awk, column) = (awk(separator), at + 1);
    let next = column + 1;
    format!(
        "{awk}'{{ ${column} = sprintf(\"%s.%0{digits}d\", ${column}, ${next}); \
         for (i = {next}; i < NF; i++) $i = $(i + 1); NF--; print }}'"
    )
}
