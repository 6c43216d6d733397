//! DiskSim ASCII, also used by SSDsim and MQSim: `time device lba size flag`, blanks or tabs, address
//! and size in 512-byte sectors, flag bit 0 set for a read. Higher bits qualify a request in DiskSim; forks
//! of MQSim mean a trim by 2, so flags over 1 are counted.
//!
//! The formats differ in the time unit and nothing in the file says which. Unless an option does: a
//! time column with fractions is in milliseconds (DiskSim), whole numbers are nanoseconds (SSDsim,
//! MQSim). Converted traces with whole microseconds exist and need the option. The guess rests on the
//! first 64 KiB; a fraction that turns up later contradicts it and is an error.
//!
//! FlashSim `_4k` and replayer cuts have the same five columns; [`super::flashsim`] and
//! [`super::replayer`] say how they are told apart.

use super::{Item, TimeUnit};
use crate::format::text::LineParser;
use crate::noted::Note;
use crate::number::{self, Flaw, split_blank};
use crate::request::Op;

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
    pub(crate) fn disksim(time: Option<TimeUnit>, sample: &[u8], sector_bytes: u64) -> Self {
        let whole = !has_fractional_time(sample);
        FiveColumns {
            time: time.unwrap_or(if whole { TimeUnit::Ns } else { TimeUnit::Ms }),
            guessed_from_whole_times: time.is_none() && whole,
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
        number::need_columns(split_blank(line, &mut columns), 5..=5)?;
        let [time, device, address, size, flag] = columns;
        let time_ns = number::time(time, self.time.tick(), "the time")?;
        if self.guessed_from_whole_times && time.contains(&b'.') {
            let what = "the time has a fraction and those before had none, naming the time unit would be right";
            return Err(Flaw::Value(what.to_owned()));
        }
        let device = number::device(device, "the device")?;
        let address = number::whole(address, "the address")?;
        let size = number::whole(size, "the size")?;
        let flag = number::whole(flag, "the flag")?;
        self.flags_over_one += u64::from(flag > 1);
        let op = if flag & 1 == 1 { Op::Read } else { Op::Write };
        Ok(Item::in_units(time_ns, device, op, (address, self.address_unit_bytes), (size, self.size_unit_bytes)))
    }
}

/// Whether any first column of the sample has a decimal point.
pub(crate) fn has_fractional_time(sample: &[u8]) -> bool {
    sample.split(|&byte| byte == b'\n').any(|line| {
        let mut columns = [&[][..]; 5];
        split_blank(line.trim_ascii(), &mut columns) == 5 && columns[0].contains(&b'.')
    })
}
