//! Block traces and synthetic workloads.
//!
//! A *trace* is a file that recorded a host's requests to its drives. A *workload* is a seeded sequence of requests,
//! drawn from a distribution or made by files on a volume. Both end as a [`Source`] of [`PageRequest`]s, which is all
//! that a drive needs of either.
//!
//! ```text
//! TraceFile (bytes → Request) → PageSource (fold: Request → PageRequest) ┐
//!                                                                        ├→ Source
//! Workload (spec → PageRequest) ─────────────────────────────────────────┘
//! ```
//!
//! ```
//! use phelsuma_trace::{OpenOptions, PageSource, Source, Workload, fold::FoldOptions};
//!
//! // A workload: 30 % reads, requests of one to eight pages, popularity by Zipf's law.
//! let workload = Workload::parse("mixed:read=30,pages=1-8:zipf:0.99")?;
//! let mut source = workload.source(1 << 20, 4096, 1);
//! let request = source.next_request()?.expect("this workload never ends");
//! assert!(request.first + u64::from(request.pages) <= 1 << 20);
//!
//! // A trace, its pages numbered densely.
//! # let path = std::env::temp_dir().join("phelsuma-trace-doc.csv");
//! # std::fs::write(&path, "time_us,device,op,offset_bytes,size_bytes\n0,0,write,8192,4096\n1,0,read,0,512\n")?;
//! let mut source = PageSource::open(&path, &OpenOptions::default(), FoldOptions::default())?;
//! assert_eq!(source.logical_pages(), 2);
//! while let Some(request) = source.next_request()? {
//!     assert!(request.first < 2);
//! }
//! source.counts().assert_balanced();
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A browser has no files: there a trace comes from a stream ([`reader_from`]) or from memory ([`Requests`]).
//!
//! Nothing here trusts its input. Readers stream, bound every line and record, and count what they skip by reason.
//! Where skipping would be guessing they stop with file and line.

#![forbid(unsafe_code)]
// Nothing may panic on its input.
#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::string_slice))]

mod bounds;
mod doubts;
mod error;
mod filter;
mod input;
mod lines;
mod memory;
mod merge;
mod noted;
mod number;
mod opening;
mod options;
mod output;
mod reader;
mod record;
mod report;
mod request;
mod skipped;
mod sort;
mod unicode;

pub mod convert;
pub mod fold;
pub mod format;
pub mod histogram;
pub mod info;
mod window;
pub mod workload;

pub use bounds::{END_BYTES_MAX, SECTOR_BYTES_MAX, SIZE_BYTES_MAX, SPLIT_BYTES_MAX};
pub use error::TraceError;
pub use filter::Filters;
pub use fold::{DropReason, Fold, FoldCounts, Footprint, PageSource};
pub use format::columns::ColumnSpec;
pub use format::{BlkparseEvent, Format, TimeUnit};
pub use histogram::LogHistogram;
pub use info::{InfoOptions, TraceInfo, WorkloadExtent};
pub use input::way::quoted;
pub use memory::{Columns, Requests, TraceOrigin};
pub use noted::Note;
pub use options::OpenOptions;
pub use output::{Compressed, Compression};
pub use reader::{TraceFile, reader_from};
pub use report::{ColumnsRead, FileRead, InputReport};
pub use request::{Op, PageRequest, Request, Source};
pub use skipped::{SkipReason, Skipped};
pub use workload::{Workload, WorkloadError};
