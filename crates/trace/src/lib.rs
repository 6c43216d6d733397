//! Block traces and synthetic workloads.
//!
//! A *trace* is a file that recorded what a host asked of its drives; a *workload* is an endless,
//! seeded sequence of requests drawn from a distribution. Both end as a [`Source`] of
//! [`PageRequest`]s, which is all that a drive needs to know about either.
//!
//! ```text
//! TraceFile (bytes → Request) → PageSource (fold: Request → PageRequest) ┐
//!                                                                        ├→ Source
//! Workload (spec → PageRequest) ─────────────────────────────────────────┘
//! ```
//!
//! Nothing here trusts its input: readers stream, bound every line and record, count what they skip
//! by reason, and stop with file and line where skipping would be guessing.

#![forbid(unsafe_code)]

mod error;
mod input;
mod lines;
mod number;
mod reader;
mod request;
mod skipped;

pub mod convert;
pub mod fold;
pub mod format;
pub mod info;
pub mod workload;

pub use error::TraceError;
pub use fold::{DropReason, Fold, FoldCounts, Footprint, PageSource};
pub use format::{Format, TimeUnit};
pub use info::TraceInfo;
pub use reader::{BlkparseEvent, END_BYTES_MAX, OpenOptions, SIZE_BYTES_MAX, TraceFile, reader_from};
pub use request::{Op, PageRequest, Request, Source};
pub use skipped::{SkipReason, Skipped};
pub use workload::{Workload, WorkloadError};
