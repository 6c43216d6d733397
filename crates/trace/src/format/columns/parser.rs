//! Lines of any columns as records.

use super::commas::{self, Commas};
use super::keyed::{self, Keys};
use super::settled::Settled;
use super::within::Watch;
use super::{Clock, Column, ColumnSpec, DEVICE_COLUMNS_MAX, Unit, bare, date, ops, settle, units};
use crate::error::excerpt;
use crate::format::line_parser::{LineParser, Separator};
use crate::format::names::Names;
use crate::format::text::JUNK_LINES_MAX;
use crate::format::{Item, TimeUnit};
use crate::noted::{self, Note};
use crate::number::{self, Flaw};
use crate::request::Op;
use crate::skipped::SkipReason;

/// A day, in nanoseconds: times of day alone are of the first one of 1970.
const DAY_NS: u64 = 86_400_000_000_000;

pub(crate) struct AnyColumns {
    spec: ColumnSpec,
    /// Lines name each value.
    keys: Option<Keys>,
    separator: u8,
    time: TimeUnit,
    is_date: bool,
    has_day: bool,
    has_time: bool,
    lines_left: u64,
    /// One where sizes are one more than their values.
    size_more: u64,
    /// Lines before the first record, which pages may repeat.
    before: Vec<Box<[u8]>>,
    record_seen: bool,
    device_names: bool,
    devices: Names,
    /// Lines with columns after the last.
    extra_columns: u64,
    /// What commas in times mean.
    commas: Commas,
    /// Times with decimal commas.
    decimal_commas: u64,
    /// Times whose comma may be decimal or not.
    open_commas: u64,
    /// A time shows what commas mean.
    commas_shown: bool,
    addresses: Numbers,
    sizes: Numbers,
    /// What lines before the first record name, where these make requests.
    headings: Vec<Vec<Column>>,
    /// Columns that tell no devices apart yet.
    watch: Option<Watch>,
    /// What was seen behind the file's beginning.
    remark: Option<String>,
    /// The latest time that is a date, or one of day.
    last_ns: u64,
    /// Times of day that are half a day and more before it.
    midnights: u64,
}

