//! The statements of papers, as data: claims, the commands that try them, and computed verdicts.
//!
//! A paper has a folder. `claims.toml` in it is written by hand ([`Document`]). It has what the paper says in a number
//! and a comparison, and which commands of `phelsuma` try it. It also has how the measured value comes out of their
//! JSON, as an [`Expression`]. Everything else in the folder is written by the [`Store`]. That is a file of runs, each
//! with its command and a hash of the code it was run with. And it is, per scale, a file of measured values and
//! verdicts ([`Findings`]).
//!
//! Invariants of this crate: it imports no other crate of the workspace and runs nothing. [`judge`] computes a verdict
//! from stored results, in the same way after a run and for a check. Nothing in the files it reads makes it panic.

#![forbid(unsafe_code)]

mod document;
mod drawing;
mod error;
mod expression;
mod figures;
mod findings;
mod judge;
mod lookup;
mod plan;
mod reason;
mod store;
mod stored;

// The omissions of the build script from the hash are tried here.
#[cfg(test)]
#[path = "../build/code/mod.rs"]
mod code;

pub use document::{ByScale, Chosen, Claim, Document, Figure, Kind, Operator, Runs, Scale};
pub use drawing::Draw;
pub use error::ClaimsError;
pub use expression::Expression;
pub use figures::{csv, runs_of};
pub use findings::{Finding, Findings, RunOf, Verdict};
pub use judge::{Results, judge};
pub use plan::Plan;
pub use store::Store;
pub use stored::{SOURCES, StoredRun, StoredRuns, VERSION, key};
