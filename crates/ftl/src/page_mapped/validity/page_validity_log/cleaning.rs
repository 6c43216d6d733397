//! Cleaning the log: the oldest page is read, its entries that still count are inserted again, the rest is dropped.
//!
//! This is GeckoFTL appendix E. The paper cleans whenever the log is longer than X = 2 D entries. D, physical less
//! logical pages, is the most that can be stale. That never ends where more than X entries count, and there are two
//! ways to get there. After a trim a drive has more stale pages than D, up to all of them. And a recovery reports some
//! pages again. Here:
//!
//! - **Cleaning keeps pace.** For the room of a page that new entries take, [`PAGES_PER_PAGE`] are cleaned, and no
//!   more. So the log goes back to what its entries need, however long it is. A turn of it leaves a quarter of its
//!   length, and what counts.
//! - **Repeats are dropped where the log is longer than any number of different entries makes it.** To find one, its
//!   block's chain is followed, which costs reads; so it is not done before.
//!
//! `needs.rs` says how long the log can become.

use super::needs::Bounds;
use super::{LOST_PAGE, PageValidityLog, page};
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use page::{LogEntry, LogPage};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, Kind, Nand, Page};

/// Pages that are cleaned, at the most, for one that is filled with new entries.
pub(super) const PAGES_PER_PAGE: u64 = 4;

/// How far cleaning has come.
#[derive(Clone, Preserve)]
pub(super) struct Cleaning {
    bounds: Bounds,
    entries_per_page: u64,
    /// The log's oldest pages, as far as they are cleaned and something that was kept may be in the buffer alone: for
    /// each the position behind all that was kept of it.
    cleaned: VecDeque<u64>,
    /// In entries: what cleaning may take out for those that were inserted.
    due: u64,
    /// The page being cleaned.
    oldest: Vec<u8>,
    pages: u64,
    reinserted: u64,
    dropped: u64,
    repeats: u64,
}

impl Cleaning {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, entries_per_page: usize) -> Self {
        Self {
            bounds: Bounds::new(geometry, logical_pages, entries_per_page),
            entries_per_page: entries_per_page as u64,
            cleaned: VecDeque::with_capacity(2 * PAGES_PER_PAGE as usize),
            due: 0,
            oldest: Vec::with_capacity(geometry.page_bytes() as usize),
            pages: 0,
            reinserted: 0,
            dropped: 0,
            repeats: 0,
        }
    }

    /// Pages that the log has while it is no longer than X, and a few.
    pub(super) fn pages_usual(&self) -> usize {
        self.bounds.pages_max as usize + 8
    }

    /// So many entries are new, or the room of so many was left empty.
    #[inline]
    pub(super) fn inserted(&mut self, entries: usize) {
        self.due += entries as u64 * PAGES_PER_PAGE;
    }

    /// Pages of the log that are cleaned and not stale yet.
    #[inline]
    pub(super) fn cleaned(&self) -> usize {
        self.cleaned.len()
    }

    /// How many of these are stale once all entries at positions below `end` are on flash.
    pub(super) fn kept_below(&self, end: u64) -> usize {
        self.cleaned.iter().take_while(|kept| **kept <= end).count()
    }

    /// So many of them are stale now.
    pub(super) fn done_with(&mut self, pages: usize) {
        debug_assert!(pages <= self.cleaned.len(), "a page is stale that was not cleaned");
        self.cleaned.drain(..pages);
    }

    #[cfg(test)]
    pub(super) fn repeats(&self) -> u64 {
        self.repeats
    }

    #[cfg(test)]
    pub(super) fn reinserted(&self) -> u64 {
        self.reinserted
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.oldest.capacity() + self.cleaned.capacity() * size_of::<u64>()) as u64
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("pvl_pages_cleaned", self.pages),
            Counter::sum("pvl_reinserted", self.reinserted),
            Counter::sum("pvl_dropped", self.dropped),
            Counter::sum("pvl_repeats_dropped", self.repeats),
        ]);
    }
}

impl PageValidityLog {
    /// The pages of the log that count.
    fn counting_pages(&self) -> u64 {
        (self.pages.len() - self.cleaning.cleaned()) as u64
    }

    /// A recovery is going to flush. The room that it adds is made up for first, so that the kept entries are on flash
    /// with it. They are lost with the buffer otherwise, and cuts that come soon enough would let the log grow.
    pub(crate) fn clean_ahead<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.cleaning.inserted(self.entries_per_page);
        self.clean(io)
    }

    /// Cleans as much as is due.
    pub(super) fn clean<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        while self.counting_pages() > self.cleaning.bounds.pages_max {
            if self.barriers.keeps(Barrier::LogCleaningBounded) {
                if self.cleaning.due < self.cleaning.entries_per_page {
                    return Ok(());
                }
                self.cleaning.due -= self.cleaning.entries_per_page;
            }
            self.clean_oldest(io)?;
        }
        self.cleaning.due = 0;
        Ok(())
    }

    fn clean_oldest<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        let number = self.first + self.cleaning.cleaned() as u64;
        let place = self.pages[self.cleaning.cleaned()];
        self.cleaning.pages += 1;
        let bytes = if place == LOST_PAGE { None } else { io.read(place, Kind::ValidityLog, number as u32) };
        let mut oldest = core::mem::take(&mut self.cleaning.oldest);
        match bytes {
            Some(bytes) => {
                page::copy(&mut oldest, bytes);
                self.insert_what_counts(io, number, &oldest);
            }
            None => self.damaged = true,
        }
        self.cleaning.oldest = oldest;
        let kept = self.buffered_from() + self.buffer.len() as u64;
        let in_order = self.cleaning.cleaned.back().is_none_or(|before| *before <= kept);
        debug_assert!(in_order, "what was kept of an older page stands behind that of a newer one");
        self.cleaning.cleaned.push_back(kept);
        while self.buffer.len() >= self.entries_per_page {
            self.write_page(io, self.marks)?;
        }
        Ok(())
    }

    fn insert_what_counts<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, number: u64, oldest: &[u8]) {
        let looks_for_repeats =
            self.counting_pages() > self.cleaning.bounds.different_max && self.barriers.keeps(Barrier::RepeatsDropped);
        let first = number * self.cleaning.entries_per_page;
        for (position, entry) in (first..).zip(LogPage::new(oldest).entries()) {
            let page = Page(entry.stale.page);
            if !self.geometry.contains(page) || position < self.counts_from[self.geometry.block_of(page).index()] {
                self.cleaning.dropped += 1;
            } else if looks_for_repeats && self.is_repeated(io, position, &entry) {
                self.cleaning.repeats += 1;
            } else {
                // With the moment at which it became stale: its block may have been erased without news of it so far.
                self.insert(entry.stale, entry.at);
                self.cleaning.reinserted += 1;
            }
        }
    }

    /// Whether a newer entry says the same.
    fn is_repeated<N: Nand>(&self, io: &mut MetaIo<'_, N>, position: u64, entry: &LogEntry) -> bool {
        let block = self.geometry.block_of(Page(entry.stale.page));
        let mut repeated = false;
        // A chain that cannot be read to its end proves nothing.
        self.follow(io, block, position + 1, &mut 0, |newer| {
            repeated = newer.covers(entry.stale);
            !repeated
        });
        repeated
    }
}
