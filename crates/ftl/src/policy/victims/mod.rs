//! The victim policies of this crate, each in a file of its own.

pub(crate) mod chain;
pub(crate) mod cost_age;
pub(crate) mod d_choices;
pub(crate) mod dual_greedy;
pub(crate) mod fifo;
pub(crate) mod greedy;
pub(crate) mod group;
pub(crate) mod learned;
pub(crate) mod oracle;
pub(crate) mod sampled;
pub(crate) mod static_quota;

use super::VictimSpec;

/// All of them, in the order in which they are listed.
pub(super) static ALL: [&VictimSpec; 13] = [
    &greedy::SPEC,
    &fifo::SPEC,
    &group::SPEC,
    &d_choices::SPEC,
    &sampled::SPEC,
    &dual_greedy::SPEC,
    &cost_age::COST_BENEFIT,
    &cost_age::COST_BENEFIT_SEALED,
    &learned::SPEC,
    &cost_age::CAT,
    &chain::SPEC,
    &static_quota::SPEC,
    &oracle::SPEC,
];
