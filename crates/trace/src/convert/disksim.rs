//! DiskSim ASCII: whole 512-byte sectors, reads and writes only. Exact to the nanosecond in ps, ns,
//! ms and s; whole units in us and 100ns, milliseconds with six decimals.
//!
//! Times in another unit than nanoseconds have it named in a comment behind the first record, which tells them from other
//! formats of five columns. DiskSim passes over such a comment, and stops at a line that is nothing else.

use std::fmt::Write;

use super::encoder::Encoder;
use crate::format::disksim::mark_of;
use crate::format::{SECTOR_BYTES, TimeUnit};
use crate::request::{Op, Request};

pub(super) struct DiskSim {
    time: TimeUnit,
    /// A record was written.
    begun: bool,
}

impl DiskSim {
    pub(super) fn new(time: TimeUnit) -> Self {
        DiskSim { time, begun: false }
    }
}

impl Encoder for DiskSim {
    fn header(&mut self, _: &mut String) {}

    fn encode(&mut self, request: &Request, text: &mut String) -> Result<(), String> {
        let Request { time_ns, device, op, offset_bytes, size_bytes, .. } = *request;
        let flag = match op {
            Op::Read => 1,
            Op::Write => 0,
            Op::Trim | Op::Flush => {
                return Err(format!("disksim has no {}; csv or fio3 would be right", op.name()));
            }
        };
        if !offset_bytes.is_multiple_of(SECTOR_BYTES) || !size_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("{size_bytes} bytes at {offset_bytes} are no whole sectors; csv would be right"));
        }
        let (sector, sectors) = (offset_bytes / SECTOR_BYTES, size_bytes / SECTOR_BYTES);
        // Writing to a string cannot fail.
        let _ = match self.time {
            TimeUnit::Ps => write!(text, "{}", u128::from(time_ns) * 1000),
            TimeUnit::Ns => write!(text, "{time_ns}"),
            TimeUnit::HundredNs => write!(text, "{}", time_ns / 100),
            TimeUnit::Us => write!(text, "{}", time_ns / 1000),
            TimeUnit::Ms => write!(text, "{}.{:06}", time_ns / 1_000_000, time_ns % 1_000_000),
            TimeUnit::S => write!(text, "{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000),
        };
        let _ = write!(text, " {device} {sector} {sectors} {flag}");
        if !std::mem::replace(&mut self.begun, true) && self.time != TimeUnit::Ns {
            let _ = write!(text, " {}", mark_of(self.time));
        }
        text.push('\n');
        Ok(())
    }
}
