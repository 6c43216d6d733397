//! Mapping entries in RAM: those that translation pages do not have yet, or all of them.
//!
//! Dirty entries stand in a hash table with open addresses. A place is a page, [`NONE`] or [`LOST`], and what is to be
//! done with the page that the translation page on flash still names ([`Before`]).

use crate::config::{Mapping, Parts};
use crate::drive::Drive;
use crate::layout::{LOST, NONE};

/// What is to be done with the page that a translation page names, when an entry takes its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// It counts as live: it is to be reported as stale.
    Counted = 0,
    /// It has been dealt with, or its block is gone (UIP, GeckoFTL section 4.1).
    Settled = 1,
    /// After a recovery: its block may be another one by now. Its metadata are read; it does not count.
    Unsure = 2,
}

/// An entry's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// Page, [`NONE`] or [`LOST`].
    pub(crate) place: u32,
    pub(crate) before: Before,
}

impl Entry {
    fn encode(self) -> u32 {
        self.place | (self.before as u32) << 30
    }

    fn decode(word: u32) -> Self {
        let before = match word >> 30 {
            0 => Before::Counted,
            1 => Before::Settled,
            _ => Before::Unsure,
        };
        Self { place: word & NONE, before }
    }
}

/// No key.
const EMPTY: u32 = u32::MAX;

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Whether the whole table is in RAM.
    #[inline]
    pub(crate) fn is_ram_table(&self) -> bool {
        P::MAPPING == Mapping::Ram
    }

    pub(crate) fn forget_entries(&mut self) {
        let (keys, places) = (self.layout.keys, self.layout.places);
        keys.fill(self.memory_mut(), EMPTY);
        places.fill(self.memory_mut(), NONE);
        self.state.dirty = 0;
        self.state.trims = 0;
    }

    /// The translation page of a logical page.
    #[inline]
    pub(crate) fn part_of(&self, key: u32) -> u32 {
        key.checked_div(self.sizes.entries).unwrap_or(0)
    }

    /// Where the search for a key begins.
    fn home(&self, key: u32) -> u32 {
        let slots = self.layout.keys.entries;
        // A power of two; the upper bits of the product depend on all bits of the key.
        key.wrapping_mul(0x9e37_79b1) >> (32 - slots.trailing_zeros()).min(31) & slots.wrapping_sub(1)
    }

    /// The slot of a key, or the empty one where it would be.
    fn slot(&self, key: u32) -> (u32, bool) {
        let mask = self.layout.keys.entries.wrapping_sub(1);
        let mut slot = self.home(key);
        for _ in 0..=mask {
            match self.layout.keys.get(self.memory(), slot) {
                there if there == key => return (slot, true),
                EMPTY => break,
                _ => slot = (slot + 1) & mask,
            }
        }
        (slot, false)
    }

    /// The dirty entry of a logical page, if there is one. With the whole table in RAM: its entry.
    #[inline]
    pub(crate) fn entry(&self, key: u32) -> Option<Entry> {
        if self.is_ram_table() {
            return Some(Entry::decode(self.layout.places.get(self.memory(), key)));
        }
        let (slot, found) = self.slot(key);
        found.then(|| Entry::decode(self.layout.places.get(self.memory(), slot)))
    }

    /// Sets the entry of a logical page. There is room ([`Drive::has_room_for_entry`]).
    pub(crate) fn set_entry(&mut self, key: u32, entry: Entry) {
        let (keys, places) = (self.layout.keys, self.layout.places);
        if self.is_ram_table() {
            places.set(self.memory_mut(), key, entry.encode());
            return;
        }
        let (slot, found) = self.slot(key);
        if !found {
            debug_assert!(self.state.dirty < keys.entries, "no room for an entry");
            keys.set(self.memory_mut(), slot, key);
            self.state.dirty += 1;
        }
        places.set(self.memory_mut(), slot, entry.encode());
    }

    /// Whether an entry more fits.
    pub(crate) fn has_room_for_entry(&self) -> bool {
        self.is_ram_table() || self.state.dirty < self.layout.keys.entries / 8 * 7
    }

    /// Takes a dirty entry out; those behind it move up.
    pub(crate) fn remove_entry(&mut self, key: u32) {
        let (mut hole, found) = self.slot(key);
        if !found || self.is_ram_table() {
            return;
        }
        self.state.dirty -= 1;
        let (keys, places) = (self.layout.keys, self.layout.places);
        let mask = keys.entries.wrapping_sub(1);
        let mut next = (hole + 1) & mask;
        for _ in 0..mask {
            let moving = keys.get(self.memory(), next);
            if moving == EMPTY {
                break;
            }
            // It may move into the hole if that is not in front of its home.
            let (from_home, from_hole) = (next.wrapping_sub(self.home(moving)) & mask, next.wrapping_sub(hole) & mask);
            if from_home >= from_hole {
                let place = places.get(self.memory(), next);
                keys.set(self.memory_mut(), hole, moving);
                places.set(self.memory_mut(), hole, place);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        keys.set(self.memory_mut(), hole, EMPTY);
    }

    /// The entry in a slot, with its logical page.
    pub(crate) fn entry_in(&self, slot: u32) -> Option<(u32, Entry)> {
        if self.is_ram_table() {
            return self.entry(slot).map(|entry| (slot, entry));
        }
        let key = self.layout.keys.get(self.memory(), slot);
        (key != EMPTY).then(|| (key, Entry::decode(self.layout.places.get(self.memory(), slot))))
    }
}

/// Whether it is a page.
#[inline]
pub(crate) fn is_page(place: u32) -> bool {
    place < LOST
}
