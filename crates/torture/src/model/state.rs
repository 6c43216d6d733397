//! A state that a power cut may leave: when, and which pending requests were lost.

use std::collections::BTreeMap;
use std::ops::Range;

/// Atoms of a request: sorted ranges that do not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atoms(Vec<Range32>);

/// A range that can be compared.
type Range32 = (u32, u32);

impl Atoms {
    /// The first ones.
    #[must_use]
    pub fn first(count: u32) -> Self {
        Self::range(0..count)
    }

    /// A range.
    #[must_use]
    pub fn range(range: Range<u32>) -> Self {
        if range.is_empty() { Self::default() } else { Self(vec![(range.start, range.end)]) }
    }

    /// Those that a condition holds for.
    pub fn of(count: u32, mut is_in: impl FnMut(u32) -> bool) -> Self {
        let mut atoms = Self::default();
        for atom in 0..count {
            if is_in(atom) {
                atoms.push(atom..atom + 1);
            }
        }
        atoms
    }

    /// Adds a range behind all others.
    pub(super) fn push(&mut self, range: Range<u32>) {
        match self.0.last_mut() {
            Some((_, end)) if *end >= range.start => *end = (*end).max(range.end),
            _ => self.0.push((range.start, range.end)),
        }
    }

    /// The ranges.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        self.0.iter().map(|(start, end)| *start..*end)
    }

    /// All others of so many.
    #[must_use]
    pub fn others(&self, count: u32) -> Self {
        let (mut others, mut from) = (Self::default(), 0);
        for range in self.ranges() {
            if range.start > from {
                others.push(from..range.start);
            }
            from = range.end;
        }
        if from < count {
            others.push(from..count);
        }
        others
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.ranges().map(|range| range.end - range.start).sum()
    }

    /// None at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Lost requests by number, each with its lost atoms; none is without any.
pub type Lost = BTreeMap<u32, Atoms>;

/// A state that a power cut may leave.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    /// The power was cut when so many events had happened.
    pub cut: u32,
    /// What was lost of the requests that were pending.
    pub lost: Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_of_the_others_are_the_same() {
        let atoms = Atoms::of(10, |atom| atom % 4 < 2);
        assert_eq!(atoms.ranges().collect::<Vec<_>>(), [0..2, 4..6, 8..10]);
        assert_eq!(atoms.others(10).ranges().collect::<Vec<_>>(), [2..4, 6..8]);
        assert_eq!(atoms.others(10).others(10), atoms);
        assert_eq!(Atoms::first(10).others(10), Atoms::default());
    }
}
