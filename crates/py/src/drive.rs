//! A drive that is driven step by step.

use crate::columns::{copied, length};
use crate::errors::raised;
use crate::job;
use crate::run::options;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use phelsuma_drive::{RunError, Session};
use phelsuma_ftl::BlockState;
use phelsuma_options::{Failure, RunArgs};
use phelsuma_trace::{Op, PageRequest};
use pyo3::prelude::*;
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages that are asked for on the thread that asks: fewer than take so long that somebody would interrupt them.
const AT_ONCE_PAGES: u64 = 1 << 10;

/// A drive, and what has been counted of it.
#[pyclass(frozen, module = "phelsuma._engine")]
pub(crate) struct Drive {
    session: Arc<Mutex<Session>>,
}

/// Blocks: what is being done with each, what it holds (255 for none), live pages (-1 where the FTL does not tell).
type Blocks<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i32>>);

/// A histogram: latencies in nanoseconds, and requests that took as long.
type Histogram<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drive {
    /// Does this without the GIL.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Session) -> T + Send) -> T {
        py.detach(|| work(&mut locked(&self.session)))
    }

    /// Does this on another thread, so that it can be interrupted.
    fn interruptibly<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Session, &dyn Fn() -> bool) -> Result<T, RunError> + Send + 'static,
    ) -> PyResult<T> {
        let session = Arc::clone(&self.session);
        job::done(py, None, move |watch| Ok(work(&mut locked(&session), &|| watch.go_on())?))
    }
}

fn op(code: u8) -> Result<Op, Failure> {
    let none = || Failure::Input(format!("op {code} is none; 0 read, 1 write, 2 trim or 3 flush would be right"));
    Op::from_code(code).ok_or_else(none)
}

