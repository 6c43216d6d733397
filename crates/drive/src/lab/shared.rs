//! The state that all threads of a sweep share.

use super::config::LabConfig;
use super::seen::Seen;
use super::subject::Any;
use super::taken_back::TakenBack;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The work done so far.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) points_done: AtomicU32,
    pub(crate) defects: AtomicU64,
    pub(crate) cuts: AtomicU64,
    pub(crate) nested: AtomicU64,
    pub(crate) covered: AtomicU64,
    pub(crate) joined: AtomicU64,
    pub(crate) worst_recovery: AtomicU64,
    pub(crate) taken_back: TakenBack,
}

/// What all threads of a sweep work on.
pub(crate) struct Shared {
    pub(crate) config: LabConfig<Any>,
    /// So many times in a row each recovery from a cut of the workload is cut at each of its operations.
    pub(crate) again: u32,
    pub(crate) seen: Seen,
    pub(crate) counts: Counts,
}
