//! The Python module `phelsuma._engine`, which the package `phelsuma` calls.
//!
//! Words are those of the command and go the way that they go there (`phelsuma-options`). Results are the JSON that the
//! command prints; the package makes typed objects of it. Columns are NumPy's, copied once.
//!
//! This crate must not contain how results are shown.

mod columns;
mod drive;
mod errors;
mod job;
mod room;
mod run;
mod trace;

/// The engine.
#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use super::drive::Drive;
    #[pymodule_export]
    use super::run::{compare, names, run, sources, version};
    #[pymodule_export]
    use super::trace::{Requests, Trace, workload_info, workload_requests};
}