/// The columns of a line that make a request.
#[derive(Default)]
struct Cells<'a> {
    day: &'a [u8],
    time: &'a [u8],
    device: Option<&'a [u8]>,
    /// The columns that tell devices apart together with the other.
    devices_within: Few<'a>,
    /// Those that may.
    watched: Few<'a>,
    op: &'a [u8],
    address: (&'a [u8], Unit),
    size: (&'a [u8], Unit),
    /// Columns in all.
    count: usize,
}

/// Cells of a kind, of which there are as many as columns of devices.
#[derive(Default)]
struct Few<'a> {
    cells: [&'a [u8]; DEVICE_COLUMNS_MAX],
    count: usize,
}

impl<'a> Few<'a> {
    fn push(&mut self, cell: &'a [u8]) {
        self.cells.get_mut(self.count).into_iter().for_each(|slot| *slot = cell);
        self.count += 1;
    }

    fn all(&self) -> &[&'a [u8]] {
        self.cells.get(..self.count).unwrap_or(&self.cells)
    }
}

impl<'a> Cells<'a> {
    fn of(columns: &[Column], cells: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut found = Cells::default();
        for cell in cells {
            match columns.get(found.count) {
                Some(Column::Day) => found.day = bare(cell),
                Some(Column::Time(_)) => found.time = bare(cell),
                Some(Column::Device { .. }) if found.device.is_some() => found.devices_within.push(bare(cell)),
                Some(Column::Within) => found.watched.push(bare(cell)),
                Some(Column::Device { .. }) => found.device = Some(bare(cell)),
                Some(Column::Op) => found.op = bare(cell),
                Some(Column::Address(unit)) => found.address = (bare(cell), *unit),
                Some(Column::Size(unit)) => found.size = (bare(cell), *unit),
                Some(Column::Other) | None => {}
            }
            found.count += 1;
        }
        found
    }
}

impl AnyColumns {
    pub(crate) fn new(settled: Settled, time: TimeUnit) -> Self {
        let spec = settled.spec;
        let has = |column: Column| spec.columns.contains(&column);
        AnyColumns {
            separator: spec.separator.unwrap_or(b','),
            commas: settled.commas,
            decimal_commas: 0,
            open_commas: 0,
            commas_shown: false,
            addresses: Numbers::default(),
            sizes: Numbers::default(),
            time,
            is_date: has(Column::Time(Some(Clock::Date))),
            has_day: spec.has_day(),
            has_time: spec.time().is_some(),
            lines_left: spec.skip_lines,
            size_more: spec.columns.iter().any(|column| matches!(column, Column::Size(unit) if unit.less_one)).into(),
            before: Vec::new(),
            headings: Vec::new(),
            watch: Watch::of(&spec),
            remark: None,
            last_ns: 0,
            midnights: 0,
            record_seen: false,
            device_names: has(Column::Device { names: true }),
            spec,
            keys: settled.keys,
            devices: Names::default(),
            extra_columns: 0,
        }
    }

    /// With devices numbered as the names of the whole trace are.
    pub(crate) fn numbered(self, devices: Names) -> Self {
        Self { devices, ..self }
    }

    fn record(&mut self, line: &[u8], cells: &Cells<'_>) -> Result<Item, Flaw> {
        if cells.count > self.spec.columns.len() {
            self.extra_columns += 1;
        } else {
            number::need_columns(cells.count, self.spec.columns.len()..=self.spec.columns.len())?;
        }
        let time_ns = if self.has_time { self.time(cells)? } else { 0 };
        let address = self.addresses.range(cells.address, "the address")?;
        let size =
            self.sizes.range(cells.size, "the size")?.map(|(size, unit)| (size.saturating_add(self.size_more), unit));
        let op = match self.spec.op(cells.op) {
            Some(op) => op,
            None => return Err(Flaw::Value(ops::without_meaning(&[cells.op], None))),
        };
        let device = match (cells.device, cells.devices_within.all()) {
            (None, _) => 0,
            (Some(device), []) => self.device(device)?,
            (Some(device), within) => {
                let names: Vec<&[u8]> = [device].into_iter().chain(within.iter().copied()).collect();
                self.devices.device(&names.join(&b'\n'), "devices")?
            }
        };
        if let Some(watch) = &mut self.watch
            && watch.shows(device, cells.watched.all(), &self.spec)
        {
            self.remark = self.watch.take().and_then(Watch::into_remark);
        }
        Ok(match (op, address, size) {
            (None, ..) => Item::Skip(SkipReason::OtherCommand),
            (Some(Op::Flush), ..) => Item::flush(time_ns, device),
            (Some(op), Some(address), Some(size)) => Item::in_units(time_ns, device, op, address, size),
            (Some(op), address, _) => {
                let lacks = if address.is_none() { "address" } else { "size" };
                let what = format!("a {} has no {lacks}, which only a flush may lack: `{}`", op.name(), excerpt(line));
                return Err(Flaw::Value(what));
            }
        })
    }

    /// Keeps a line before the first record.
    fn keep(&mut self, line: &[u8]) {
        if self.before.len() < JUNK_LINES_MAX as usize {
            self.before.push(line.into());
        }
        self.keep_heading(line);
    }

    fn keep_heading(&mut self, line: &[u8]) {
        if self.headings.len() < JUNK_LINES_MAX as usize {
            self.headings.extend(settle::named_by(line, self.separator));
        }
    }

    /// Refuses a heading that is not the one of the records before it: files of different columns or units were joined.
    #[cold]
    fn refuse_other_heading(&self, line: &[u8]) -> Result<(), Flaw> {
        if self.headings.is_empty() || self.keys.is_some() {
            return Ok(());
        }
        match settle::named_by(line, self.separator) {
            Some(columns) if !self.headings.contains(&columns) => Err(Flaw::Value(format!(
                "the heading names other columns than the one before, or other units: `{}`; each part of the file would \
                 be right as a file of its own",
                excerpt(line)
            ))),
            _ => Ok(()),
        }
    }

    #[cold]
    fn comment(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if self.record_seen {
            self.refuse_other_heading(line)?;
        } else {
            self.keep_heading(line);
        }
        Ok(Item::Skip(SkipReason::Comment))
    }

    /// A line as it was read, or a heading where a page has it once more.
    fn of_page(&mut self, line: &[u8], item: Result<Item, Flaw>) -> Result<Item, Flaw> {
        match item {
            Err(Flaw::Shape(what)) => self.odd_line(line, what),
            item => {
                self.record_seen = true;
                item
            }
        }
    }

    #[cold]
    fn odd_line(&mut self, line: &[u8], what: String) -> Result<Item, Flaw> {
        if self.record_seen {
            self.refuse_other_heading(line)?;
        }
        let words = |line: &'_ [u8]| -> Vec<u8> {
            line.iter().copied().filter(|byte| !byte.is_ascii_digit() && !byte.is_ascii_whitespace()).collect()
        };
        let own = words(line);
        // Pages differ in their numbers.
        if self.record_seen && own.len() > 2 && self.before.iter().any(|known| words(known) == own) {
            return Ok(Item::Skip(SkipReason::Heading));
        }
        // One with the word of an operation is a record that cannot be read: others like it are no headings.
        let is_op = |word: &[u8]| !word.is_empty() && self.spec.op(word).is_some();
        if !self.record_seen && !line.split(|byte| !byte.is_ascii_alphanumeric()).any(is_op) {
            self.keep(line);
        }
        Err(Flaw::Shape(what))
    }

    fn time(&mut self, cells: &Cells<'_>) -> Result<u64, Flaw> {
        let text = cells.time;
        if self.has_day {
            return date::ns_of_two(cells.day, text);
        }
        if self.is_date {
            let ns = date::ns_since_1970(text)?;
            self.midnights += u64::from(ns < DAY_NS && ns + DAY_NS / 2 < self.last_ns && self.last_ns < DAY_NS);
            self.last_ns = ns;
            return Ok(ns);
        }
        number::time(text, self.time.tick(), "the time").or_else(|flaw| self.odd_time(text, flaw))
    }

    #[cold]
    fn odd_time(&mut self, text: &[u8], flaw: Flaw) -> Result<u64, Flaw> {
        if let Some(what) = date::unread(text) {
            return Err(Flaw::Shape(what));
        }
        let bare = date::without_brackets(text);
        if bare.len() < text.len()
            && let Ok(ns) = number::time(bare, self.time.tick(), "the time")
        {
            return Ok(ns);
        }
        if date::looks_like(text) || date::is_clock(text) {
            let what = format!("the time is a date: {}; time:date in --columns would read it", excerpt(text));
            return Err(Flaw::Shape(what));
        }
        // A value's own unit is stronger than that of its column.
        if let Some((number, unit)) = units::time_with_unit(text) {
            return number::time(number, unit.tick(), "the time");
        }
        let means = commas::of(text);
        let plain = match self.commas {
            Commas::Decimal => commas::with_point(text),
            Commas::Thousands => commas::ungrouped(text).filter(|_| means != Some(Commas::Decimal)),
        };
        let Some(plain) = plain else { return Err(self.other_commas(text).unwrap_or(flaw)) };
        self.commas_shown |= means.is_some();
        self.open_commas += u64::from(means.is_none());
        self.decimal_commas += u64::from(self.commas == Commas::Decimal);
        number::time(&plain, self.time.tick(), "the time")
    }

    /// The error of a time whose commas mean something else than those of other numbers.
    fn other_commas(&self, text: &[u8]) -> Option<Flaw> {
        let (means, others) = match (commas::of(text)?, self.commas) {
            (Commas::Thousands, Commas::Decimal) => ("groups thousands", "are decimal"),
            (Commas::Decimal, Commas::Thousands) => ("is decimal", "group thousands"),
            _ => return None,
        };
        Some(Flaw::Value(format!(
            "the comma of the time {} {means}, and those of other numbers {others}; points for decimal commas would be right",
            excerpt(text)
        )))
    }

    /// The error of a line, with the option that reads its numbers as hexadecimal where they show that.
    #[cold]
    fn in_hexadecimal(&self, cells: &Cells<'_>, flaw: Flaw) -> Flaw {
        let shows = |(text, unit): (&[u8], Unit)| !unit.hex && number::shows_hexadecimal(text);
        let is_address = |column: &Column| matches!(column, Column::Address(_));
        let is_size = |column: &Column| matches!(column, Column::Size(_));
        let spec = self.spec.clone();
        let (spec, what, text) = if shows(cells.address) {
            (spec.in_hexadecimal(is_address), "address", cells.address.0)
        } else if shows(cells.size) {
            (spec.in_hexadecimal(is_size), "size", cells.size.0)
        } else {
            return flaw;
        };
        match flaw {
            Flaw::Shape(_) => Flaw::Value(format!(
                "the {what} is not a whole number, and hexadecimal digits: {}; --columns {spec} takes each {what} for \
                 hexadecimal",
                excerpt(text)
            )),
            value => value,
        }
    }

    fn device(&mut self, text: &[u8]) -> Result<u32, Flaw> {
        if !self.device_names {
            return number::device(text, "the device").map_err(|flaw| match flaw {
                Flaw::Shape(_) => Flaw::Value(format!(
                    "the device {} is a name, and those before are numbers; device:name in --columns takes all for names",
                    excerpt(text)
                )),
                value => value,
            });
        }
        self.devices.device(text, "devices")
    }
}

