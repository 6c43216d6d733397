//! Which entries are dirty: the lists of them.
//!
//! Some translation pages share a list. A dirty entry stays where it is, so a list is only left by a synchronization.
//! Surplus entries, which a recovery has found, are in none: they are few, and all looked at.

use super::super::entries::part_of;
use super::entry::{DIRTY, Slot, UIP, UNSURE, UPDATED, scattered};
use super::set::WAYS;
use super::sets::{NONE, REACH, SetCache};
use crate::cache_part::Evict;

impl SetCache {
    /// The list in which a translation page's dirty entries are.
    #[inline]
    pub(super) fn list_of(&self, translation_page: u32) -> usize {
        scattered(translation_page, self.lists.len())
    }

    /// The first set of the window in which the entries of a list are.
    #[inline]
    pub(super) fn window_of(&self, list: usize) -> usize {
        if self.window == self.regular { 0 } else { scattered(!(list as u32), self.regular) }
    }

    /// The slot that a link of a list with this window names.
    #[inline]
    fn linked(&self, window: usize, link: u16) -> Option<Slot> {
        let (set, way) = (usize::from(link) / WAYS, usize::from(link) % WAYS);
        (link != NONE).then(|| Slot::new(self.behind(window, set), way))
    }

    /// The link of a list that names a slot.
    #[inline]
    fn link_to(&self, list: usize, slot: Slot) -> u16 {
        let start = self.window_of(list);
        let set = if slot.set() < start { slot.set() + self.regular - start } else { slot.set() - start };
        debug_assert!(set < self.window + REACH, "an entry lies outside of its window");
        (set * WAYS + slot.way()) as u16
    }

    /// Every surplus entry of a translation page that is dirty.
    fn surplus_of(&self, translation_page: u32) -> impl Iterator<Item = Slot> + '_ {
        let slots = (0..self.surplus).map(|at| Slot(self.slots() as u32 + at));
        slots.filter(move |slot| self.has(*slot, DIRTY) && self.is_of(*slot, translation_page))
    }

    /// Whether the entry at a slot stands in this translation page.
    #[inline]
    fn is_of(&self, slot: Slot, translation_page: u32) -> bool {
        // The first page of the last one there can be, and no more, fits into four bytes.
        self.key(slot).wrapping_sub(translation_page * self.entries_per_page) < self.entries_per_page
    }

    /// The translation page's entry is out of date from now on.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: Slot, value: u32) {
        let set = self.set_of_mut(slot);
        set.set_value(slot.way(), value);
        let was_dirty = set.has(slot.way(), DIRTY);
        set.set(slot.way(), DIRTY | UPDATED);
        if was_dirty {
            return;
        }
        self.dirty_count += 1;
        debug_assert!(self.dirty_count <= self.len(), "more entries are dirty than there are");
        if self.is_surplus(slot) {
            return;
        }
        let list = self.list_of(part_of(self.key(slot), self.entries_per_page));
        let link = self.link_to(list, slot);
        let next = core::mem::replace(&mut self.lists[list], link);
        self.set_of_mut(slot).set_next(slot.way(), next);
    }

    /// The dirty entries of a translation page.
    #[inline]
    pub(super) fn dirty_of(&self, translation_page: u32) -> impl Iterator<Item = Slot> + '_ {
        let list = self.list_of(translation_page);
        let window = self.window_of(list);
        let first = self.linked(window, self.lists[list]);
        let next = move |slot: &Slot| self.linked(window, self.set_of(*slot).next(slot.way()));
        let listed = core::iter::successors(first, next).filter(move |slot| self.is_of(*slot, translation_page));
        listed.chain(self.surplus_of(translation_page))
    }

    /// All of its entries are in a translation page now, and go first where that is asked for. How many were not.
    #[inline]
    pub(super) fn clean(&mut self, translation_page: u32) -> u32 {
        let list = self.list_of(translation_page);
        let go_first = self.evict != Evict::Lru;
        let mut before = None;
        let window = self.window_of(list);
        let mut at = self.linked(window, self.lists[list]);
        let mut cleaned = 0;
        while let Some(slot) = at {
            let next = self.set_of(slot).next(slot.way());
            at = self.linked(window, next);
            if !self.is_of(slot, translation_page) {
                before = Some(slot);
                continue;
            }
            match before {
                None => self.lists[list] = next,
                Some(before) => self.set_of_mut(before).set_next(before.way(), next),
            }
            self.make_clean(slot);
            if go_first {
                self.demote(slot);
            }
            cleaned += 1;
        }
        for at in 0..self.surplus {
            let slot = Slot(self.slots() as u32 + at);
            if self.has(slot, DIRTY) && self.is_of(slot, translation_page) {
                self.make_clean(slot);
                cleaned += 1;
            }
        }
        self.dirty_count -= cleaned;
        cleaned
    }

    /// It is in a run now, as all that are dirty soon are: no list is looked at before.
    pub(super) fn clean_one_of_all(&mut self, slot: Slot) {
        let list = self.list_of(part_of(self.key(slot), self.entries_per_page));
        self.lists[list] = NONE;
        self.made_sure(slot);
        self.make_clean(slot);
        self.dirty_count -= 1;
        if self.evict != Evict::Lru && !self.is_surplus(slot) {
            self.demote(slot);
        }
    }

    fn make_clean(&mut self, slot: Slot) {
        debug_assert!(!self.has(slot, UNSURE), "synchronized without asking");
        debug_assert!(self.has(slot, DIRTY), "a clean entry is among the dirty ones");
        self.set_of_mut(slot).clear(slot.way(), DIRTY | UIP | UPDATED);
    }
}
