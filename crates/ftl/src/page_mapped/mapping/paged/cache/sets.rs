//! A cache with one order of use over all entries (DFTL; GeckoFTL section 4), which is exact within sets.
//!
//! Links and a hash for it took 36 bytes an entry, beside the eight of
//! the entry itself. Here an entry belongs to a *set* of sixteen places ([`set`]), found by its key. A set has an exact
//! order of use, and what must go is the oldest of it. That takes eleven bytes an entry in all, allocated once.
//!
//! The paper finds the dirty entries of a translation page by a tree over the cache. Here they are in a list. Some
//! translation pages share a list, so that the heads take half a byte an entry. A synchronization touches a few entries
//! besides its own, whatever the size of the cache. Links of two bytes reach 65,536 places: in a larger cache the
//! entries of a list lie in a *window* of sets.
//!
//! A recovery may find entries for which their sets have no room. These *surplus* entries are in sets of their own, and
//! leave before the drive serves.

use super::super::entries::part_of;
use super::entry::{DIRTY, Slot, UIP, UNSURE, UPDATED, scattered};
use super::set::{Set, WAYS};
use crate::RamLedger;
use crate::cache_part::Evict;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// No entry: the end of a list.
pub(super) const NONE: u16 = u16::MAX;

/// Sets that an entry may be in, where those go first that are clean: its own, and those behind it. In one set alone
/// there is too often none that is clean.
pub(super) const REACH: usize = 4;

/// Sets of a window: links reach all of their places.
const WINDOW_MAX: usize = NONE as usize / WAYS - REACH;

/// Entries of the cache for each list of dirty entries.
const ENTRIES_PER_LIST: u32 = 4;

impl Slot {
    #[inline]
    pub(super) fn new(set: usize, way: usize) -> Self {
        Self((set * WAYS + way) as u32)
    }

    #[inline]
    pub(super) fn set(self) -> usize {
        self.index() / WAYS
    }

    #[inline]
    pub(super) fn way(self) -> usize {
        self.index() % WAYS
    }
}

/// Mapping entries in sets.
#[derive(Clone, Preserve)]
pub(super) struct SetCache {
    /// Those that have a number of surplus entries follow the regular ones.
    pub(super) sets: Vec<Set>,
    pub(super) regular: usize,
    /// Regular sets from this one on have one place less than those before.
    wider: usize,
    /// Places of the sets before `wider`.
    ways: usize,
    /// Sets of a window: all regular ones, or as many as links reach.
    pub(super) window: usize,
    capacity: u32,
    /// More entries that a recovery may find.
    spare: u32,
    pub(super) evict: Evict,
    /// By list: its first dirty entry.
    pub(super) lists: Vec<u16>,
    pub(super) entries_per_page: u32,
    /// Entries of regular sets.
    len: u32,
    pub(super) surplus: u32,
    pub(super) dirty_count: u32,
    unsure_count: u32,
}

impl SetCache {
    /// Of `capacity` entries, and of `spare` more that a recovery may find.
    pub(super) fn new(capacity: u32, spare: u32, translation_pages: u32, entries_per_page: u32, evict: Evict) -> Self {
        let regular = (capacity as usize).div_ceil(WAYS).max(1);
        let narrower = regular * (capacity as usize).div_ceil(regular) - capacity as usize;
        let lists = translation_pages.min(capacity / ENTRIES_PER_LIST).max(1);
        Self {
            sets: vec![Set::new(); regular],
            regular,
            wider: regular - narrower,
            ways: (capacity as usize).div_ceil(regular),
            window: regular.min(WINDOW_MAX),
            capacity,
            spare,
            evict,
            lists: vec![NONE; lists as usize],
            entries_per_page,
            len: 0,
            surplus: 0,
            dirty_count: 0,
            unsure_count: 0,
        }
    }

