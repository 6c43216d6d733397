//! What a drive holds at a cut, unit by unit, and a number that is equal for equal content.

use super::content::CHUNK_BYTES;
use super::moments::Policy;
use super::ranges::Ranges;
use super::run::Run;
use super::state::{Atoms, State};
use std::convert::Infallible;
use std::ops::Range;

/// Equal for states of equal content with the same marks passed: the XOR of the hashes of all units.
///
/// Units of zeros count as nothing, so that a trim of a whole drive costs no more than what was written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    content: u128,
    marks: u32,
}

/// Goes through a run. Forward is cheap; back is from the beginning.
///
/// Its time and memory are in proportion to what was written, not to the size of the drive.
#[derive(Debug)]
pub struct Cursor<'r> {
    run: &'r Run,
    policy: Policy,
    /// Events that are applied, all of them kept, and who wrote what.
    durable: u32,
    durable_writers: Ranges,
    durable_content: u128,
    /// What the state at hand keeps of the pending requests, over what is durable.
    kept: Ranges,
    /// Differs from that of the base by this.
    content: u128,
    marks: (u32, u32),
}

impl<'r> Cursor<'r> {
    /// At the beginning.
    #[must_use]
    pub fn new(run: &'r Run, policy: Policy) -> Self {
        Self {
            run,
            policy,
            durable: 0,
            durable_writers: Ranges::default(),
            durable_content: 0,
            kept: Ranges::default(),
            content: 0,
            marks: (0, 0),
        }
    }

