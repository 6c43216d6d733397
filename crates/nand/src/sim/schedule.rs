//! When a bus, a link, a plane or a die is taken: it does one thing at a time, whichever is ready first.
//!
//! An operation is asked for with the moment at which it can begin, which may be far ahead: data have to be read before
//! they are programmed elsewhere. Until then there is room for others. So the spans that are taken are kept, not one
//! moment from which on there is room.

use crate::Time;
use crate::state::Preserve;
use alloc::vec::Vec;

/// Spans that are kept. Beyond them the earliest ends what may be filled in.
const SPANS_MAX: usize = 256;

/// The spans for which something is taken.
#[derive(Clone, Debug, Default, Preserve)]
pub struct Schedule {
    /// Before this moment nothing is filled in any more.
    floor: Time,
    /// When it is taken, in order; neighbours are one.
    taken: Vec<(Time, Time)>,
}

impl Schedule {
    /// Takes it for `nanos` nanoseconds in one piece, not before `ready`. When that ends.
    pub fn take(&mut self, ready: Time, nanos: u64) -> Time {
        let start = self.room(ready, nanos);
        self.cover(start, start + nanos);
        start + nanos
    }

    /// Takes it for `nanos` nanoseconds in all, as pieces that fill what is free, not before `ready`. When the last ends.
    pub fn take_in_pieces(&mut self, ready: Time, nanos: u64) -> Time {
        let (mut end, mut left) = (ready.max(self.floor), nanos);
        let from = end;
        for (begin, until) in self.taken.iter().skip(self.first_after(end)) {
            let free = begin.0.saturating_sub(end.0);
            if free >= left {
                break;
            }
            left -= free;
            end = *until;
        }
        end = end + left;
        self.cover(from, end);
        end
    }

    /// The first moment from `ready` on from which `nanos` nanoseconds are free.
    pub(super) fn room(&self, ready: Time, nanos: u64) -> Time {
        let mut start = ready.max(self.floor);
        match self.taken.last() {
            Some((begin, end)) if *begin <= start => return start.max(*end),
            _ => {}
        }
        for (begin, end) in self.taken.iter().skip(self.first_after(start)) {
            if start + nanos <= *begin {
                break;
            }
            start = start.max(*end);
        }
        start
    }

    /// When the first span ends that has a part between two moments, if one has.
    pub(super) fn taken_within(&self, start: Time, end: Time) -> Option<Time> {
        if self.taken.last().is_none_or(|(_, until)| *until <= start) {
            return None;
        }
        self.taken.get(self.first_after(start)).filter(|(begin, _)| *begin < end).map(|(_, until)| *until)
    }

    /// It is taken from `start` to `end`, whatever it was before.
    pub(super) fn cover(&mut self, start: Time, end: Time) {
        if end <= start {
            return;
        }
        // Mostly it is the last.
        if let Some(last) = self.taken.last_mut().filter(|last| last.0 <= start && start <= last.1) {
            last.1 = last.1.max(end);
            return;
        }
        let first = self.taken.partition_point(|(_, until)| *until < start);
        let mut span = (start, end);
        let mut behind = first;
        while let Some((begin, until)) = self.taken.get(behind).filter(|(begin, _)| *begin <= end) {
            span = (span.0.min(*begin), span.1.max(*until));
            behind += 1;
        }
        match behind - first {
            0 => self.taken.insert(first, span),
            count => {
                self.taken[first] = span;
                if count > 1 {
                    self.taken.drain(first + 1..behind);
                }
            }
        }
        if self.taken.len() > SPANS_MAX {
            self.floor = self.taken.remove(0).1;
        }
    }

    /// From when on it is free for good.
    #[cfg(test)]
    pub(super) fn idle(&self) -> Time {
        self.taken.last().map_or(self.floor, |span| span.1)
    }

    fn first_after(&self, at: Time) -> usize {
        self.taken.partition_point(|(_, end)| *end <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ready_early_goes_before_what_was_asked_for_earlier() {
        let mut schedule = Schedule::default();
        assert_eq!(schedule.take(Time(100), 10), Time(110));
        assert_eq!(schedule.take(Time(0), 10), Time(10));
        assert_eq!(schedule.take(Time(5), 90), Time(100), "it just fits");
        assert_eq!(schedule.taken, [(Time(0), Time(110))]);
        assert_eq!(schedule.take(Time(50), 1), Time(111));
        assert_eq!(schedule.take(Time(200), 5), Time(205));
        assert_eq!(schedule.take(Time(111), 100), Time(305), "the gap is too small");
        let within = |from, to| schedule.taken_within(Time(from), Time(to));
        assert_eq!((within(150, 200), within(150, 201), within(305, 400)), (None, Some(Time(305)), None));
    }

    #[test]
    fn pieces_fill_every_gap() {
        let mut schedule = Schedule::default();
        schedule.take(Time(10), 10);
        schedule.take(Time(30), 10);
        assert_eq!(schedule.take_in_pieces(Time(5), 20), Time(45), "5 before, 10 between, 5 behind");
        assert_eq!(schedule.taken, [(Time(5), Time(45))]);
        assert_eq!(schedule.take_in_pieces(Time(0), 5), Time(5));
        assert_eq!(schedule.take_in_pieces(Time(20), 0), Time(20));
    }

    #[test]
    fn it_is_never_taken_twice_and_keeps_few_spans() {
        let mut schedule = Schedule::default();
        let (mut seed, mut moved) = (1u64, Vec::new());
        for _ in 0..5_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (ready, nanos) = (Time((seed >> 33) % 200_000), 1 + (seed >> 20) % 20);
            let end = schedule.take(ready, nanos);
            assert!(end.0 >= ready.0 + nanos);
            moved.push((end.0 - nanos, end.0));
            assert!(schedule.taken.len() <= SPANS_MAX);
        }
        moved.sort_unstable();
        assert!(moved.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}
