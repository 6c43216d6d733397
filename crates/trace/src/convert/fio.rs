//! fio iolog version 3: whole microseconds; each device is a file `devN`, added and opened before its
//! first request. fio replays it once the names are replaced by real files or devices.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::encoder::Encoder;
use crate::request::{Op, Request};

#[derive(Default)]
pub(super) struct Fio {
    opened: BTreeSet<u32>,
}

impl Encoder for Fio {
    fn header(&mut self, text: &mut String) {
        text.push_str("fio version 3 iolog\n");
    }

    fn encode(&mut self, request: &Request, text: &mut String) -> Result<(), String> {
        let Request { time_ns, device, op, offset_bytes, size_bytes, .. } = *request;
        let time_us = time_ns / 1000;
        if self.opened.insert(device) {
            let _ = write!(text, "{time_us} dev{device} add\n{time_us} dev{device} open\n");
        }
        let action = if op == Op::Flush { "sync" } else { op.name() };
        let _ = writeln!(text, "{time_us} dev{device} {action} {offset_bytes} {size_bytes}");
        Ok(())
    }
}
