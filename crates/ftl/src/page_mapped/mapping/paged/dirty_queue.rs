//! The dirty queue: bounds how many entries are dirty, and for how long (LazyFTL as GeckoFTL sections 2, 5.3 and 6 have
//! it).
//!
//! It is a ring of 2 D slots of the cache in order of update, where D is how many entries may be dirty. Each entry has
//! its latest place in it; earlier ones are skipped when their turn comes. Where D entries are dirty, the one updated
//! longest ago is synchronized before there is another. The same happens where the ring is full, which bounds the age
//! of a dirty entry to 2 D updates. LazyFTL's entries have no such bound. A few that are written over and over would
//! never be synchronized. A read moves nothing in the ring, so the bound is exact. And the oldest entry is synchronized
//! where no translation page was written for 2 D updates: only the newest of those pages show how far a recovery has to
//! scan.
//!
//! With an entry that must go, LazyFTL synchronizes all others whose pages lie in the same block, and scans the cache
//! for them. Here a cursor follows the ring behind the entry that went. It takes some places and at most one
//! synchronization an update, and one block at a time. So no host write waits for a whole block, and each update makes
//! room for its own entry all the same. Entries that become clean while a cursor is under way start none.
//!
//! Marks say where in program order the updates stand that are still in the ring.

use super::cache::{MappingCache, Slot};
use crate::RamLedger;
use crate::config::{DirtyLimit, PowerPart, Synchronize};
use crate::page_mapped::durability::ScanFrom;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// Marks for each D updates.
const MARKS_PER_TURN: u32 = 8;
/// Marks kept: those of the last 2 D updates, one before them, and one that is about to go.
const MARKS: usize = 2 * MARKS_PER_TURN as usize + 2;
/// Places of the ring that an update looks at, for entries of the block that is being synchronized.
const LOOKED_AT: u32 = 32;

/// D, the entries that may be dirty in a cache of so many.
fn most_dirty(limit: DirtyLimit, cache_entries: u32) -> u32 {
    ((u64::from(cache_entries) * u64::from(limit.percent) / 100) as u32).max(1)
}

/// Programs during one collection, besides one for each page moved. Each page that is moved may have the oldest entry
/// synchronized, and one of its block. And a power cut may leave as many translation pages to a recovery as there can
/// be dirty entries.
pub(super) fn programs(limit: DirtyLimit, power: PowerPart, block: u64, entries: u32, translation_pages: u64) -> u64 {
    let of_updates = match limit {
        DirtyLimit::DEFAULT if power != PowerPart::Synchronize => 0,
        DirtyLimit { synchronize: Synchronize::PhysicalBlock, .. } => 2 * block,
        DirtyLimit { .. } => block,
    };
    let of_recovery = match power {
        PowerPart::Synchronize | PowerPart::Fast => translation_pages.min(u64::from(most_dirty(limit, entries)) + 1),
        _ => 0,
    };
    of_updates + of_recovery
}

/// The entries of a block on their way to their translation pages.
#[derive(Clone, Copy, Debug, Preserve)]
struct Draining {
    block: Block,
    /// The updates yet to be looked at.
    next: u64,
    end: u64,
}

/// The queue.
#[derive(Clone, Debug, Preserve)]
pub(super) struct DirtyQueue {
    /// D.
    limit: u32,
    drains: bool,
    /// Update number n is at n modulo its length.
    ring: Vec<Slot>,
    /// By slot of the cache: the place of its latest update.
    places: Vec<u32>,
    /// The number of the next update, and of the oldest in the ring.
    next: u64,
    oldest: u64,
    /// The writes before the mark's update; the first is of the oldest in the ring, or one before.
    marks: VecDeque<(u64, ScanFrom)>,
    marks_interval: u64,
    /// The update that came after the last mark was written down.
    written_down: u64,
    draining: Option<Draining>,
}

impl DirtyQueue {
    /// Of a cache of `entries` entries, in so many slots.
    pub(super) fn new(limit: DirtyLimit, entries: u32, slots: usize) -> Self {
        let most = most_dirty(limit, entries);
        let mut marks = VecDeque::with_capacity(MARKS);
        marks.push_back((0, ScanFrom::default()));
        Self {
            limit: most,
            drains: limit.synchronize == Synchronize::PhysicalBlock,
            ring: Vec::with_capacity(2 * most as usize),
            places: vec![0; slots],
            next: 0,
            oldest: 0,
            marks,
            marks_interval: u64::from(most.div_ceil(MARKS_PER_TURN)),
            written_down: 0,
            draining: None,
        }
    }

    fn length(&self) -> u64 {
        2 * u64::from(self.limit)
    }

    fn place(&self, update: u64) -> usize {
        (update % self.length()) as usize
    }

    /// The entry of an update in the ring, if it is dirty and was not updated since.
    fn entry(&self, cache: &MappingCache, update: u64) -> Option<Slot> {
        let place = self.place(update);
        let slot = *self.ring.get(place)?;
        (self.places[slot.index()] as usize == place && cache.is_dirty(slot)).then_some(slot)
    }

