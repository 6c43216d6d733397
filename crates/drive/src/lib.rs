//! A whole drive in simulated time: run protocol, statistics, results and the crash laboratory.
//!
//! This crate must not depend on terminals, command lines, or files other than traces
//! and saved drives.
//!
//! A browser has no files, no threads and no clock of the processor's. Built for one this is the laboratory alone.

#[cfg(not(target_family = "wasm"))]
mod arrivals;
#[cfg(not(target_family = "wasm"))]
mod bytes;
#[cfg(not(target_family = "wasm"))]
mod capacity;
#[cfg(not(target_family = "wasm"))]
mod config;
#[cfg(not(target_family = "wasm"))]
mod distributions;
#[cfg(not(target_family = "wasm"))]
mod drive;
#[cfg(not(target_family = "wasm"))]
mod fit;
#[cfg(not(target_family = "wasm"))]
mod footprint;
#[cfg(not(target_family = "wasm"))]
mod holdings;
#[cfg(not(target_family = "wasm"))]
mod knowledge;
pub mod lab;
#[cfg(not(target_family = "wasm"))]
mod latency;
#[cfg(not(target_family = "wasm"))]
mod link;
#[cfg(not(target_family = "wasm"))]
mod lookahead;
#[cfg(not(target_family = "wasm"))]
mod machine;
#[cfg(not(target_family = "wasm"))]
mod measure;
#[cfg(not(target_family = "wasm"))]
mod requests;
#[cfg(not(target_family = "wasm"))]
mod result;
#[cfg(not(target_family = "wasm"))]
mod run;
#[cfg(all(feature = "zstd", not(target_family = "wasm")))]
mod saved;
#[cfg(not(target_family = "wasm"))]
mod saving;
#[cfg(not(target_family = "wasm"))]
mod session;
#[cfg(not(target_family = "wasm"))]
mod spent;
#[cfg(not(target_family = "wasm"))]
pub mod steady;
#[cfg(not(target_family = "wasm"))]
mod told;
#[cfg(not(any(feature = "zstd", target_family = "wasm")))]
mod unsaved;
#[cfg(not(target_family = "wasm"))]
mod write_part;

#[cfg(not(target_family = "wasm"))]
pub use bytes::show_bytes;
#[cfg(not(target_family = "wasm"))]
pub use capacity::{CAPACITY_DEFAULT, CAPACITY_TRACE_MIN, settle_capacity};
#[cfg(not(target_family = "wasm"))]
pub use config::{Arrival, DriveShape, Fill, FoldChoice, Input, RunConfig, RunError};
#[cfg(not(target_family = "wasm"))]
pub use drive::{Drive, PowerCut};
#[cfg(not(target_family = "wasm"))]
pub use fit::{comes_up, does_not_fit};
#[cfg(not(target_family = "wasm"))]
pub use footprint::{TightDrive, check_holds_trace, tight_drive};
#[cfg(not(target_family = "wasm"))]
pub use link::Link;

#[cfg(not(target_family = "wasm"))]
pub use result::*;
#[cfg(not(target_family = "wasm"))]
pub use run::{Progress, Reporter, run, run_saving};
#[cfg(not(target_family = "wasm"))]
pub use saving::Saving;
#[cfg(not(target_family = "wasm"))]
pub use session::{NOWHERE, PageState, Session};
#[cfg(not(any(feature = "zstd", target_family = "wasm")))]
use unsaved as saved;
#[cfg(not(target_family = "wasm"))]
pub use write_part::{WritePart, write_part};