    /// How many entries it can hold.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.regular * WAYS
    }

    /// How many of its entries are not in translation pages.
    pub(super) fn dirty_count(&self) -> u32 {
        self.dirty_count
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> u32 {
        self.len + self.surplus
    }

    /// Whether not even a recovery can enter another.
    pub(super) fn has_no_room(&self) -> bool {
        self.len() >= self.capacity.saturating_add(self.spare)
    }

    /// Places of a set.
    #[inline]
    fn ways(&self, set: usize) -> usize {
        match set {
            set if set < self.wider => self.ways,
            set if set < self.regular => self.ways - 1,
            _ => WAYS,
        }
    }

    /// The regular set that is so many behind another.
    #[inline]
    pub(super) fn behind(&self, set: usize, by: usize) -> usize {
        let behind = set + by;
        if behind < self.regular { behind } else { behind - self.regular }
    }

    /// The set that an entry belongs to.
    #[inline]
    fn home(&self, key: u32) -> usize {
        if self.window == self.regular {
            return scattered(key, self.regular);
        }
        let start = self.window_of(self.list_of(part_of(key, self.entries_per_page)));
        self.behind(start, scattered(key, self.window))
    }

    /// The sets that an entry may be in.
    #[inline]
    fn within_reach(&self, home: usize) -> impl Iterator<Item = usize> + '_ {
        let reach = if self.evict == Evict::Lru { 1 } else { REACH.min(self.regular) };
        (0..reach).map(move |by| self.behind(home, by))
    }

    #[inline]
    pub(super) fn set_of(&self, slot: Slot) -> &Set {
        &self.sets[slot.set()]
    }

    #[inline]
    pub(super) fn set_of_mut(&mut self, slot: Slot) -> &mut Set {
        &mut self.sets[slot.set()]
    }

    #[inline]
    fn find_in(&self, set: usize, key: u32) -> Option<Slot> {
        self.sets[set].find(key).map(|way| Slot::new(set, way))
    }

    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<Slot> {
        let found = self.within_reach(self.home(key)).find_map(|set| self.find_in(set, key));
        if self.surplus > 0 && found.is_none() {
            return (self.regular..self.sets.len()).find_map(|set| self.find_in(set, key));
        }
        found
    }

    /// Whether this entry is there. A slot of those that a recovery found may be gone.
    #[inline]
    pub(super) fn is_at(&self, slot: Slot, key: u32) -> bool {
        self.sets.get(slot.set()).is_some_and(|set| set.key(slot.way()) == key)
    }

    #[inline]
    pub(super) fn key(&self, slot: Slot) -> u32 {
        self.set_of(slot).key(slot.way())
    }

    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u32 {
        self.set_of(slot).value(slot.way())
    }

    /// Whether one of these flags is set.
    #[inline]
    pub(super) fn has(&self, slot: Slot, flags: u8) -> bool {
        self.set_of(slot).has(slot.way(), flags)
    }

    /// Whether there is any such entry.
    #[inline]
    pub(super) fn has_unsure(&self) -> bool {
        self.unsure_count > 0
    }

    /// What its translation page names was looked at: there is nothing left to identify.
    pub(super) fn made_sure(&mut self, slot: Slot) {
        self.unsure_count -= u32::from(self.has(slot, UNSURE));
        self.set_of_mut(slot).clear(slot.way(), UNSURE | UIP);
    }

    /// An entry that a recovery found: dirty, and perhaps with an unidentified before-image.
    fn set_unsure(&mut self, slot: Slot, value: u32) {
        self.set_dirty(slot, value);
        self.unsure_count += u32::from(!self.has(slot, UNSURE));
        let set = self.set_of_mut(slot);
        set.clear(slot.way(), UPDATED);
        set.set(slot.way(), UNSURE | UIP);
        debug_assert!(self.unsure_count <= self.dirty_count, "an entry is unsure and not dirty");
    }

    #[inline]
    pub(super) fn set_uip(&mut self, slot: Slot, uip: bool) {
        let set = self.set_of_mut(slot);
        if uip { set.set(slot.way(), UIP) } else { set.clear(slot.way(), UIP) }
    }

    /// The hand of the checkpoints comes by: whether the entry there is dirty and was not updated since last time.
    #[inline]
    pub(super) fn visited(&mut self, slot: Slot) -> bool {
        let set = self.set_of_mut(slot);
        let is_old = set.has(slot.way(), DIRTY) && !set.has(slot.way(), UPDATED);
        set.clear(slot.way(), UPDATED);
        is_old
    }

    /// The place after this one, where there can be an entry while the drive serves: after the last one the first.
    #[inline]
    pub(super) fn after(&self, slot: Slot) -> Slot {
        if slot.way() + 1 < self.ways(slot.set()) {
            return Slot(slot.0 + 1);
        }
        Slot::new(self.behind(slot.set(), 1), 0)
    }

    /// Every entry.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let slots = (0..self.sets.len() * WAYS).map(|slot| Slot(slot as u32));
        slots.filter(|slot| !self.is_vacant(*slot))
    }

    #[inline]
    fn is_vacant(&self, slot: Slot) -> bool {
        self.set_of(slot).is_vacant(slot.way())
    }

    /// A place without an entry where that of `key` can be.
    fn vacant(&self, home: usize) -> Option<Slot> {
        let vacant = |set: usize| self.sets[set].vacant(self.ways(set)).map(|way| Slot::new(set, way));
        self.within_reach(home).find_map(vacant)
    }

    /// Where the entry of `key` will be, which is not cached. The one that is there must go: if it is dirty, its
    /// translation page must be synchronized, and this asked again.
    pub(super) fn place_for(&self, key: u32) -> Slot {
        let home = self.home(key);
        if self.len < self.capacity
            && let Some(vacant) = self.vacant(home)
        {
            return vacant;
        }
        let oldest = |set: usize| Slot::new(set, self.sets[set].oldest(self.ways(set)));
        match self.evict {
            Evict::Lru | Evict::TwoLevel => oldest(home),
            Evict::CleanFirst => {
                let clean = self.within_reach(home).map(oldest).find(|slot| !self.has(*slot, DIRTY));
                clean.unwrap_or_else(|| oldest(home))
            }
            Evict::Fullest => self.clean_or_fullest(home),
        }
    }

    /// Of the entries used longest ago, half of a set, one that is clean, or one whose translation page has the most
    /// dirty entries.
    fn clean_or_fullest(&self, home: usize) -> Slot {
        let old = |set: usize| self.sets[set].older_half(self.ways(set)).map(move |way| Slot::new(set, way));
        let age = |slot: &Slot| self.set_of(*slot).age(slot.way());
        let clean = |set: usize| old(set).filter(|slot| !self.has(*slot, DIRTY)).max_by_key(age);
        let fullest = || {
            let dirty = |slot: &Slot| self.dirty_of(part_of(self.key(*slot), self.entries_per_page)).count();
            old(home).max_by_key(|slot| (dirty(slot), age(slot)))
        };
        let found = self.within_reach(home).find_map(clean).or_else(fullest);
        found.unwrap_or_else(|| Slot::new(home, self.sets[home].oldest(self.ways(home))))
    }

    /// The entry has been used.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        self.set_of_mut(slot).touch(slot.way());
    }

    /// The entry is to go first.
    pub(super) fn demote(&mut self, slot: Slot) {
        let ways = self.ways(slot.set());
        self.set_of_mut(slot).make_oldest(slot.way(), ways);
    }

    /// A new entry, clean, just used, in the place of one that is clean.
    #[inline]
    pub(super) fn insert(&mut self, key: u32, value: u32) -> Slot {
        self.insert_at(self.place_for(key), key, value)
    }

    /// The same, of which the place is known.
    #[inline]
    pub(super) fn insert_at(&mut self, slot: Slot, key: u32, value: u32) -> Slot {
        debug_assert!(self.find(key).is_none(), "an entry is cached twice");
        debug_assert_eq!(slot, self.place_for(key), "{key} has another place");
        debug_assert!(!self.set_of(slot).has(slot.way(), DIRTY | UIP), "a dirty entry is evicted");
        self.len += u32::from(self.is_vacant(slot));
        self.enter(slot, key, value);
        slot
    }

    fn enter(&mut self, slot: Slot, key: u32, value: u32) {
        let set = self.set_of_mut(slot);
        set.enter(slot.way(), key, value);
        set.touch(slot.way());
    }

    /// A recovery has found an entry, which is dirty. Those used last come first. There must be room.
    pub(super) fn insert_found(&mut self, key: u32, value: u32) -> Slot {
        debug_assert!(!self.has_no_room() && self.find(key).is_none());
        let slot = self.vacant(self.home(key));
        self.len += u32::from(slot.is_some());
        let slot = slot.unwrap_or_else(|| self.room_for_surplus());
        self.enter(slot, key, value);
        self.demote(slot);
        self.set_unsure(slot, value);
        slot
    }

    fn room_for_surplus(&mut self) -> Slot {
        let way = self.surplus as usize % WAYS;
        if way == 0 {
            self.sets.push(Set::new());
        }
        self.surplus += 1;
        Slot::new(self.sets.len() - 1, way)
    }

    pub(super) fn is_surplus(&self, slot: Slot) -> bool {
        slot.set() >= self.regular
    }

    /// The surplus entry that must go next: after a recovery.
    pub(super) fn last_surplus(&self) -> Option<Slot> {
        let last = self.surplus.checked_sub(1)?;
        Some(Slot(self.slots() as u32 + last))
    }

    /// Takes out that entry, which must be clean.
    pub(super) fn remove_surplus(&mut self) {
        let Some(slot) = self.last_surplus() else { return };
        debug_assert!(!self.has(slot, DIRTY), "a dirty entry is evicted");
        self.set_of_mut(slot).leave(slot.way());
        self.surplus -= 1;
        if slot.way() == 0 {
            self.sets.truncate(slot.set());
            self.sets.shrink_to_fit();
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let packed = u64::from(self.capacity) * 8;
        ledger.structure("mapping.cache", packed);
        let sets = (self.sets.capacity() * size_of::<Set>()) as u64;
        ledger.index("index.cache_links", sets.saturating_sub(packed));
        ledger.index("index.dirty_lists", self.lists.capacity() as u64 * 2);
    }
}
