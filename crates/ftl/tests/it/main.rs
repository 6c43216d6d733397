//! Tests of the FTLs over flash in memory: one binary, for each binary of its own would compile all FTLs once more.

#![allow(clippy::unwrap_used)]

#[cfg_attr(phelsuma_mutants, allow(dead_code))]
mod common;
mod corners;
mod integrity;
mod last;
mod last_snapshot;
mod last_wear;
mod merges;
mod recovery_corners;
mod unreadable;
mod wear;

// What no mutant is tried with need not be built with them.
#[cfg(not(phelsuma_mutants))]
mod battery;
#[cfg(not(phelsuma_mutants))]
mod cut_storm;
#[cfg(not(phelsuma_mutants))]
mod dirty_limit;
#[cfg(not(phelsuma_mutants))]
mod drives;
#[cfg(not(phelsuma_mutants))]
mod erase_counts;
#[cfg(not(phelsuma_mutants))]
mod ftl_mm;
#[cfg(not(phelsuma_mutants))]
mod garbled;
#[cfg(not(phelsuma_mutants))]
mod looks;
#[cfg(not(phelsuma_mutants))]
mod model;
#[cfg(not(phelsuma_mutants))]
mod mu_ftl;
#[cfg(not(phelsuma_mutants))]
mod mu_tree;
#[cfg(not(phelsuma_mutants))]
mod paged;
mod policies;
#[cfg(not(phelsuma_mutants))]
mod read_path;
#[cfg(not(phelsuma_mutants))]
mod recovery;
#[cfg(not(phelsuma_mutants))]
mod requests;
#[cfg(not(phelsuma_mutants))]
mod sampled;
#[cfg(not(phelsuma_mutants))]
mod sealed;
#[cfg(not(phelsuma_mutants))]
mod superblocks;
#[cfg(not(phelsuma_mutants))]
mod trims;
#[cfg(not(phelsuma_mutants))]
mod window;
