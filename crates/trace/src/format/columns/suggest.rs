//! Columns that would fit a file of no known format, for the error that says so.

use super::keyed::{self, Keys, is_bracket};
use super::kinds::Kinds;
use super::lines::lines_of;
use super::seen::{Seen, look, number};
use super::{Clock, Column, ColumnSpec, date, finer, foreign, heading, ops, separator_of, split, title};
use crate::format::dialect::named_separator;
use crate::request::Op;

/// So many lines are looked at.
const LINES: usize = 200;

/// One of so many lines names each value, where lines do.
const KEYED_LINES: usize = 16;

/// So many records show that a word is in each.
const WORDED_RECORDS: usize = 3;

/// Options that would read a file.
pub(crate) struct Fit {
    pub(crate) options: String,
    /// What of them is a guess that a wrong figure would not show.
    pub(crate) caveat: String,
}

/// What to do first with lines in which no column has operations, or two columns have one time.
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
    if let Some(what) = foreign::op_within(&rows).filter(|_| !(0..count).any(has_ops)) {
        return Some(what);
    }
    let rows: Vec<&Vec<&[u8]>> = rows.into_iter().filter(|row| row.len() == count).collect();
    // The first may be a heading.
    let (at, digits) = finer::parts_behind(rows.get(1..)?, separator)?;
    Some(format!(
        "column {} has parts of the seconds in the column before it; `{}` makes one of both, and the lines it makes have \
         a guess of their own",
        at + 2,
        finer::joining(at, digits, separator)
    ))
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
    let columns = Kinds::of(&seen, &records, named, separator)?;
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
