//! Cached entries whose translation page is still being read.
//!
//! A request that misses reads a translation page, and its entry is cached with those that come along. The bytes are in RAM
//! when that read ends. Other requests overlap with it where a drive has several dies: one that finds such an entry goes
//! on when it is there.

use crate::RamLedger;
use alloc::vec::Vec;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

/// Reads of which it is noted what they bring. Where there are more, each entry waits for the first of them to end.
const MOST: usize = 64;

/// Entries of consecutive logical pages, and when they are there.
#[derive(Clone, Copy, Debug, Preserve)]
struct Arrival {
    first: u32,
    end: u32,
    at: Time,
}

#[derive(Clone, Debug, Preserve)]
pub(super) struct Arriving {
    /// On one die nothing is read while another read lasts.
    overlaps: bool,
    arrivals: Vec<Arrival>,
    /// When all of them are there.
    last: Time,
    /// When those are there that found no place.
    rest: Time,
}

impl Arriving {
    pub(super) fn new(dies: u32) -> Self {
        Self { overlaps: dies > 1, arrivals: Vec::new(), last: Time::ZERO, rest: Time::ZERO }
    }

    /// An entry is there at `at`; it is `now` for who has it read.
    #[inline]
    pub(super) fn note(&mut self, key: u32, at: Time, now: Time) {
        if at <= now || !self.overlaps {
            return;
        }
        self.last = self.last.max(at);
        if let Some(newest) = self.arrivals.last_mut().filter(|newest| newest.end == key && newest.at == at) {
            newest.end += 1;
            return;
        }
        // None goes because it is there by now: it may not be for who came earlier.
        if self.arrivals.len() == MOST
            && let Some(first) = (0..MOST).min_by_key(|index| self.arrivals[*index].at)
        {
            self.rest = self.rest.max(self.arrivals.remove(first).at);
        }
        self.arrivals.push(Arrival { first: key, end: key + 1, at });
    }

    /// From when on a cached entry is there that was read from flash.
    #[inline]
    pub(super) fn since(&self, key: u32, now: Time) -> Time {
        if now >= self.last {
            return now;
        }
        let of_key = self.arrivals.iter().filter(|arrival| (arrival.first..arrival.end).contains(&key));
        of_key.map(|arrival| arrival.at).fold(now.max(self.rest), Time::max)
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let most = if self.overlaps { MOST } else { 0 };
        ledger.index("buffer.arriving", (most * size_of::<Arrival>()) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_there_when_their_read_ends() {
        let mut arriving = Arriving::new(4);
        let since = |arriving: &Arriving, key, now| arriving.since(key, Time(now)).0;
        (7..10).for_each(|key| arriving.note(key, Time(50), Time(10)));
        arriving.note(20, Time(40), Time(10));
        assert_eq!([6, 7, 9, 10, 20].map(|key| since(&arriving, key, 15)), [15, 50, 50, 15, 40]);
        assert_eq!([7, 20].map(|key| since(&arriving, key, 45)), [50, 45]);
        assert_eq!(since(&arriving, 7, 60), 60);
        arriving.note(7, Time(70), Time(70));
        assert_eq!(since(&arriving, 7, 60), 60, "what is there already is not waited for");
    }

    #[test]
    fn where_too_many_are_on_their_way_none_is_there_too_early() {
        let mut arriving = Arriving::new(4);
        let reads = 3 * MOST as u32;
        (0..reads).for_each(|read| arriving.note(2 * read, Time(1000 + u64::from(read)), Time(0)));
        assert_eq!(arriving.arrivals.len(), MOST);
        for read in 0..reads {
            let noted = read >= reads - MOST as u32;
            let since = arriving.since(2 * read, Time(0)).0;
            assert!(since >= 1000 + u64::from(read), "read {read}");
            assert!(!noted || since == 1000 + u64::from(read), "read {read}");
        }
        let of_others = 1000 + u64::from(reads - MOST as u32) - 1;
        assert_eq!(arriving.since(1, Time(0)).0, of_others, "the last that found no place");
        assert_eq!(arriving.since(1, Time(8500)).0, 8500);
    }
}
