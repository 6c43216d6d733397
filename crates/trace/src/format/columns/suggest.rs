//! Columns that would fit a file of no known format, for the error that says so.

use super::keyed::{self, Keys, is_bracket};
use super::lines::lines_of;
use super::seen::{Seen, follows, look, number};
use super::{Clock, Column, ColumnSpec, Unit, date, foreign, heading, ops, separator_of, split, title, units};
use crate::format::dialect::named_separator;
use crate::format::{SECTOR_BYTES, TimeUnit};
use crate::request::Op;

/// So many lines are looked at.
const LINES: usize = 200;

/// One of so many lines names each value, where lines do.
const KEYED_LINES: usize = 16;

/// So many records show that a word is in each.
const WORDED_RECORDS: usize = 3;

/// So many different values rank a column alike.
const DIFFERENT: usize = 64;

/// A column of operations has so many words at the most.
const FEW_WORDS: usize = 8;

/// So many seconds are long between requests.
const LONG_GAP_S: f64 = 100.0;

/// Options that would read a file.
pub(crate) struct Fit {
    pub(crate) options: String,
    /// What of them is a guess that a wrong figure would not show.
    pub(crate) caveat: String,
}

/// What to do first with lines in which no column has operations.
pub(crate) fn before_options(text: &[u8]) -> Option<String> {
    let lines = lines_of(text, 0).take(LINES);
    let separator = lines_of(text, 0).take(LINES).last().map(separator_of)?;
    let rows: Vec<Vec<&[u8]>> = lines.map(|line| split(line, separator)).collect();
    let rows: Vec<&Vec<&[u8]>> = rows.iter().collect();
    let has_ops = |at: usize| {
        let is_op = |row: &&&Vec<&[u8]>| row.get(at).is_some_and(|cell| ops::of(cell).is_some());
        rows.iter().filter(is_op).count() * 2 > rows.len()
    };
    let count = rows.last()?.len();
    if (0..count).any(has_ops) { None } else { foreign::op_within(&rows) }
}

/// A `--columns` and a `--separator` that would read these lines, if there is one.
pub(crate) fn options(text: &[u8]) -> Option<Fit> {
    let lines: Vec<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#") && !is_bracket(line))
        .take(LINES)
        .collect();
    // The last line has no heading in front.
    let separator = lines.first().and_then(|line| named_separator(line)).unwrap_or(separator_of(lines.last()?));
    let keys = Keys::of_first(lines.iter().copied().take(KEYED_LINES), separator);
    let is_in = |line: &&[u8]| keys.as_ref().is_none_or(|keys| keys.is_in(line, separator));
    let lines: Vec<&[u8]> = lines.into_iter().filter(is_in).collect();
    let cells = |line| keyed::cells(line, separator, keys.as_ref());
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| cells(line)).collect();
    let count = rows.last()?.len();
    let rows: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == count).collect();
    if count < 3 || rows.len() * 2 < lines.len() {
        return None;
    }
    let is_text = |line: &[u8]| line.is_empty() || line.starts_with(b"#") || is_bracket(line);
    let is_record = |line: &[u8]| {
        if keys.as_ref().is_some_and(|keys| !keys.is_in(line, separator)) {
            return false;
        }
        let cells = keyed::cells(line, separator, keys.as_ref());
        !is_text(line) && cells.len() == count && cells.iter().any(|cell| number(cell, separator).is_some())
    };
    let before: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).take_while(|line| !is_record(line)).collect();
    let skip = if before.iter().all(|line| is_text(line)) { 0 } else { before.len() };
    let names = before.iter().rev().filter(|line| !is_text(line)).map(|line| cells(line));
    let comments = before.iter().rev().filter_map(|line| title::of_comment(line)).map(cells);
    let names = names.take(1).chain(comments).find(|names| names.len() == count).unwrap_or_default();
    let names = keys.as_ref().map_or(names, |keys| keys.names.iter().map(Vec::as_slice).collect());
    let records: Vec<&Vec<&[u8]>> = rows.iter().copied().filter(|row| **row != names).collect();
    let worded = if names.is_empty() { words_before(&records) } else { Vec::new() };
    let names = if worded.is_empty() { names } else { worded };
    let seen: Vec<Seen> =
        (0..count).map(|index| look(records.iter().filter_map(|row| row.get(index).copied()), separator)).collect();
    let named = said_by(&names).unwrap_or_else(|| vec![None; count]);
    let columns = kinds(&seen, &records, named, separator)?;
    let spec = ColumnSpec { columns, separator: None, skip_lines: 0, ops: Vec::new() };
    spec.check().ok()?;
    let at = spec.columns.iter().position(|column| *column == Column::Op)?;
    let mut fit = Fit { options: format!("--columns {spec}"), caveat: String::new() };
    let flag = names.get(at).and_then(|name| heading::flagged_by_values(name));
    let words: Vec<&[u8]> = records.iter().filter_map(|row| row.get(at).copied()).collect();
    let (ops, caveat) = operations(words, flag)?;
    fit.options += &ops;
    fit.caveat += caveat;
    let unread = || seen.iter().find_map(|column| date::unread(column.unread?));
    let has_clock = spec.time().is_some_and(|clock| clock != Some(Clock::Date) || spec.has_day());
    if let Some(unread) = unread().filter(|_| !has_clock || spec.time() == Some(None)) {
        let first = if unread.contains("`sed ") { "; the lines it makes have a guess of their own" } else { "" };
        fit.caveat += &format!("; {unread}{first}");
    }
    if spec.time().is_none() {
        fit.caveat += "; no times were found: durations will be 0";
    }
    let device = spec.columns.iter().position(|column| matches!(column, Column::Device { .. }));
    let is_numbered = |at: usize| names.get(at).is_none_or(|name| name.is_empty());
    if device
        .filter(|at| is_numbered(*at))
        .and_then(|at| seen.get(at))
        .is_some_and(|c| c.named == 0 && c.largest > 255.0)
    {
        fit.caveat += "; the numbers taken for devices may be those of processes, which `-` passes over";
    }
    if skip > 0 {
        fit.options += &format!(" --skip-lines {skip}");
    }
    Some(fit)
}

