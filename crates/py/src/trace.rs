//! Traces and workloads: their content, as columns and as figures.

use crate::columns::copied;
use crate::errors::raised;
use crate::job;
use crate::run::options;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use phelsuma_options::{Failure, FormatArgs, size, workload};
use phelsuma_trace::{Columns, InfoOptions, Op, Request, TraceError, TraceInfo, TraceOrigin, WorkloadExtent};
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Requests in memory, which a run takes for a trace.
#[pyclass(frozen, module = "phelsuma._engine")]
pub(crate) struct Requests(Arc<phelsuma_trace::Requests>);

impl Requests {
    /// The same, for whoever works on another thread.
    pub(crate) fn shared(&self) -> Arc<phelsuma_trace::Requests> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl Requests {
    // Python gives them by name.
    #[expect(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (name, op, offset_bytes, size_bytes, time_ns = None, device = None, handle = None))]
    fn new(
        py: Python<'_>,
        name: &str,
        op: PyReadonlyArray1<'_, u8>,
        offset_bytes: PyReadonlyArray1<'_, u64>,
        size_bytes: PyReadonlyArray1<'_, u64>,
        time_ns: Option<PyReadonlyArray1<'_, u64>>,
        device: Option<PyReadonlyArray1<'_, u32>>,
        handle: Option<PyReadonlyArray1<'_, u8>>,
    ) -> PyResult<Self> {
        let columns = Columns {
            op: copied(&op)?,
            offset_bytes: copied(&offset_bytes)?,
            size_bytes: copied(&size_bytes)?,
            time_ns: time_ns.as_ref().map(copied).transpose()?,
            device: device.as_ref().map(copied).transpose()?,
            handle: handle.as_ref().map(copied).transpose()?,
        };
        let made = py.detach(|| phelsuma_trace::Requests::new(name, columns));
        made.map(|requests| Self(Arc::new(requests))).map_err(raised)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Columns of a trace: time, device, what is asked, first byte, bytes, placement handle.
type OfTrace<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u8>>,
);

#[derive(Default)]
struct Read {
    time_ns: Vec<u64>,
    device: Vec<u32>,
    op: Vec<u8>,
    offset_bytes: Vec<u64>,
    size_bytes: Vec<u64>,
    handle: Vec<u8>,
}

impl Read {
    fn push(&mut self, request: &Request) {
        self.time_ns.push(request.time_ns);
        self.device.push(request.device);
        self.op.push(request.op.code());
        self.offset_bytes.push(request.offset_bytes);
        self.size_bytes.push(request.size_bytes);
        self.handle.push(request.handle);
    }

    fn handed_over(self, py: Python<'_>) -> OfTrace<'_> {
        (
            self.time_ns.into_pyarray(py),
            self.device.into_pyarray(py),
            self.op.into_pyarray(py),
            self.offset_bytes.into_pyarray(py),
            self.size_bytes.into_pyarray(py),
            self.handle.into_pyarray(py),
        )
    }
}

/// A trace in a file.
#[pyclass(frozen, module = "phelsuma._engine")]
pub(crate) struct Trace(TraceOrigin);

#[pymethods]
impl Trace {
    /// Opens it; `words` are `--format` and `--time-unit`, where detection is wrong.
    #[new]
    fn new(path: PathBuf, words: Vec<String>) -> PyResult<Self> {
        let format: FormatArgs = options(words).map_err(raised)?;
        let (paths, options) = format.files(&[path]).map_err(raised)?;
        let origin = TraceOrigin::Files { paths, options };
        origin.open().map_err(raised)?;
        Ok(Self(origin))
    }

    /// The name of its format.
    fn format(&self) -> PyResult<&'static str> {
        Ok(self.0.open().map_err(raised)?.format().name())
    }

    /// What is in it: `phelsuma.trace-info/1` as JSON.
    fn info(&self, py: Python<'_>, page: &str) -> PyResult<String> {
        let page_bytes = size::parse_page(page).map_err(|what| raised(Failure::Input(what)))?;
        let origin = self.0.clone();
        job::done(py, None, move |_| {
            let options = InfoOptions { page_bytes, warmup_pages: 0 };
            Ok(with_schema(&TraceInfo::gather(&mut origin.open()?, &options)?))
        })
    }

    /// Its requests, of which there are `most` at the most.
    #[pyo3(signature = (most = None))]
    fn requests<'py>(&self, py: Python<'py>, most: Option<u64>) -> PyResult<OfTrace<'py>> {
        let origin = self.0.clone();
        let read = job::done(py, None, move |watch| {
            let mut read = Read::default();
            for request in origin.open()? {
                if read.op.len() as u64 == most.unwrap_or(u64::MAX) || !watch.go_on() {
                    break;
                }
                read.push(&request?);
            }
            Ok(read)
        })?;
        Ok(read.handed_over(py))
    }
}

fn with_schema(info: &TraceInfo) -> String {
    let mut value = json!(info);
    if let Some(object) = value.as_object_mut() {
        object.insert("schema".into(), json!("phelsuma.trace-info/1"));
    }
    value.to_string()
}

/// What a workload asks of a drive of so many pages: `phelsuma.trace-info/1` as JSON.
#[pyfunction]
#[pyo3(signature = (spec, logical_pages, page_bytes, seed, pages_written = None))]
pub(crate) fn workload_info(
    py: Python<'_>,
    spec: &str,
    logical_pages: u64,
    page_bytes: u32,
    seed: u64,
    pages_written: Option<u64>,
) -> PyResult<String> {
    let workload = workload(spec).map_err(|what| raised(Failure::Input(what)))?;
    job::done(py, None, move |_| {
        let extent = WorkloadExtent { logical_pages, seed, pages_written };
        let options = InfoOptions { page_bytes, warmup_pages: 0 };
        Ok(with_schema(&TraceInfo::of_workload(&workload, &extent, &options)?))
    })
}

/// The first requests of a workload on a drive of so many pages, `most` at the most.
#[pyfunction]
pub(crate) fn workload_requests<'py>(
    py: Python<'py>,
    spec: &str,
    most: u64,
    logical_pages: u64,
    page_bytes: u32,
    seed: u64,
) -> PyResult<OfTrace<'py>> {
    let workload = workload(spec).map_err(|what| raised(Failure::Input(what)))?;
    let read = job::done(py, None, move |watch| {
        let mut source = workload.source(logical_pages, page_bytes, seed);
        let mut read = Read::default();
        while (read.op.len() as u64) < most && watch.go_on() {
            let Some(request) = source.next_request().map_err(Failure::from)? else { break };
            let bytes = |pages: u64| {
                let too_far = || TraceError::Option("the drive has more bytes than 2^64".into());
                pages.checked_mul(page_bytes.into()).ok_or_else(too_far)
            };
            let flush = request.op == Op::Flush;
            read.push(&Request {
                time_ns: request.at_ns,
                device: 0,
                op: request.op,
                offset_bytes: if flush { 0 } else { bytes(request.first)? },
                size_bytes: bytes(request.pages.into())?,
                handle: request.handle,
            });
        }
        Ok(read)
    })?;
    Ok(read.handed_over(py))
}
