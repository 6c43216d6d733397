//! Pages of short requests, each with the moment when it was written. A long request finds those in it without a look at
//! each page that it has, or at each one that there is.

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::HashMap;

/// A page that was written and is trimmed.
const TRIMMED: u64 = u64::MAX;

/// So many pages of a request are looked up one by one; for more an index is made, of which most traces have no need.
const PROBED_PAGES: u64 = 1 << 11;

#[derive(Default)]
pub(super) struct Pages {
    /// Page → how many pages had been written before its latest write, or [`TRIMMED`].
    table: HashMap<u64, u64>,
    index: Option<Index>,
}

/// Where the pages of a table are.
#[derive(Default)]
struct Index {
    held: Bits,
    /// Those that are not trimmed, so that trims of the same pages look at none twice.
    live: Bits,
}

/// What a page was before it was written.
pub(super) enum Before {
    /// Nothing.
    New,
    /// It had been trimmed.
    Trimmed,
    /// Written at this moment.
    Written(u64),
}

impl Pages {
    pub(super) fn len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Writes a page at this moment.
    pub(super) fn write(&mut self, page: u64, clock: u64) -> Before {
        let before = match self.table.insert(page, clock) {
            None => Before::New,
            Some(TRIMMED) => Before::Trimmed,
            Some(written) => return Before::Written(written),
        };
        if let Some(index) = &mut self.index {
            index.held.set(page);
            index.live.set(page);
        }
        before
    }

    /// Trims pages; `end` sees when each one that is live was written.
    pub(super) fn trim(&mut self, range: &Range<u64>, mut end: impl FnMut(u64)) {
        self.index_for(range);
        let Pages { table, index } = self;
        let mut trim = |page: u64| {
            if let Some(written) = table.get_mut(&page).filter(|written| **written != TRIMMED) {
                end(std::mem::replace(written, TRIMMED));
            }
        };
        match index {
            Some(index) => index.live.take(range, trim),
            None => range.clone().for_each(&mut trim),
        }
    }

    /// Takes pages out; `end` sees each one that is there, and when it was written if it is live.
    pub(super) fn take(&mut self, range: &Range<u64>, mut end: impl FnMut(u64, Option<u64>)) {
        self.index_for(range);
        let Pages { table, index } = self;
        let mut take = |page: u64| {
            if let Some(written) = table.remove(&page) {
                end(page, Some(written).filter(|written| *written != TRIMMED));
            }
        };
        match index {
            Some(index) => {
                index.live.take(range, |_| {});
                index.held.take(range, take);
            }
            None => range.clone().for_each(&mut take),
        }
    }

    /// Makes an index where so many pages are too many to look up.
    fn index_for(&mut self, range: &Range<u64>) {
        if self.index.is_none() && range.end - range.start > PROBED_PAGES && !self.table.is_empty() {
            let index = self.index.insert(Index::default());
            for (&page, &written) in &self.table {
                index.held.set(page);
                if written != TRIMMED {
                    index.live.set(page);
                }
            }
        }
    }
}

/// Pages of a set, 64 to a word. Words without any are left out.
#[derive(Default)]
struct Bits(BTreeMap<u64, u64>);

impl Bits {
    fn set(&mut self, page: u64) {
        *self.0.entry(page / 64).or_default() |= 1 << (page % 64);
    }

    /// Takes pages out, the lowest first.
    fn take(&mut self, range: &Range<u64>, mut each: impl FnMut(u64)) {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return };
        let mut from = range.start / 64;
        while from <= last / 64
            && let Some((&word, &bits)) = self.0.range(from..=last / 64).next()
        {
            let below = if word == range.start / 64 { range.start % 64 } else { 0 };
            let above = if word == last / 64 { 63 - last % 64 } else { 0 };
            let mut inside = bits & (u64::MAX << below) & (u64::MAX >> above);
            match bits & !inside {
                0 => drop(self.0.remove(&word)),
                left => drop(self.0.insert(word, left)),
            }
            while inside != 0 {
                each(word * 64 + u64::from(inside.trailing_zeros()));
                inside &= inside - 1;
            }
            from = word + 1;
        }
    }
}
