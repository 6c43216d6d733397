//! The requests of a run: its fill, how much of a workload it takes, its trace. An oracle goes through them as well.

use crate::config::{Arrival, Fill, FoldChoice, RunConfig, RunError, input_error};
use crate::footprint::check_footprint;
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::workload::Permutation;
use phelsuma_trace::{Fold, Op, PageRequest, PageSource, TraceOrigin, Workload};

/// Simulated time ends at 2^64 ns; requests must arrive well before, so that there is time to serve them.
pub(crate) const ARRIVAL_MAX_NS: u64 = 1 << 62;

fn write(first: u64, pages: u32) -> PageRequest {
    PageRequest { at_ns: 0, op: Op::Write, first, pages, partial_first: false, partial_last: false, handle: 0 }
}

/// The writes before anything else, request by request.
pub(crate) fn fill_requests(
    config: &RunConfig,
    logical_pages: u32,
    submit: &mut dyn FnMut(&PageRequest) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let logical = u64::from(logical_pages);
    match config.fill {
        Fill::None => {}
        Fill::Sequential => {
            const RUN: u64 = 64;
            for first in (0..logical).step_by(RUN as usize) {
                submit(&write(first, RUN.min(logical - first) as u32))?;
            }
        }
        Fill::Random => {
            // Not the permutation that scatters a workload's popular pages.
            let pages = Permutation::new(logical, config.seed ^ 0xf111);
            for written in 0..logical {
                submit(&write(pages.at(written), 1))?;
            }
        }
    }
    Ok(())
}

/// The pages that a workload writes to warm up, and while it is measured; [`u64::MAX`] where it is measured to its end.
pub(crate) fn workload_targets(
    config: &RunConfig,
    workload: &Workload,
    logical_pages: u32,
) -> Result<[u64; 2], RunError> {
    // To the end is more than there are pages.
    let pages = |passes: f64| (passes * f64::from(logical_pages)) as u64;
    let to_the_end = workload.ends() && config.passes == f64::INFINITY;
    if !(config.warmup.is_finite() && (config.passes.is_finite() || to_the_end) && pages(config.passes) > 0) {
        return Err(RunError::Input(format!(
            "{} passes over {logical_pages} logical pages after {} to warm up: at least one page must be counted",
            config.passes, config.warmup
        )));
    }
    Ok([pages(config.warmup), pages(config.passes)])
}

/// Opens a trace that is to run on so many logical pages; this reads it once.
pub(crate) fn open_trace(
    config: &RunConfig,
    trace: &TraceOrigin,
    fold: FoldChoice,
    loops: u64,
    logical_pages: u32,
) -> Result<PageSource, RunError> {
    let fold = match fold {
        FoldChoice::Compact => Fold::Compact,
        FoldChoice::Wrap => Fold::Wrap { logical_pages: u64::from(logical_pages) },
    };
    let options_of_fold = FoldOptions { page_bytes: config.shape.page_bytes, fold, loops };
    let source = PageSource::from_origin(trace, options_of_fold).map_err(input_error)?;
    check_footprint(std::slice::from_ref(config), source.logical_pages(), logical_pages)?;
    if matches!(config.arrival, Arrival::Timestamps) {
        check_times(&source, loops)?;
    }
    Ok(source)
}

/// Refuses a trace that asks later than simulated time can tell.
fn check_times(trace: &PageSource, loops: u64) -> Result<(), RunError> {
    let latest = ARRIVAL_MAX_NS / loops;
    let duration_ns = trace.report().duration_ns;
    if duration_ns <= latest {
        return Ok(());
    }
    Err(RunError::Input(format!(
        "{}: the last request arrives {duration_ns} ns after the first, with --open-loop at most {latest} ns ({:.0} \
         years) can be simulated: another --time-unit or a --queue-depth would be right",
        trace.name(),
        latest as f64 / 1e9 / 86_400.0 / 365.25
    )))
}
