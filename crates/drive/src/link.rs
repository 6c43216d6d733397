//! The host's side of a drive: its firmware and its link.
//!
//! A write's data come over the link before the FTL has the request; a read's go over it afterwards. Both directions move
//! data at once, in packets that fill what room there is. The firmware's time is a latency of each request, as of a
//! pipeline: it does not bound how many there are.

use phelsuma_nand::Time;
use phelsuma_nand::sim::{Meter, Schedule};
use phelsuma_nand::state::Preserve;
use phelsuma_trace::{Op, PageRequest};

/// What a request takes outside the flash, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Firmware, for a read.
    pub read_ns: u64,
    /// Firmware, for a write.
    pub write_ns: u64,
    /// Firmware, for each page of a write.
    pub write_page_ns: u64,
    /// Moving one page over the link, which moves one at a time each way.
    pub page_ns: u64,
}

/// A link at work.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct LinkState {
    #[preserve(fixed)]
    link: Link,
    to_drive: Way,
    to_host: Way,
}

/// One direction.
#[derive(Clone, Debug, Default, Preserve)]
struct Way {
    moving: Schedule,
    meter: Meter,
}

impl Link {
    /// What a request takes of firmware and, without waiting, of the link, in nanoseconds.
    pub(crate) fn times(&self, request: &PageRequest) -> (u64, u64) {
        let pages = u64::from(request.pages);
        match request.op {
            Op::Write => (self.write_ns + self.write_page_ns * pages, self.page_ns * pages),
            Op::Read => (self.read_ns, self.page_ns * pages),
            Op::Trim | Op::Flush => (0, 0),
        }
    }
}

impl LinkState {
    pub(crate) fn new(link: Link) -> Self {
        Self { link, to_drive: Way::default(), to_host: Way::default() }
    }

    /// Its constants.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Counts from this moment on how long it moves pages.
    pub(crate) fn work_from(&mut self, from: Time) {
        self.to_drive.meter.begin(from);
        self.to_host.meter.begin(from);
    }

    /// How long it moved pages until then in the direction in which it did so for longer, in nanoseconds.
    pub(crate) fn busy_until(&self, end: Time) -> u64 {
        let moved = |way: &Way| way.meter.until(end).iter().sum();
        u64::max(moved(&self.to_drive), moved(&self.to_host))
    }

    /// When the FTL has a request that arrives at `at`.
    pub(crate) fn take(&mut self, request: &PageRequest, at: Time) -> Time {
        let (firmware, moving) = self.link.times(request);
        match request.op {
            Op::Write => self.to_drive.moved(at + firmware, moving),
            Op::Read | Op::Trim | Op::Flush => at + firmware,
        }
    }

    /// When the host has the answer to a request that the FTL has completed at `done`.
    pub(crate) fn give(&mut self, request: &PageRequest, done: Time) -> Time {
        match request.op {
            Op::Read => self.to_host.moved(done, self.link.times(request).1),
            Op::Write | Op::Trim | Op::Flush => done,
        }
    }

    /// Power is back.
    pub(crate) fn reset(&mut self) {
        (self.to_drive, self.to_host) = (Way::default(), Way::default());
    }
}

impl Way {
    /// Pages are ready to be moved at `ready`, which takes so many nanoseconds: when the last has been moved.
    fn moved(&mut self, ready: Time, nanos: u64) -> Time {
        let done = self.moving.take_in_pieces(ready, nanos);
        self.meter.note(0, Time(done.0.saturating_sub(nanos)), done);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, pages: u32) -> PageRequest {
        PageRequest { at_ns: 0, op, first: 0, pages, partial_first: false, partial_last: false, handle: 0 }
    }

    #[test]
    fn firmware_is_a_latency_and_the_link_moves_one_page_at_a_time() {
        let mut link = LinkState::new(Link { read_ns: 100, write_ns: 10, write_page_ns: 1, page_ns: 5 });
        assert_eq!(link.take(&request(Op::Write, 4), Time(0)), Time(10 + 4 + 20));
        assert_eq!(link.take(&request(Op::Write, 1), Time(0)), Time(34 + 2), "3 of 5 fit before the first");
        assert_eq!(link.take(&request(Op::Read, 1), Time(50)), Time(150));
        assert_eq!(link.give(&request(Op::Read, 2), Time(200)), Time(210));
        assert_eq!(link.take(&request(Op::Write, 9), Time(180)), Time(180 + 19 + 45), "the other way is free");
        assert_eq!(link.give(&request(Op::Write, 2), Time(200)), Time(200));
        assert_eq!(link.take(&request(Op::Flush, 0), Time(7)), Time(7));
    }
}