    /// The entry that was updated longest ago of those that are dirty.
    fn oldest(&mut self, cache: &MappingCache) -> Option<Slot> {
        while self.oldest < self.next {
            let entry = self.entry(cache, self.oldest);
            if entry.is_some() {
                return entry;
            }
            self.oldest += 1;
        }
        None
    }

    /// The dirty entries of the next few places in the ring, the one that was updated longest ago first.
    pub(super) fn oldest_first(&self, cache: &MappingCache) -> impl Iterator<Item = Slot> {
        (self.oldest..self.next).take(LOOKED_AT as usize * 4).filter_map(|update| self.entry(cache, update))
    }

    /// An update is coming, of an entry that is dirty already or is not: the one that must go for it.
    pub(super) fn must_go(&mut self, cache: &MappingCache, is_dirty: bool) -> Option<Slot> {
        let oldest = self.oldest(cache)?;
        let is_full = self.next - self.oldest == self.length();
        let is_due = self.next - self.written_down >= self.length();
        (is_full || is_due || !is_dirty && cache.dirty_count() >= self.limit).then_some(oldest)
    }

    /// An entry has been updated.
    #[inline]
    pub(super) fn push(&mut self, slot: Slot) {
        if self.next - self.oldest == self.length() {
            // Whose entry has been synchronized for this one.
            self.oldest += 1;
        }
        let place = self.place(self.next);
        match self.ring.get_mut(place) {
            Some(there) => *there = slot,
            None => {
                debug_assert!(place == self.ring.len(), "the ring grows elsewhere than at its end");
                self.ring.push(slot);
            }
        }
        self.places[slot.index()] = place as u32;
        self.next += 1;
        debug_assert!(
            self.next - self.oldest <= self.length(),
            "an update is still in the ring when its place is taken"
        );
    }

    /// Whether a mark of the update that is coming is due.
    #[inline]
    pub(super) fn wants_mark(&self) -> bool {
        self.marks.back().is_none_or(|(update, _)| self.next >= update + self.marks_interval)
    }

    /// Writes from now on belong to the update that is coming, or to a later one.
    pub(super) fn mark(&mut self, now: ScanFrom) {
        self.drop_marks();
        let rises = |(update, mark): &(u64, ScanFrom)| *update <= self.next && mark.after <= now.after;
        debug_assert!(self.marks.back().is_none_or(rises), "a mark goes back");
        self.marks.push_back((self.next, now));
    }

    fn drop_marks(&mut self) {
        while self.marks.get(1).is_some_and(|(update, _)| *update <= self.oldest) {
            self.marks.pop_front();
        }
    }

    /// From where on a recovery has to scan for all entries that are dirty now; `now` where none is. To be written
    /// down.
    pub(super) fn scan_from(&mut self, cache: &MappingCache, now: ScanFrom) -> ScanFrom {
        self.written_down = self.next;
        if self.oldest(cache).is_none() {
            return now;
        }
        self.drop_marks();
        let is_before = |(update, _): &(u64, ScanFrom)| *update <= self.oldest;
        debug_assert!(self.marks.front().is_some_and(is_before), "an entry is dirty since before all marks");
        self.marks.front().map_or(ScanFrom::default(), |(_, mark)| *mark)
    }

    /// Nothing is dirty, and everything written so far is in translation pages.
    pub(super) fn begin(&mut self, now: ScanFrom) {
        self.oldest = self.next;
        self.draining = None;
        self.marks.clear();
        self.marks.push_back((self.next, now));
    }

    /// An entry leaves the dirty ones whose page is in `block`: others of that block follow it.
    pub(super) fn begin_draining(&mut self, block: Block) {
        if self.drains && self.draining.is_none() {
            self.draining = Some(Draining { block, next: self.oldest, end: self.next });
        }
    }

    /// The next dirty entry of the block that is being drained, whose block is what `block_of` makes of an entry.
    pub(super) fn next_of_block(
        &mut self,
        cache: &MappingCache,
        block_of: impl Fn(u32) -> Option<Block>,
    ) -> Option<Slot> {
        let mut draining = self.draining?;
        draining.next = draining.next.max(self.oldest);
        let until = draining.end.min(draining.next + u64::from(LOOKED_AT));
        let mut found = None;
        while found.is_none() && draining.next < until {
            let entry = self.entry(cache, draining.next);
            found = entry.filter(|slot| block_of(cache.value(*slot)) == Some(draining.block));
            draining.next += 1;
        }
        self.draining = (draining.next < draining.end).then_some(draining);
        found
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let ring = self.ring.capacity() * size_of::<Slot>();
        let marks = self.marks.capacity() * size_of::<(u64, ScanFrom)>();
        ledger.structure("mapping.dirty_queue", (ring + marks + size_of::<Self>()) as u64);
        ledger.index("index.dirty_queue_places", self.places.len() as u64 * 4);
    }
}
