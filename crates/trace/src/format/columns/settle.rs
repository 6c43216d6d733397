//! What options and a heading leave open, settled by a file's beginning: separators, dates, names of devices.

use std::sync::Arc;

use super::commas::{self, Commas};
use super::keyed::{self, Keys, cells};
use super::lines::lines_of;
use super::seen::number;
use super::settled::Settled;
use super::{
    Clock, Column, ColumnSpec, Unit, date, finer, heading, ops, packed, passed, separator_of, split, suggest, title,
    units, volumes, within,
};
use crate::TraceError;
use crate::error::excerpt;
use crate::format::dialect::named_separator;
use crate::request::Op;

/// A heading is one of so many lines that are not blank.
const HEADING_LINES: usize = 8;

/// So many lines show what separates columns.
const SEPARATOR_LINES: usize = 16;

/// So many words without a meaning are shown.
const WORDS_MAX: usize = 16;

/// A line that names columns, and these; and the separator that a line before it names, as `sep=;`.
pub(crate) fn heading_of(text: &[u8], separator: Option<u8>) -> Option<(&[u8], Settled)> {
    candidates(text, separator).find_map(|(line, separator)| Some((line, of_line(line, separator).ok()?)))
}

/// What is wrong with a heading that names a request but for a time, an address or a size that it names twice. (Two
/// operations are common in the lines of formats that have no heading.)
pub(crate) fn doubled_heading(text: &[u8], counts: fn(&[u8]) -> bool) -> Option<String> {
    candidates(text, None).filter(|(line, _)| counts(line)).find_map(|(line, separator)| doubled(line, separator, text))
}

fn doubled(line: &[u8], separator: u8, text: &[u8]) -> Option<String> {
    type Is = fn(&Column) -> bool;
    let kinds: [(&str, Is); 3] = [
        ("times", |column| matches!(column, Column::Time(_))),
        ("addresses", |column| matches!(column, Column::Address(_))),
        ("sizes", |column| matches!(column, Column::Size(_))),
    ];
    let keys = Keys::of(line, separator);
    let names = names_of(line, separator, keys.as_ref());
    let all = heading::named_all(names.iter().copied());
    if let Some(end) = heading::end_without_size(&all).and_then(|at| names.get(at))
        && !has_number(line, separator)
    {
        return Some(format!(
            "the heading names where requests end (`{}`) and no sizes; a column of sizes instead of it would be right",
            excerpt(end)
        ));
    }
    let mut columns: Vec<Column> = all.iter().map(|named| named.column).collect();
    let (mut twice, mut others) = (Vec::new(), Vec::new());
    for (kind, is) in kinds {
        let found: Vec<usize> = (0..columns.len()).filter(|&at| columns.get(at).is_some_and(is)).collect();
        if found.len() > 1 {
            let shown = found.iter().filter_map(|&at| names.get(at));
            let shown: Vec<String> = shown.map(|name| format!("`{}`", excerpt(name))).collect();
            twice.push(format!("{} {kind}: {}", found.len(), shown.join(", ")));
        }
        let taken = found.iter().copied().min_by_key(|&at| names.get(at).map(|name| heading::rank(name)));
        let taken = taken.map(|taken| with_most_digits(taken, &found, &columns, text, separator, keys.as_ref()));
        if taken.as_ref() != found.first() {
            others.extend(taken.and_then(|at| names.get(at)).map(|name| format!("`{}`", excerpt(name))));
        }
        for &at in found.iter().filter(|&&at| Some(at) != taken) {
            columns.get_mut(at).into_iter().for_each(|column| *column = Column::Other);
        }
    }
    let spec = ColumnSpec { columns, separator: Some(separator), skip_lines: 0, ops: Vec::new() };
    let is_request = !twice.is_empty() && spec.check().is_ok();
    let of_each = if twice.len() > 1 { "the first of each" } else { "the first" };
    let takes = if others.is_empty() { of_each.to_owned() } else { others.join(", ") };
    is_request.then(|| {
        format!("the heading names {}; --columns {spec} takes {takes}, `-` passes a column over", twice.join(" and "))
    })
}

