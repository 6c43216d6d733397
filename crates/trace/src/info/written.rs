//! When each page of a device was written last.
//!
//! Pages of short requests are in a hash table, one by one. What one long request writes is a run: its pages are written
//! one after the other, so that the first page's time gives all of them. No page is in both.

use std::collections::BTreeMap;
use std::ops::Range;

use super::lifetimes::Counter;
use super::short::{Before, Pages};

/// Requests of so many pages are runs. Most traces have none: their pages need no look at the runs.
const RUN_PAGES: u64 = 128;

/// Pages that one request wrote, or that were trimmed since.
#[derive(Debug, Clone, Copy)]
struct Run {
    past: u64,
    /// How many pages had been written before the first page of the device would have been, modulo 2^64, if the request
    /// had begun there; none once it is trimmed.
    base: Option<u64>,
}

#[derive(Default)]
pub(super) struct Written {
    pages: Pages,
    /// Runs by their first pages.
    runs: BTreeMap<u64, Run>,
    /// Pages that hold their last data.
    live: u64,
}

impl Written {
    /// Pages that hold their last data.
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Pages and runs that are held.
    pub(super) fn entries(&self) -> u64 {
        self.pages.len() + self.runs.len() as u64
    }

    /// Writes pages from the moment `clock` on; returns how many were never written before.
    pub(super) fn write(&mut self, range: Range<u64>, clock: u64, lifetimes: &mut Counter) -> u64 {
        let count = range.end - range.start;
        if count < RUN_PAGES && self.runs.is_empty() {
            return self.write_pages(range, clock, lifetimes);
        }
        let base = clock.wrapping_sub(range.start);
        let known = self.cut(&range, |piece, old| {
            let until = piece.start.wrapping_add(base)..piece.end.wrapping_add(base);
            lifetimes.add_alike(base.wrapping_sub(old), until);
        });
        if count < RUN_PAGES {
            return self.write_pages(range, clock, lifetimes) - known;
        }
        let mut known = known;
        let live = &mut self.live;
        self.pages.take(&range, |page, written| {
            known += 1;
            if let Some(written) = written {
                lifetimes.add(written, page.wrapping_add(base), false);
                *live -= 1;
            }
        });
        self.live += count;
        let joined = self.runs.range_mut(..range.start).next_back().map(|(_, run)| run);
        match joined.filter(|run| run.past == range.start && run.base == Some(base)) {
            Some(run) => run.past = range.end,
            None => drop(self.runs.insert(range.start, Run { past: range.end, base: Some(base) })),
        }
        count - known
    }

    fn write_pages(&mut self, range: Range<u64>, clock: u64, lifetimes: &mut Counter) -> u64 {
        let mut new = 0;
        for (clock, page) in (clock..).zip(range) {
            let before = self.pages.write(page, clock);
            match before {
                Before::Written(written) => lifetimes.add(written, clock, false),
                Before::New | Before::Trimmed => self.live += 1,
            }
            new += u64::from(matches!(before, Before::New));
        }
        new
    }

    /// Trims pages.
    pub(super) fn trim(&mut self, range: Range<u64>, clock: u64, lifetimes: &mut Counter) {
        if range.is_empty() {
            return;
        }
        let live = &mut self.live;
        self.pages.trim(&range, |written| {
            lifetimes.add(written, clock, true);
            *live -= 1;
        });
        if self.runs.is_empty() {
            return;
        }
        let mut trimmed: Vec<Range<u64>> = Vec::new();
        self.cut_all(&range, |piece, base| {
            if let Some(base) = base {
                lifetimes.add_trimmed(piece.start.wrapping_add(base)..piece.end.wrapping_add(base), clock);
            }
            trimmed.push(piece);
        });
        for piece in trimmed {
            self.runs.insert(piece.start, Run { past: piece.end, base: None });
        }
    }

    /// Takes pages out of the runs; `end` sees those that are live, with the base of their run. Returns how many pages
    /// were in any.
    fn cut(&mut self, range: &Range<u64>, mut end: impl FnMut(Range<u64>, u64)) -> u64 {
        let mut known = 0;
        self.cut_all(range, |piece, base| {
            known += piece.end - piece.start;
            if let Some(base) = base {
                end(piece, base);
            }
        });
        known
    }

    /// The same; `end` sees all of them.
    fn cut_all(&mut self, range: &Range<u64>, mut end: impl FnMut(Range<u64>, Option<u64>)) {
        while let Some((&first, &run)) = self.runs.range(..range.end).next_back()
            && run.past > range.start
        {
            let piece = first.max(range.start)..run.past.min(range.end);
            if first < piece.start {
                self.runs.insert(first, Run { past: piece.start, ..run });
            } else {
                self.runs.remove(&first);
            }
            if piece.end < run.past {
                self.runs.insert(piece.end, run);
            }
            if run.base.is_some() {
                self.live -= piece.end - piece.start;
            }
            end(piece, run.base);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Page by page, in a plain table.
    #[derive(Default)]
    struct Model {
        written: BTreeMap<u64, Option<u64>>,
    }

    impl Model {
        fn write(&mut self, range: Range<u64>, clock: u64, lifetimes: &mut Counter) -> u64 {
            let mut new = 0;
            for (clock, page) in (clock..).zip(range) {
                match self.written.insert(page, Some(clock)) {
                    Some(Some(before)) => lifetimes.add(before, clock, false),
                    Some(None) => {}
                    None => new += 1,
                }
            }
            new
        }

        fn trim(&mut self, range: Range<u64>, clock: u64, lifetimes: &mut Counter) {
            for (_, written) in self.written.range_mut(range) {
                if let Some(before) = written.take() {
                    lifetimes.add(before, clock, true);
                }
            }
        }
    }

    #[test]
    fn runs_and_pages_count_as_pages_one_by_one_do() {
        for seed in 0..40 {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut below = |n: u64| random.next_u64() % n;
            let (mut written, mut model) = (Written::default(), Model::default());
            let (mut ours, mut theirs) = (Counter::after(700), Counter::after(700));
            let mut clock = 0;
            for _ in 0..300 {
                let first = below(8000);
                // From the middle on some are long enough for an index.
                let long = if clock > 30_000 && seed % 2 == 0 { 4000 } else { 900 };
                let count = if below(3) == 0 { RUN_PAGES + below(long) } else { 1 + below(RUN_PAGES - 1) };
                let range = first..first + count;
                if below(5) == 0 {
                    written.trim(range.clone(), clock, &mut ours);
                    model.trim(range, clock, &mut theirs);
                } else {
                    let new = written.write(range.clone(), clock, &mut ours);
                    assert_eq!(new, model.write(range, clock, &mut theirs));
                    clock += count;
                }
                let live = model.written.values().flatten().count() as u64;
                assert_eq!((written.live(), ours.summary(0)), (live, theirs.summary(0)), "{seed}");
            }
        }
    }

    #[test]
    fn what_is_written_in_long_requests_takes_an_entry_for_each() {
        let (mut written, mut lifetimes) = (Written::default(), Counter::after(0));
        let gib = 1 << 18;
        let mut write = |first: u64, clock: u64| written.write(first..first + gib, clock, &mut lifetimes);
        assert_eq!((0..1024).map(|at| write(at * gib, at * gib)).sum::<u64>(), 1 << 28);
        assert_eq!((0..1024).map(|at| write(at * gib, (1024 + at) * gib)).sum::<u64>(), 0);
        assert_eq!((written.live(), written.entries()), (1 << 28, 1), "one after the other they are one");
        assert_eq!(lifetimes.summary(0).histogram_log2.last(), Some(&(1 << 28)));
    }
}
