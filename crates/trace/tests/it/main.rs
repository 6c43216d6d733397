//! What only several parts of the crate together can show, in one program: formats, folds and workloads.

#![allow(clippy::unwrap_used)]

mod cases;
mod columns;
mod devices;
mod doubts;
mod file_workloads;
mod fold;
mod format_cases;
#[cfg(feature = "zstd")]
mod formats;
mod found_by_fuzzing;
mod handles;
mod headings;
mod info;
mod newcomers;
#[cfg(all(feature = "archives", feature = "zstd"))]
mod packed;
mod program_workloads;
mod public_traces;
mod robustness;
#[cfg(feature = "zstd")]
mod roundtrip;
mod samples;
mod several;
mod silence;
mod times;
mod workloads;