/// Of several columns of times, the one that has those of `taken` with the most digits.
fn with_most_digits(
    taken: usize,
    all: &[usize],
    columns: &[Column],
    text: &[u8],
    separator: u8,
    keys: Option<&Keys>,
) -> usize {
    if !matches!(columns.get(taken), Some(Column::Time(_))) {
        return taken;
    }
    let rows: Vec<Vec<&[u8]>> = lines_of(text, 0).map(|line| cells(line, separator, keys)).collect();
    let rows: Vec<&Vec<&[u8]>> = rows.iter().collect();
    let is_date = |row: &&Vec<&[u8]>| row.get(taken).is_some_and(|cell| date::looks_like(cell) || date::is_clock(cell));
    let is_dates = rows.iter().filter(|row| is_date(row)).count() * 2 > rows.len();
    let others: Vec<usize> = all.iter().copied().filter(|other| *other != taken).collect();
    finer::than(&rows, taken, &others, is_dates, separator).map_or(taken, |(finer, _)| finer)
}

/// The lines that may be a heading, each with what separates its columns.
fn candidates(text: &[u8], separator: Option<u8>) -> impl Iterator<Item = (&[u8], u8)> {
    plain_candidates(text, separator).chain(commented(text, separator))
}

/// Comments before the records that have a word for each column of these.
fn commented(text: &[u8], separator: Option<u8>) -> impl Iterator<Item = (&[u8], u8)> {
    let record = lines_of(text, 0).find(|line| named_separator(line).is_none());
    let named = || lines_of(text, 0).next().and_then(named_separator);
    let by = separator.or_else(named).or(record.map(separator_of)).unwrap_or(b',');
    let columns = record.map_or(Vec::new(), |line| split(line, by));
    // A date between blanks is two.
    let days = columns.iter().filter(|column| date::is_day(column)).count();
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let comments = lines.take_while(move |line| Some(*line) != record).filter_map(title::of_comment);
    let fits = move |line: &&[u8]| (columns.len() - days..=columns.len()).contains(&title::split_names(line, by).len());
    comments.filter(fits).map(move |line| (line, by))
}

fn plain_candidates(text: &[u8], mut separator: Option<u8>) -> impl Iterator<Item = (&[u8], u8)> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(HEADING_LINES);
    let all = lines.filter_map(move |line| match named_separator(line) {
        Some(named) => {
            separator = separator.or(Some(named));
            None
        }
        None => Some((line, separator.unwrap_or_else(|| separator_of(line)))),
    });
    // Sentences and records name nothing.
    let is_sentence = |line: &[u8], by: u8| by == b' ' && line.ends_with(b".");
    all.filter(move |(line, by)| !(is_sentence(line, *by) || keyed::is_nested(line) || is_record(line, *by)))
}

/// Whether a line has numbers of its own as columns. Those that name each value are headings, too.
fn is_record(line: &[u8], separator: u8) -> bool {
    let is_number = |cell: &&[u8]| cell.first().is_some_and(u8::is_ascii_digit) && number(cell, separator).is_some();
    Keys::of(line, separator).is_none() && split(line, separator).iter().filter(|cell| is_number(cell)).count() > 1
}

/// The columns that a heading names; an error if these make no request.
fn of_line(line: &[u8], separator: u8) -> Result<Settled, String> {
    let (mut columns, mut unknown) = (Vec::new(), Vec::new());
    let keys = Keys::of(line, separator);
    let names = names_of(line, separator, keys.as_ref());
    let all = heading::named_all(names.iter().copied());
    for (name, named) in names.iter().zip(all) {
        columns.push(named.column);
        unknown.extend(named.unknown.map(|word| (named.column, String::from_utf8_lossy(name).into_owned(), word)));
    }
    let time_guessed = columns.contains(&Column::Time(None));
    let spec = ColumnSpec { columns, separator: Some(separator), skip_lines: 0, ops: Vec::new() };
    spec.check()?;
    let remark = |(column, name, word): &(Column, String, String)| {
        let (unit, option) = match column {
            Column::Time(_) => ("seconds are", "--time-unit".to_owned()),
            Column::Address(unit) | Column::Size(unit) if unit.bytes > 1 => {
                ("sectors of 512 B are", format!("--columns {spec}"))
            }
            _ => ("bytes are", format!("--columns {spec}")),
        };
        let such_as = match column {
            Column::Time(_) => "",
            Column::Address(_) => ", with another unit if need be, such as lba:4096",
            _ => ", with another unit if need be, such as size:4096",
        };
        let (name, word) = (name.escape_debug(), word.escape_debug());
        format!("column `{name}`: `{word}` is no known unit, so {unit} a guess; {option} settles it{such_as}")
    };
    let is_time = |(column, ..): &&(Column, String, String)| matches!(column, Column::Time(_));
    let remarks_of_times: Vec<String> = unknown.iter().filter(is_time).map(remark).collect();
    let mut remarks: Vec<String> = unknown.iter().filter(|unknown| !is_time(unknown)).map(remark).collect();
    let times = names.iter().zip(&spec.columns).filter(|(_, column)| matches!(column, Column::Time(_)));
    remarks.extend(times.filter(|(name, _)| heading::is_hexadecimal(name)).map(|(name, _)| {
        let name = excerpt(name);
        format!("column `{name}` has hexadecimal times, which are taken for decimal ones; decimal ones would be right")
    }));
    let flag = columns_flag(&spec, &names);
    let names = names.into_iter().map(<[u8]>::to_vec).collect();
    Ok(Settled { spec, names, time_guessed, remarks, remarks_of_times, flag, keys, commas: Commas::Decimal })
}

