//! The cache of mapping entries: least recently used first out, with a dirty and a UIP flag each (GeckoFTL section 4).
//!
//! The paper finds the dirty entries of a translation page by a tree over the cache. Here each translation page has the
//! head of a list of its dirty entries: an eviction touches those alone, whatever the size of the cache.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashTable;
use phelsuma_nand::state::Preserve;

const NONE: u32 = u32::MAX;

const DIRTY: u8 = 1;
const UIP: u8 = 2;
/// Updated since the checkpoints' hand came by.
const UPDATED: u8 = 4;
/// Found by a recovery: what its translation page names is stale, and was perhaps reported (GeckoFTL appendix C.3.2).
const UNSURE: u8 = 8;

/// A cached mapping entry, by its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) struct Slot(u32);

impl Slot {
    /// Its number: below that of the cache's slots.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Preserve)]
struct Entry {
    key: u32,
    /// The mapping of it: a physical page, or one of the table's marks.
    value: u32,
    newer: u32,
    older: u32,
    /// The next in the list of its translation page's dirty entries, while it is one.
    dirty_next: u32,
    flags: u8,
}

/// Mapping entries in RAM.
#[derive(Clone, Preserve)]
#[preserve(rebuilt)]
pub(super) struct MappingCache {
    entries: Vec<Entry>,
    capacity: u32,
    /// With the entries that a recovery may find: as many as there can ever be. The vector's capacity does not show it:
    /// a copy of it has less.
    room: u32,
    table: HashTable<u32>,
    newest: u32,
    oldest: u32,
    /// By translation page: its first dirty entry.
    dirty: Vec<u32>,
    entries_per_page: u32,
    dirty_count: u32,
    unsure_count: u32,
}

#[inline]
fn hash(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20)
}

impl MappingCache {
    /// Of `capacity` entries, and of `spare` more that a recovery may find.
    pub(super) fn new(capacity: u32, spare: u32, translation_pages: u32, entries_per_page: u32) -> Self {
        let room = capacity as usize + spare as usize;
        Self {
            entries: Vec::with_capacity(room),
            capacity,
            room: capacity.saturating_add(spare),
            table: HashTable::with_capacity(room),
            newest: NONE,
            oldest: NONE,
            dirty: vec![NONE; translation_pages as usize],
            entries_per_page,
            dirty_count: 0,
            unsure_count: 0,
        }
    }

    /// The table holds every entry again.
    fn rebuild(&mut self) {
        let entries = &self.entries;
        for (at, entry) in (0..).zip(entries) {
            self.table.insert_unique(hash(entry.key), at, |slot| hash(entries[*slot as usize].key));
        }
    }

    /// How many entries it can hold.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many slots there can be.
    pub(super) fn slots(&self) -> u32 {
        self.room
    }

    /// How many of its entries are not in translation pages.
    pub(super) fn dirty_count(&self) -> u32 {
        self.dirty_count
    }

    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<Slot> {
        self.table.find(hash(key), |slot| self.entries[*slot as usize].key == key).map(|slot| Slot(*slot))
    }

    #[inline]
    pub(super) fn key(&self, slot: Slot) -> u32 {
        self.entries[slot.0 as usize].key
    }

    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u32 {
        self.entries[slot.0 as usize].value
    }

    /// Whether a before-image of the page is not yet identified: the one that its translation page names.
    #[inline]
    pub(super) fn is_uip(&self, slot: Slot) -> bool {
        self.entries[slot.0 as usize].flags & UIP != 0
    }

