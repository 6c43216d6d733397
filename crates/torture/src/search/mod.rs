//! Checks the states of a run, and says what is wrong with those that fail.

mod debugfs;
mod explain;
mod keep;
mod known;
mod located;
mod names;
mod queue;
mod shrink;
mod workers;

pub use explain::{Described, Failure, LostWrite};
pub(crate) use explain::{count, many};
pub(crate) use located::Located;
pub(crate) use names::Names;
pub(crate) use workers::{ALSO_COMPLETE, Counts, Replayed, check_all, check_one};
