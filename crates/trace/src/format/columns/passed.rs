//! Columns that a heading's reading passes over, though their values look like what requests have: times, further
//! devices, and events of which a request has several.

use super::lines::lines_of;
use super::nouns::{BETWEEN, LATER};
use super::seen::{Seen, look, number};
use super::settled::Settled;
use super::{Clock, Column, ColumnSpec, date, finer, heading, keyed, units};
use crate::error::excerpt;
use crate::format::{SECTOR_BYTES, TimeUnit};

/// So many records are looked at.
const ROWS: usize = 200;

/// So many records show that numbers grow.
const TELLING_ROWS: usize = 4;

/// Names of columns whose letters are events, as those of blktrace are.
const EVENTS: &[&str] = &["event", "events", "ev", "phase", "stage", "action", "act", "type", "kind", "state"];
/// Words for the begin of a request.
const BEGINS: &[&str] = &[
    "issue",
    "issued",
    "submit",
    "submitted",
    "start",
    "started",
    "begin",
    "queue",
    "queued",
    "insert",
    "enter",
    "dispatch",
    "dispatched",
    "request",
    "q",
    "d",
    "i",
    "s",
    "b",
];
/// And for its end.
const ENDS: &[&str] = &[
    "complete",
    "completed",
    "completion",
    "done",
    "end",
    "ended",
    "finish",
    "finished",
    "exit",
    "return",
    "response",
    "c",
    "e",
];

/// Takes the size of a block, which a column has, for the unit of addresses and sizes whose heading leaves it open.
pub(super) fn blocks_of_size(settled: &mut Settled, text: &[u8]) {
    let rows = rows(settled, text);
    let is_passed = |at: &usize| settled.spec.columns.get(*at) == Some(&Column::Other);
    let names = || settled.names.iter().enumerate().filter(|(_, name)| heading::sizes_blocks(name));
    let Some(at) = names().map(|(at, _)| at).find(is_passed) else { return };
    let Some(bytes) = rows.first().and_then(|row| number(row.get(at)?, b' ')).map(|bytes| bytes as u64) else { return };
    for column in &mut settled.spec.columns {
        if let Column::Address(unit) | Column::Size(unit) = column
            && unit.guessed
            && unit.bytes == SECTOR_BYTES
            && units::UNITS_BYTES.contains(&bytes)
        {
            (unit.bytes, unit.guessed) = (bytes, false);
        }
    }
}

/// The first records.
fn rows<'a>(settled: &Settled, text: &'a [u8]) -> Vec<Vec<&'a [u8]>> {
    records(settled, text).take(ROWS).collect()
}

/// The records of a file's whole beginning.
pub(super) fn all_rows<'a>(settled: &Settled, text: &'a [u8]) -> Vec<Vec<&'a [u8]>> {
    records(settled, text).collect()
}

/// The values of a column.
pub(super) fn cells_of<'r, 'a>(rows: &'r [Vec<&'a [u8]>], at: usize) -> impl Iterator<Item = &'a [u8]> + Clone + 'r {
    rows.iter().filter_map(move |row| row.get(at).copied())
}

/// Records, whose addresses are numbers.
fn records<'s, 'a: 's>(settled: &'s Settled, text: &'a [u8]) -> impl Iterator<Item = Vec<&'a [u8]>> + 's {
    let Settled { spec, names, keys, .. } = settled;
    let separator = spec.separator.unwrap_or(b',');
    let begins_with_digit = |cell: &&[u8]| cell.first().is_some_and(u8::is_ascii_digit);
    let address = spec.columns.iter().position(|column| matches!(column, Column::Address(_))).unwrap_or(0);
    lines_of(text, spec.skip_lines)
        .map(move |line| keyed::cells(line, separator, keys.as_ref()))
        .filter(move |cells| cells.len() >= names.len() && cells.get(address).is_some_and(begins_with_digit))
}

