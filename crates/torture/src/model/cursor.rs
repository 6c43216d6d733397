//! What a drive holds at a cut, unit by unit, and a number that is equal for equal content.

use super::content::CHUNK_BYTES;
use super::moments::Policy;
use super::run::Run;
use super::state::{Atoms, State};
use std::ops::Range;

/// Equal for states of equal content with the same marks passed: the XOR of hashes of all units that differ from the
/// base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    content: u128,
    marks: u32,
}

/// Goes through a run. Forward is cheap; back is from the beginning.
#[derive(Debug)]
pub struct Cursor<'r> {
    run: &'r Run,
    policy: Policy,
    /// Of each unit, the event that wrote it last, by number; 0 is the base.
    writers: Vec<u32>,
    /// Events that are applied, all of them kept.
    durable: u32,
    content: u128,
    marks: (u32, u32),
    /// Units that the state at hand changes, with their writers before.
    undo: Vec<(u32, u32)>,
    before: u128,
}

impl<'r> Cursor<'r> {
    /// At the beginning.
    #[must_use]
    pub fn new(run: &'r Run, policy: Policy) -> Self {
        let units = run.shape.size / u64::from(run.shape.unit);
        Self {
            run,
            policy,
            writers: vec![0; units as usize],
            durable: 0,
            content: 0,
            marks: (0, 0),
            undo: Vec::new(),
            before: 0,
        }
    }

    /// Makes a state, until the next one is made.
    pub fn set(&mut self, state: &State) -> Identity {
        self.leave();
        let durable = self.policy.durable(self.run, state.cut);
        if durable < self.durable {
            self.writers.fill(0);
            (self.durable, self.content) = (0, 0);
        }
        for number in self.run.requests(self.durable, durable) {
            for unit in self.run.units(number, &(0..u32::MAX)) {
                self.write(unit, number, false);
            }
        }
        self.durable = durable;
        self.before = self.content;
        for number in self.run.requests(durable, state.cut) {
            let count = self.run.atoms(number);
            let kept = state.lost.get(&number).map_or_else(|| Atoms::first(count), |lost| lost.others(count));
            for range in kept.ranges() {
                for unit in self.run.units(number, &range) {
                    self.write(unit, number, true);
                }
            }
        }
        Identity { content: self.content, marks: self.passed(state.cut) }
    }

    /// Marks passed at a cut.
    fn passed(&mut self, cut: u32) -> u32 {
        let (at, marks) = if cut < self.marks.0 { (0, 0) } else { self.marks };
        let between = self.run.events.get(at as usize..cut as usize).unwrap_or(&[]);
        let more = between.iter().filter(|event| matches!(event, super::event::Event::Mark(_))).count() as u32;
        self.marks = (cut, marks + more);
        marks + more
    }

    fn leave(&mut self) {
        while let Some((unit, writer)) = self.undo.pop() {
            if let Some(place) = self.writers.get_mut(unit as usize) {
                *place = writer;
            }
        }
        self.content = self.before;
    }

    fn write(&mut self, unit: usize, number: u32, is_of_state: bool) {
        let Some(&writer) = self.writers.get(unit) else { return };
        self.content ^= self.hash(unit, writer) ^ self.hash(unit, number);
        if is_of_state {
            self.undo.push((unit as u32, writer));
        }
        self.writers[unit] = number;
    }

    fn hash(&self, unit: usize, writer: u32) -> u128 {
        self.with_unit(unit, writer, |bytes| {
            // Of the place too: two units that are exchanged are another drive.
            xxhash_rust::xxh3::xxh3_128_with_seed(bytes, unit as u64)
        })
    }

    /// The bytes of a unit as an event wrote it.
    fn with_unit<T>(&self, unit: usize, writer: u32, then: impl FnOnce(&[u8]) -> T) -> T {
        let size = self.run.shape.unit as usize;
        let offset = (unit * size) as u64;
        let written = match writer {
            0 if size <= CHUNK_BYTES => {
                let at = (offset % CHUNK_BYTES as u64) as usize;
                self.run.base.chunk(offset).and_then(|chunk| chunk.get(at..at + size))
            }
            0 => {
                let mut bytes = vec![0; size];
                self.run.base.read(offset, &mut bytes);
                return then(&bytes);
            }
            number => self.run.event(number).and_then(|event| event.bytes(offset, size)),
        };
        match written {
            Some(bytes) => then(bytes),
            None if size <= CHUNK_BYTES => then(&[0; CHUNK_BYTES][..size]),
            None => then(&vec![0; size]),
        }
    }

    /// Gives all runs of bytes that may not be zeros, in order.
    ///
    /// # Errors
    /// The first one of `give`.
    pub fn each<E>(&self, mut give: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let size = self.run.shape.unit as usize;
        let mut unit = 0;
        while let Some(&writer) = self.writers.get(unit) {
            let same = self.writers[unit..].iter().take_while(|other| **other == writer).count();
            let (offset, length) = ((unit * size) as u64, same * size);
            match writer {
                0 => self.of_base(offset..offset + length as u64, &mut give)?,
                number => {
                    if let Some(bytes) = self.run.event(number).and_then(|event| event.bytes(offset, length)) {
                        give(offset, bytes)?;
                    }
                }
            }
            unit += same;
        }
        Ok(())
    }

    fn of_base<E>(&self, range: Range<u64>, give: &mut impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        for (offset, chunk) in self.run.base.chunks_in(range.clone()) {
            let from = range.start.saturating_sub(offset) as usize;
            let to = (range.end - offset).min(CHUNK_BYTES as u64) as usize;
            if let Some(bytes) = chunk.get(from..to) {
                give(offset + from as u64, bytes)?;
            }
        }
        Ok(())
    }
}
