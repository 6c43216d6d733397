//! Runs and comparisons, in the command's words.

use crate::job;
use crate::room::Room;
use crate::trace::Requests;
use phelsuma_options::{
    CompareArgs, Comparison, Failure, Outcome, RunArgs, by_write_amplification, everything, memory, parsed, run_all,
};
use pyo3::prelude::*;
use serde_json::json;
use std::ffi::OsString;

/// The options that these words are, as the command would take them.
pub(crate) fn options<A: clap::Args>(words: Vec<String>) -> Outcome<A> {
    parsed(words.into_iter().map(OsString::from))
}

/// Runs what `words` say, which are those of `phelsuma run`; `phelsuma.run/1` as JSON. Where there are `requests`, the
/// words' `--trace` stands for them. It begins once its drive fits `memory_bytes`, or the machine's memory, beside those
/// of other runs of this process.
#[pyfunction]
#[pyo3(signature = (words, requests = None, progress = None, memory_bytes = None))]
pub(crate) fn run(
    py: Python<'_>,
    words: Vec<String>,
    requests: Option<&Requests>,
    progress: Option<&Bound<'_, PyAny>>,
    memory_bytes: Option<u64>,
) -> PyResult<String> {
    let requests = requests.map(Requests::shared);
    job::done(py, progress, move |watch| {
        let mut args: RunArgs = options(words)?;
        if let Some(requests) = requests {
            args.drive = args.drive.with_requests(requests);
        }
        let (config, geometry) = args.config()?;
        let _room = Room::take(memory::needed(&geometry), memory_bytes, watch)?;
        let result = phelsuma_drive::run(&config, &|progress| watch.tell(&config.ftl, progress));
        watch.ended(&config.ftl);
        Ok(json!(result?).to_string())
    })
}

/// Runs what `words` say, which are those of `phelsuma compare`; an array of `phelsuma.run/1` as JSON, least write
/// amplification first, and remarks on parameters that some of the FTLs lack.
#[pyfunction]
#[pyo3(signature = (words, requests = None, progress = None))]
pub(crate) fn compare(
    py: Python<'_>,
    words: Vec<String>,
    requests: Option<&Requests>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let requests = requests.map(Requests::shared);
    job::done(py, progress, move |watch| {
        let mut args: CompareArgs = options(words)?;
        if let Some(requests) = requests {
            args.drive = args.drive.with_requests(requests);
        }
        let Comparison { runs, geometry, not_set } = args.comparison()?;
        let name = |n: usize| runs.get(n).map_or("", |(name, _)| name.as_str());
        let mut results = run_all(&runs, &geometry, args.jobs, &|n, progress| watch.tell(name(n), progress), &|n| {
            watch.ended(name(n))
        })?;
        results.sort_by(by_write_amplification);
        Ok::<_, Failure>((json!(results).to_string(), not_set))
    })
}

/// Everything that has a name: `phelsuma.list/1` as JSON.
#[pyfunction]
pub(crate) fn names() -> String {
    everything().to_string()
}

/// The engine's version, which is the package's.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// What tells apart engines of the same version: a hash of the code that a run depends on.
#[pyfunction]
pub(crate) fn sources() -> &'static str {
    phelsuma_claims::SOURCES
}
