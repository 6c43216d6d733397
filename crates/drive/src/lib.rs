//! A whole drive in simulated time: run protocol, statistics, results and the crash laboratory.
//!
//! What this crate must not know: terminals, command lines, files other than traces.

mod config;
pub mod lab;
mod result;

pub use config::{
    Arrival, CAPACITY_DEFAULT, CAPACITY_TRACE_MIN, DriveShape, Fill, FoldChoice, Input, RunConfig, RunError,
};
pub use result::*;
