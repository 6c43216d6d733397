//! A set of the cache: sixteen places for entries, and the order in which they were used.

use super::entry::{DIRTY, UIP, UNSURE, UPDATED};
use phelsuma_nand::state::Preserve;

/// Places of a set.
pub(super) const WAYS: usize = 16;

/// The key of a place without an entry. No logical page has this number.
const EMPTY: u32 = u32::MAX;

const FLAGS: u8 = DIRTY | UIP | UPDATED | UNSURE;
/// An age counts the places that were used since: it stands above the flags.
const AGE_SHIFT: u32 = FLAGS.trailing_ones();
const YEAR: u8 = 1 << AGE_SHIFT;

/// Sixteen places. Each has an age of its own: 0 is that of the one used last.
#[derive(Clone, Preserve)]
#[repr(align(16))]
pub(super) struct Set {
    keys: [u32; WAYS],
    values: [u32; WAYS],
    /// By place, while its entry is dirty: the next in a list of dirty entries.
    next: [u16; WAYS],
    /// Flags, and ages.
    states: [u8; WAYS],
}

/// The first place of which this holds.
#[inline]
fn first(holds: impl Fn(usize) -> bool) -> Option<usize> {
    // All are looked at, side by side.
    let found = (0..WAYS).fold(0u32, |found, way| found | u32::from(holds(way)) << way);
    (found != 0).then(|| found.trailing_zeros() as usize)
}

impl Set {
    /// Without an entry.
    pub(super) fn new() -> Self {
        let mut states = [0; WAYS];
        (0..).zip(&mut states).for_each(|(age, state): (u8, _)| *state = age * YEAR);
        Self { keys: [EMPTY; WAYS], values: [0; WAYS], next: [0; WAYS], states }
    }

    /// Where the entry of `key` is.
    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<usize> {
        debug_assert_ne!(key, EMPTY, "an entry is looked for that there cannot be");
        first(|way| self.keys[way] == key)
    }

    /// A place without an entry, of the first so many.
    pub(super) fn vacant(&self, ways: usize) -> Option<usize> {
        first(|way| self.keys[way] == EMPTY).filter(|way| *way < ways)
    }

    /// Whether there is no entry at a place.
    #[inline]
    pub(super) fn is_vacant(&self, way: usize) -> bool {
        self.keys[way] == EMPTY
    }

    #[inline]
    pub(super) fn key(&self, way: usize) -> u32 {
        self.keys[way]
    }

    #[inline]
    pub(super) fn value(&self, way: usize) -> u32 {
        self.values[way]
    }

    #[inline]
    pub(super) fn set_value(&mut self, way: usize, value: u32) {
        self.values[way] = value;
    }

    #[inline]
    pub(super) fn next(&self, way: usize) -> u16 {
        self.next[way]
    }

    #[inline]
    pub(super) fn set_next(&mut self, way: usize, next: u16) {
        self.next[way] = next;
    }

    /// A clean entry is here now. The age of the place stays.
    #[inline]
    pub(super) fn enter(&mut self, way: usize, key: u32, value: u32) {
        self.keys[way] = key;
        self.values[way] = value;
        self.states[way] &= !FLAGS;
    }

    /// No entry is here any more.
    pub(super) fn leave(&mut self, way: usize) {
        self.enter(way, EMPTY, 0);
    }

    /// Whether one of these flags is set.
    #[inline]
    pub(super) fn has(&self, way: usize, flags: u8) -> bool {
        self.states[way] & flags != 0
    }

    #[inline]
    pub(super) fn set(&mut self, way: usize, flags: u8) {
        self.states[way] |= flags;
    }

    #[inline]
    pub(super) fn clear(&mut self, way: usize, flags: u8) {
        self.states[way] &= !flags;
    }

    /// The entry here was used.
    #[inline]
    pub(super) fn touch(&mut self, way: usize) {
        let age = self.states[way] & !FLAGS;
        for state in &mut self.states {
            *state += if *state < age { YEAR } else { 0 };
        }
        self.states[way] &= FLAGS;
    }

    /// Of the first `ways` places, this is the one that was used longest ago.
    #[inline]
    pub(super) fn make_oldest(&mut self, way: usize, ways: usize) {
        let (age, oldest) = (self.states[way] & !FLAGS, (ways as u8 - 1) * YEAR);
        for state in &mut self.states {
            let of_this = *state & !FLAGS;
            *state -= if of_this > age && of_this <= oldest { YEAR } else { 0 };
        }
        self.states[way] = self.states[way] & FLAGS | oldest;
    }

    /// How many of the places were used since this one.
    #[inline]
    pub(super) fn age(&self, way: usize) -> u8 {
        self.states[way] >> AGE_SHIFT
    }

    /// Of the first `ways` places, the half that was used longest ago.
    #[inline]
    pub(super) fn older_half(&self, ways: usize) -> impl Iterator<Item = usize> {
        (0..ways).filter(move |way| usize::from(self.age(*way)) >= ways / 2)
    }

    /// Of the first `ways` places, the one that was used longest ago.
    #[inline]
    pub(super) fn oldest(&self, ways: usize) -> usize {
        let oldest = (ways as u8 - 1) * YEAR;
        let found = first(|way| self.states[way] & !FLAGS == oldest);
        debug_assert!(found.is_some_and(|way| way < ways), "no place of a set is the oldest");
        found.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_age(set: &Set, ways: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..ways).collect();
        order.sort_by_key(|way| set.age(*way));
        assert_eq!(order.iter().map(|way| set.age(*way)).collect::<Vec<_>>(), (0..ways as u8).collect::<Vec<_>>());
        order
    }

    #[test]
    fn the_order_of_use_is_exact_whatever_the_flags() {
        for ways in [1, 3, 15, WAYS] {
            let mut set = Set::new();
            let mut order: Vec<usize> = (0..ways).collect();
            let mut draw = 12_345u32;
            for _ in 0..500 {
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let way = (draw >> 20) as usize % ways;
                order.retain(|other| *other != way);
                if draw >> 31 == 0 {
                    set.touch(way);
                    order.insert(0, way);
                } else {
                    set.make_oldest(way, ways);
                    order.push(way);
                }
                set.set(way, (draw >> 8) as u8 & FLAGS);
                assert_eq!(by_age(&set, ways), order);
                assert_eq!(Some(&set.oldest(ways)), order.last());
                assert!(set.older_half(ways).all(|way| order[ways / 2..].contains(&way)));
            }
        }
    }
}
