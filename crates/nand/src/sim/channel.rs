//! A channel that moves one thing at a time, whichever is ready first.
//!
//! An operation is asked for with the moment at which its data will be ready, which may be far ahead. The channel is
//! free until then for others, so it keeps the spans for which it is taken, not one moment at which it is free.

use crate::Time;
use crate::state::Preserve;
use alloc::vec::Vec;

/// Spans that are kept. Beyond them the earliest ends what may be filled in.
const SPANS_MAX: usize = 64;

/// A bus or a link: the spans for which it is taken.
#[derive(Clone, Debug, Default, Preserve)]
pub struct Channel {
    /// Before this moment nothing is filled in any more.
    floor: Time,
    /// When it is taken, in order; neighbours are one.
    taken: Vec<(Time, Time)>,
}

impl Channel {
    /// Moves something that takes `nanos` nanoseconds, not before `ready`. When it has been moved.
    pub fn take(&mut self, ready: Time, nanos: u64) -> Time {
        let mut start = ready.max(self.floor);
        let mut at = self.taken.partition_point(|(_, end)| *end <= start);
        while let Some((begin, end)) = self.taken.get(at) {
            if start + nanos <= *begin {
                break;
            }
            start = start.max(*end);
            at += 1;
        }
        let end = start + nanos;
        if nanos > 0 {
            self.insert(at, start, end);
        }
        end
    }

    fn insert(&mut self, at: usize, start: Time, end: Time) {
        let joins_next = self.taken.get(at).is_some_and(|next| next.0 == end);
        match at.checked_sub(1).and_then(|before| self.taken.get_mut(before)).filter(|before| before.1 == start) {
            Some(before) => {
                before.1 = end;
                if joins_next {
                    let next = self.taken.remove(at);
                    self.taken[at - 1].1 = next.1;
                }
            }
            None if joins_next => self.taken[at].0 = start,
            None => self.taken.insert(at, (start, end)),
        }
        if self.taken.len() > SPANS_MAX {
            self.floor = self.taken.remove(0).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ready_early_goes_before_what_was_asked_for_earlier() {
        let mut channel = Channel::default();
        assert_eq!(channel.take(Time(100), 10), Time(110));
        assert_eq!(channel.take(Time(0), 10), Time(10));
        assert_eq!(channel.take(Time(5), 90), Time(100), "it just fits");
        assert_eq!(channel.taken, [(Time(0), Time(110))]);
        assert_eq!(channel.take(Time(50), 1), Time(111));
        assert_eq!(channel.take(Time(200), 5), Time(205));
        assert_eq!(channel.take(Time(111), 100), Time(305), "the gap is too small");
    }

    #[test]
    fn it_is_never_taken_twice_and_keeps_few_spans() {
        let mut channel = Channel::default();
        let (mut seed, mut moved) = (1u64, Vec::new());
        for _ in 0..5_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (ready, nanos) = (Time((seed >> 33) % 200_000), 1 + (seed >> 20) % 20);
            let end = channel.take(ready, nanos);
            assert!(end.0 >= ready.0 + nanos);
            moved.push((end.0 - nanos, end.0));
            assert!(channel.taken.len() <= SPANS_MAX);
        }
        moved.sort_unstable();
        assert!(moved.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }
}
