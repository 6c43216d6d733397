//! Tests of whole drives in simulated time, in one program: what FTLs are on one kind of flash is compiled once.

#![allow(clippy::unwrap_used, missing_docs)]

mod bench;
mod collection;
mod crash_compositions;
mod crash_lab;
mod crash_workloads;
#[allow(clippy::explicit_write)]
mod curve;
mod defects;
mod determinism;
mod distributions;
mod formats;
mod full_drives;
mod gecko_costs;
mod gecko_rec;
mod handles;
mod integrity;
mod journal;
mod log_block;
mod mapping_log;
#[cfg(phelsuma_mutants)]
mod mutants;
mod policies;
mod positive_control;
mod promises;
mod readme;
mod recovery_bound;
mod room;
mod run;
#[cfg(feature = "zstd")]
mod saved;
mod slc;
mod soak;
mod spent;
mod stability;
mod steady;
mod synchronizing;
mod units;
mod wear;
mod write_cache;