/// An `--ops` for the words of a column of operations, if one is needed, and what is a guess of it.
fn operations(mut words: Vec<&[u8]>, flag: Option<Op>) -> Option<(String, &'static str)> {
    let (count, is_answer) = (words.len(), |word: &[u8]| flag.is_some() && ops::is_answer(word));
    let is_open = |word: &&[u8]| ops::of(word).is_none() || is_answer(word);
    let most = words.iter().filter(|word| is_open(word)).count() * 2 > count;
    words.sort_unstable();
    words.dedup();
    // Of two, one reads and the other writes.
    let guesses: &[Op] = match words.as_slice() {
        [one, other] if flag.is_none() => match (ops::likely_of(one), ops::likely_of(other)) {
            (None, None) => &[Op::Read, Op::Write],
            (None, Some(Op::Write)) | (Some(Op::Write), None) => &[Op::Read],
            (None, Some(Op::Read)) | (Some(Op::Read), None) => &[Op::Write],
            _ => &[],
        },
        _ => &[],
    };
    let numbers = words.iter().all(|word| word.iter().all(u8::is_ascii_digit));
    words.retain(is_open);
    // A few words may be none of ours.
    if words.is_empty() || (!most && guesses.is_empty()) {
        return Some((String::new(), ""));
    }
    let option = format!(" {}", ops::option(&words, flag, guesses)?);
    let caveat = match guesses {
        [] if option.contains("OP=") => "; OP is read, write, trim, flush or skip",
        [] => "",
        _ if numbers => "; which number is a read is a guess",
        _ => "; which word is a read is a guess",
    };
    Some((option, caveat))
}

