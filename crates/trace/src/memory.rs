//! A trace whose requests are in memory, as columns.
//!
//! Also the choice of where a trace comes from, be it that or a file.

use std::path::PathBuf;
use std::sync::Arc;

use crate::TraceError;
use crate::bounds::SIZE_BYTES_MAX;
use crate::filter::unusable;
use crate::format::{Format, TimeUnit};
use crate::input::printable;
use crate::noted::{Noted, Records};
use crate::options::OpenOptions;
use crate::reader::TraceFile;
use crate::record::{Record, Stage};
use crate::report::FileRead;
use crate::request::Op;

/// Requests as columns of the same length; an absent column is 0 throughout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The operations, as [`Op::code`].
    pub op: Vec<u8>,
    /// First byte; of no account for a flush.
    pub offset_bytes: Vec<u64>,
    /// Length in bytes; of no account for a flush.
    pub size_bytes: Vec<u64>,
    /// Time in nanoseconds, in any epoch.
    pub time_ns: Option<Vec<u64>>,
    /// Which drive.
    pub device: Option<Vec<u32>>,
    /// Placement handles; 0 is the default, and none.
    pub handle: Option<Vec<u8>>,
}

impl Columns {
    fn record(&self, row: usize) -> Option<Record> {
        let op = Op::from_code(*self.op.get(row)?)?;
        // The range of a flush is none.
        let of = |column: &[u64]| if op == Op::Flush { Some(0) } else { column.get(row).copied() };
        Some(Record {
            time_ns: self.time_ns.as_ref().map_or(Some(0), |column| column.get(row).copied())?,
            device: self.device.as_ref().map_or(Some(0), |column| column.get(row).copied())?,
            op,
            offset_bytes: of(&self.offset_bytes)?,
            size_bytes: of(&self.size_bytes)?,
            stage: Stage::Whole,
            handle: self.handle.as_ref().map_or(Some(0), |column| column.get(row).copied())?,
        })
    }
}

/// Requests in memory that a reader would take, each of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Requests {
    name: Arc<str>,
    columns: Columns,
}

impl Requests {
    /// These requests, called `name`.
    ///
    /// # Errors
    /// Columns of different lengths, none at all, or a row that is no request: which, and why.
    pub fn new(name: &str, columns: Columns) -> Result<Self, TraceError> {
        let name = printable(name);
        let rows = columns.op.len();
        let lengths = [
            ("offset_bytes", columns.offset_bytes.len()),
            ("size_bytes", columns.size_bytes.len()),
            ("time_ns", columns.time_ns.as_ref().map_or(rows, Vec::len)),
            ("device", columns.device.as_ref().map_or(rows, Vec::len)),
            ("handle", columns.handle.as_ref().map_or(rows, Vec::len)),
        ];
        if let Some((column, length)) = lengths.iter().find(|(_, length)| *length != rows) {
            let what = format!("{length} values of {column} for {rows} of op; as many would be right");
            return Err(TraceError::file(&name, what));
        }
        if rows == 0 {
            return Err(TraceError::file(&name, "no requests, at least one would be right"));
        }
        for row in 0..rows {
            let Some(record) = columns.record(row) else {
                let code = columns.op.get(row).copied().unwrap_or_default();
                let what =
                    format!("request {row}: op {code} is none; 0 read, 1 write, 2 trim or 3 flush would be right");
                return Err(TraceError::file(&name, what));
            };
            if unusable(&record).is_some() || (record.op != Op::Trim && record.size_bytes > SIZE_BYTES_MAX) {
                let what = format!(
                    "request {row}: {} bytes at byte {}; from 1 byte to 1 GiB (a trim may be larger) that end \
                     at 2^63 at the latest would be right",
                    record.size_bytes, record.offset_bytes
                );
                return Err(TraceError::file(&name, what));
            }
        }
        Ok(Requests { name, columns })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.op.len()
    }

    /// Whether there are none, which cannot be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.op.is_empty()
    }
}

struct Rows {
    requests: Arc<Requests>,
    next: usize,
}

impl Records for Rows {
    fn next_record(&mut self, _: &mut Noted) -> Result<Option<Record>, TraceError> {
        let record = self.requests.columns.record(self.next);
        self.next += 1;
        Ok(record)
    }
}