/// What a person should see of the columns that are passed over. Where a person names the columns, that is times alone.
pub(super) fn remarks(settled: &Settled, text: &[u8]) -> Vec<String> {
    let Settled { spec, names, .. } = settled;
    let separator = spec.separator.unwrap_or(b',');
    let rows = rows(settled, text);
    if names.is_empty() {
        return if spec.time().is_none() { no_times(spec, &rows).into_iter().collect() } else { Vec::new() };
    }
    let passed_over: Vec<Passed<'_>> = names
        .iter()
        .enumerate()
        .filter(|(at, _)| spec.columns.get(*at) == Some(&Column::Other))
        .map(|(at, name)| {
            let cells: Vec<&[u8]> = cells_of(&rows, at).collect();
            Passed { at, name, seen: look(cells.iter().copied(), separator), cells }
        })
        .collect();
    let found = times(settled, &passed_over, &rows);
    let time = spec.columns.iter().position(|column| matches!(column, Column::Time(_)));
    let time = time.or(found.as_ref().map(|(at, _)| *at));
    let of_time = rows.first().zip(time).and_then(|(row, time)| row.get(time));
    let in_seconds = of_time.is_some_and(|time| !time.contains(&b'.'));
    let whole = all_rows(settled, text);
    let has_parts = |column: &Passed<'_>| time.is_some_and(|time| finer::has_parts(&whole, time, column.at));
    let parts = passed_over.iter().filter(|_| in_seconds).filter_map(|column| column.parts_of_seconds(has_parts));
    let parts: Vec<String> = parts.collect();
    let events = passed_over.iter().filter_map(Passed::events);
    let finer = finer_times(settled, &passed_over, &whole).filter(|_| parts.is_empty());
    found.map(|(_, said)| said).into_iter().chain(finer).chain(parts).chain(events).collect()
}

/// That a person names no times where a column that is passed over looks like some.
fn no_times(spec: &ColumnSpec, rows: &[Vec<&[u8]>]) -> Option<String> {
    let separator = spec.separator.unwrap_or(b',');
    let passed_over = spec.columns.iter().enumerate().filter(|(_, column)| **column == Column::Other);
    let found = passed_over.map(|(at, _)| at).find(|at| {
        let cells: Vec<&[u8]> = cells_of(rows, *at).collect();
        let seen = look(cells.iter().copied(), separator);
        let column = Passed { at: *at, name: b"", cells, seen };
        column.is_dates()
            || column.grows()
            || column.cells.first().is_some_and(|cell| units::unit_since_1970(cell).is_some())
    })?;
    let shown = excerpt(rows.first()?.get(found)?);
    let number = found + 1;
    Some(format!(
        "no times were found: durations will be 0, though column {number} looks like times: `{shown}`; `time` there in \
         --columns reads them"
    ))
}

/// A column that is passed over.
struct Passed<'a> {
    at: usize,
    name: &'a [u8],
    cells: Vec<&'a [u8]>,
    seen: Seen<'a>,
}

/// Where no column is taken for times, the one that has some, and what is said of it: by its name, else by its values.
fn times(settled: &Settled, passed_over: &[Passed<'_>], rows: &[Vec<&[u8]>]) -> Option<(usize, String)> {
    if settled.spec.time().is_some() {
        return None;
    }
    let all = heading::named_all(settled.names.iter().map(Vec::as_slice));
    let by_name = heading::time_passed_over(&all);
    let by_name = passed_over.iter().find(|column| Some(column.at) == by_name);
    let found = by_name.or_else(|| passed_over.iter().find(|column| column.is_dates()));
    let column = found.or_else(|| passed_over.iter().find(|column| column.grows()))?;
    let clock = column.clock();
    let finer = finer_than(settled, column.at, clock, passed_over, rows);
    let (column, clock) = finer.map_or((column, clock), |(finer, unit)| (finer, Some(Clock::Unit(unit))));
    let mut with_time = settled.spec.clone();
    with_time.columns.get_mut(column.at).into_iter().for_each(|slot| *slot = Column::Time(clock));
    if heading::has_word(column.name, BETWEEN) && !column.grows() {
        let separator = settled.spec.separator.unwrap_or(b',');
        let (name, unit) = (excerpt(column.name), heading::time_unit_of(column.name));
        let said = format!(
            "no times were found: durations will be 0, though `{name}` looks like times between requests; `{}` sums them",
            finer::summing(column.at, &name, unit, separator)
        );
        return Some((column.at, said));
    }
    let unread = column.seen.unread.and_then(date::unread).map_or(String::new(), |unread| format!("; {unread}"));
    let said = format!(
        "no times were found: durations will be 0, though `{}` looks like times; --columns {with_time} reads them{unread}",
        excerpt(column.name)
    );
    Some((column.at, said))
}

/// The column of those that are passed over that has the times of another one with more digits, and its unit.
fn finer_than<'p, 'a>(
    settled: &Settled,
    time: usize,
    clock: Option<Clock>,
    passed_over: &'p [Passed<'a>],
    rows: &[Vec<&[u8]>],
) -> Option<(&'p Passed<'a>, TimeUnit)> {
    let rows: Vec<&Vec<&[u8]>> = rows.iter().collect();
    let others: Vec<usize> = passed_over.iter().filter(|other| other.at != time).map(|other| other.at).collect();
    let separator = settled.spec.separator.unwrap_or(b',');
    let unit = if let Some(Clock::Unit(unit)) = clock { unit } else { TimeUnit::S };
    let is_date = clock == Some(Clock::Date);
    let ratio = |named: TimeUnit| unit.tick().ns as f64 / named.tick().ns as f64;
    // Times of something else than a request's begin go on with them.
    let own = passed_over.iter().filter(|other| other.at != time && !heading::has_word(other.name, LATER));
    let by_unit: Vec<(usize, f64)> =
        own.filter_map(|other| Some((other.at, ratio(heading::time_unit_of(other.name)?)))).collect();
    let (finer, ratio) = finer::than(&rows, time, &others, is_date, separator)
        .or_else(|| finer::by_unit(&rows, time, &by_unit, is_date, separator))?;
    let finer = passed_over.iter().find(|other| other.at == finer)?;
    let own = finer.clock().and_then(|clock| if let Clock::Unit(unit) = clock { Some(unit) } else { None });
    Some((finer, own.or_else(|| finer::unit_below(unit, ratio))?))
}

