//! A trace in the order of its times, in bounded memory.
//!
//! Records are sorted a chunk at a time. Where one chunk does not hold them, each becomes a run in a temporary file, and
//! the runs are merged. Records of the same time keep their order.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::sync::Arc;

use crate::TraceError;
use crate::merge::ByTime;
use crate::noted::{Note, Noted, Records};
use crate::record::{Record, Stage};
use crate::request::Op;

/// Records of a chunk: 32 MiB, and half as much again while they are sorted.
const CHUNK_RECORDS: usize = 1 << 20;

/// So many runs are merged at once; more become one first.
const RUNS_MAX: usize = 64;

const BUFFER_BYTES: usize = 64 * 1024;

const RECORD_BYTES: usize = 30;

/// A stream of records sorted by time.
pub(crate) struct Sorted {
    source: Option<Box<dyn Records>>,
    file: Arc<str>,
    chunk_records: usize,
    /// Those of the source, once it is read.
    notes: Vec<(Note, u64)>,
    runs: ByTime<Run>,
}

impl Sorted {
    pub(crate) fn new(source: Box<dyn Records>, file: Arc<str>) -> Self {
        Self::in_chunks(source, file, CHUNK_RECORDS)
    }

    fn in_chunks(source: Box<dyn Records>, file: Arc<str>, chunk_records: usize) -> Self {
        Sorted { source: Some(source), file, chunk_records, notes: Vec::new(), runs: ByTime::new(Vec::new()) }
    }

    /// Reads everything.
    fn sort(&mut self, source: &mut dyn Records, noted: &mut Noted) -> Result<(), TraceError> {
        let failed = |error| TraceError::io(&self.file, "sorting in temporary files failed", error);
        let mut runs: Vec<Run> = Vec::new();
        loop {
            let mut chunk = Vec::new();
            while chunk.len() < self.chunk_records
                && let Some(record) = source.next_record(noted)?
            {
                chunk.push(record);
            }
            let ended = chunk.len() < self.chunk_records;
            chunk.sort_by_key(|record| record.time_ns);
            if ended && runs.is_empty() {
                self.runs = ByTime::new(vec![Run::Memory(chunk.into_iter())]);
                return Ok(());
            }
            let mut chunk = chunk.into_iter();
            runs.push(written(|| Ok(chunk.next())).map_err(failed)?);
            if runs.len() == RUNS_MAX {
                let mut all = ByTime::new(std::mem::take(&mut runs));
                runs.push(written(|| all.next(Run::next)).map_err(failed)?);
            }
            if ended {
                self.runs = ByTime::new(runs);
                return Ok(());
            }
        }
    }
}

impl Records for Sorted {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.notes.clone()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        if let Some(mut source) = self.source.take() {
            self.sort(source.as_mut(), noted)?;
            self.notes = source.notes();
        }
        let next = self.runs.next(Run::next);
        next.map_err(|error| TraceError::io(&self.file, "sorting in temporary files failed", error))
    }
}

/// Records in ascending order of time.
enum Run {
    Memory(std::vec::IntoIter<Record>),
    File(BufReader<File>),
}

impl Run {
    fn next(&mut self) -> io::Result<Option<Record>> {
        match self {
            Run::Memory(records) => Ok(records.next()),
            Run::File(file) => {
                let mut bytes = [0; RECORD_BYTES];
                match file.read_exact(&mut bytes) {
                    Ok(()) => Ok(Some(unpacked(&bytes))),
                    // Whole records were written.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }
}

/// A run in a temporary file, which goes when it is dropped.
fn written(mut next: impl FnMut() -> io::Result<Option<Record>>) -> io::Result<Run> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?);
    while let Some(record) = next()? {
        file.write_all(&packed(&record))?;
    }
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(Run::File(BufReader::with_capacity(BUFFER_BYTES, file)))
}

fn packed(record: &Record) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    let [time, offset, size] = [record.time_ns, record.offset_bytes, record.size_bytes].map(u64::to_le_bytes);
    let fields = time
        .into_iter()
        .chain(offset)
        .chain(size)
        .chain(record.device.to_le_bytes())
        .chain([record.op.code(), record.handle]);
    bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
    bytes
}

fn unpacked(bytes: &[u8; RECORD_BYTES]) -> Record {
    let at = |place| u64::from_le_bytes(crate::format::binary::at(bytes, place));
    let [op, handle] = crate::format::binary::at(bytes, 28);
    Record {
        time_ns: at(0),
        offset_bytes: at(8),
        size_bytes: at(16),
        device: u32::from_le_bytes(crate::format::binary::at(bytes, 24)),
        op: Op::from_code(op).unwrap_or(Op::Flush),
        // What became of requests was looked at before they are sorted.
        stage: Stage::Whole,
        handle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Given(std::vec::IntoIter<Record>);

    impl Records for Given {
        fn next_record(&mut self, _: &mut Noted) -> Result<Option<Record>, TraceError> {
            Ok(self.0.next())
        }
    }

    proptest! {
        /// Chunks of one record and few make every number of runs, also more than are merged at once.
        #[test]
        fn sorting_in_chunks_is_a_stable_sort(times in prop::collection::vec(0u64..50, 0..300), chunk in 1usize..8) {
            let records: Vec<Record> = times
                .iter()
                .zip(0..)
                .map(|(&time_ns, n)| Record {
                    time_ns,
                    device: n,
                    op: Op::Write,
                    offset_bytes: u64::MAX - u64::from(n),
                    size_bytes: 512,
                    stage: Stage::Whole,
                    handle: n as u8,
                })
                .collect();
            let mut right = records.clone();
            right.sort_by_key(|record| record.time_ns);
            let mut sorted = Sorted::in_chunks(Box::new(Given(records.into_iter())), "t".into(), chunk);
            let mut noted = Noted::default();
            let mut came = Vec::new();
            while let Some(record) = sorted.next_record(&mut noted).unwrap() {
                came.push(record);
            }
            prop_assert_eq!(came, right);
        }
    }
}