#[pymethods]
impl Drive {
    /// A drive as `words` say, which are those of `phelsuma run`; of their workload nothing is asked.
    #[new]
    #[pyo3(signature = (words, progress = None))]
    fn new(py: Python<'_>, words: Vec<String>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let session = job::done(py, progress, move |watch| {
            let (config, _) = options::<RunArgs>(words)?.config()?;
            let session = Session::new(&config, &|progress| watch.tell(&config.ftl, progress));
            watch.ended(&config.ftl);
            Ok(session?)
        })?;
        Ok(Self { session: Arc::new(Mutex::new(session)) })
    }

    /// Asks for one thing; how many pages could not be read.
    fn ask(&self, py: Python<'_>, op_code: u8, first: u64, pages: u32, at_ns: u64) -> PyResult<u64> {
        let op = op(op_code).map_err(raised)?;
        let request = PageRequest { at_ns, op, first, pages, partial_first: false, partial_last: false, handle: 0 };
        if u64::from(pages) <= AT_ONCE_PAGES {
            return self.with(py, |session| session.submit([request].into_iter(), &|| true)).map_err(raised);
        }
        self.interruptibly(py, move |session, go_on| session.submit([request].into_iter(), go_on))
    }

    /// Asks for all of these, in order; how many pages could not be read.
    #[pyo3(signature = (op_codes, first, pages = None, at_ns = None))]
    fn submit(
        &self,
        py: Python<'_>,
        op_codes: PyReadonlyArray1<'_, u8>,
        first: PyReadonlyArray1<'_, u64>,
        pages: Option<PyReadonlyArray1<'_, u32>>,
        at_ns: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<u64> {
        let (ops, first) = (copied(&op_codes)?, copied(&first)?);
        let (pages, at_ns) = (pages.as_ref().map(copied).transpose()?, at_ns.as_ref().map(copied).transpose()?);
        length(&[
            ("op", Some(ops.len())),
            ("first", Some(first.len())),
            ("pages", pages.as_ref().map(Vec::len)),
            ("at_ns", at_ns.as_ref().map(Vec::len)),
        ])?;
        if let Some(code) = ops.iter().find(|code| Op::from_code(**code).is_none()) {
            op(*code).map_err(raised)?;
        }
        self.interruptibly(py, move |session, go_on| {
            let requests = ops.iter().zip(first).enumerate().filter_map(|(n, (code, first))| {
                let op = Op::from_code(*code)?;
                let pages = pages.as_ref().map_or(Some(1), |pages| pages.get(n).copied())?;
                let at_ns = at_ns.as_ref().map_or(Some(0), |times| times.get(n).copied())?;
                let pages = if op == Op::Flush { 0 } else { pages };
                Some(PageRequest { at_ns, op, first, pages, partial_first: false, partial_last: false, handle: 0 })
            });
            session.submit(requests, go_on)
        })
    }

    /// Counts from zero.
    fn begin_counting(&self, py: Python<'_>) {
        self.with(py, Session::begin_counting);
    }

    /// What has been counted: `phelsuma.run/1` as JSON.
    fn result(&self, py: Python<'_>) -> String {
        self.with(py, |session| json!(session.result()).to_string())
    }

    /// Cuts the power and brings the drive up again: what `recovery` of `phelsuma.run/1` is, as JSON.
    fn power_cut(&self, py: Python<'_>) -> PyResult<String> {
        self.interruptibly(py, |session, _| Ok(json!(session.cut_and_recover()?).to_string()))
    }

    /// Logical pages.
    #[getter]
    fn logical_pages(&self, py: Python<'_>) -> u32 {
        self.with(py, |session| session.logical_pages())
    }

    /// Pages of a block.
    #[getter]
    fn pages_per_block(&self, py: Python<'_>) -> u32 {
        self.with(py, |session| session.geometry().pages_per_block())
    }

    /// The name of the FTL.
    #[getter]
    fn ftl(&self, py: Python<'_>) -> String {
        self.with(py, |session| session.ftl().to_string())
    }

    /// What the FTL has counted since it came up, by name, as JSON.
    fn counters(&self, py: Python<'_>) -> String {
        self.with(py, |session| {
            let counters = session.drive().ftl().counters();
            let by_name: std::collections::BTreeMap<&str, u64> = counters.iter().map(|c| (c.name, c.value)).collect();
            json!(by_name).to_string()
        })
    }

    /// How often each block was erased since the drive was made.
    fn erases<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.with(py, |session| session.erases()).into_pyarray(py)
    }

    /// What the FTL knows of each block; none where it does not tell.
    fn blocks<'py>(&self, py: Python<'py>) -> Option<Blocks<'py>> {
        let blocks = self.with(py, |session| session.blocks())?;
        let state = |state: BlockState| match state {
            BlockState::Free => 0u8,
            BlockState::Held => 1,
            BlockState::Open => 2,
            BlockState::Written => 3,
            BlockState::Bad => 4,
        };
        let states: Vec<u8> = blocks.iter().map(|block| state(block.state)).collect();
        let kinds: Vec<u8> = blocks.iter().map(|block| block.kind.map_or(255, |kind| kind as u8)).collect();
        let live: Vec<i32> = blocks.iter().map(|block| block.live_pages.map_or(-1, i32::from)).collect();
        Some((states.into_pyarray(py), kinds.into_pyarray(py), live.into_pyarray(py)))
    }

    /// What is on each physical page, block after block: 0 erased, 1 stale, 2 live, 3 metadata, 4 unreadable.
    fn pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let states = self.interruptibly(py, |session, _| {
            Ok(session.pages()?.into_iter().map(|state| state as u8).collect::<Vec<u8>>())
        })?;
        Ok(states.into_pyarray(py))
    }

    /// Where the data of each logical page are: its physical page, block after block; 2^32 - 1 where there are none.
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self.interruptibly(py, |session, _| session.places())?.into_pyarray(py))
    }

    /// Runs of its Logarithmic Gecko, newest first, as level and pages; none where it has none.
    fn gecko_runs(&self, py: Python<'_>) -> Option<Vec<(u8, u32)>> {
        let gecko = self.with(py, |session| session.gecko())?;
        Some(gecko.runs.iter().map(|run| (run.level, run.pages)).collect())
    }

    /// Latencies of writes and of reads since counting began.
    fn latencies<'py>(&self, py: Python<'py>) -> (Histogram<'py>, Histogram<'py>) {
        let [writes, reads] = self.with(py, |session| session.latencies());
        let columns = |histogram: Vec<(u64, u64)>| {
            let (ns, requests): (Vec<u64>, Vec<u64>) = histogram.into_iter().unzip();
            (ns.into_pyarray(py), requests.into_pyarray(py))
        };
        (columns(writes), columns(reads))
    }
}
