//! Dense numbers for the pages of a footprint, in ascending order of (device, address).
//!
//! Memory: 16 bytes per run of neighbouring pages; a look-up is a binary search.

use super::footprint::Interval;
use super::pages::PageRange;

/// A run of neighbouring pages and the number of its first.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u64,
    pages: u32,
    number: u32,
}

#[derive(Debug)]
struct DeviceNumbering {
    device: u32,
    runs: Vec<Run>,
    first_number: u64,
    past_number: u64,
}

/// Dense numbers for the pages of a footprint.
#[derive(Debug)]
pub(crate) struct Numbering {
    devices: Vec<DeviceNumbering>,
    last: usize,
}

impl Numbering {
    /// Numbers the runs of each device; both must be ascending, with fewer than 2^32 pages in all.
    pub(super) fn new(devices: impl Iterator<Item = (u32, Vec<Interval>)>) -> Self {
        let mut base = 0;
        let devices = devices.map(|(device, merged)| {
            let numbered = number(device, &merged, base);
            base = numbered.past_number;
            numbered
        });
        Numbering { devices: devices.collect(), last: 0 }
    }

    fn device(&mut self, device: u32) -> Option<&DeviceNumbering> {
        if self.devices.get(self.last).is_none_or(|last| last.device != device) {
            self.last = self.devices.binary_search_by_key(&device, |known| known.device).ok()?;
        }
        self.devices.get(self.last)
    }

    /// The number of a range's first page, if all its pages are in the footprint; they are then
    /// numbered one after another.
    pub(crate) fn whole(&mut self, device: u32, range: &PageRange) -> Option<u64> {
        let pages = self.device(device)?;
        let after = pages.runs.partition_point(|run| run.first <= range.first);
        let run = pages.runs.get(after.checked_sub(1)?)?;
        let within = range.first - run.first;
        (within + range.pages <= u64::from(run.pages)).then(|| u64::from(run.number) + within)
    }

    /// The numbers (first, count) of those pages of a range that are in the footprint; they are
    /// numbered one after another, whatever lies between them.
    pub(crate) fn part(&mut self, device: u32, range: &PageRange) -> (u64, u64) {
        let Some(pages) = self.device(device) else { return (0, 0) };
        let first = pages.rank(range.first);
        (first, pages.rank(range.first + range.pages) - first)
    }
}

impl DeviceNumbering {
    /// The number that the first page at or after `page` has.
    fn rank(&self, page: u64) -> u64 {
        let after = self.runs.partition_point(|run| run.first <= page);
        match after.checked_sub(1).and_then(|at| self.runs.get(at)) {
            Some(run) => u64::from(run.number) + (page - run.first).min(u64::from(run.pages)),
            None => self.first_number,
        }
        .min(self.past_number)
    }
}

fn number(device: u32, merged: &[Interval], mut base: u64) -> DeviceNumbering {
    let first_number = base;
    let runs = merged.iter().map(|interval| {
        let pages = interval.past - interval.first;
        // Both fit: the whole footprint has fewer than 2^32 pages.
        let run = Run { first: interval.first, pages: pages as u32, number: base as u32 };
        base += pages;
        run
    });
    let runs = runs.collect();
    DeviceNumbering { device, runs, first_number, past_number: base }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Footprint;
    use crate::request::{Op, Request};

    fn write(device: u32, page: u64, pages: u64) -> Request {
        Request { time_ns: 0, device, op: Op::Write, offset_bytes: page * 4096, size_bytes: pages * 4096, handle: 0 }
    }

    fn range(first: u64, pages: u64) -> PageRange {
        PageRange { first, pages, partial_first: false, partial_last: false }
    }

    #[test]
    fn neighbours_stay_neighbours_and_devices_apart() {
        let requests = [write(7, 100, 2), write(3, 50, 1), write(7, 10, 1), write(7, 102, 1), write(7, 101, 1)];
        let footprint = Footprint::of(requests.into_iter().map(Ok), 4096).unwrap();
        assert_eq!(footprint.pages(), 5);
        let mut numbers = footprint.numbering();
        assert_eq!(numbers.whole(3, &range(50, 1)), Some(0));
        assert_eq!(numbers.whole(7, &range(10, 1)), Some(1));
        assert_eq!(numbers.whole(7, &range(100, 3)), Some(2));
        assert_eq!(numbers.whole(7, &range(100, 4)), None);
        assert_eq!(numbers.whole(3, &range(10, 1)), None);
        assert_eq!(numbers.part(7, &range(0, 1000)), (1, 4));
        assert_eq!(numbers.part(7, &range(11, 90)), (2, 1));
        assert_eq!(numbers.part(7, &range(103, 90)), (5, 0));
        assert_eq!(numbers.part(9, &range(0, 90)), (0, 0));
    }
}