/// That a column which is passed over has the times with more digits.
fn finer_times(settled: &Settled, passed_over: &[Passed<'_>], rows: &[Vec<&[u8]>]) -> Option<String> {
    let time = settled.spec.columns.iter().position(|column| matches!(column, Column::Time(_)))?;
    let (finer, unit) = finer_than(settled, time, settled.spec.stated_clock(), passed_over, rows)?;
    let mut with_time = settled.spec.clone();
    for (at, column) in with_time.columns.iter_mut().enumerate() {
        match column {
            _ if at == finer.at => *column = Column::Time(Some(Clock::Unit(unit))),
            Column::Time(_) | Column::Day => *column = Column::Other,
            _ => {}
        }
    }
    let (name, taken) = (excerpt(finer.name), settled.names.get(time).map_or(String::new(), |name| excerpt(name)));
    Some(format!("column `{name}` has the times of `{taken}` with more digits: --columns {with_time} reads them"))
}

impl Passed<'_> {
    fn is_dates(&self) -> bool {
        let Seen { dates, days, clocks, unread, .. } = self.seen;
        (dates - days + clocks) * 2 > self.cells.len() || unread.is_some()
    }

    /// Whether values grow as times do. What grows by one is the number of the record.
    fn grows(&self) -> bool {
        let Seen { numbers, ascending, jumps, ref different, .. } = self.seen;
        numbers == self.cells.len() && numbers >= TELLING_ROWS && ascending && jumps > 0 && different.len() > 2
    }

    fn clock(&self) -> Option<Clock> {
        let unit = || -> Option<TimeUnit> { units::unit_since_1970(self.cells.first()?) };
        let is_date = self.cells.first().is_some_and(|cell| date::looks_like(cell) || date::is_clock(cell));
        if is_date { Some(Clock::Date) } else { heading::time_unit_of(self.name).or_else(unit).map(Clock::Unit) }
    }

    /// That times have a part in a column of its own.
    fn parts_of_seconds(&self, by_values: impl Fn(&Self) -> bool) -> Option<String> {
        let Seen { numbers, fractions, largest, ref different, .. } = self.seen;
        let by_name = || {
            let in_a_second = 1e9 / heading::part_of_second(self.name)?.tick().ns as f64;
            Some(numbers == self.cells.len() && fractions == 0 && different.len() > 1 && largest < in_a_second)
        };
        (by_name() == Some(true) || by_values(self)).then(|| {
            format!(
                "column `{}` has parts of seconds, which are passed over; one column of times with both is read, such as \
                 23.005",
                excerpt(self.name)
            )
        })
    }

    /// That a request has a record of its begin and one of its end.
    fn events(&self) -> Option<String> {
        let lettered = heading::has_word(self.name, EVENTS);
        let is = |words: &[&str], cell: &[u8]| {
            (lettered || cell.len() > 1) && words.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
        };
        let count = |words: &[&str]| self.cells.iter().filter(|cell| is(words, cell)).count();
        let (begins, ends, all) = (count(BEGINS), count(ENDS), self.cells.len());
        if begins * 4 < all || ends * 4 < all || (begins + ends) * 10 < all * 9 || ends == 0 {
            return None;
        }
        let kept = self.cells.iter().find(|cell| is(BEGINS, cell))?;
        let mut others: Vec<String> = Vec::new();
        for cell in self.cells.iter().filter(|cell| *cell != kept && (is(BEGINS, cell) || is(ENDS, cell))) {
            let word = String::from_utf8_lossy(cell).into_owned();
            if !others.contains(&word) {
                others.push(word);
            }
        }
        let (name, kept, others) = (excerpt(self.name), excerpt(kept), others.join("|"));
        Some(format!(
            "column `{name}` has {kept} and {others}, so that a request may have several records, each of which counts; \
             `grep -vwE '{others}'` leaves out all but one"
        ))
    }
}
