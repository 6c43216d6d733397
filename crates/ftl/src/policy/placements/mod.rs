//! The placements of this crate, each in a file of its own.

pub(crate) mod dac;
pub(crate) mod dual_greedy;
pub(crate) mod groups;
pub(crate) mod handles;
pub(crate) mod host_gc;
mod last_writes;
pub(crate) mod lifetimes;
pub(crate) mod midas;
pub(crate) mod one_stream;
pub(crate) mod oracle;
pub(crate) mod partitions;
mod predictions;
mod randomness;
pub(crate) mod sepbit;
pub(crate) mod static_quota;
mod unknown;

use super::PlacementSpec;

/// All of them, in the order in which they are listed.
pub(super) static ALL: [&PlacementSpec; 12] = [
    &one_stream::SPEC,
    &host_gc::SPEC,
    &dual_greedy::SPEC,
    &dac::SPEC,
    &sepbit::SPEC,
    &midas::SPEC,
    &lifetimes::SPEC,
    &partitions::SPEC,
    &groups::SPEC,
    &handles::SPEC,
    &static_quota::SPEC,
    &oracle::SPEC,
];
