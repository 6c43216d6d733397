//! The events of blkparse, blktrace and ftrace.

use std::fmt;
use std::str::FromStr;

use hashbrown::{HashMap, HashSet};

/// So many devices are looked at.
const DEVICES_MAX: usize = 1 << 16;

/// Which event of blkparse, blktrace or ftrace stands for the request; in order, that which does so most closely first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlkparseEvent {
    /// D: the request goes to the drive.
    Issued,
    /// Q: the request enters the queue.
    Queued,
    /// C: the drive has done the request. Times are those of the completions.
    Completed,
}

impl BlkparseEvent {
    /// Every event, from the one that stands for a request most closely on.
    pub(crate) const ALL: [BlkparseEvent; 3] = [BlkparseEvent::Issued, BlkparseEvent::Queued, BlkparseEvent::Completed];

    pub(crate) fn letter(self) -> &'static str {
        match self {
            BlkparseEvent::Issued => "D",
            BlkparseEvent::Queued => "Q",
            BlkparseEvent::Completed => "C",
        }
    }
}

/// Which events a sample holds.
#[derive(Default)]
pub(crate) struct Seen([bool; BlkparseEvent::ALL.len()]);

impl Seen {
    /// Looks at one more event: `is` says which it is.
    pub(crate) fn look(&mut self, is: impl Fn(BlkparseEvent) -> bool) {
        for (seen, event) in self.0.iter_mut().zip(BlkparseEvent::ALL) {
            *seen |= is(event);
        }
    }

    /// The event that stands for a request most closely; none if there was none.
    pub(crate) fn best(&self) -> Option<BlkparseEvent> {
        BlkparseEvent::ALL.into_iter().zip(self.0).find(|(_, seen)| *seen).map(|(event, _)| event)
    }
}

/// What there is of each device: requests, or other events alone.
#[derive(Debug, Default)]
pub(crate) struct Events {
    with_requests: HashSet<u32>,
    /// Of devices that had no request by then, how many other events.
    others: HashMap<u32, u64>,
    /// The latest device with a request.
    last: Option<u32>,
}

impl Events {
    /// A request of a device.
    pub(crate) fn request(&mut self, device: u32) {
        if self.last != Some(device) {
            self.last = Some(device);
            if self.with_requests.len() < DEVICES_MAX {
                self.with_requests.insert(device);
            }
        }
    }

    /// Another event of a device.
    pub(crate) fn other(&mut self, device: u32) {
        if self.last == Some(device) || self.with_requests.contains(&device) {
            return;
        }
        if self.others.len() < DEVICES_MAX || self.others.contains_key(&device) {
            *self.others.entry(device).or_insert(0) += 1;
        }
    }

    /// How many devices have no request, and how many events they have.
    pub(crate) fn without_requests(&self) -> (u64, u64) {
        let without = self.others.iter().filter(|(device, _)| !self.with_requests.contains(*device));
        without.fold((0, 0), |(devices, events), (_, count)| (devices + 1, events + count))
    }
}

impl FromStr for BlkparseEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|event| event.to_string() == text || event.letter() == text);
        found.ok_or_else(|| format!("'{text}' is no event of a request; issued, queued or completed would be right"))
    }
}

impl fmt::Display for BlkparseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlkparseEvent::Issued => "issued",
            BlkparseEvent::Queued => "queued",
            BlkparseEvent::Completed => "completed",
        })
    }
}
