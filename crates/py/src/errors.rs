//! The command's errors, which end it with a line and 1 or 2, as exceptions.

use phelsuma_options::{Failure, one_line};
use pyo3::PyErr;

pyo3::import_exception!(phelsuma.errors, InputError);
pyo3::import_exception!(phelsuma.errors, RunFailedError);

/// The exception of a failure.
pub(crate) fn raised(failure: impl Into<Failure>) -> PyErr {
    match failure.into() {
        Failure::Input(text) => InputError::new_err(one_line(&text)),
        Failure::Failed(text) => RunFailedError::new_err(one_line(&text)),
    }
}
