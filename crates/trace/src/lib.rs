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
//! Built for a browser, which has no files, this is the workloads alone.
//!
//! Nothing here trusts its input. Readers stream, bound every line and record, and count what they skip by reason.
//! Where skipping would be guessing they stop with file and line.

#![forbid(unsafe_code)]
// Nothing may panic on its input.
#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::string_slice))]

mod bounds;
#[cfg(not(target_family = "wasm"))]
mod doubts;
mod error;
#[cfg(not(target_family = "wasm"))]
mod filter;
#[cfg(not(target_family = "wasm"))]
mod input;
#[cfg(not(target_family = "wasm"))]
mod lines;
#[cfg(not(target_family = "wasm"))]
mod memory;
#[cfg(not(target_family = "wasm"))]
mod merge;
#[cfg(not(target_family = "wasm"))]
mod noted;
#[cfg(not(target_family = "wasm"))]
mod number;
#[cfg(not(target_family = "wasm"))]
mod opening;
#[cfg(not(target_family = "wasm"))]
mod options;
#[cfg(not(target_family = "wasm"))]
mod output;
#[cfg(not(target_family = "wasm"))]
mod reader;
#[cfg(not(target_family = "wasm"))]
mod record;
#[cfg(not(target_family = "wasm"))]
mod report;
mod request;
#[cfg(not(target_family = "wasm"))]
mod skipped;
#[cfg(not(target_family = "wasm"))]
mod sort;
#[cfg(not(target_family = "wasm"))]
mod unicode;

#[cfg(not(target_family = "wasm"))]
pub mod convert;
#[cfg(not(target_family = "wasm"))]
pub mod fold;
#[cfg(not(target_family = "wasm"))]
pub mod format;
#[cfg(not(target_family = "wasm"))]
pub mod histogram;
#[cfg(not(target_family = "wasm"))]
pub mod info;
#[cfg(not(target_family = "wasm"))]
mod window;
pub mod workload;

pub use bounds::{END_BYTES_MAX, SECTOR_BYTES_MAX, SIZE_BYTES_MAX, SPLIT_BYTES_MAX};
pub use error::TraceError;
#[cfg(not(target_family = "wasm"))]
pub use filter::Filters;
#[cfg(not(target_family = "wasm"))]
pub use fold::{DropReason, Fold, FoldCounts, Footprint, PageSource};
#[cfg(not(target_family = "wasm"))]
pub use format::columns::ColumnSpec;
#[cfg(not(target_family = "wasm"))]
pub use format::{BlkparseEvent, Format, TimeUnit};
#[cfg(not(target_family = "wasm"))]
pub use histogram::LogHistogram;
#[cfg(not(target_family = "wasm"))]
pub use info::{InfoOptions, TraceInfo, WorkloadExtent};
#[cfg(not(target_family = "wasm"))]
pub use memory::{Columns, Requests, TraceOrigin};
#[cfg(not(target_family = "wasm"))]
pub use noted::Note;
#[cfg(not(target_family = "wasm"))]
pub use options::OpenOptions;
#[cfg(not(target_family = "wasm"))]
pub use output::{Compressed, Compression};
#[cfg(not(target_family = "wasm"))]
pub use reader::{TraceFile, reader_from};
#[cfg(not(target_family = "wasm"))]
pub use report::{ColumnsRead, FileRead, InputReport};
pub use request::{Op, PageRequest, Request, Source};
#[cfg(not(target_family = "wasm"))]
pub use skipped::{SkipReason, Skipped};
pub use workload::{Workload, WorkloadError};