/// The columns that a line names, also a comment, if these make a request.
pub(super) fn named_by(line: &[u8], separator: u8) -> Option<Vec<Column>> {
    let line = if line.starts_with(b"#") { title::of_comment(line)? } else { line };
    of_line(line, separator).ok().map(|settled| settled.spec.columns)
}

/// The names in a heading, or in a line that names each value.
fn names_of<'a>(line: &'a [u8], separator: u8, keys: Option<&'a Keys>) -> Vec<&'a [u8]> {
    keys.map_or_else(|| title::split_names(line, separator), |keys| keys.names.iter().map(Vec::as_slice).collect())
}

/// What the column of operations says yes to, where it is one of yes and no.
fn columns_flag(spec: &ColumnSpec, names: &[&[u8]]) -> Option<Op> {
    let at = spec.columns.iter().position(|column| *column == Column::Op)?;
    names.get(at).and_then(|name| heading::flagged(name))
}

/// Whether a line has a number in it, as records have and headings have not.
fn has_number(line: &[u8], separator: u8) -> bool {
    split(line, separator).iter().any(|cell| cell.first().is_some_and(u8::is_ascii_digit))
}

/// The columns of a file that begins like this: as a person says, or as its heading does.
pub(crate) fn of(named: Option<&ColumnSpec>, text: &[u8], file: &Arc<str>) -> Result<Settled, TraceError> {
    if let Some(what) = keyed::json_of_other_shape(text, file) {
        return Err(TraceError::file(file, what));
    }
    let given = named.cloned().unwrap_or_default();
    let headed = given.columns.is_empty();
    let mut settled = if headed {
        let Some((_, found)) = heading_of(text, given.separator) else {
            let first = candidates(text, given.separator).next();
            let fit = suggest::options(text).map_or(String::new(), |fit| format!("; {} may be right", fit.options));
            if first.is_none_or(|(line, by)| has_number(line, by)) {
                let what = format!("there is no heading, so --columns is needed to name the columns{fit}");
                return Err(TraceError::file(file, what));
            }
            let why = candidates(text, given.separator).next().and_then(|(line, by)| of_line(line, by).err());
            let why = why.unwrap_or_else(|| "there is none".to_owned());
            let what =
                format!("the heading names no columns that make a request ({why}); --columns would name them{fit}");
            return Err(TraceError::file(file, what));
        };
        // What a person says comes first.
        let ops = given.ops.into_iter().chain(meanings(&found.names, &found.spec.columns)).collect();
        let spec = ColumnSpec { skip_lines: given.skip_lines, ops, ..found.spec };
        Settled { spec, ..found }
    } else {
        let separator = given.separator.unwrap_or_else(|| separator_by_count(text, &given));
        let keys = Keys::of_first(lines_of(text, given.skip_lines).take(SEPARATOR_LINES), separator);
        let keys = keys.filter(|keys| keys.names.len() == given.columns.len());
        // A heading tells what operations mean also where its columns are named otherwise.
        let lines = candidates(text, Some(separator)).map(|(line, by)| names_of(line, by, None));
        let mut names = lines.map(|names| names.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
        let names = names.find(|names| names.len() == given.columns.len()).filter(|_| keys.is_none());
        let more = names.map_or(Vec::new(), |names| meanings(&names, &given.columns));
        let ops = given.ops.iter().cloned().chain(more).collect();
        let spec = ColumnSpec { separator: Some(separator), ops, ..given };
        Settled {
            spec,
            names: Vec::new(),
            time_guessed: false,
            remarks: Vec::new(),
            remarks_of_times: Vec::new(),
            flag: None,
            keys,
            commas: Commas::Decimal,
        }
    };
    settled.days_apart(text);
    if headed {
        volumes::by_names(&mut settled, text);
        within::together(&mut settled, text);
        passed::blocks_of_size(&mut settled, text);
    }
    settled.take(&Sample::of(text, &settled), headed);
    let passed_over = passed::remarks(&settled, text);
    settled.remarks.extend(passed_over);
    settled.remarks_of_times.extend(packed::remark(&settled, text));
    if headed {
        let devices = [volumes::remarks(&settled, text), within::remarks(&settled, text)].concat();
        settled.remarks.extend(devices);
        within::mark(&mut settled);
    }
    let sample = Sample::of(text, &settled);
    match sample.words.first() {
        Some((line, _)) => {
            let words: Vec<&[u8]> = sample.words.iter().map(|(_, word)| *word).collect();
            Err(TraceError::line(file, *line, ops::without_meaning(&words, settled.flag)))
        }
        None => Ok(settled),
    }
}

/// What the names of a heading say of words for operations.
fn meanings(names: &[Vec<u8>], columns: &[Column]) -> Vec<(String, Option<Op>)> {
    let op = columns.iter().position(|column| *column == Column::Op).and_then(|at| names.get(at));
    let said = op.map_or(Vec::new(), |name| title::meanings(name));
    let of_nvme = title::nvme_ops(names).iter().map(|(word, op)| ((*word).to_owned(), *op));
    said.into_iter().chain(of_nvme).map(|(word, op)| (word, Some(op))).collect()
}

impl Settled {
    /// Gives days a column where one column of times is two in the lines, as dates with a blank are between blanks.
    fn days_apart(&mut self, text: &[u8]) {
        let columns = &mut self.spec.columns;
        let Some(at) = columns.iter().position(|column| matches!(column, Column::Time(_))) else { return };
        let separator = self.spec.separator.unwrap_or(b',');
        let is_two = |cells: &Vec<&[u8]>| {
            cells.get(at).is_some_and(|cell| date::is_day(cell))
                && cells.get(at + 1).is_some_and(|cell| date::is_clock(cell))
        };
        let lines = lines_of(text, self.spec.skip_lines).take(SEPARATOR_LINES);
        let Some(cells) = lines.map(|line| cells(line, separator, self.keys.as_ref())).find(is_two) else { return };
        if columns.get(at + 1) == Some(&Column::Other) && cells.len() <= columns.len() {
            columns.remove(at + 1);
        } else if !self.names.is_empty() {
            self.names.insert(at, Vec::new());
        }
        columns.insert(at, Column::Day);
    }

    fn take(&mut self, sample: &Sample, headed: bool) {
        let is_day = sample.first_day.is_some_and(date::is_day) && sample.first_time.is_some_and(date::is_clock);
        // What separates columns is a decimal comma where one within quotes can be nothing else.
        let by_commas = self.spec.separator == Some(b',');
        if !sample.decimal_commas && (by_commas || sample.grouped) {
            self.commas = Commas::Thousands;
        }
        for column in &mut self.spec.columns {
            match column {
                Column::Time(clock)
                    if (clock.is_none() || headed)
                        && sample.first_time.is_some_and(|time| date::looks_like(time) || date::is_clock(time)) =>
                {
                    *clock = Some(Clock::Date);
                    self.time_guessed = false;
                }
                Column::Time(clock @ None) if headed => {
                    let own = sample.first_time.and_then(units::time_with_unit).map(|(_, unit)| unit);
                    self.time_guessed &= own.is_none();
                    *clock = own.or_else(|| sample.first_time.and_then(units::unit_since_1970)).map(Clock::Unit);
                }
                Column::Day if headed && !is_day => {
                    let day = sample.first_day.unwrap_or_default();
                    let unread = date::unread(day)
                        .unwrap_or_else(|| format!("not both are as 2024-03-09 and 23:59:55: {}", excerpt(day)));
                    self.remarks.push(format!("dates beside times are passed over: {unread}"));
                    *column = Column::Other;
                }
                Column::Device { names } => *names |= sample.device_names,
                Column::Address(unit) if headed && sample.addresses.have_units() => *unit = Unit::of(1),
                Column::Size(unit) if headed && sample.sizes.have_units() => *unit = unit.in_bytes(1),
                _ => {}
            }
        }
    }
}

/// What separates columns, by what makes the right number of them.
fn separator_by_count(text: &[u8], spec: &ColumnSpec) -> u8 {
    let lines = || lines_of(text, spec.skip_lines).take(SEPARATOR_LINES);
    if let Some(named) = lines().next().and_then(named_separator) {
        return named;
    }
    let right = spec.columns.len();
    let fits = |&separator: &u8| {
        let counts = || lines().map(move |line| split(line, separator).len());
        (counts().filter(|&count| count == right).count(), counts().filter(|&count| count > right).count())
    };
    // The last of several that fit as well is taken.
    let best = [b' ', b'|', b'\t', b';', b','].into_iter().max_by_key(fits);
    best.unwrap_or(b',')
}

/// What the records of a file's beginning show.
#[derive(Default)]
struct Sample<'a> {
    first_time: Option<&'a [u8]>,
    first_day: Option<&'a [u8]>,
    /// A device is no number.
    device_names: bool,
    addresses: OwnUnits,
    sizes: OwnUnits,
    /// Commas in times are decimal ones.
    decimal_commas: bool,
    /// Commas in some numbers group thousands.
    grouped: bool,
    /// Words for operations that have no meaning, with the lines where they are first.
    words: Vec<(u64, &'a [u8])>,
}

/// Whether values say themselves what their units are, so that those without one are bytes.
#[derive(Default)]
struct OwnUnits {
    sure: bool,
    /// Digits with a b behind.
    in_b: bool,
    /// Digits alone, but for zero.
    plain: bool,
}

impl OwnUnits {
    fn see(&mut self, cell: &[u8]) {
        if units::may_be_hexadecimal(cell) {
            self.in_b = true;
        } else {
            self.sure |= units::with_unit(cell).is_some();
            self.plain |= cell.iter().any(|byte| *byte != b'0');
        }
    }

    /// Some values being without one, a b may be a hexadecimal digit.
    fn have_units(&self) -> bool {
        self.sure || (self.in_b && !self.plain)
    }
}

impl<'a> Sample<'a> {
    fn of(text: &'a [u8], settled: &Settled) -> Self {
        let Settled { spec, flag, keys, .. } = settled;
        let mut sample = Sample::default();
        let separator = spec.separator.unwrap_or(b',');
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).zip(1..);
        for (line, number) in lines.skip_while(|(_, number)| *number <= spec.skip_lines) {
            let is_odd = || keys.as_ref().is_some_and(|keys| !keys.is_in(line, separator));
            let cells =
                if line.starts_with(b"#") || is_odd() { Vec::new() } else { cells(line, separator, keys.as_ref()) };
            let pairs = || spec.columns.iter().zip(cells.iter().copied());
            let is_number = |cell: &[u8]| cell.first().is_none_or(u8::is_ascii_digit);
            let is_record = pairs().all(|(column, cell)| match column {
                Column::Address(_) | Column::Size(_) => is_number(cell),
                Column::Time(_) => {
                    let first = date::without_brackets(cell).first();
                    first.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.')
                }
                _ => true,
            });
            if line.is_empty() || cells.len() < spec.columns.len() || !is_record {
                continue;
            }
            for (column, cell) in pairs() {
                match column {
                    Column::Day => sample.first_day = sample.first_day.or(Some(cell)),
                    Column::Time(_) => {
                        sample.first_time = sample.first_time.or(Some(cell));
                        sample.decimal_commas |= commas::of(cell) == Some(Commas::Decimal);
                        sample.grouped |= commas::of(cell) == Some(Commas::Thousands);
                    }
                    Column::Device { .. } => {
                        sample.device_names |= cell.is_empty() || !cell.iter().all(u8::is_ascii_digit);
                    }
                    Column::Address(_) => {
                        sample.addresses.see(cell);
                        sample.grouped |= commas::ungrouped(cell).is_some();
                    }
                    Column::Size(_) => {
                        sample.sizes.see(cell);
                        sample.grouped |= commas::ungrouped(cell).is_some();
                    }
                    // The t of true is no trim.
                    Column::Op if flag.is_some() && ops::is_answer(cell) && spec.op_named(cell).is_none() => {
                        sample.word(number, cell);
                    }
                    Column::Op if spec.op(cell).is_none() => sample.word(number, cell),
                    _ => {}
                }
            }
        }
        sample
    }

    fn word(&mut self, number: u64, word: &'a [u8]) {
        if self.words.len() < WORDS_MAX && self.words.iter().all(|(_, known)| !known.eq_ignore_ascii_case(word)) {
            self.words.push((number, word));
        }
    }
}
