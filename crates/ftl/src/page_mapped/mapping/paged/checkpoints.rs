//! Checkpoints: they bound how far back a recovery must look for entries that no translation page has (GeckoFTL section
//! 4.3).
//!
//! Once every C updates the paper puts a symbol into the queue of recently used entries. It synchronizes the entries
//! that it finds behind the last symbol. A read moves an old entry before the symbol, so that it is never found. Here a
//! hand goes round the cache by one entry an update. It synchronizes an entry that is dirty and was not updated since
//! it came by last. So every entry that was updated more than 2 C updates ago is in its translation page. No host write
//! has to wait for a whole checkpoint. Marks record where the moment of 2 C updates ago lies in program order.

use super::cache::{MappingCache, Slot};
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use alloc::collections::VecDeque;
use phelsuma_nand::Nand;
use phelsuma_nand::state::Preserve;

/// Marks for each C updates.
const MARKS_PER_TURN: u32 = 8;
/// Marks kept: those of the last 2 C updates, and one before them.
const MARKS: usize = 2 * MARKS_PER_TURN as usize + 1;

/// The hand, and the marks.
#[derive(Clone, Debug, Preserve)]
pub(super) struct Checkpoints {
    hand: Slot,
    interval: u32,
    left: u32,
    marks: VecDeque<ScanFrom>,
}

impl Checkpoints {
    /// Of a cache of `capacity` entries; writes after `scan_from` may be in no translation page.
    pub(super) fn new(capacity: u32, scan_from: ScanFrom) -> Self {
        let interval = Self::interval(capacity);
        let mut marks = VecDeque::with_capacity(MARKS + 1);
        marks.push_back(scan_from);
        Self { hand: Slot::FIRST, interval, left: interval, marks }
    }

    /// Updates from one mark to the next.
    fn interval(capacity: u32) -> u32 {
        capacity.div_ceil(MARKS_PER_TURN)
    }

    /// The most updates from the oldest of the marks kept to now, where so many marks have been added since. The marks
    /// kept span an interval less than there are, and the interval after the last has begun.
    pub(super) fn updates_in_doubt(capacity: u32, added: u32) -> u64 {
        u64::from(Self::interval(capacity)) * (MARKS as u64 + u64::from(added))
    }

    /// Counts an update. If a mark is due it is added, and the oldest of those kept is the result.
    #[inline]
    fn count(&mut self, now: impl FnOnce() -> ScanFrom) -> Option<ScanFrom> {
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        self.left = self.interval;
        self.marks.push_back(now());
        if self.marks.len() > MARKS {
            self.marks.pop_front();
        }
        self.marks.front().copied()
    }

    /// An update is coming: moves the hand on, round the places of the cache.
    #[inline]
    pub(super) fn step<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, cache: &MappingCache) -> Slot {
        if let Some(oldest) = self.count(|| io.scan_from_now()) {
            io.mark(oldest);
        }
        let at = self.hand;
        self.hand = cache.after(at);
        at
    }

    /// Everything written so far is in translation pages.
    pub(super) fn all_synchronized<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) {
        let now = io.scan_from_now();
        self.marks.clear();
        self.marks.push_back(now);
        io.mark(now);
    }

    pub(super) fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.marks.capacity() * size_of::<ScanFrom>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates are counted from 1. A flush is due after eight marks, and may come at any update before.
    #[test]
    fn the_mark_on_flash_is_never_further_back_than_the_updates_in_doubt() {
        for (capacity, early) in [(1, 0), (8, 1), (100, 0), (100, 1), (100, 14), (1_024, 128), (1_024, 1_000)] {
            let mut checkpoints = Checkpoints::new(capacity, ScanFrom::default());
            let (mut oldest, mut on_flash, mut added, mut furthest) = (0, 0, 0, 0);
            for now in 1..20 * u64::from(capacity) + 200 {
                if let Some(mark) = checkpoints.count(|| ScanFrom { after: now - 1, oldest_open: 0 }) {
                    (oldest, added) = (mark.after, added + 1);
                }
                furthest = furthest.max(now - on_flash);
                if added == 8 || now == 10 * u64::from(capacity) + early {
                    (on_flash, added) = (oldest, 0);
                }
            }
            let most = Checkpoints::updates_in_doubt(capacity, 8);
            assert!((most - u64::from(Checkpoints::interval(capacity))..=most).contains(&furthest), "{capacity}");
        }
    }
}
