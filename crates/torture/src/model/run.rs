//! A recorded run: what the drive held before, and all that happened.

use super::content::Content;
use super::event::Event;
use super::state::State;
use std::ops::Range;

/// What is atomic on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of the drive.
    pub size: u64,
    /// Bytes that are never torn: a power of two.
    pub unit: u32,
    /// A write of at most these bytes that crosses no multiple of them is never torn. The unit, where there is none.
    pub atomic_write: u32,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The drive.
    pub shape: Shape,
    /// What it held when recording began; durable.
    pub base: Content,
    /// All that happened, in order; numbers are indices plus one.
    pub events: Vec<Event>,
    /// Events of the workload. Those after it are of the unmounting, and only help to name files.
    pub end: usize,
}

impl Run {
    /// The event with a number.
    #[must_use]
    pub fn event(&self, number: u32) -> Option<&Event> {
        self.events.get((number as usize).checked_sub(1)?)
    }

    /// Atoms of a request: parts that a power cut keeps or loses as a whole.
    #[must_use]
    pub fn atoms(&self, number: u32) -> u32 {
        let Some((offset, length)) = self.event(number).and_then(Event::range) else { return 0 };
        let largest = u64::from(self.shape.atomic_write);
        let is_whole = length > 0 && length <= largest && offset / largest == (offset + length - 1) / largest;
        match self.event(number) {
            Some(Event::Write { .. }) if is_whole => 1,
            _ => (length / u64::from(self.shape.unit)) as u32,
        }
    }

    /// Units of a range of atoms of a request.
    pub(super) fn units(&self, number: u32, atoms: &Range<u32>) -> Range<u64> {
        let Some((offset, length)) = self.event(number).and_then(Event::range) else { return 0..0 };
        let unit = u64::from(self.shape.unit);
        let (first, all) = (offset / unit, length / unit);
        if self.atoms(number) == 1 {
            return if atoms.is_empty() { first..first } else { first..first + all };
        }
        first + u64::from(atoms.start)..first + u64::from(atoms.end).min(all)
    }

    /// Whether a state has lost a part of these bytes of a request, and kept another part of them.
    #[must_use]
    pub fn tears(&self, state: &State, bytes: &Range<u64>) -> bool {
        let unit = u64::from(self.shape.unit);
        let units = bytes.start / unit..bytes.end.div_ceil(unit);
        state.lost.iter().any(|(number, lost)| {
            let all = self.units(*number, &(0..u32::MAX));
            let within = |of: Range<u64>| of.end.min(units.end).saturating_sub(of.start.max(units.start));
            let gone: u64 = lost.ranges().map(|atoms| within(self.units(*number, &atoms))).sum();
            gone > 0 && gone < within(all)
        })
    }

    /// Requests among events `from + 1` to `to`.
    pub fn requests(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        (from + 1..=to).filter(|number| self.event(*number).is_some_and(Event::is_request))
    }

    /// Texts of the marks among the first events.
    pub fn marks(&self, cut: u32) -> impl Iterator<Item = &str> {
        self.events.iter().take(cut as usize).filter_map(|event| match event {
            Event::Mark(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The first such event after an event, by number. None at or after `end`.
    #[must_use]
    pub fn next(&self, number: u32, is_it: impl Fn(&Event) -> bool) -> Option<u32> {
        (number as usize..self.end).find(|at| self.events.get(*at).is_some_and(&is_it)).map(|at| at as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atoms, Lost};

    #[test]
    fn a_tear_is_one_that_keeps_and_loses_parts_of_the_same_bytes() {
        let shape = Shape { size: 1 << 20, unit: 512, atomic_write: 512 };
        let write = |offset| Event::Write { offset, data: vec![1; 4096].into() };
        let run = Run { shape, base: Content::default(), events: vec![write(0), write(4096)], end: 2 };
        let tears = |number: u32, atoms: Range<u32>| {
            let state = State { cut: 2, lost: Lost::from([(number, Atoms::range(atoms))]) };
            run.tears(&state, &(1024..2048))
        };
        assert!(tears(1, 0..3) && tears(1, 3..4));
        assert!(!tears(1, 0..8) && !tears(1, 0..2) && !tears(1, 4..8) && !tears(1, 2..4) && !tears(2, 2..3));
        let whole = Run { shape: Shape { atomic_write: 4096, ..shape }, ..run.clone() };
        let state = State { cut: 2, lost: Lost::from([(1, Atoms::first(1))]) };
        assert!(!whole.tears(&state, &(1024..2048)) && !whole.tears(&state, &(0..0)));
    }
}
