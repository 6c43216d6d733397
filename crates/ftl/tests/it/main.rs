//! Tests of the FTLs over flash in memory: one binary, for each binary of its own would compile all FTLs once more.

#![allow(clippy::unwrap_used)]

mod battery;
mod block_log;
mod byte_flash;
mod common;
mod corners;
mod cut_storm;
mod dirty_limit;
mod drives;
mod erase_counts;
mod ftl_mm;
mod garbled;
mod integrity;
mod last;
mod last_snapshot;
mod last_wear;
mod ledger;
mod looks;
mod mapping_log;
mod merges;
mod model;
mod mu_ftl;
mod mu_tree;
mod open_blocks;
mod paged;
mod policies;
mod prefetching;
mod read_path;
mod recovery;
mod recovery_corners;
mod requests;
mod sampled;
mod sealed;
mod slices;
mod superblocks;
mod trims;
mod unreadable;
mod wear;
mod window;
mod write_cache;
