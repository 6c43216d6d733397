//! The cache of mapping entries, with a dirty and a UIP flag each (GeckoFTL section 4).
//!
//! What goes where there is no room is a matter of its order: of entries alone ([`sets`]), or of translation pages and
//! their entries ([`two_level`]). The slot of an entry stays the same as long as it is cached.

mod entry;
mod lists;
mod set;
mod sets;
mod two_level;

use crate::RamLedger;
use crate::cache_part::Evict;
use alloc::vec::Vec;
use entry::{DIRTY, UIP, UNSURE};
pub(super) use entry::{Slot, scattered};
use phelsuma_nand::state::Preserve;
use sets::SetCache;
use two_level::TwoLevelCache;

/// An entry that needs room.
pub(super) struct Coming {
    key: u32,
    /// The translation page that was synchronized for it.
    cleaned: Option<u32>,
    /// Its place, once that is known and nothing has to leave it.
    place: Option<Slot>,
}

impl Coming {
    #[inline]
    pub(super) fn of(key: u32) -> Self {
        Self { key, cleaned: None, place: None }
    }
}

/// Mapping entries in RAM.
#[derive(Clone, Preserve)]
pub(super) struct MappingCache {
    order: Order,
    /// Where the dirty entries are, if they become clean together.
    together: Option<Vec<Slot>>,
}

/// The entries, in the order in which they go.
#[derive(Clone, Preserve)]
enum Order {
    Entries(SetCache),
    TwoLevel(TwoLevelCache),
}

/// Entries of either order.
enum OfEither<E, T> {
    Entries(E),
    TwoLevel(T),
}

impl<E: Iterator<Item = Slot>, T: Iterator<Item = Slot>> Iterator for OfEither<E, T> {
    type Item = Slot;

    #[inline]
    fn next(&mut self) -> Option<Slot> {
        match self {
            Self::Entries(entries) => entries.next(),
            Self::TwoLevel(entries) => entries.next(),
        }
    }
}

/// Calls the one that it is.
macro_rules! each {
    ($order:expr, $own:ident => $ask:expr) => {
        match $order {
            Order::Entries($own) => $ask,
            Order::TwoLevel($own) => $ask,
        }
    };
}

impl MappingCache {
    /// Of `capacity` entries, and of `spare` more that a recovery may find.
    pub(super) fn new(capacity: u32, spare: u32, translation_pages: u32, entries_per_page: u32, evict: Evict) -> Self {
        let order = match evict {
            Evict::TwoLevel => {
                Order::TwoLevel(TwoLevelCache::new(capacity, spare, translation_pages, entries_per_page))
            }
            _ => Order::Entries(SetCache::new(capacity, spare, translation_pages, entries_per_page, evict)),
        };
        Self { order, together: None }
    }

    /// How many entries a cache can hold whose RAM is `asked` times eight bytes.
    pub(super) fn entries_in(asked: u32, evict: Evict) -> u32 {
        match evict {
            Evict::TwoLevel => two_level::entries_in(asked),
            Evict::Lru | Evict::CleanFirst | Evict::Fullest => asked,
        }
    }

    /// How many entries it can hold.
    pub(super) fn capacity(&self) -> u32 {
        each!(&self.order, own => own.capacity())
    }

    /// How many it holds, or can hold where that is a number of its own.
    pub(super) fn entries(&self) -> u32 {
        match &self.order {
            Order::Entries(sets) => sets.capacity(),
            Order::TwoLevel(nodes) => nodes.len(),
        }
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        each!(&self.order, own => own.slots())
    }

    /// How many of its entries are not in translation pages.
    #[inline]
    pub(super) fn dirty_count(&self) -> u32 {
        each!(&self.order, own => own.dirty_count())
    }

    /// Whether not even a recovery can enter another.
    pub(super) fn has_no_room(&self) -> bool {
        each!(&self.order, own => own.has_no_room())
    }

    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<Slot> {
        each!(&self.order, own => own.find(key))
    }

    /// The same, of an entry that may still be at a slot.
    #[inline]
    pub(super) fn find_from(&self, slot: Slot, key: u32) -> Option<Slot> {
        match &self.order {
            Order::Entries(sets) if sets.is_at(slot, key) => Some(slot),
            _ => self.find(key),
        }
    }

    #[inline]
    pub(super) fn key(&self, slot: Slot) -> u32 {
        each!(&self.order, own => own.key(slot))
    }

    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u32 {
        each!(&self.order, own => own.value(slot))
    }

