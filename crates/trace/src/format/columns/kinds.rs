//! What each column of a file of unknown columns may be, by its values: the most telling first.

use super::seen::{Seen, follows};
use super::{Clock, Column, Unit, finer, ops, units};
use crate::format::{SECTOR_BYTES, TimeUnit};

/// So many different values rank a column alike.
const DIFFERENT: usize = 64;

/// A column of operations has so many words at the most.
const FEW_WORDS: usize = 8;

/// So many seconds are long between requests.
const LONG_GAP_S: f64 = 100.0;

/// Columns of which more and more is settled. What a heading says stays.
pub(super) struct Kinds<'a> {
    seen: &'a [Seen<'a>],
    records: &'a [&'a Vec<&'a [u8]>],
    separator: u8,
    kinds: Vec<Option<Column>>,
    /// The column of words that are operations, if there is one.
    words: Option<usize>,
}

impl<'a> Kinds<'a> {
    /// What each column is; none where these make no request.
    pub(super) fn of(
        seen: &'a [Seen<'a>],
        records: &'a [&'a Vec<&'a [u8]>],
        said: Vec<Option<Column>>,
        separator: u8,
    ) -> Option<Vec<Column>> {
        let mut kinds = Kinds { seen, records, separator, kinds: said, words: None };
        kinds.words = kinds.words();
        let needed = kinds.needed();
        let has_dates = kinds.dates();
        kinds.times(has_dates, &needed);
        kinds.operations(&needed)?;
        let address = kinds.range()?;
        kinds.devices(address);
        kinds.sectors();
        Some(kinds.kinds.into_iter().map(|kind| kind.unwrap_or(Column::Other)).collect())
    }

    fn indices(&self) -> std::ops::Range<usize> {
        0..self.seen.len()
    }

    fn column(&self, index: usize) -> Option<&Seen<'a>> {
        self.seen.get(index)
    }

    /// Whether so many values are most of a column.
    fn mostly(&self, count: usize) -> bool {
        count * 2 > self.records.len()
    }

    fn is(&self, index: usize, what: impl Fn(&Seen<'a>) -> bool) -> bool {
        self.column(index).is_some_and(what)
    }

    fn give(&mut self, index: usize, kind: Column) {
        self.kinds.get_mut(index).into_iter().for_each(|slot| *slot = Some(kind));
    }

    fn is_free(&self, index: usize) -> bool {
        self.kinds.get(index).is_some_and(Option::is_none)
    }

    fn is_free_number(&self, index: usize) -> bool {
        self.is_free(index) && self.is(index, |column| self.mostly(column.numbers))
    }

    /// The column that is known to be this.
    fn known(&self, is: fn(&Column) -> bool) -> Option<usize> {
        self.kinds.iter().position(|kind| kind.as_ref().is_some_and(is))
    }

    fn time(&self) -> Option<usize> {
        self.known(|column| matches!(column, Column::Time(_)))
    }

    /// Words that are operations, better if they are different ones.
    fn words(&self) -> Option<usize> {
        let is_op = |index: &usize| self.is_free(*index) && self.is(*index, |column| self.mostly(column.ops));
        let differs = |index: &usize| self.is(*index, |column| column.op_words.len() > 1);
        let named = self.known(|column| *column == Column::Op);
        named.or_else(|| self.indices().filter(is_op).find(differs)).or_else(|| self.indices().find(is_op))
    }

    /// Whether a time, an address, a size and operations are still to be found.
    fn needed(&self) -> [bool; 4] {
        [
            self.time().is_none(),
            self.known(|column| matches!(column, Column::Address(_))).is_none(),
            self.known(|column| matches!(column, Column::Size(_))).is_none(),
            self.words.is_none(),
        ]
    }

    /// Times are dates, also with times of day behind them, or times of day. Whether there are any.
    fn dates(&mut self) -> bool {
        let days = |index: &usize| self.is(*index, |column| self.mostly(column.days));
        let clocks = |index: &usize| self.is(*index, |column| self.mostly(column.clocks));
        let whole = self.indices().find(|&index| self.is(index, |c| self.mostly(c.dates)) && !days(&index));
        // Whole seconds of day are less than a number that counts from 1970.
        let counts = |c: &Seen| self.mostly(c.numbers) && c.ascending && units::since_1970(c.first as u64).is_some();
        let counted = self.indices().any(|index| self.is(index, counts));
        let clocks = |index: &usize| clocks(index) && (!counted || self.is(*index, |column| column.parts > 0));
        let time = self.time();
        let dates = whole.or_else(|| self.indices().find(clocks));
        let dates = dates.filter(|&index| time.is_none_or(|time| time == index));
        let is_clock = dates.is_some_and(|time| clocks(&time));
        let days: Vec<usize> = self.indices().filter(days).collect();
        if let Some(dates) = dates {
            self.give(dates, Column::Time(Some(Clock::Date)));
        }
        for day in days {
            let is_day = is_clock && self.known(|column| *column == Column::Day).is_none();
            self.give(day, if is_day { Column::Day } else { Column::Other });
        }
        dates.is_some()
    }

    /// Whether numbers grow, as times do.
    fn grows(&self, index: usize) -> bool {
        let one = self.records.len() == 1;
        let grows = |c: &Seen| c.ascending && !c.hexadecimal && (c.different.len() > 1 || (c.fractions > 0 && one));
        Some(index) != self.words && self.is_free_number(index) && self.is(index, grows)
    }

    /// Times ascend, and are the first column that does.
    fn times(&mut self, has_dates: bool, needed: &[bool; 4]) {
        let has_time = self.time();
        let mut growing: Vec<usize> = self.indices().filter(|&index| self.grows(index)).collect();
        // What grows by one is the number of the line, where there is enough beside it.
        let is_number = |index: &usize| Some(*index) != self.words && self.is_free_number(*index);
        let numbers = self.indices().filter(is_number).count();
        let counts = |c: &Seen| c.numbers > 2 && c.jumps == 0 && c.fractions == 0;
        let needed = usize::from(needed[0] && !has_dates) + needed.iter().skip(1).filter(|needed| **needed).count();
        let counter = growing.iter().copied().find(|&index| self.is(index, counts));
        if numbers > needed
            && let Some(counter) = counter.filter(|_| growing.len() > 1 || has_time.is_some())
        {
            self.give(counter, Column::Other);
            growing.retain(|index| *index != counter);
        }
        if has_time.is_none()
            && let Some(&first) = growing.first()
        {
            let before = |&other: &usize| follows(self.records, first, other, self.separator);
            let time = growing.iter().copied().find(before).unwrap_or(first);
            if let Some(column) = self.column(time) {
                let unit = unit_of(column);
                self.give(time, Column::Time(Some(Clock::Unit(unit))));
            }
        }
        self.finer_times(has_time.is_some());
        self.later_times();
    }

    /// Takes the column that has the same times with more digits, if there is one. `said` is that the unit is known of
    /// those that are taken.
    fn finer_times(&mut self, said: bool) {
        let Some(time) = self.time() else { return };
        let Some(Some(Column::Time(clock))) = self.kinds.get(time).copied() else { return };
        let is_free = |index: &usize| self.is_free_number(*index) && Some(*index) != self.words;
        let others: Vec<usize> = self.indices().filter(is_free).collect();
        let is_date = clock == Some(Clock::Date);
        let found = finer::than(self.records, time, &others, is_date, self.separator);
        let Some((finer, ratio)) = found else { return };
        let counts = self.is(time, |column| units::since_1970(column.first as u64).is_some());
        let known = match clock {
            Some(Clock::Date) => Some(TimeUnit::S),
            Some(Clock::Unit(unit)) => Some(unit).filter(|_| said || counts),
            None => None,
        };
        let unit = known.and_then(|unit| finer::unit_below(unit, ratio)).or_else(|| self.column(finer).map(unit_of));
        self.give(time, Column::Other);
        self.give(finer, Column::Time(unit.map(Clock::Unit)));
        if let Some(day) = self.known(|column| *column == Column::Day) {
            self.give(day, Column::Other);
        }
    }

    /// What follows the time closely is that of the completion.
    fn later_times(&mut self) {
        let Some(time) = self.time() else { return };
        let later = |&index: &usize| {
            Some(index) != self.words
                && self.is_free_number(index)
                && follows(self.records, index, time, self.separator)
        };
        let later: Vec<usize> = self.indices().filter(later).collect();
        later.into_iter().for_each(|index| self.give(index, Column::Other));
    }

    fn operations(&mut self, needed: &[bool; 4]) -> Option<()> {
        let op = self
            .words
            .or_else(|| self.likely_words())
            .or_else(|| self.codes())
            .or_else(|| self.only_open(needed))
            .or_else(|| self.few_words())
            .or_else(|| self.constant())?;
        self.give(op, Column::Op);
        Some(())
    }

    /// Words that nobody knows: those that look like operations in other languages.
    fn likely_words(&self) -> Option<usize> {
        let is_likely = |c: &Seen| c.names.iter().any(|word| ops::likely_of(word).is_some());
        self.indices().find(|&index| self.is_worded(index) && self.is(index, is_likely))
    }

    /// Else the fewest.
    fn few_words(&self) -> Option<usize> {
        // Two words for operations begin differently, where two names of devices do not.
        let alike = |c: &Seen| c.names.first().map(|name| name.first()) == c.names.last().map(|name| name.first());
        let rank = |index: &usize| self.column(*index).map(|c| (c.names.len().abs_diff(2), alike(c)));
        // One word for all is none for operations.
        let differ = |index: &usize| self.is(*index, |c| c.names.len() > 1);
        self.indices().filter(|&index| self.is_worded(index)).filter(differ).min_by_key(rank)
    }

    fn is_worded(&self, index: usize) -> bool {
        let few = |c: &Seen| self.mostly(c.named) && c.names.len() <= FEW_WORDS && c.names.len() < c.named;
        self.is_free(index) && self.is(index, few)
    }

    /// Two small numbers.
    fn codes(&self) -> Option<usize> {
        let two = |c: &Seen| self.mostly(c.numbers) && c.largest <= 3.0 && c.different.len() == 2;
        self.indices().find(|&index| self.is_free(index) && self.is(index, two))
    }

    /// One small number for all.
    fn constant(&self) -> Option<usize> {
        let one = |c: &Seen| self.mostly(c.numbers) && c.largest <= 3.0 && c.different.len() == 1;
        self.indices().find(|&index| self.is_free(index) && self.is(index, one))
    }

    /// Where a heading says the rest, the one column of few words that it leaves open.
    fn only_open(&self, [_, address, size, _]: &[bool; 4]) -> Option<usize> {
        let mut open = self.indices().filter(|&index| !address && !size && self.is_free(index));
        let only = open.next().filter(|_| open.next().is_none());
        only.filter(|&index| self.is(index, |c| c.names.len() <= FEW_WORDS))
    }

    /// Columns of whole numbers that are nothing yet. Addresses differ most, do not ascend as numbers of records do, and
    /// are large.
    fn numeric(&self) -> Vec<usize> {
        let whole = |c: &Seen| self.mostly(c.numbers) && c.fractions == 0;
        let mut all: Vec<usize> =
            self.indices().filter(|&index| self.is_free(index) && self.is(index, whole)).collect();
        let rank = |c: &Seen| (c.different.len().min(DIFFERENT), !c.ascending, c.largest as u64);
        all.sort_by_key(|&index| std::cmp::Reverse(self.column(index).map_or((0, false, 0), rank)));
        all
    }

    /// The address, and the size beside it.
    fn range(&mut self) -> Option<usize> {
        let unit = |kinds: &Self, index: usize| {
            let unit = |c: &Seen| Unit { hex: c.hexadecimal, ..Unit::of(if in_bytes(c) { 1 } else { SECTOR_BYTES }) };
            kinds.column(index).map_or(Unit::of(1), unit)
        };
        let address = match self.known(|column| matches!(column, Column::Address(_))) {
            Some(said) => said,
            None => {
                let address = *self.numeric().first()?;
                self.give(address, Column::Address(unit(self, address)));
                address
            }
        };
        if self.known(|column| matches!(column, Column::Size(_))).is_none() {
            // Sizes stand beside addresses, most of them behind.
            let rest = self.numeric();
            let beside = [address + 1, address.wrapping_sub(1)];
            let size = beside.into_iter().find(|index| rest.contains(index)).or(rest.first().copied())?;
            self.give(size, Column::Size(unit(self, size)));
        }
        Some(address)
    }

    /// Few names or numbers that come again are devices. Programs and their processes have other marks.
    fn devices(&mut self, address: usize) {
        if self.known(|column| matches!(column, Column::Device { .. })).is_some() {
            return;
        }
        let is_plain = |name: &&[u8]| !name.iter().any(|byte| matches!(byte, b':' | b')' | b']'));
        let rank = |index: &usize| self.column(*index).map(|c| (!c.names.iter().all(is_plain), c.names.len() < 2));
        let come_again = |c: &Seen| self.mostly(c.named) && c.names.len() * 3 <= c.named * 2;
        let named = self.indices().filter(|&index| self.is_free(index) && self.is(index, come_again)).min_by_key(rank);
        let named = named.filter(|index| rank(index).is_some_and(|(marked, one)| !(marked && one)));
        let comes_again = |index: &usize| self.is(*index, |c| c.different.len() * 3 <= c.numbers * 2);
        let numbered = || self.numeric().into_iter().find(|index| *index < address && comes_again(index));
        if let Some(device) = named.or_else(numbered) {
            self.give(device, Column::Device { names: false });
        }
    }

    /// Bytes that a name leaves open, and that are no sectors, are numbers of these.
    fn sectors(&mut self) {
        for (kind, column) in self.kinds.iter_mut().zip(self.seen) {
            if let Some(Column::Address(unit) | Column::Size(unit)) = kind
                && unit.guessed
                && unit.bytes == 1
                && !in_bytes(column)
            {
                *unit = Unit { bytes: SECTOR_BYTES, guessed: false, ..*unit };
            }
        }
    }
}

fn in_bytes(column: &Seen<'_>) -> bool {
    column.with_units > 0 || column.bits.is_multiple_of(512)
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
