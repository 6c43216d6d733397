//! Which entries are dirty: of each node the clean ones and the dirty ones are in lists of their own.

use super::super::super::ends::{Ends, NONE};
use super::TwoLevelCache;
use crate::page_mapped::mapping::paged::cache::entry::{DIRTY, Slot, UIP, UNSURE, UPDATED};
use core::iter::successors;

impl TwoLevelCache {
    #[inline]
    pub(in super::super) fn set_dirty(&mut self, slot: Slot, value: u32) {
        if !self.has(slot, DIRTY) {
            self.move_to(1, slot);
            self.dirty_count += 1;
        }
        let entry = self.entry_mut(slot);
        entry.value = value;
        entry.flags |= DIRTY | UPDATED;
    }

    /// An entry is the newest of the clean ones of its node, or of the dirty ones, instead of the others.
    fn move_to(&mut self, order: usize, slot: Slot) {
        let of = &mut self.nodes[self.entries[slot.index()].node as usize];
        of.orders[1 - order].take(slot.0, &mut self.entries, |entry| &mut entry.links);
        of.orders[order].put_newest(slot.0, &mut self.entries, |entry| &mut entry.links);
    }

    /// The dirty entries of a translation page, the newest first.
    pub(in super::super) fn dirty_of(&self, translation_page: u32) -> impl Iterator<Item = Slot> + '_ {
        let node = self.find_node(translation_page);
        let slot = |at: u32| (at != NONE).then_some(Slot(at));
        let newest = node.and_then(|node| slot(self.nodes[node as usize].orders[1].newest));
        successors(newest, move |at| slot(self.entry(*at).links.older))
    }

    /// All of its entries are in a translation page now. How many were not.
    pub(in super::super) fn clean(&mut self, translation_page: u32) -> u32 {
        let Some(node) = self.find_node(translation_page) else { return 0 };
        let [clean, dirty] = self.nodes[node as usize].orders;
        let mut all = Ends::NONE;
        let (mut clean, mut dirty, mut cleaned) = (clean.oldest, dirty.oldest, 0);
        loop {
            let is_clean = match (clean, dirty) {
                (NONE, NONE) => break,
                (_, NONE) => true,
                (NONE, _) => false,
                _ => self.entries[clean as usize].used <= self.entries[dirty as usize].used,
            };
            let at = if is_clean { clean } else { dirty };
            *(if is_clean { &mut clean } else { &mut dirty }) = self.entries[at as usize].links.newer;
            if !is_clean {
                self.make_clean(Slot(at));
                cleaned += 1;
            }
            all.put_newest(at, &mut self.entries, |entry| &mut entry.links);
        }
        self.nodes[node as usize].orders = [all, Ends::NONE];
        self.dirty_count -= cleaned;
        cleaned
    }

    /// It is in a run now.
    pub(in super::super) fn clean_one_of_all(&mut self, slot: Slot) {
        self.made_sure(slot);
        self.move_to(0, slot);
        self.make_clean(slot);
        self.dirty_count -= 1;
    }

    fn make_clean(&mut self, slot: Slot) {
        debug_assert!(!self.has(slot, UNSURE), "synchronized without asking");
        self.entry_mut(slot).flags &= !(DIRTY | UIP | UPDATED);
    }
}
