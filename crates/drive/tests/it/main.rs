//! Tests of whole drives in simulated time, in one program: what FTLs are on one kind of flash is compiled once.

#![allow(clippy::unwrap_used, missing_docs)]

mod crash_lab;
mod crash_workloads;
#[cfg(phelsuma_mutants)]
mod mutants;
#[cfg_attr(phelsuma_mutants, allow(dead_code))]
mod room;
mod run;
mod soak;

// What no mutant is tried with need not be built with them.
#[cfg(not(phelsuma_mutants))]
mod collection;
#[cfg(not(phelsuma_mutants))]
mod crash_compositions;
#[cfg(not(phelsuma_mutants))]
#[allow(clippy::explicit_write)]
mod curve;
#[cfg(not(phelsuma_mutants))]
mod defects;
#[cfg(not(phelsuma_mutants))]
mod determinism;
#[cfg(not(phelsuma_mutants))]
mod distributions;
#[cfg(not(phelsuma_mutants))]
mod formats;
#[cfg(not(phelsuma_mutants))]
mod full_drives;
#[cfg(not(phelsuma_mutants))]
mod gecko_costs;
#[cfg(not(phelsuma_mutants))]
mod gecko_rec;
#[cfg(not(phelsuma_mutants))]
mod integrity;
#[cfg(not(phelsuma_mutants))]
mod journal;
#[cfg(not(phelsuma_mutants))]
mod log_block;
#[cfg(not(phelsuma_mutants))]
mod policies;
#[cfg(not(phelsuma_mutants))]
mod positive_control;
#[cfg(not(phelsuma_mutants))]
mod promises;
#[cfg(not(phelsuma_mutants))]
mod recovery_bound;
#[cfg(not(phelsuma_mutants))]
mod stability;
#[cfg(not(phelsuma_mutants))]
mod synchronizing;
#[cfg(not(phelsuma_mutants))]
mod wear;