/// What was seen of the numbers of addresses, or of sizes.
#[derive(Debug, Default, Clone, Copy)]
struct Numbers {
    /// Those behind `0x`.
    marked: u64,
    /// Decimal ones. A zero is written without a mark by programs that mark all others.
    decimal: u64,
    /// Those with commas between thousands.
    grouped: u64,
    /// Those with a b behind their digits.
    in_b: u64,
}

impl Numbers {
    /// An address or a size in units; none where the column is empty.
    fn range(&mut self, (text, unit): (&[u8], Unit), what: &str) -> Result<Option<(u64, u64)>, Flaw> {
        if text.is_empty() {
            return Ok(None);
        }
        if unit.hex {
            return number::hexadecimal(text, what).map(|value| Some((value, unit.bytes)));
        }
        match number::whole(text, what) {
            Ok(value) => {
                self.decimal += u64::from(value > 0);
                Ok(Some((value, unit.bytes)))
            }
            Err(flaw) => self.odd(text, unit, what, flaw),
        }
    }

    /// A number in hexadecimal, with its own unit, with commas between thousands, or one with a fraction of zeros, as
    /// spreadsheets and data frames write them.
    #[cold]
    fn odd(&mut self, text: &[u8], unit: Unit, what: &str, flaw: Flaw) -> Result<Option<(u64, u64)>, Flaw> {
        if text.starts_with(b"0x") || text.starts_with(b"0X") {
            self.marked += 1;
            return number::whole_or_hexadecimal(text, what).map(|value| Some((value, unit.bytes)));
        }
        // A value's own unit is stronger than that of its column.
        if let Some(bytes) = units::with_unit(text) {
            self.in_b += u64::from(units::may_be_hexadecimal(text));
            return Ok(Some((bytes, 1)));
        }
        let point = memchr::memchr(b'.', text).unwrap_or(text.len());
        let (digits, fraction) = text.split_at_checked(point).unwrap_or((text, &[]));
        if !fraction.get(1..).unwrap_or_default().iter().all(|&byte| byte == b'0') {
            return Err(flaw);
        }
        let plain = commas::ungrouped(digits);
        self.grouped += u64::from(plain.is_some());
        self.decimal += 1;
        number::whole(plain.as_deref().unwrap_or(digits), what).map_err(|_| flaw).map(|value| Some((value, unit.bytes)))
    }
}

