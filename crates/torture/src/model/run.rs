//! A recorded run: what the drive held before, and all that happened.

use super::content::Content;
use super::event::Event;
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
