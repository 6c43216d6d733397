//! MSR Cambridge CSV: reads and writes only, whole tenths of a microsecond, all disks on one host. The
//! response time is unknown and written as 0.

use std::fmt::Write;

use super::encoder::Encoder;
use crate::request::{Op, Request};

/// Windows file time of the start of 2007, when such traces were recorded, in units of 100 ns.
const START_TICKS: u64 = 128_120_832_000_000_000;

pub(super) struct Msr;

impl Encoder for Msr {
    fn header(&mut self, _: &mut String) {}

    fn encode(&mut self, request: &Request, text: &mut String) -> Result<(), String> {
        let Request { time_ns, device, op, offset_bytes, size_bytes, .. } = *request;
        let kind = match op {
            Op::Read => "Read",
            Op::Write => "Write",
            Op::Trim | Op::Flush => return Err(format!("msr has no {}; csv or fio3 would be right", op.name())),
        };
        if device > 0xffff {
            return Err(format!("msr disks end at 65535 and this is {device}; csv would be right"));
        }
        let ticks = START_TICKS.saturating_add(time_ns / 100);
        if ticks.checked_mul(100).is_none() {
            return Err("msr's clock ends in the year 2185; csv would be right".to_owned());
        }
        let _ = writeln!(text, "{ticks},host,{device},{kind},{offset_bytes},{size_bytes},0");
        Ok(())
    }
}