    #[inline]
    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.entries[slot.0 as usize].flags & DIRTY != 0
    }

    /// Whether a recovery found it, and its translation page was not read since.
    #[inline]
    pub(super) fn is_unsure(&self, slot: Slot) -> bool {
        self.entries[slot.0 as usize].flags & UNSURE != 0
    }

    /// Whether there is any such entry.
    #[inline]
    pub(super) fn has_unsure(&self) -> bool {
        self.unsure_count > 0
    }

    /// What its translation page names was looked at: there is nothing left to identify.
    pub(super) fn made_sure(&mut self, slot: Slot) {
        let flags = &mut self.entries[slot.0 as usize].flags;
        self.unsure_count -= u32::from(*flags & UNSURE != 0);
        *flags &= !(UNSURE | UIP);
    }

    /// An entry that a recovery found: dirty, and perhaps with an unidentified before-image.
    pub(super) fn set_unsure(&mut self, slot: Slot, value: u32) {
        self.set_dirty(slot, value);
        let flags = &mut self.entries[slot.0 as usize].flags;
        self.unsure_count += u32::from(*flags & UNSURE == 0);
        *flags = *flags & !UPDATED | UNSURE | UIP;
        debug_assert!(self.unsure_count <= self.dirty_count, "an entry is unsure and not dirty");
    }

    /// The hand of the checkpoints comes by: whether the entry there is dirty and was not updated since last time.
    #[inline]
    pub(super) fn visited(&mut self, at: u32) -> Option<Slot> {
        let flags = &mut self.entries.get_mut(at as usize)?.flags;
        let old = *flags & (DIRTY | UPDATED) == DIRTY;
        *flags &= !UPDATED;
        old.then_some(Slot(at))
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Every entry.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.table.iter().map(|slot| Slot(*slot))
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.capacity as usize
    }

    /// Whether not even a recovery can enter another.
    pub(super) fn has_no_room(&self) -> bool {
        self.entries.len() >= self.room as usize
    }

    /// The entry used longest ago.
    #[inline]
    pub(super) fn oldest(&self) -> Option<Slot> {
        (self.oldest != NONE).then_some(Slot(self.oldest))
    }

    /// The entries in the order in which they go.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = Slot> + '_ {
        let slot = |at: u32| (at != NONE).then_some(Slot(at));
        core::iter::successors(slot(self.oldest), move |at| slot(self.entries[at.0 as usize].newer))
    }

    /// The entry has been used.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        if self.newest != slot.0 {
            self.unlink(slot.0);
            self.link_newest(slot.0);
        }
    }

    /// The entry is to go first.
    pub(super) fn demote(&mut self, slot: Slot) {
        if self.oldest == slot.0 {
            return;
        }
        self.unlink(slot.0);
        let last = core::mem::replace(&mut self.oldest, slot.0);
        self.entries[slot.0 as usize].newer = last;
        self.entries[slot.0 as usize].older = NONE;
        match last {
            NONE => self.newest = slot.0,
            last => self.entries[last as usize].older = slot.0,
        }
    }

    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        match newer {
            NONE => self.newest = older,
            newer => {
                debug_assert!(self.entries[newer as usize].older == at, "the order of use is broken behind an entry");
                self.entries[newer as usize].older = older;
            }
        }
        match older {
            NONE => self.oldest = newer,
            older => {
                debug_assert!(self.entries[older as usize].newer == at, "the order of use is broken before an entry");
                self.entries[older as usize].newer = newer;
            }
        }
    }

    fn link_newest(&mut self, at: u32) {
        let before = self.newest;
        self.entries[at as usize].older = before;
        self.entries[at as usize].newer = NONE;
        match before {
            NONE => self.oldest = at,
            before => self.entries[before as usize].newer = at,
        }
        self.newest = at;
    }

    /// A new entry, clean, just used. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, key: u32, value: u32) -> Slot {
        debug_assert!(!self.has_no_room() && self.find(key).is_none());
        let at = self.entries.len() as u32;
        self.entries.push(Entry { key, value, newer: NONE, older: NONE, dirty_next: NONE, flags: 0 });
        self.enter(at);
        Slot(at)
    }

    /// A new entry in the place of the one used longest ago, which must be clean.
    #[inline]
    pub(super) fn replace_oldest(&mut self, key: u32, value: u32) -> Slot {
        debug_assert!(self.find(key).is_none(), "an entry is cached twice");
        let at = self.oldest;
        let old = &mut self.entries[at as usize];
        debug_assert!(old.flags & (DIRTY | UIP) == 0, "a dirty entry is evicted");
        old.flags = 0;
        let old_key = core::mem::replace(&mut old.key, key);
        old.value = value;
        self.forget(old_key, at);
        self.unlink(at);
        self.enter(at);
        Slot(at)
    }

    /// Whether there are more entries than it is to hold: after a recovery.
    pub(super) fn is_overfull(&self) -> bool {
        self.entries.len() > self.capacity as usize
    }

    /// Takes out the entry used longest ago, which must be clean.
    pub(super) fn remove_oldest(&mut self) {
        let at = self.oldest;
        debug_assert!(self.entries[at as usize].flags & (DIRTY | UIP) == 0, "a dirty entry is evicted");
        self.unlink(at);
        self.forget(self.entries[at as usize].key, at);
        // The last one takes its place.
        let last = self.entries.len() as u32 - 1;
        self.entries.swap_remove(at as usize);
        if at == last {
            return;
        }
        let Entry { key, newer, older, .. } = self.entries[at as usize];
        self.forget(key, last);
        let entries = &self.entries;
        self.table.insert_unique(hash(key), at, |slot| hash(entries[*slot as usize].key));
        match newer {
            NONE => self.newest = at,
            newer => self.entries[newer as usize].older = at,
        }
        match older {
            NONE => self.oldest = at,
            older => self.entries[older as usize].newer = at,
        }
        let head = &mut self.dirty[(key / self.entries_per_page) as usize];
        if *head == last {
            *head = at;
            return;
        }
        let mut before = *head;
        while before != NONE {
            let next = &mut self.entries[before as usize].dirty_next;
            before = *next;
            if before == last {
                *next = at;
            }
        }
    }

    fn forget(&mut self, key: u32, at: u32) {
        let found = self.table.find_entry(hash(key), |slot| *slot == at);
        debug_assert!(found.is_ok(), "an entry is not where its hash says");
        if let Ok(found) = found {
            found.remove();
        }
    }

    fn enter(&mut self, at: u32) {
        let key = self.entries[at as usize].key;
        let entries = &self.entries;
        self.table.insert_unique(hash(key), at, |slot| hash(entries[*slot as usize].key));
        self.link_newest(at);
    }

    /// The translation page's entry is out of date from now on.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: Slot, value: u32) {
        let entry = &mut self.entries[slot.0 as usize];
        entry.value = value;
        let was_dirty = entry.flags & DIRTY != 0;
        entry.flags |= DIRTY | UPDATED;
        if was_dirty {
            return;
        }
        self.dirty_count += 1;
        debug_assert!(self.dirty_count <= self.table.len() as u32, "more entries are dirty than there are");
        let head = &mut self.dirty[(entry.key / self.entries_per_page) as usize];
        entry.dirty_next = core::mem::replace(head, slot.0);
    }

    #[inline]
    pub(super) fn set_uip(&mut self, slot: Slot, uip: bool) {
        let flags = &mut self.entries[slot.0 as usize].flags;
        *flags = if uip { *flags | UIP } else { *flags & !UIP };
    }

    /// The dirty entries of a translation page.
    #[inline]
    pub(super) fn dirty_of(&self, translation_page: u32) -> impl Iterator<Item = Slot> + '_ {
        let slot = |at: u32| (at != NONE).then_some(Slot(at));
        let first = slot(self.dirty[translation_page as usize]);
        core::iter::successors(first, move |at| slot(self.entries[at.0 as usize].dirty_next))
    }

    /// All of its entries are in a translation page now, and go first where that is asked for. How many were not.
    #[inline]
    pub(super) fn clean(&mut self, translation_page: u32, go_first: bool) -> u32 {
        let mut at = core::mem::replace(&mut self.dirty[translation_page as usize], NONE);
        let mut cleaned = 0;
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            debug_assert!(entry.flags & UNSURE == 0, "synchronized without asking");
            debug_assert!(entry.flags & DIRTY != 0, "a clean entry is among the dirty ones");
            debug_assert!(
                entry.key / self.entries_per_page == translation_page,
                "an entry of another translation page"
            );
            entry.flags = 0;
            let next = entry.dirty_next;
            if go_first {
                self.demote(Slot(at));
            }
            at = next;
            cleaned += 1;
        }
        self.dirty_count -= cleaned;
        cleaned
    }

    /// Whether a translation page has dirty entries.
    pub(super) fn has_dirty(&self, translation_page: u32) -> bool {
        self.dirty[translation_page as usize] != NONE
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let packed = u64::from(self.capacity) * 8;
        ledger.structure("mapping.cache", packed);
        let entries = (self.entries.capacity() * size_of::<Entry>()) as u64;
        ledger.index("index.cache_links", entries.saturating_sub(packed));
        ledger.index("index.cache_hash", self.table.allocation_size() as u64);
        ledger.index("index.dirty_lists", self.dirty.len() as u64 * 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_room_for_as_many_entries() {
        let mut cache = MappingCache::new(2, 1, 1, 8);
        cache.insert(0, 10);
        let mut copy = cache.clone();
        assert_eq!(copy.slots(), 3);
        for key in 1..3 {
            assert!(!copy.has_no_room());
            copy.insert(key, 10 + key);
        }
        assert!(copy.has_no_room() && !cache.has_no_room());
    }
}
