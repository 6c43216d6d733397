//! The room of pages that are on their way to flash: it is free again when they are there.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

/// Pages that were written out, by the moment at which they are on flash.
#[derive(Clone, Debug, Default, Preserve)]
pub(super) struct InFlight {
    done: BinaryHeap<Reverse<(Time, u32)>>,
    pages: u32,
}

impl InFlight {
    /// Bytes of RAM that so many pages take, at the most.
    pub(super) fn bytes(pages: u64) -> u64 {
        pages.next_power_of_two() * size_of::<Reverse<(Time, u32)>>() as u64
    }

    /// How many.
    #[inline]
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// So many pages are on flash at `done`.
    #[inline]
    pub(super) fn add(&mut self, pages: u32, done: Time) {
        self.done.push(Reverse((done, pages)));
        self.pages += pages;
    }

    /// Lets go of those that are on flash at this moment.
    #[inline]
    pub(super) fn arrive(&mut self, at: Time) {
        while let Some(Reverse((done, pages))) = self.done.peek().copied()
            && done <= at
        {
            self.done.pop();
            self.pages -= pages;
        }
    }

    /// When the next of them is on flash.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.done.peek().map(|Reverse((done, _))| *done)
    }

    /// When all of them are on flash, and no earlier than `at`.
    pub(super) fn all_done(&self, at: Time) -> Time {
        self.done.iter().map(|Reverse((done, _))| *done).fold(at, Time::max)
    }
}