/// Where a trace comes from. To use it several times, open it as often.
#[derive(Clone, Debug)]
pub enum TraceOrigin {
    /// Files, merged by time where they are several.
    Files {
        /// Their paths; no pipe, as they are read more than once.
        paths: Vec<PathBuf>,
        /// Format and units, where detection is overruled; and what is asked for.
        options: OpenOptions,
    },
    /// Memory.
    Memory {
        /// The requests.
        requests: Arc<Requests>,
        /// What of them is asked for; what the options say of a file is of no account.
        options: OpenOptions,
    },
}

impl TraceOrigin {
    /// Opens it anew, at its beginning. What is in memory has format `csv`, whose columns it has.
    ///
    /// # Errors
    /// As [`TraceFile::open_all`]; none where it is in memory.
    pub fn open(&self) -> Result<TraceFile, TraceError> {
        match self {
            TraceOrigin::Files { paths, options } => TraceFile::open_all(paths, options),
            TraceOrigin::Memory { requests, options } => {
                let rows = Rows { requests: Arc::clone(requests), next: 0 };
                let read = FileRead {
                    file: requests.name.to_string(),
                    format: Format::Csv,
                    format_guessed: false,
                    time_unit: TimeUnit::Ns,
                    time_unit_guessed: false,
                    assumed: None,
                    columns: None,
                };
                let name = Arc::clone(&requests.name);
                let has_handles = requests.columns.handle.is_some();
                let trace = TraceFile::of_records(name, vec![read], Box::new(rows), Noted::default(), options);
                Ok(trace.with_handles(has_handles))
            }
        }
    }

    /// The file's name, without its folders; of several, the first one's and how many more there are.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            TraceOrigin::Files { paths, .. } => {
                let name = |path: &PathBuf| {
                    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into())
                };
                let first = paths.first().map(name).unwrap_or_default();
                if paths.len() > 1 { format!("{first} and {} more", paths.len() - 1) } else { first }
            }
            TraceOrigin::Memory { requests, .. } => requests.name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    fn columns() -> Columns {
        Columns {
            op: vec![1, 0, 2, 3],
            offset_bytes: vec![4096, 4096, 0, 77],
            size_bytes: vec![8192, 512, 4096, 77],
            time_ns: Some(vec![1_000, 1_500, 1_200, 9_000]),
            device: None,
            handle: None,
        }
    }

    #[test]
    fn what_is_in_memory_reads_as_a_file_of_it_would_and_as_often_as_one_likes() {
        let requests = Arc::new(Requests::new("mine", columns()).unwrap());
        let origin = TraceOrigin::Memory { requests, options: OpenOptions::default() };
        for _ in 0..2 {
            let read: Vec<Request> = origin.open().unwrap().map(Result::unwrap).collect();
            let times: Vec<u64> = read.iter().map(|request| request.time_ns).collect();
            assert_eq!(times, [1_000, 1_500, 1_200, 9_000]);
            let ops: Vec<Op> = read.iter().map(|request| request.op).collect();
            assert_eq!(ops, [Op::Write, Op::Read, Op::Trim, Op::Flush]);
            assert_eq!((read[0].offset_bytes, read[0].size_bytes), (4096, 8192));
            assert_eq!((read[3].offset_bytes, read[3].size_bytes), (0, 0), "a flush has no range");
        }
    }

    #[test]
    fn a_row_that_is_no_request_is_named() {
        let says = |change: fn(&mut Columns)| {
            let mut columns = columns();
            change(&mut columns);
            Requests::new("mine", columns).unwrap_err().to_string()
        };
        assert!(says(|c| c.op[2] = 7).contains("request 2: op 7 is none"));
        assert!(says(|c| c.size_bytes[1] = 0).contains("request 1: 0 bytes"));
        assert!(says(|c| c.offset_bytes[0] = u64::MAX).contains("request 0"));
        assert!(says(|c| c.device = Some(vec![0; 3])).contains("3 values of device for 4 of op"));
        assert!(says(|c| *c = Columns::default()).contains("no requests"));
    }
}