/// The names of values that each line has in front of them, as in `lba 4096 len 8`; a word itself is `-`.
fn words_before<'a>(records: &[&Vec<&'a [u8]>]) -> Vec<&'a [u8]> {
    let of = |at: usize| records.iter().filter_map(move |row| row.get(at).copied());
    let is_word = |cell: &[u8]| cell.len() > 1 && cell.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let constant = |at: usize| {
        let word = of(at).next().filter(|word| is_word(word) && ops::of(word).is_none())?;
        of(at).all(|other| other == word).then_some(word)
    };
    let is_number = |at: usize| of(at).next().is_some_and(|cell| number(cell, b' ').is_some());
    let count = records.first().map_or(0, |row| row.len());
    let mut names: Vec<&[u8]> = vec![b""; if records.len() < WORDED_RECORDS { 0 } else { count }];
    for at in 1..names.len() {
        let Some(word) = constant(at - 1).filter(|_| constant(at).is_none() || is_number(at)) else { continue };
        names.get_mut(at - 1).into_iter().for_each(|slot| *slot = b"-");
        if !heading::is_open(word) {
            names.get_mut(at).into_iter().for_each(|slot| *slot = word);
        }
    }
    if names.iter().filter(|name| name.len() > 1).count() < 2 { Vec::new() } else { names }
}

/// What the names of a heading say, each column once; none if that is little.
fn said_by(names: &[&[u8]]) -> Option<Vec<Option<Column>>> {
    let all = heading::named_all(names.iter().copied());
    let mut said: Vec<Option<Column>> = Vec::with_capacity(all.len());
    for named in all {
        let again = |other: &Option<Column>| {
            other.is_some_and(|other| std::mem::discriminant(&other) == std::mem::discriminant(&named.column))
        };
        let once = if said.iter().any(again) { Column::Other } else { named.column };
        said.push((!named.open).then_some(once));
    }
    for (slot, _) in said.iter_mut().zip(names).filter(|(_, name)| **name == b"-") {
        *slot = Some(Column::Other);
    }
    let needed =
        |column: &&Option<Column>| !matches!(column, None | Some(Column::Other | Column::Day | Column::Device { .. }));
    (said.iter().filter(needed).count() >= 2).then_some(said)
}

/// The unit of times that a column of numbers has: that in which they count from 1970, else one in which requests are a
/// plausible time apart.
fn unit_of(column: &Seen<'_>) -> TimeUnit {
    let span = column.last.unwrap_or_default() - column.first;
    let gap = span / (column.numbers.saturating_sub(1).max(1)) as f64;
    let is_plausible = |unit: &TimeUnit| gap * unit.tick().ns as f64 / 1e9 < LONG_GAP_S;
    match (units::since_1970(column.first as u64).filter(is_plausible), gap) {
        (Some(unit), _) => unit,
        _ if column.fractions > 0 => TimeUnit::S,
        _ if column.first > 1e17 => TimeUnit::Ns,
        // More than a second of microseconds, or than two of milliseconds, is long between requests.
        (None, gap) if gap > 1e6 => TimeUnit::Ns,
        (None, gap) if gap > 2e3 || column.first > 1e14 => TimeUnit::Us,
        _ => TimeUnit::Ms,
    }
}

