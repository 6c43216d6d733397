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
        let interval = capacity.div_ceil(MARKS_PER_TURN);
        let mut marks = VecDeque::with_capacity(MARKS + 1);
        marks.push_back(scan_from);
        Self { hand: Slot::FIRST, interval, left: interval, marks }
    }

    /// An update is coming: moves the hand on, round the places of the cache.
    #[inline]
    pub(super) fn step<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, cache: &MappingCache) -> Slot {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.interval;
            self.marks.push_back(io.scan_from_now());
            if self.marks.len() > MARKS {
                self.marks.pop_front();
            }
            if let Some(oldest) = self.marks.front() {
                io.mark(*oldest);
            }
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
