//! A whole drive in simulated time: run protocol, statistics, results and the crash laboratory.
//!
//! This crate must not depend on terminals, command lines, or files other than traces
//! and saved drives.

mod arrivals;
mod bytes;
mod capacity;
mod config;
mod distributions;
mod drive;
mod fit;
mod footprint;
mod holdings;
mod knowledge;
pub mod lab;
mod latency;
mod link;
mod lookahead;
mod machine;
mod measure;
mod requests;
mod result;
mod run;
#[cfg(feature = "zstd")]
mod saved;
mod saving;
mod session;
mod spent;
pub mod steady;
mod told;
#[cfg(not(feature = "zstd"))]
mod unsaved;
mod write_part;

pub use bytes::show_bytes;
pub use capacity::{CAPACITY_DEFAULT, CAPACITY_TRACE_MIN, settle_capacity};
pub use config::{Arrival, DriveShape, Fill, FoldChoice, Input, RunConfig, RunError};
pub use drive::{Drive, PowerCut};
pub use fit::{comes_up, does_not_fit};
pub use footprint::{TightDrive, check_holds_trace, tight_drive};
pub use link::Link;

pub use result::*;
pub use run::{Progress, Reporter, run, run_saving};
pub use saving::Saving;
pub use session::{NOWHERE, PageState, Session};
#[cfg(not(feature = "zstd"))]
use unsaved as saved;
pub use write_part::{WritePart, write_part};