/// What each column is, by what is most telling first. What a heading says stays.
fn kinds(
    seen: &[Seen<'_>],
    records: &[&Vec<&[u8]>],
    mut kinds: Vec<Option<Column>>,
    separator: u8,
) -> Option<Vec<Column>> {
    let rows = records.len();
    let mostly = |count: usize| count * 2 > rows;
    let give = |kinds: &mut Vec<Option<Column>>, index: Option<usize>, kind: Column| {
        if let Some(slot) = index.and_then(|index| kinds.get_mut(index)) {
            *slot = Some(kind);
        }
        index
    };
    let free = |kinds: &[Option<Column>], index: usize| kinds.get(index).is_some_and(Option::is_none);
    let said =
        |kinds: &[Option<Column>], is: fn(&Column) -> bool| kinds.iter().position(|kind| kind.as_ref().is_some_and(is));
    let indices = || 0..seen.len();
    let of = |index: usize| seen.get(index);
    let has_time = said(&kinds, |column| matches!(column, Column::Time(_)));
    let named_op = said(&kinds, |column| *column == Column::Op);
    let is_op = |index: &usize| free(&kinds, *index) && of(*index).is_some_and(|column| mostly(column.ops));
    let differs = |index: &usize| of(*index).is_some_and(|column| column.op_words.len() > 1);
    let words = named_op.or_else(|| indices().filter(is_op).find(differs)).or_else(|| indices().find(is_op));
    // Times are dates, also with times of day behind them, or times of day, or ascend and are the first column that does.
    let days = |index: &usize| of(*index).is_some_and(|column| mostly(column.days));
    let clocks = |index: &usize| of(*index).is_some_and(|column| mostly(column.clocks));
    let whole = indices().find(|index| of(*index).is_some_and(|column| mostly(column.dates)) && !days(index));
    // Whole seconds of day are less than a number that counts from 1970.
    let counted = indices().find(|index| {
        of(*index).is_some_and(|c| mostly(c.numbers) && c.ascending && units::since_1970(c.first as u64).is_some())
    });
    let clocks = |index: &usize| clocks(index) && (counted.is_none() || of(*index).is_some_and(|c| c.parts > 0));
    let dates = whole.or_else(|| indices().find(clocks)).filter(|&index| has_time.is_none_or(|time| time == index));
    give(&mut kinds, dates, Column::Time(Some(Clock::Date)));
    for day in indices().filter(days) {
        let is_day = dates.is_some_and(|time| clocks(&time)) && said(&kinds, |column| *column == Column::Day).is_none();
        give(&mut kinds, Some(day), if is_day { Column::Day } else { Column::Other });
    }
    let is_free_number =
        |kinds: &[Option<Column>], index: usize| free(kinds, index) && of(index).is_some_and(|c| mostly(c.numbers));
    let grows = |index: usize| {
        of(index).is_some_and(|column| {
            let differ = column.different.len() > 1 || (column.fractions > 0 && rows == 1);
            column.ascending && differ
        })
    };
    let mut growing: Vec<usize> =
        indices().filter(|&index| Some(index) != words && is_free_number(&kinds, index) && grows(index)).collect();
    // What grows by one is the number of the line, where there is enough beside it.
    let numbers = indices().filter(|&index| Some(index) != words && is_free_number(&kinds, index)).count();
    let counts = |index: &usize| of(*index).is_some_and(|c| c.numbers > 2 && c.jumps == 0 && c.fractions == 0);
    let needed = [
        has_time.is_none() && dates.is_none(),
        said(&kinds, |column| matches!(column, Column::Address(_))).is_none(),
        said(&kinds, |column| matches!(column, Column::Size(_))).is_none(),
        words.is_none(),
    ];
    let counter = growing.iter().copied().find(counts);
    if numbers > needed.iter().filter(|needed| **needed).count()
        && let Some(counter) = counter.filter(|_| growing.len() > 1 || has_time.or(dates).is_some())
    {
        give(&mut kinds, Some(counter), Column::Other);
        growing.retain(|index| *index != counter);
    }
    let first = growing.first().copied().filter(|_| dates.is_none() && has_time.is_none());
    let before = |time: usize| growing.iter().copied().find(|&other| follows(records, time, other, separator));
    let time = first.map(|time| before(time).unwrap_or(time));
    if let Some(column) = time.and_then(of) {
        let unit = unit_of(column);
        give(&mut kinds, time, Column::Time(Some(Clock::Unit(unit))));
    }
    // What follows the time closely is that of the completion.
    if let Some(time) = time.or(has_time) {
        for later in indices() {
            let is_free = Some(later) != words && is_free_number(&kinds, later);
            if is_free && follows(records, later, time, separator) {
                give(&mut kinds, Some(later), Column::Other);
            }
        }
    }
    let codes = || {
        indices().find(|&index| {
            free(&kinds, index)
                && of(index).is_some_and(|c| mostly(c.numbers) && c.largest <= 3.0 && c.different.len() == 2)
        })
    };
    // Where a heading says the rest, the one column of few words that it leaves open.
    let range_is_said = !needed.iter().skip(1).take(2).any(|needed| *needed);
    let open = || {
        let mut open = indices().filter(|&index| range_is_said && free(&kinds, index));
        let only = open.next().filter(|_| open.next().is_none());
        only.filter(|&index| of(index).is_some_and(|c| c.names.len() <= FEW_WORDS))
    };
    // Words that nobody knows: those that look like operations in other languages, else the fewest.
    let worded = |index: &usize| {
        free(&kinds, *index)
            && of(*index).is_some_and(|c| mostly(c.named) && c.names.len() <= FEW_WORDS && c.names.len() < c.named)
    };
    let likely = || {
        let is_likely = |c: &Seen| c.names.iter().any(|word| ops::likely_of(word).is_some());
        indices().filter(worded).find(|&index| of(index).is_some_and(is_likely))
    };
    let few = || {
        // Two words for operations begin differently, where two names of devices do not.
        let alike = |c: &Seen| c.names.first().map(|name| name.first()) == c.names.last().map(|name| name.first());
        let rank = |index: &usize| of(*index).map(|c| (c.names.len().abs_diff(2), alike(c)));
        // One word for all is none for operations.
        let differ = |index: &usize| of(*index).is_some_and(|c| c.names.len() > 1);
        indices().filter(worded).filter(differ).min_by_key(rank)
    };
    let constant = || {
        let is_one = |c: &Seen| mostly(c.numbers) && c.largest <= 3.0 && c.different.len() == 1;
        indices().find(|&index| free(&kinds, index) && of(index).is_some_and(is_one))
    };
    let op = words.or_else(likely).or_else(codes).or_else(open).or_else(few).or_else(constant)?;
    give(&mut kinds, Some(op), Column::Op);
    let numeric = |kinds: &[Option<Column>]| -> Vec<usize> {
        let mut all: Vec<usize> = indices()
            .filter(|&index| free(kinds, index) && of(index).is_some_and(|c| mostly(c.numbers) && c.fractions == 0))
            .collect();
        // Addresses differ most, do not ascend as numbers of records do, and are large.
        let rank = |index: usize| {
            let rank = |c: &Seen| (c.different.len().min(DIFFERENT), !c.ascending, c.largest as u64);
            std::cmp::Reverse(of(index).map_or((0, false, 0), rank))
        };
        all.sort_by_key(|&index| rank(index));
        all
    };
    let in_bytes = |column: &Seen| column.with_units > 0 || column.bits.is_multiple_of(512);
    let bytes_of = |index: usize| Unit::of(of(index).map_or(1, |column| if in_bytes(column) { 1 } else { 512 }));
    let address = match said(&kinds, |column| matches!(column, Column::Address(_))) {
        Some(said) => said,
        None => {
            let address = *numeric(&kinds).first()?;
            give(&mut kinds, Some(address), Column::Address(bytes_of(address)));
            address
        }
    };
    if said(&kinds, |column| matches!(column, Column::Size(_))).is_none() {
        // Sizes stand beside addresses, most of them behind.
        let rest = numeric(&kinds);
        let beside = [address + 1, address.wrapping_sub(1)];
        let size = beside.into_iter().find(|index| rest.contains(index)).or(rest.first().copied())?;
        give(&mut kinds, Some(size), Column::Size(bytes_of(size)));
    }
    if said(&kinds, |column| matches!(column, Column::Device { .. })).is_none() {
        // Few names or numbers that come again are devices. Programs and their processes have other marks.
        let is_plain = |name: &&[u8]| !name.iter().any(|byte| matches!(byte, b':' | b')' | b']'));
        let rank = |index: &usize| of(*index).map(|c| (!c.names.iter().all(is_plain), c.names.len() < 2));
        let named = indices()
            .filter(|&index| {
                free(&kinds, index) && of(index).is_some_and(|c| mostly(c.named) && c.names.len() * 3 <= c.named * 2)
            })
            .min_by_key(rank);
        let named = named.filter(|index| rank(index).is_some_and(|(marked, one)| !(marked && one)));
        let comes_again = |index: &usize| of(*index).is_some_and(|c| c.different.len() * 3 <= c.numbers * 2);
        let numbered = || numeric(&kinds).into_iter().find(|index| *index < address && comes_again(index));
        let device = named.or_else(numbered);
        give(&mut kinds, device, Column::Device { names: false });
    }
    // Bytes that a name leaves open, and that are no sectors, are numbers of these.
    for (kind, column) in kinds.iter_mut().zip(seen) {
        if let Some(Column::Address(unit) | Column::Size(unit)) = kind
            && unit.guessed
            && unit.bytes == 1
            && !in_bytes(column)
        {
            *unit = Unit { less_one: unit.less_one, ..Unit::of(SECTOR_BYTES) };
        }
    }
    Some(kinds.into_iter().map(|kind| kind.unwrap_or(Column::Other)).collect())
}
