//! Which event wrote a range of units last: it takes room for what was written, and none for the rest of a drive.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that do not overlap, each with its writer.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// By the first unit: the end, and the writer.
    map: BTreeMap<u64, (u64, u32)>,
}

impl Ranges {
    /// Writes over what is there.
    pub(super) fn put(&mut self, range: Range<u64>, writer: u32) {
        if range.is_empty() {
            return;
        }
        if let Some((&start, &(end, other))) = self.map.range(..range.start).next_back()
            && end > range.start
        {
            self.map.insert(start, (range.start, other));
            self.keep(range.end, end, other);
        }
        while let Some((&start, &(end, other))) = self.map.range(range.clone()).next() {
            self.map.remove(&start);
            self.keep(range.end, end, other);
        }
        self.map.insert(range.start, (range.end, writer));
    }

    /// What is left of a range behind one that was written over it.
    fn keep(&mut self, from: u64, end: u64, writer: u32) {
        if end > from {
            self.map.insert(from, (end, writer));
        }
    }

    /// The parts of a range that were written, in order.
    pub(super) fn within(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, u32)> {
        let before = self.map.range(..=range.start).next_back();
        let first = before.filter(|(_, (end, _))| *end > range.start).map_or(range.start, |(start, _)| *start);
        let clipped = move |(start, (end, writer)): (&u64, &(u64, u32))| {
            ((*start).max(range.start)..(*end).min(range.end), *writer)
        };
        self.map.range(first..range.end.max(first)).map(clipped)
    }

    /// Nothing was written.
    pub(super) fn clear(&mut self) {
        self.map.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_last_is_found_and_the_rest_stays() {
        let mut ranges = Ranges::default();
        let mut naive = [0u32; 64];
        for number in 1..2000u32 {
            let from = u64::from(number.wrapping_mul(2_654_435_761) >> 26);
            let to = (from + u64::from(number.wrapping_mul(40_503) >> 7) % 20).min(64);
            ranges.put(from..to, number);
            naive[from as usize..to as usize].fill(number);
            let (begin, end) = (from / 2, 64 - from / 3);
            let mut found = [0u32; 64];
            let mut last = begin;
            for (range, writer) in ranges.within(begin..end) {
                assert!(last <= range.start && range.start < range.end && range.end <= end);
                last = range.end;
                found[range.start as usize..range.end as usize].fill(writer);
            }
            assert_eq!(found[begin as usize..end as usize], naive[begin as usize..end as usize]);
        }
        ranges.clear();
        assert_eq!(ranges.within(0..64).count(), 0);
    }
}
