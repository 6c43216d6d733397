//! The pages that a trace uses, as merged sorted intervals per device, and their dense numbering.
//!
//! Memory: 16 bytes per interval (not per page), plus as much again while intervals are merged. Intervals are collected
//! in a buffer that grows to half of what is already merged. So a page that is used again and again is held at most a
//! few times.

use crate::TraceError;
use crate::request::{Op, Request};

use super::numbering::Numbering;
use super::pages::pages_of;

/// The most pages that a footprint may have: numbers must fit 32 bits with two to spare.
pub const FOOTPRINT_PAGES_MAX: u64 = (1 << 32) - 2;
/// The most devices.
const DEVICES_MAX: usize = 65_536;
/// The most merged intervals over all devices; with as many waiting to be merged they take 2 GiB.
const INTERVALS_MAX: usize = 1 << 26;
const PENDING_MIN: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Interval {
    pub(super) first: u64,
    pub(super) past: u64,
}

#[derive(Debug)]
struct DevicePages {
    device: u32,
    /// Sorted, neither overlapping nor touching.
    merged: Vec<Interval>,
    /// In order of arrival.
    pending: Vec<Interval>,
    /// Pages in `merged`.
    pages: u64,
}

impl DevicePages {
    fn contains(&self, range: Interval) -> bool {
        let after = self.merged.partition_point(|interval| interval.first <= range.first);
        after.checked_sub(1).and_then(|at| self.merged.get(at)).is_some_and(|interval| interval.past >= range.past)
    }

    fn merge(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.pending.sort_unstable();
        let mut all: Vec<Interval> = Vec::with_capacity(self.merged.len() + self.pending.len());
        let (mut old, mut new) = (self.merged.iter().peekable(), self.pending.iter().peekable());
        loop {
            let next = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) if a <= b => old.next(),
                (Some(_), None) => old.next(),
                _ => new.next(),
            };
            let Some(&next) = next else { break };
            match all.last_mut() {
                Some(last) if next.first <= last.past => last.past = last.past.max(next.past),
                _ => all.push(next),
            }
        }
        all.shrink_to_fit();
        self.pages = all.iter().map(|interval| interval.past - interval.first).sum();
        self.merged = all;
        self.pending.clear();
    }
}

/// Collects the pages that requests read or write. Trims and flushes use no page.
#[derive(Debug)]
pub struct Footprint {
    page_bytes: u32,
    devices: Vec<DevicePages>,
    last: usize,
    intervals: usize,
    /// Requests seen, of any kind.
    requests: u64,
}

impl Footprint {
    /// An empty footprint in pages of `page_bytes`.
    ///
    /// # Errors
    /// The page size is no power of two from 512 bytes to 1 MiB.
    pub fn new(page_bytes: u32) -> Result<Self, TraceError> {
        super::check_page_bytes(page_bytes)?;
        Ok(Footprint { page_bytes, devices: Vec::new(), last: 0, intervals: 0, requests: 0 })
    }

    /// Collects the footprint of a whole trace.
    ///
    /// # Errors
    /// The trace cannot be read to its end, or the footprint is over a limit.
    pub fn of(trace: impl Iterator<Item = Result<Request, TraceError>>, page_bytes: u32) -> Result<Self, TraceError> {
        let mut footprint = Footprint::new(page_bytes)?;
        for request in trace {
            footprint.add(&request?)?;
        }
        footprint.finish()?;
        Ok(footprint)
    }

    /// Adds what one request reads or writes.
    ///
    /// # Errors
    /// The footprint is over [`FOOTPRINT_PAGES_MAX`] pages, 65,536 devices or 2^26 intervals.
    pub fn add(&mut self, request: &Request) -> Result<(), TraceError> {
        self.requests += 1;
        self.select(request.device)?;
        if request.op == Op::Trim {
            return Ok(());
        }
        let Some(range) = pages_of(request, self.page_bytes) else { return Ok(()) };
        let range = Interval { first: range.first, past: range.first + range.pages };
        let Some(device) = self.devices.get_mut(self.last) else { return Ok(()) };
        if let Some(newest) = device.pending.last_mut()
            && newest.first <= range.first
            && range.first <= newest.past
        {
            newest.past = newest.past.max(range.past);
            return Ok(());
        }
        if device.contains(range) {
            return Ok(());
        }
        device.pending.push(range);
        self.intervals += 1;
        if device.pending.len() >= PENDING_MIN.max(device.merged.len() / 2) {
            self.intervals -= device.merged.len() + device.pending.len();
            device.merge();
            self.intervals += device.merged.len();
            self.check()?;
        }
        if self.intervals > 2 * INTERVALS_MAX {
            self.finish()?;
            if self.intervals > INTERVALS_MAX {
                let what = format!(
                    "the footprint is in over {INTERVALS_MAX} pieces, too many to compact; wrap folding or larger pages would be right"
                );
                return Err(TraceError::Option(what));
            }
        }
        Ok(())
    }

    /// Merges the waiting intervals. Until then the numbers below are too small.
    ///
    /// # Errors
    /// The footprint is over [`FOOTPRINT_PAGES_MAX`] pages.
    pub fn finish(&mut self) -> Result<(), TraceError> {
        for device in &mut self.devices {
            device.merge();
        }
        self.intervals = self.devices.iter().map(|device| device.merged.len()).sum();
        self.check()
    }

    fn check(&self) -> Result<(), TraceError> {
        let pages = self.pages();
        if pages > FOOTPRINT_PAGES_MAX {
            let what = format!(
                "the footprint is over {FOOTPRINT_PAGES_MAX} pages of {} bytes; wrap folding or larger pages would be right",
                self.page_bytes
            );
            return Err(TraceError::Option(what));
        }
        Ok(())
    }

    fn select(&mut self, device: u32) -> Result<(), TraceError> {
        if self.devices.get(self.last).is_some_and(|last| last.device == device) {
            return Ok(());
        }
        match self.devices.binary_search_by_key(&device, |known| known.device) {
            Ok(at) => self.last = at,
            Err(_) if self.devices.len() >= DEVICES_MAX => {
                let what = format!("the trace has over {DEVICES_MAX} devices");
                return Err(TraceError::Option(what));
            }
            Err(at) => {
                self.devices.insert(at, DevicePages { device, merged: Vec::new(), pending: Vec::new(), pages: 0 });
                self.last = at;
            }
        }
        Ok(())
    }

    /// Page size in bytes.
    #[must_use]
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Pages that are read or written, over all devices.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.devices.iter().map(|device| device.pages).sum()
    }

    /// Requests that were added, of any kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The devices, ascending.
    pub fn devices(&self) -> impl Iterator<Item = u32> + '_ {
        self.devices.iter().map(|device| device.device)
    }

    /// Gives every page of a finished footprint its number.
    pub(crate) fn numbering(self) -> Numbering {
        let devices = self.devices.into_iter();
        Numbering::new(devices.map(|pages| (pages.device, pages.merged)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footprint_beyond_32_bits_is_refused() {
        let mut footprint = Footprint::new(512).unwrap();
        let gib = 1 << 30;
        let result = (0..2049u64).try_for_each(|at| {
            footprint.add(&Request {
                time_ns: 0,
                device: 0,
                op: Op::Write,
                offset_bytes: at * gib,
                size_bytes: gib,
                handle: 0,
            })
        });
        let error = result.and_then(|()| footprint.finish()).unwrap_err();
        assert!(error.to_string().contains("over 4294967294 pages"), "{error}");
    }
}
