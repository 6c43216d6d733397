//! The three shapes of a request: as recorded (bytes), as it goes to a drive (pages), and a source of the latter.

use serde::Serialize;

use crate::TraceError;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
    /// The range's content is no longer needed.
    Trim,
    /// Make everything acknowledged durable; has no range.
    Flush,
}

impl Op {
    /// The word used in our own CSV: `read`, `write`, `trim`, `flush`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        }
    }

    /// The number that stands for it in a column: 0 read, 1 write, 2 trim, 3 flush.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Flush => 3,
        }
    }

    /// The meaning of a number in a column.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        [Op::Read, Op::Write, Op::Trim, Op::Flush].into_iter().find(|op| op.code() == code)
    }
}

/// A request as a trace recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Nanoseconds of the file's own epoch. Jumps of the recorded clock are kept as given, so time may go backwards.
    pub time_ns: u64,
    /// Which drive. Addresses of different devices have nothing to do with each other.
    pub device: u32,
    /// The operation.
    pub op: Op,
    /// First byte. 0 for a flush.
    pub offset_bytes: u64,
    /// Length in bytes; never 0 except for a flush, where it always is.
    pub size_bytes: u64,
    /// The host's placement handle: an FDP placement identifier, or a stream. 0 is the default, and none.
    pub handle: u8,
}

/// A request to a drive: whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageRequest {
    /// Arrival in nanoseconds since the first request, or since a workload began. Most workloads have no time: 0.
    pub at_ns: u64,
    /// The operation.
    pub op: Op,
    /// First logical page. 0 for a flush.
    pub first: u64,
    /// Number of pages from `first` on; 0 for a flush, at least 1 otherwise.
    pub pages: u32,
    /// The request covers only part of its first page. A request of one page that leaves out anything
    /// of it, at either end, sets only this flag.
    pub partial_first: bool,
    /// The request covers only part of its last page, which is not its first.
    pub partial_last: bool,
    /// The host's placement handle, which is advice to the drive. 0 is the default, and none.
    pub handle: u8,
}

/// Anything that yields page requests. Traces end; workloads do not, but for `media`.
pub trait Source {
    /// The next request, or `None` after the last.
    ///
    /// # Errors
    /// A trace that cannot be read on, or a workload that cannot run on the given drive.
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        (**self).next_request()
    }
}