    /// Makes a state, until the next one is made.
    pub fn set(&mut self, state: &State) -> Identity {
        self.kept.clear();
        self.content = self.durable_content;
        let durable = self.policy.durable(self.run, state.cut);
        if durable < self.durable {
            self.durable_writers.clear();
            (self.durable, self.content) = (0, 0);
        }
        for number in self.run.requests(self.durable, durable) {
            let units = self.run.units(number, &(0..u32::MAX));
            self.content ^= self.change(&units, number);
            self.durable_writers.put(units, number);
        }
        (self.durable, self.durable_content) = (durable, self.content);
        for number in self.run.requests(durable, state.cut) {
            let count = self.run.atoms(number);
            let kept = state.lost.get(&number).map_or_else(|| Atoms::first(count), |lost| lost.others(count));
            for range in kept.ranges() {
                let units = self.run.units(number, &range);
                self.content ^= self.change(&units, number);
                self.kept.put(units, number);
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

    /// By how much the content changes when an event writes a range.
    fn change(&self, units: &Range<u64>, number: u32) -> u128 {
        let mut change = self.hash(units.clone(), number);
        let no_error: Result<(), Infallible> = self.writers(units.clone(), |range, writer| {
            change ^= self.hash(range, writer);
            Ok(())
        });
        let Ok(()) = no_error;
        change
    }

    /// Gives the parts of a range, in order, each with the event that wrote it last; 0 is the base.
    fn writers<E>(&self, range: Range<u64>, mut give: impl FnMut(Range<u64>, u32) -> Result<(), E>) -> Result<(), E> {
        let mut at = range.start;
        for (kept, writer) in self.kept.within(range.clone()) {
            self.durable_writers(at..kept.start, &mut give)?;
            at = kept.end;
            give(kept, writer)?;
        }
        self.durable_writers(at..range.end, &mut give)
    }

    fn durable_writers<E>(
        &self,
        range: Range<u64>,
        give: &mut impl FnMut(Range<u64>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = range.start;
        for (written, writer) in self.durable_writers.within(range.clone()) {
            if at < written.start {
                give(at..written.start, 0)?;
            }
            at = written.end;
            give(written, writer)?;
        }
        if at < range.end { give(at..range.end, 0) } else { Ok(()) }
    }

    /// Of the units of a range as an event wrote them.
    fn hash(&self, units: Range<u64>, writer: u32) -> u128 {
        let size = u64::from(self.run.shape.unit);
        let bytes = units.start * size..units.end * size;
        if writer != 0 {
            let data = self.run.event(writer).and_then(|event| event.bytes(bytes.start, len(&bytes)));
            return self.hash_of_bytes(units.start, data.unwrap_or(&[]));
        }
        let mut hash = 0;
        let mut done = units.start;
        let mut buffer = Vec::new();
        for (offset, chunk) in self.run.base.chunks_in(bytes.clone()) {
            if size <= CHUNK_BYTES as u64 {
                let from = offset.max(bytes.start);
                let to = (offset + CHUNK_BYTES as u64).min(bytes.end);
                let part = chunk.get((from - offset) as usize..(to - offset) as usize);
                hash ^= self.hash_of_bytes(from / size, part.unwrap_or(&[]));
            } else if offset / size >= done {
                // A unit of several chunks.
                buffer.resize(size as usize, 0);
                self.run.base.read(offset / size * size, &mut buffer);
                hash ^= self.hash_of_bytes(offset / size, &buffer);
                done = offset / size + 1;
            }
        }
        hash
    }

    /// Of whole units, the first of which is given.
    fn hash_of_bytes(&self, first: u64, bytes: &[u8]) -> u128 {
        let units = (first..).zip(bytes.chunks_exact(self.run.shape.unit as usize));
        // Of the place too: two units that are exchanged are another drive.
        let hash = |(unit, bytes)| xxhash_rust::xxh3::xxh3_128_with_seed(bytes, unit);
        units.filter(|(_, bytes)| !is_zeros(bytes)).map(hash).fold(0, |all, hash| all ^ hash)
    }

    /// Gives all runs of bytes that may not be zeros, in order.
    ///
    /// # Errors
    /// The first one of `give`.
    pub fn each<E>(&self, mut give: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let size = u64::from(self.run.shape.unit);
        self.writers(0..self.run.shape.size / size, |units, writer| {
            let bytes = units.start * size..units.end * size;
            if writer == 0 {
                return self.of_base(bytes, &mut give);
            }
            match self.run.event(writer).and_then(|event| event.bytes(bytes.start, len(&bytes))) {
                Some(data) => give(bytes.start, data),
                None => Ok(()),
            }
        })
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

/// Bytes of a range of a write, which are in memory.
fn len(bytes: &Range<u64>) -> usize {
    (bytes.end - bytes.start) as usize
}

fn is_zeros(bytes: &[u8]) -> bool {
    const ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
    bytes.chunks(CHUNK_BYTES).all(|part| ZEROS.get(..part.len()) == Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Content, Event, Lost, Shape};
    use std::collections::HashSet;
    use std::time::{Duration, Instant};

    fn run(size: u64, unit: u32, base: Content, events: Vec<Event>) -> Run {
        Run { shape: Shape { size, unit, atomic_write: unit }, base, end: events.len(), events }
    }

    fn kept(cut: u32) -> State {
        State { cut, lost: Lost::new() }
    }

    #[test]
    fn a_state_of_a_large_drive_costs_what_was_written_and_not_what_was_trimmed() {
        let size = 1 << 40;
        let write = |number: u64| Event::Write { offset: (number * 77_777) << 19, data: vec![1; 4096].into() };
        let mut events: Vec<Event> = (0..8).map(write).collect();
        events.push(Event::Trim { offset: 0, length: size });
        events.extend((8..16).map(write));
        let run = run(size, 512, Content::default(), events);
        let mut cursor = Cursor::new(&run, Policy::Subset);
        let (began, mut identities) = (Instant::now(), HashSet::new());
        for lost in 0..1000u32 {
            let is_lost = |number: &u32| *number != 9 && lost >> (number % 10) & 1 == 1;
            let lost = (1..=17).filter(is_lost).map(|number| (number, Atoms::first(run.atoms(number)))).collect();
            identities.insert(cursor.set(&State { cut: 17, lost }));
            let mut bytes = 0;
            let Ok(()) = cursor.each(|_, data| -> Result<(), Infallible> {
                bytes += data.len();
                Ok(())
            });
            assert!(bytes <= 8 * 4096);
        }
        // What was trimmed is equal, whether it was written or not.
        assert_eq!(identities.len(), 256);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn what_changes_nothing_leaves_an_equal_state_in_units_of_any_size() {
        for unit in [512u32, 4096, 16384] {
            let mut base = Content::default();
            base.write(16384 + 512, &[7; 20_000]);
            base.write(100, &[0; 700]);
            let mut same = vec![0; 65536];
            base.read(0, &mut same);
            let events = vec![
                Event::Write { offset: 0, data: same.clone().into() },
                Event::Trim { offset: 65536, length: 65536 },
                Event::Write { offset: 65536, data: vec![0; 65536].into() },
                Event::Trim { offset: 0, length: 65536 },
                Event::Write { offset: 0, data: same.into() },
                Event::Trim { offset: 16384, length: 16384 },
            ];
            let run = run(1 << 20, unit, base, events);
            let mut cursor = Cursor::new(&run, Policy::Subset);
            let mut at = |cut| cursor.set(&kept(cut));
            let begin = at(0);
            assert_eq!([at(1), at(2), at(3), at(5)], [begin; 4], "{unit}");
            assert_ne!(at(4), begin);
            assert!(at(6) != begin && at(6) != at(4));
        }
    }
}
