//! Several streams of records as one, in the order of their times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::TraceError;
use crate::noted::{Note, Noted, Records};
use crate::record::Record;

/// Streams merged by time. Each keeps its own order; at the same time the stream given first comes first.
pub(crate) struct ByTime<S> {
    streams: Vec<S>,
    /// The next record of each stream that has one.
    heads: Vec<Option<Record>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// The times of their first records, once it has begun.
    begins_ns: Vec<Option<u64>>,
    begun: bool,
    /// The stream of the record that came last.
    last: usize,
}

impl<S> ByTime<S> {
    pub(crate) fn new(streams: Vec<S>) -> Self {
        let heads = vec![None; streams.len()];
        ByTime { streams, heads, order: BinaryHeap::new(), begins_ns: Vec::new(), begun: false, last: 0 }
    }

    /// The next record of all; `pull` takes the next one from a stream.
    pub(crate) fn next<E>(
        &mut self,
        mut pull: impl FnMut(&mut S) -> Result<Option<Record>, E>,
    ) -> Result<Option<Record>, E> {
        if !self.begun {
            self.begun = true;
            for index in 0..self.streams.len() {
                self.advance(index, &mut pull)?;
            }
            self.begins_ns = self.heads.iter().map(|head| head.as_ref().map(|record| record.time_ns)).collect();
        }
        match self.order.pop() {
            Some(Reverse((_, index))) => {
                self.last = index;
                self.advance(index, &mut pull)
            }
            None => Ok(None),
        }
    }

    /// Replaces a stream's head by its next record.
    fn advance<E>(
        &mut self,
        index: usize,
        pull: &mut impl FnMut(&mut S) -> Result<Option<Record>, E>,
    ) -> Result<Option<Record>, E> {
        let (Some(stream), Some(head)) = (self.streams.get_mut(index), self.heads.get_mut(index)) else {
            return Ok(None);
        };
        let next = pull(stream)?;
        if let Some(record) = &next {
            self.order.push(Reverse((record.time_ns, index)));
        }
        Ok(std::mem::replace(head, next))
    }
}

/// Several files as one trace.
pub(crate) struct Merged(ByTime<Box<dyn Records>>);

impl Merged {
    pub(crate) fn new(streams: Vec<Box<dyn Records>>) -> Self {
        Merged(ByTime::new(streams))
    }

    /// Notes when each file begins.
    #[cold]
    fn note_begins(&self, noted: &mut Noted) {
        for (of_file, begin_ns) in noted.of_files.iter_mut().zip(&self.0.begins_ns) {
            of_file.begin_ns = *begin_ns;
        }
    }
}

impl Records for Merged {
    fn notes(&self) -> Vec<(Note, u64)> {
        let mut sums = BTreeMap::new();
        for (note, count) in self.0.streams.iter().flat_map(|stream| stream.notes()) {
            *sums.entry(note).or_insert(0) += count;
        }
        sums.into_iter().collect()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        let begun = self.0.begun;
        let next = self.0.next(|stream| stream.next_record(noted));
        if !begun {
            self.note_begins(noted);
        }
        noted.file = self.0.last;
        next
    }
}
