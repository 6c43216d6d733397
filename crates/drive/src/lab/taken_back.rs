//! How many acknowledged pages power cuts took back, cut by cut, where an FTL promises only what was flushed.
//!
//! Such an FTL says so in [`Subject::may_lose_what_is_not_flushed`](super::Subject::may_lose_what_is_not_flushed).

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Pages that a cut took back.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// They read as they did at some time since the last flush, or before it.
    pub(crate) older: u32,
    /// They are read errors.
    pub(crate) unreadable: u32,
}

/// So many cuts took so many pages back.
type Histogram = BTreeMap<u32, u64>;

/// Over the branches that mounted, those that are equal counted once.
#[derive(Clone, Default, Debug)]
pub(crate) struct Histograms {
    pages: Histogram,
    older: Histogram,
    unreadable: Histogram,
}

impl Histograms {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, of) in [
            (&mut self.pages, &other.pages),
            (&mut self.older, &other.older),
            (&mut self.unreadable, &other.unreadable),
        ] {
            of.iter().for_each(|(pages, cuts)| *sum.entry(*pages).or_default() += cuts);
        }
    }

    fn note(&mut self, taken: Taken) {
        *self.pages.entry(taken.older + taken.unreadable).or_default() += 1;
        *self.older.entry(taken.older).or_default() += 1;
        *self.unreadable.entry(taken.unreadable).or_default() += 1;
    }
}

/// The same, filled by several threads.
#[derive(Default, Debug)]
pub(crate) struct TakenBack(Mutex<Histograms>);

impl TakenBack {
    pub(crate) fn note(&self, taken: Taken) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(taken);
    }

    pub(crate) fn all(&self) -> Histograms {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A distribution over cuts.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Spread {
    /// The fewest.
    pub min: u32,
    /// Half of the cuts took so many or fewer.
    pub median: u32,
    /// The most.
    pub max: u32,
}

impl Spread {
    fn of(histogram: &Histogram) -> Self {
        let all: u64 = histogram.values().sum();
        let mut so_far = 0;
        let median = histogram.iter().find(|(_, cuts)| {
            so_far += **cuts;
            2 * so_far >= all
        });
        let end = |entry: Option<(&u32, &u64)>| entry.map_or(0, |(pages, _)| *pages);
        Self { min: end(histogram.first_key_value()), median: end(median), max: end(histogram.last_key_value()) }
    }
}

/// What cuts took back that was acknowledged and not flushed: logical pages, over the branches that were looked at.
#[derive(Clone, Default, Debug, Serialize)]
pub struct TakenBackReport {
    /// Branches that mounted and were checked; those that are equal are one.
    pub branches: u64,
    /// Pages of either kind.
    pub pages: Spread,
    /// Pages that read as they did before: older content that was acknowledged, none of it older than the last flush.
    pub older: Spread,
    /// Pages that are read errors.
    pub unreadable: Spread,
    #[serde(skip)]
    pub(crate) histograms: Histograms,
}

impl TakenBackReport {
    pub(crate) fn of(histograms: Histograms) -> Self {
        let (pages, older, unreadable) =
            (Spread::of(&histograms.pages), Spread::of(&histograms.older), Spread::of(&histograms.unreadable));
        Self { branches: histograms.pages.values().sum(), pages, older, unreadable, histograms }
    }

    /// Of both together.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut histograms = self.histograms.clone();
        histograms.add(&other.histograms);
        Self::of(histograms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(of: &[(u32, u32)]) -> TakenBackReport {
        let taken = TakenBack::default();
        of.iter().for_each(|(older, unreadable)| taken.note(Taken { older: *older, unreadable: *unreadable }));
        TakenBackReport::of(taken.all())
    }

    #[test]
    fn spreads_of_several_experiments_are_those_of_all_their_branches() {
        let (few, many) = (report(&[(0, 0), (1, 0), (5, 2)]), report(&[(9, 0), (9, 1)]));
        assert_eq!((few.branches, few.pages), (3, Spread { min: 0, median: 1, max: 7 }));
        assert_eq!(few.unreadable, Spread { min: 0, median: 0, max: 2 });
        let both = few.and(&many);
        assert_eq!((both.branches, both.pages), (5, Spread { min: 0, median: 7, max: 10 }));
        assert_eq!(both.older, Spread { min: 0, median: 5, max: 9 });
        assert_eq!(report(&[]).pages, Spread::default());
    }
}
