//! Notes that a placement part keeps for the victim part that is made for it.
//!
//! They are shown to it alone ([`Placement::notes`](super::Placement::notes)).

use phelsuma_nand::state::Preserve;

mod deaths;
mod groups;
mod stream_writes;

pub(super) use deaths::Deaths;
pub(super) use groups::{GROUPS_MAX, Groups};
pub(super) use stream_writes::{StreamWrites, WRITTEN_STREAMS_MAX};

/// Whether Dual Greedy's placement takes the host's writes for purely random.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Preserve)]
pub(super) struct PurelyRandom(pub(super) bool);
