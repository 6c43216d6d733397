//! Tests of whole drives in simulated time: one binary, and the time of one to build. Those that write files which are
//! stored have binaries of their own.

#![allow(clippy::unwrap_used, missing_docs)]

mod collection;
mod crash_compositions;
mod crash_lab;
mod crash_workloads;
#[allow(clippy::explicit_write)]
mod curve;
mod defects;
mod distributions;
mod formats;
mod full_drives;
mod gecko_costs;
mod gecko_rec;
mod integrity;
mod journal;
mod log_block;
mod policies;
mod positive_control;
mod recovery_bound;
mod room;
mod run;
mod soak;
mod stability;
mod synchronizing;
mod wear;