    /// Whether a before-image of the page is not yet identified: the one that its translation page names.
    #[inline]
    pub(super) fn is_uip(&self, slot: Slot) -> bool {
        each!(&self.order, own => own.has(slot, UIP))
    }

    #[inline]
    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        each!(&self.order, own => own.has(slot, DIRTY))
    }

    /// Whether a recovery found it, and its translation page was not read since.
    #[inline]
    pub(super) fn is_unsure(&self, slot: Slot) -> bool {
        each!(&self.order, own => own.has(slot, UNSURE))
    }

    /// Whether there is any such entry.
    #[inline]
    pub(super) fn has_unsure(&self) -> bool {
        each!(&self.order, own => own.has_unsure())
    }

    /// What its translation page names was looked at: there is nothing left to identify.
    pub(super) fn made_sure(&mut self, slot: Slot) {
        each!(&mut self.order, own => own.made_sure(slot));
    }

    #[inline]
    pub(super) fn set_uip(&mut self, slot: Slot, uip: bool) {
        each!(&mut self.order, own => own.set_uip(slot, uip));
    }

    /// The hand of the checkpoints comes by: whether the entry there is dirty and was not updated since last time.
    #[inline]
    pub(super) fn visited(&mut self, slot: Slot) -> bool {
        each!(&mut self.order, own => own.visited(slot))
    }

    /// The place after this one, where there can be an entry while the drive serves: after the last one the first.
    #[inline]
    pub(super) fn after(&self, slot: Slot) -> Slot {
        each!(&self.order, own => own.after(slot))
    }

    /// Every entry.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        match &self.order {
            Order::Entries(sets) => OfEither::Entries(sets.iter()),
            Order::TwoLevel(nodes) => OfEither::TwoLevel(nodes.iter()),
        }
    }

    /// The entry that must leave for another, which is not cached: None where there is room. If it is dirty, its
    /// translation page must be synchronized first. This is to be asked again once it has left. By one synchronization
    /// there is room, but for what a recovery has left.
    #[inline]
    pub(super) fn must_go(&self, coming: &mut Coming) -> Option<Slot> {
        match &self.order {
            Order::Entries(sets) => {
                let place = sets.place_for(coming.key);
                let is_taken = sets.has(place, DIRTY);
                coming.place = (!is_taken).then_some(place);
                is_taken.then_some(place)
            }
            Order::TwoLevel(nodes) => {
                let going = nodes.must_go(coming.key, coming.cleaned)?;
                if nodes.has(going, DIRTY) {
                    let is_enough = coming.cleaned.is_some() && nodes.has_place();
                    coming.cleaned = Some(nodes.translation_page_of(going));
                    return (!is_enough).then_some(going);
                }
                Some(going)
            }
        }
    }

    /// The entry, which is clean, is not cached any more. False where it stays until another takes its place.
    #[inline]
    pub(super) fn leave(&mut self, slot: Slot) -> bool {
        match &mut self.order {
            Order::Entries(_) => false,
            Order::TwoLevel(nodes) => {
                nodes.leave(slot);
                true
            }
        }
    }

    /// The entry has been used.
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        each!(&mut self.order, own => own.touch(slot));
    }

    /// A new entry, clean, just used. There is room.
    #[inline]
    pub(super) fn insert(&mut self, key: u32, value: u32) -> Slot {
        each!(&mut self.order, own => own.insert(key, value))
    }

    /// A new entry, clean, just used, for which there is room.
    #[inline]
    pub(super) fn insert_coming(&mut self, coming: &Coming, value: u32) -> Slot {
        match (&mut self.order, coming.place) {
            (Order::Entries(sets), Some(place)) => sets.insert_at(place, coming.key, value),
            _ => self.insert(coming.key, value),
        }
    }

    /// A new entry, clean, that nobody has asked for so far. There is room. An order of entries alone has none for it: in
    /// its set the entry that was missed might have to go.
    pub(super) fn insert_prefetched(&mut self, key: u32, value: u32) {
        if let Order::TwoLevel(nodes) = &mut self.order {
            nodes.insert_prefetched(key, value);
        }
    }

    /// How many of the entries right before `key` are cached, where accesses were sequential of late (TPFTL's selective
    /// prefetching).
    pub(super) fn run_before(&self, key: u32) -> u32 {
        match &self.order {
            Order::Entries(_) => 0,
            Order::TwoLevel(nodes) => nodes.run_before(key),
        }
    }

    /// A recovery has found an entry, which is dirty. Those used last come first. There must be room.
    pub(super) fn insert_found(&mut self, key: u32, value: u32) {
        let slot = each!(&mut self.order, own => own.insert_found(key, value));
        self.note_dirty(slot);
    }

    /// The surplus entry that must go next: after a recovery.
    pub(super) fn last_surplus(&self) -> Option<Slot> {
        each!(&self.order, own => own.last_surplus())
    }

    /// Takes out that entry, which must be clean.
    pub(super) fn remove_surplus(&mut self) {
        each!(&mut self.order, own => own.remove_surplus());
    }

    /// The translation page's entry is out of date from now on.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: Slot, value: u32) {
        if self.together.is_some() && !self.is_dirty(slot) {
            self.note_dirty(slot);
        }
        each!(&mut self.order, own => own.set_dirty(slot, value));
    }

    #[inline]
    fn note_dirty(&mut self, slot: Slot) {
        if let Some(together) = &mut self.together {
            together.push(slot);
        }
    }

    /// The dirty entries of a translation page.
    #[inline]
    pub(super) fn dirty_of(&self, translation_page: u32) -> impl Iterator<Item = Slot> + '_ {
        match &self.order {
            Order::Entries(sets) => OfEither::Entries(sets.dirty_of(translation_page)),
            Order::TwoLevel(nodes) => OfEither::TwoLevel(nodes.dirty_of(translation_page)),
        }
    }

    /// Key and value of the dirty entries of a translation page, and whether a before-image is not yet identified.
    #[inline]
    pub(super) fn each_dirty_of(&self, translation_page: u32, mut each: impl FnMut(u32, u32, bool)) {
        // The order is matched once, and not for each entry. One call can be inlined.
        match &self.order {
            Order::Entries(own) => {
                for slot in own.dirty_of(translation_page) {
                    each(own.key(slot), own.value(slot), own.has(slot, UIP));
                }
            }
            Order::TwoLevel(own) => {
                let each: &mut dyn FnMut(u32, u32, bool) = &mut each;
                own.dirty_of(translation_page)
                    .for_each(|slot| each(own.key(slot), own.value(slot), own.has(slot, UIP)));
            }
        }
    }

    /// Whether a translation page has dirty entries.
    #[inline]
    pub(super) fn has_dirty(&self, translation_page: u32) -> bool {
        self.dirty_of(translation_page).next().is_some()
    }

    /// All of its entries are in a translation page now. How many were not.
    #[inline]
    pub(super) fn clean(&mut self, translation_page: u32) -> u32 {
        each!(&mut self.order, own => own.clean(translation_page))
    }

    /// All dirty entries will become clean together, mostly when there are so many. To be said while there is none.
    pub(super) fn clean_together(&mut self, entries: u32) {
        debug_assert_eq!(self.dirty_count(), 0, "entries are dirty already");
        self.together = Some(Vec::with_capacity(entries as usize));
    }

    /// The dirty entries by key, where they become clean together.
    pub(super) fn sorted_dirty(&mut self) -> &[Slot] {
        let Some(mut together) = self.together.take() else { return &[] };
        debug_assert_eq!(together.len(), self.dirty_count() as usize, "some became clean without others");
        together.sort_unstable_by_key(|slot| self.key(*slot));
        self.together.insert(together)
    }

    /// The same as [`sorted_dirty`](Self::sorted_dirty) has left them.
    pub(super) fn dirty(&self) -> &[Slot] {
        self.together.as_deref().unwrap_or_default()
    }

    /// All of them are in a run now.
    pub(super) fn clean_all(&mut self) {
        let Some(mut together) = self.together.take() else { return };
        each!(&mut self.order, own => together.drain(..).for_each(|slot| own.clean_one_of_all(slot)));
        self.together = Some(together);
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        each!(&self.order, own => own.ram(ledger));
        if let Some(together) = &self.together {
            ledger.index("index.dirty_together", (together.capacity() * size_of::<Slot>()) as u64);
        }
    }
}

#[cfg(test)]
impl MappingCache {
    fn is_sound(&self) -> bool {
        match &self.order {
            Order::Entries(_) => true,
            Order::TwoLevel(nodes) => nodes.is_sound(),
        }
    }
}

#[cfg(test)]
mod tests;
