//! When the next request arrives: closed loop or open loop.

use crate::config::Arrival;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The host's queue.
#[derive(Debug, Preserve)]
pub(crate) enum Arrivals {
    /// One request in progress at a time: the next arrives when it has completed.
    One(Time),
    /// So many in progress at a time: the next arrives when the first of them has completed.
    Many(BinaryHeap<Reverse<Time>>),
    /// By timestamps, counted from `begin`. A request recorded earlier than the one before it arrives with that one:
    /// an FTL is a serial program and is handed requests in the order of the trace.
    Timestamps {
        /// The trace's time 0.
        begin: Time,
        /// When the last request arrived.
        latest: Time,
    },
}

impl Arrivals {
    /// A queue that is empty at `now`. `arrival` has at least one slot.
    pub(crate) fn new(arrival: Arrival, now: Time) -> Self {
        match arrival {
            Arrival::QueueDepth(0 | 1) => Self::One(now),
            Arrival::QueueDepth(depth) => Self::Many((0..depth).map(|_| Reverse(now)).collect()),
            Arrival::Timestamps => Self::Timestamps { begin: now, latest: now },
        }
    }

    /// The arrival of a request whose timestamp is `at_ns`.
    #[inline]
    pub(crate) fn arrive(&mut self, at_ns: u64) -> Time {
        match self {
            Self::One(free) => *free,
            Self::Many(slots) => slots.peek().map_or(Time::ZERO, |slot| slot.0),
            Self::Timestamps { begin, latest } => {
                *latest = (*latest).max(*begin + at_ns);
                *latest
            }
        }
    }

    /// When the last request arrived, of an open loop.
    pub(crate) fn latest(&self) -> Option<Time> {
        match self {
            Self::Timestamps { latest, .. } => Some(*latest),
            Self::One(_) | Self::Many(_) => None,
        }
    }

    /// The request that arrived last completes at `done`.
    #[inline]
    pub(crate) fn complete(&mut self, done: Time) {
        match self {
            Self::One(free) => *free = done,
            Self::Many(slots) => {
                if let Some(mut first) = slots.peek_mut() {
                    *first = Reverse(done);
                }
            }
            Self::Timestamps { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_one_slot_a_request_arrives_when_the_one_before_has_completed() {
        let mut queue = Arrivals::new(Arrival::QueueDepth(1), Time(7));
        assert_eq!(queue.arrive(99), Time(7));
        queue.complete(Time(20));
        assert_eq!(queue.arrive(99), Time(20));
    }

    #[test]
    fn with_more_slots_it_arrives_when_the_first_of_them_is_free() {
        let mut queue = Arrivals::new(Arrival::QueueDepth(2), Time(0));
        for (arrives, completes) in [(0, 50), (0, 10), (10, 30), (30, 90), (50, 60)] {
            assert_eq!(queue.arrive(0), Time(arrives));
            queue.complete(Time(completes));
        }
    }

    #[test]
    fn an_open_loop_follows_the_timestamps_and_never_goes_back() {
        let mut queue = Arrivals::new(Arrival::Timestamps, Time(100));
        let arrivals: Vec<u64> = [0, 5, 3, 8].iter().map(|at| queue.arrive(*at).0).collect();
        assert_eq!(arrivals, [100, 105, 105, 108]);
    }
}
