//! A drive and a run in the words of the command: options, their meaning, and the messages of refusals.
//!
//! The command and the Python module both take these words, and come to the same run.
//!
//! This crate must not depend on terminals, progress bars, or how a result is shown.

mod compare;
mod count;
mod drive_args;
mod failure;
mod format_args;
mod listed_options;
pub mod memory;
mod names;
mod parallel;
#[cfg(test)]
mod reference;
mod run;
mod settings;
mod shape_args;
pub mod size;
mod steady;
mod timing;
mod trace_list;
mod trace_place;
mod words;
mod write_cache_args;

pub use compare::{Blames, CompareArgs, Comparison, by_write_amplification, distinct, each};
pub use count::count;
pub use drive_args::{DriveArgs, check_logical_pages, ratio, workload};
pub use failure::{Failure, Outcome, one_line, usage};
pub use format_args::FormatArgs;
pub use listed_options::ListedOptions;
pub use names::{everything, faults};
pub use parallel::run_all;
pub use run::RunArgs;
pub use settings::{Setting, check_cache_is_used, remarks, set_cache, set_parts, setting};
pub use shape_args::ShapeArgs;
pub use steady::SteadyArgs;
pub use timing::{Peaks, Times, TimingArg, timing, timings};
pub use trace_list::{Listed, ListedCollection, ListedTrace, TraceList};
pub use trace_place::trace_folder;
pub use words::{parsed, with_negatives};
pub use write_cache_args::WriteCacheArgs;
