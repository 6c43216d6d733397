//! Columns of requests, from NumPy and to it; each is copied once.

use crate::errors::raised;
use numpy::{Element, PyReadonlyArray1};
use phelsuma_options::Failure;
use pyo3::prelude::*;

/// The values of an array, copied: another thread may write into it while the engine works.
///
/// # Errors
/// It is not contiguous.
pub(crate) fn copied<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    let not_contiguous = |_| raised(Failure::Input("a column is not contiguous; a copy of it would be right".into()));
    Ok(array.as_slice().map_err(not_contiguous)?.to_vec())
}

/// Checks that these columns have the same length, and gives it.
pub(crate) fn length(columns: &[(&str, Option<usize>)]) -> PyResult<usize> {
    let mut given = columns.iter().filter_map(|(name, length)| Some((name, (*length)?)));
    let Some((first, rows)) = given.next() else { return Ok(0) };
    match given.find(|(_, length)| *length != rows) {
        None => Ok(rows),
        Some((name, length)) => {
            let what = format!("{length} values of {name} for {rows} of {first}; as many would be right");
            Err(raised(Failure::Input(what)))
        }
    }
}
