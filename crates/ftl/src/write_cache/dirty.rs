//! The pages that are newer in a write cache than below: by number, and in the order in which they came.

use crate::ftl::Hint;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use hashbrown::HashTable;
use phelsuma_nand::Content;
use phelsuma_nand::state::{Load, Preserve, Result as StateResult, StateIn, StateOut};

/// The content of a page in the cache.
#[derive(Clone, Debug, Preserve)]
pub(super) enum Held {
    /// [`Content::Hollow`] with this tag.
    Hollow(u64),
    /// These bytes.
    Bytes(Box<[u8]>),
    /// It was discarded.
    Nothing,
}

impl Held {
    pub(super) fn of(content: Content<'_>) -> Self {
        match content {
            Content::Hollow(tag) => Self::Hollow(tag),
            Content::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }

    /// By how much the tag grows where `next` is the content of the next page: one request may have both pages then, if
    /// it is 0 or 1, and the same for all of its pages.
    pub(super) fn step_to(&self, next: &Self) -> Option<u64> {
        match (self, next) {
            (Self::Hollow(tag), Self::Hollow(next)) => Some(next.wrapping_sub(*tag)).filter(|step| *step < 2),
            (Self::Bytes(_), Self::Bytes(_)) | (Self::Nothing, Self::Nothing) => Some(0),
            _ => None,
        }
    }
}

/// A page that is newer in the cache than below.
#[derive(Clone, Debug, Preserve)]
pub(super) struct Dirty {
    pub(super) page: u32,
    pub(super) content: Held,
    pub(super) hint: Hint,
}

/// Where a page stands in the order.
#[derive(Clone, Copy)]
struct Place {
    page: u32,
    /// Its turn, modulo 2^32: there are never as many turns at a time.
    turn: u32,
}

/// All of them.
#[derive(Clone)]
pub(super) struct DirtyPages {
    /// In the order in which they came; those that left are gaps.
    order: VecDeque<Option<Dirty>>,
    /// The turn of the first in `order`.
    first: u32,
    places: HashTable<Place>,
}

#[inline]
fn hash(page: u32) -> u64 {
    u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl DirtyPages {
    /// None of them, with room for so many.
    pub(super) fn with_room(pages: u32) -> Self {
        // A larger cache grows as it fills: it may never.
        let room = (pages as usize).min(1 << 16);
        Self { order: VecDeque::with_capacity(room), first: 0, places: HashTable::with_capacity(room) }
    }

    /// How many.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of RAM that the order and the places take for so many pages, besides what the pages hold. Both grow by doubling.
    pub(super) fn index_bytes(pages: u64) -> u64 {
        // An order that is half gaps is closed up; a table is at most seven eighths full, and has a byte for each place.
        let order = (2 * pages + 17).next_power_of_two() * size_of::<Option<Dirty>>() as u64;
        let places = (pages * 8 / 7 + 1).next_power_of_two() * (size_of::<Place>() as u64 + 1);
        order + places
    }

    #[inline]
    fn place(&self, page: u32) -> Option<usize> {
        let place = self.places.find(hash(page), |place| place.page == page)?;
        Some(place.turn.wrapping_sub(self.first) as usize)
    }

    /// The page, if it is here.
    #[inline]
    pub(super) fn get(&self, page: u32) -> Option<&Dirty> {
        self.order[self.place(page)?].as_ref()
    }

    /// The page, if it is here.
    #[inline]
    pub(super) fn get_mut(&mut self, page: u32) -> Option<&mut Dirty> {
        let place = self.place(page)?;
        self.order[place].as_mut()
    }

    /// How many pages stand before this one, if it is here; gaps are counted.
    pub(super) fn before(&self, page: u32) -> Option<usize> {
        self.place(page)
    }

    /// A page that is not here, as the last.
    pub(super) fn push(&mut self, dirty: Dirty) {
        let (page, turn) = (dirty.page, self.first.wrapping_add(self.order.len() as u32));
        debug_assert!(self.place(page).is_none(), "page {page} is there already");
        self.places.insert_unique(hash(page), Place { page, turn }, |place| hash(place.page));
        self.order.push_back(Some(dirty));
    }

    /// The first of them.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        // A gap never stands first.
        self.order.front()?.as_ref().map(|dirty| dirty.page)
    }

    /// One of them, by a number drawn by lot.
    pub(super) fn drawn(&self, drawn: u64) -> Option<u32> {
        let from = (drawn % self.order.len().max(1) as u64) as usize;
        let (before, after) = self.order.as_slices();
        let all = || before.iter().chain(after);
        // Of pages behind a gap the next is taken. Fewer than half are gaps.
        all().skip(from).chain(all()).flatten().next().map(|dirty| dirty.page)
    }

    /// Takes a page out.
    pub(super) fn take(&mut self, page: u32) -> Option<Dirty> {
        let entry = self.places.find_entry(hash(page), |place| place.page == page).ok()?;
        let (Place { turn, .. }, _) = entry.remove();
        let taken = self.order[turn.wrapping_sub(self.first) as usize].take();
        while let Some(None) = self.order.front() {
            self.order.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        if self.order.len() > 2 * self.places.len() + 16 {
            self.close_up();
        }
        taken
    }

    /// Takes the gaps out of the order.
    fn close_up(&mut self) {
        self.order.retain(Option::is_some);
        self.find_places();
    }

    fn find_places(&mut self) {
        self.places.clear();
        let first = self.first;
        for (turn, dirty) in (0u32..).zip(&self.order) {
            let Some(dirty) = dirty else { continue };
            let place = Place { page: dirty.page, turn: first.wrapping_add(turn) };
            self.places.insert_unique(hash(place.page), place, |place| hash(place.page));
        }
    }

    /// All of them, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Dirty> {
        self.order.iter().flatten()
    }
}

/// The gaps too: what is drawn by lot falls on them.
impl Preserve for DirtyPages {
    fn put_state(&self, to: &mut dyn StateOut) -> StateResult<()> {
        self.order.put_state(to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> StateResult<()> {
        self.order = VecDeque::load(from)?;
        self.find_places();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn dirty(page: u32) -> Dirty {
        Dirty { page, content: Held::Hollow(page.into()), hint: Hint::None }
    }

    #[test]
    fn pages_are_found_and_keep_their_order_whatever_is_taken_out() {
        let mut pages = DirtyPages::with_room(4);
        let (mut expected, mut drawn): (Vec<u32>, u32) = (Vec::new(), 1);
        for round in 0..20_000u32 {
            drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let page = drawn >> 24;
            match expected.iter().position(|known| *known == page) {
                Some(place) if round % 3 != 0 => {
                    assert_eq!(pages.take(page).map(|dirty| dirty.page), Some(page));
                    expected.remove(place);
                }
                Some(_) => assert_eq!(pages.get(page).map(|dirty| dirty.page), Some(page)),
                None => {
                    assert!(pages.take(page).is_none());
                    pages.push(dirty(page));
                    expected.push(page);
                }
            }
            assert_eq!(pages.first(), expected.first().copied());
            assert_eq!(pages.len(), expected.len());
            assert!(pages.drawn(u64::from(drawn)).is_none_or(|page| expected.contains(&page)));
        }
        assert!(pages.iter().map(|dirty| dirty.page).eq(expected), "the order is another");
        assert!(pages.order.len() <= 2 * pages.len() + 16, "there are too many gaps");
    }
}
