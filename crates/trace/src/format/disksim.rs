//! DiskSim ASCII, also used by SSDsim and MQSim: `time device lba size flag`.
//!
//! Columns are separated by blanks or tabs. Address and size are in 512-byte sectors; flag bit 0 is set for a read.
//!
//! The formats differ in the time unit and nothing in the file says which. Unless an option does: a time column with
//! fractions is in milliseconds (DiskSim), whole numbers are nanoseconds (SSDsim, MQSim). Numbers as large as Windows
//! file times are these. Converted traces with whole microseconds exist and need the option. The guess rests on the
//! first 64 KiB. A fraction that turns up later contradicts it and is an error.
//!
//! Text behind `#` in a record's line is a comment, as DiskSim passes over what follows the flag. A line that is nothing but
//! a comment would stop it. What we write in another unit than nanoseconds names
//! the format and the unit so, in the first record.
//!
//! FlashSim `_4k` and replayer cuts have the same five columns; [`super::flashsim`] and [`super::replayer`] say how to
//! distinguish them.

use super::{Item, TimeUnit};
use crate::format::line_parser::LineParser;
use crate::noted::Note;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;

/// Windows file times of the years 1980 to 2139, in units of 100 ns.
pub(crate) const FILE_TIMES: std::ops::Range<u64> = 119_600_064_000_000_000..170_000_000_000_000_000;

/// Five columns of numbers; the three formats differ in units only.
pub(crate) struct FiveColumns {
    pub(crate) time: TimeUnit,
    /// The unit was guessed because no time has a fraction.
    pub(crate) guessed_from_whole_times: bool,
    pub(crate) address_unit_bytes: u64,
    pub(crate) size_unit_bytes: u64,
    pub(crate) flags_over_one: u64,
}

impl FiveColumns {
    /// Times are in `time`, which was guessed from the sample or is what a person says.
    pub(crate) fn disksim(time: TimeUnit, guessed: bool, sector_bytes: u64) -> Self {
        FiveColumns {
            time,
            guessed_from_whole_times: guessed && time != TimeUnit::Ms,
            address_unit_bytes: sector_bytes,
            size_unit_bytes: sector_bytes,
            flags_over_one: 0,
        }
    }
}

impl LineParser for FiveColumns {
    fn notes(&self) -> Vec<(Note, u64)> {
        if self.flags_over_one == 0 { Vec::new() } else { vec![(Note::FlagOverOne, self.flags_over_one)] }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        let mut columns = [&[][..]; 5];
        let count = split_blank(line, &mut columns);
        if count > 5
            && let Some(record) = without_comment(line)
        {
            return self.parse(record);
        }
        number::need_columns(count, 5..=5)?;
        let [time, device, address, size, flag] = columns;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        if self.guessed_from_whole_times && time.contains(&b'.') {
            let what = "the time has a fraction and those before had none, naming the time unit would be right";
            return Err(Flaw::Value(what.to_owned()));
        }
        let address = number::whole(address, "the address")?;
        let size = number::whole(size, "the size")?;
        let flag = number::whole(flag, "the flag")?;
        // Of a line with words it is no device that is too large.
        let device = number::device(device, "the device")?;
        self.flags_over_one += u64::from(flag > 1);
        let op = if flag & 1 == 1 { Op::Read } else { Op::Write };
        Ok(Item::in_units(time_ns, device, op, (address, self.address_unit_bytes), (size, self.size_unit_bytes)))
    }

    fn columns(&self) -> Option<usize> {
        Some(5)
    }
}

/// What precedes a comment behind a record.
fn without_comment(line: &[u8]) -> Option<&[u8]> {
    let (record, _) = line.split_at_checked(memchr::memmem::find(line, b" #")?)?;
    Some(record)
}

/// The comment that names the format and the unit of times.
pub(crate) fn mark_of(unit: TimeUnit) -> String {
    format!("# disksim, {unit}")
}

/// The unit that the first record's comment names.
pub(crate) fn marked_unit(sample: &[u8]) -> Option<TimeUnit> {
    let first = sample.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty())?.trim_ascii();
    TimeUnit::ALL.into_iter().find(|unit| first.ends_with(mark_of(*unit).as_bytes()))
}

/// The unit that the times of a sample speak for.
pub(crate) fn time_unit_of(sample: &[u8]) -> TimeUnit {
    if has_fractional_time(sample) {
        return TimeUnit::Ms;
    }
    let times = sample.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut columns = [&[][..]; 5];
        split_blank(line.trim_ascii(), &mut columns);
        number::whole(columns[0], "").ok()
    });
    // Both hold for times of day alone: nanoseconds since 1970 are larger today, and such a long trace is none.
    if times.max().is_some_and(|latest| FILE_TIMES.contains(&latest)) { TimeUnit::HundredNs } else { TimeUnit::Ns }
}

/// Whether any first column of the sample has a decimal point.
pub(crate) fn has_fractional_time(sample: &[u8]) -> bool {
    sample.split(|&byte| byte == b'\n').any(|line| {
        let mut columns = [&[][..]; 5];
        split_blank(line.trim_ascii(), &mut columns) == 5 && columns[0].iter().any(|byte| matches!(byte, b'.' | b','))
    })
}