impl LineParser for AnyColumns {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        if self.lines_left > 0 {
            self.lines_left -= 1;
            self.keep(line);
            return Ok(Item::Skip(SkipReason::Heading));
        }
        if line.starts_with(b"#") {
            return self.comment(line);
        }
        let (separator, columns) = (self.separator, &self.spec.columns);
        if let Some(keys) = &self.keys {
            if keyed::is_bracket(line) {
                return Ok(Item::Header);
            }
            if !keys.is_in(line, separator) {
                let flaw = Flaw::Shape("no value has a name, as those of other lines have".to_owned());
                return self.of_page(line, Err(flaw));
            }
            let cells = Cells::of(columns, keyed::cells(line, separator, Some(keys)).into_iter());
            let item = self.record(line, &cells).map_err(|flaw| self.in_hexadecimal(&cells, flaw));
            return self.of_page(line, item);
        }
        let blank = separator == b' ';
        let parts = line.split(|&byte| byte == separator || (blank && byte == b'\t'));
        let mut cells = Cells::of(columns, parts.filter(|part| !blank || !part.is_empty()));
        if cells.count != columns.len() {
            // A separator may be within quotes.
            cells = Cells::of(columns, super::split(line, separator).into_iter());
        }
        let item = self.record(line, &cells).map_err(|flaw| self.in_hexadecimal(&cells, flaw));
        self.of_page(line, item)
    }

    fn notes(&self) -> Vec<(Note, u64)> {
        let both = |numbers: &Numbers| if numbers.decimal > 0 { numbers.marked } else { 0 };
        let grouped = self.addresses.grouped + self.sizes.grouped;
        let in_b = |numbers: &Numbers| if numbers.decimal > 0 { numbers.in_b } else { 0 };
        let open = if self.commas_shown || grouped > 0 { 0 } else { self.open_commas };
        let assumed = match self.commas {
            Commas::Decimal => Note::DecimalCommasAssumed,
            Commas::Thousands => Note::ThousandsAssumed,
        };
        noted::some(&[
            (assumed, open),
            (Note::Midnight, self.midnights),
            (Note::BytesOrHexadecimal, in_b(&self.addresses) + in_b(&self.sizes)),
            (Note::ExtraColumns, self.extra_columns),
            (Note::HexadecimalAmongDecimal, both(&self.addresses) + both(&self.sizes)),
            (Note::CommasOfTwoMeanings, if self.decimal_commas > 0 { grouped } else { 0 }),
        ])
    }

    fn take_remark(&mut self) -> Option<String> {
        self.remark.take()
    }

    fn blank(&mut self) {
        self.lines_left = self.lines_left.saturating_sub(1);
    }

    fn separator(&self) -> Separator {
        if self.separator == b' ' { Separator::Blank } else { Separator::Comma }
    }

    fn columns(&self) -> Option<usize> {
        Some(self.spec.columns.len())
    }
}
