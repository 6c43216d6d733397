//! Checks the states of a run, and says what is wrong with those that fail.

mod explain;
mod known;
mod names;
mod queue;
mod shrink;
mod workers;

pub use explain::{Failure, LostWrite};
pub(crate) use explain::{count, many};
pub(crate) use names::{Names, Place};
pub(crate) use workers::{ALSO_COMPLETE, Counts, check_all, check_one};
