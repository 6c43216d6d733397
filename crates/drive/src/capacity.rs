//! How large a drive is where no capacity was given.

use crate::bytes::show_bytes;
use crate::config::{Arrival, FoldChoice, Input, RunConfig, RunError, input_error};
use crate::drive::Drive;
use phelsuma_ftl::Config;
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, PageSource};

/// The default capacity of a drive, in bytes.
pub const CAPACITY_DEFAULT: u64 = 4 << 30;
/// The least capacity chosen for a trace, in bytes.
pub const CAPACITY_TRACE_MIN: u64 = 256 << 20;

/// How often the capacity chosen for a trace is doubled for the FTL's reserve, at the most: what does not fit a drive a
/// thousand times the trace's size has too high a ratio.
const DOUBLINGS_MAX: u32 = 10;
/// Decides the capacity if none is given, the same for all of `configs`, which differ in their FTLs alone. It is 4 GiB
/// for a workload and for a trace that is wrapped. For any other trace it is the smallest sufficient power of two, at
/// least 256 MiB. Its logical pages hold the footprint, and the reserve of every FTL fits beside them. The capacity, in
/// bytes. `affordable` is called before a drive is tried.
///
/// # Errors
/// [`RunError::Input`]: a shape or an FTL that cannot be, or a trace that cannot be read; what `affordable` says.
pub fn settle_capacity(
    configs: &mut [RunConfig],
    affordable: impl Fn(&Geometry) -> Result<(), RunError>,
) -> Result<u64, RunError> {
    let Some(RunConfig { shape, input, .. }) = configs.first() else { return Ok(CAPACITY_DEFAULT) };
    // Errors of the shape are reported before a trace is read for its footprint.
    let capacity = match (shape.capacity_bytes, input) {
        (Some(capacity), _) => capacity,
        (None, Input::Workload(_) | Input::Trace { fold: FoldChoice::Wrap, .. }) => CAPACITY_DEFAULT,
        (None, Input::Trace { trace, .. }) => {
            let least = shape.least_capacity()?;
            let fold = FoldOptions { page_bytes: shape.page_bytes, fold: Fold::Compact, loops: 1 };
            let source = PageSource::from_origin(trace, fold).map_err(input_error)?;
            capacity_for(configs, least.max(CAPACITY_TRACE_MIN), source.logical_pages(), affordable)?
        }
    };
    shape.geometry(capacity)?;
    configs.iter_mut().for_each(|config| config.shape.capacity_bytes = Some(capacity));
    Ok(capacity)
}

fn capacity_for(
    configs: &[RunConfig],
    least: u64,
    footprint: u64,
    affordable: impl Fn(&Geometry) -> Result<(), RunError>,
) -> Result<u64, RunError> {
    let Some(RunConfig { shape, .. }) = configs.first() else { return Ok(least) };
    let bytes = footprint.saturating_mul(u64::from(shape.page_bytes));
    let of = |capacity: u64| {
        shape.geometry(capacity).map_err(|_| {
            RunError::Input(format!(
                "the trace touches {}, which at ratio {} takes more than {} of flash: a drive of such blocks ends \
                 before the next power of two; larger pages or a --capacity would be right",
                show_bytes(bytes),
                shape.ratio,
                show_bytes(capacity / 2)
            ))
        })
    };
    let mut capacity = least;
    while u64::from(shape.logical_pages(&of(capacity)?)) < footprint {
        capacity = capacity.saturating_mul(2);
    }
    for doublings in 0.. {
        let geometry = of(capacity)?;
        affordable(&geometry)?;
        // A format says first whether the FTL fits.
        match configs.iter().try_for_each(|config| formatted(config, &geometry).map(drop)) {
            Err(RunError::Input(_)) if doublings < DOUBLINGS_MAX => capacity = capacity.saturating_mul(2),
            result => return result.map(|()| capacity),
        }
    }
    Ok(capacity)
}

/// A blank drive.
pub(crate) fn formatted(config: &RunConfig, geometry: &Geometry) -> Result<Drive, RunError> {
    let logical_pages = config.shape.logical_pages(geometry);
    if logical_pages == 0 {
        let (ratio, pages) = (config.shape.ratio, geometry.pages());
        return Err(RunError::Input(format!("ratio {ratio} of {pages} pages is less than one logical page")));
    }
    let logical_bytes = u64::from(logical_pages) * u64::from(geometry.page_bytes());
    if let Some(cache) = config.write_cache.filter(|cache| cache.bytes >= logical_bytes) {
        return Err(RunError::Input(format!(
            "a write cache of {} holds the whole drive, which has {} logical: a smaller one would be right",
            show_bytes(cache.bytes),
            show_bytes(logical_bytes)
        )));
    }
    let ftl = Config::new(&config.ftl, config.composition, logical_pages, config.seed).cached(config.write_cache);
    let mut nand = SimNand::new(&SimConfig::new(*geometry, config.timing));
    if !config.times_are_of_flash_alone() {
        nand.meter();
    }
    Ok(Drive::format(nand, &ftl, Arrival::QueueDepth(1))?.behind(config.link))
}
