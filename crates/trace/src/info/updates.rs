//! How often writes of a size are updates: short requests have temporal locality, long ones are parts of streams.
//!
//! This is LAST++ section 4.2, figure 4(b), which has the mean number of updates of a request. Here it is the share of
//! pages.

use super::share::share;
use serde::Serialize;

/// Sizes of 1, 2, 4, … 1,024 pages at the most, and larger ones.
const CLASSES: usize = 12;

/// Writes of a size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UpdateShare {
    /// Pages that they touch at the most, and more than those of the entry before; none: any number.
    pub up_to_pages: Option<u64>,
    /// How many there are.
    pub requests: u64,
    /// Pages that they touch.
    pub pages: u64,
    /// Share of these that had been written before.
    pub share: f64,
}

#[derive(Clone, Copy, Default)]
struct Class {
    requests: u64,
    pages: u64,
    new: u64,
}

#[derive(Default)]
pub(super) struct Counter([Class; CLASSES]);

impl Counter {
    /// A write that touches so many pages, so many of them for the first time.
    pub(super) fn add(&mut self, pages: u64, new: u64) {
        let class = pages.max(1).next_power_of_two().trailing_zeros() as usize;
        if let Some(class) = self.0.get_mut(class.min(CLASSES - 1)) {
            class.requests += 1;
            class.pages += pages;
            class.new += new;
        }
    }

    pub(super) fn summary(&self) -> Vec<UpdateShare> {
        let entry = |(n, class): (usize, &Class)| UpdateShare {
            up_to_pages: (n + 1 < CLASSES).then_some(1 << n),
            requests: class.requests,
            pages: class.pages,
            share: share(class.pages - class.new, class.pages),
        };
        self.0.iter().enumerate().map(entry).collect()
    }
}
