//! Whether a drive holds a trace, and which would: found by trying, so that what is advised can be typed and works.

use crate::bytes::show_bytes;
use crate::capacity::formatted;
use crate::config::{FoldChoice, Input, RunConfig, RunError, input_error};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, PageSource};

/// The largest drive that is tried, in pages: reserve and open blocks of a larger one are next to nothing.
const TRIED_PAGES_MAX: u64 = 1 << 20;
/// Capacities are advised in these.
const MIB: u64 = 1 << 20;

/// A drive on which a trace leaves little room.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TightDrive {
    /// What the trace touches, in bytes.
    pub footprint_bytes: u64,
    /// The least flash that holds it, in bytes.
    pub capacity_bytes: u64,
}

/// The least drive of this ratio that holds the trace with each of these FTLs; this reads the trace once. None of a workload,
/// of a trace that is wrapped, and where no drive is found.
///
/// # Errors
/// [`RunError::Input`]: the trace cannot be read.
pub fn tight_drive(configs: &[RunConfig], ratio: f64) -> Result<Option<TightDrive>, RunError> {
    let Some(pages) = footprint(configs)? else { return Ok(None) };
    let mut configs = configs.to_vec();
    configs.iter_mut().for_each(|config| config.shape.ratio = ratio);
    let page_bytes = configs.first().map_or(0, |config| u64::from(config.shape.page_bytes));
    let tight = |capacity_bytes| TightDrive { footprint_bytes: pages * page_bytes, capacity_bytes };
    Ok(least_capacity(&configs, pages).map(tight))
}

/// Refuses a drive that does not hold the trace with one of these FTLs, which differ in nothing else; this reads the trace
/// once.
///
/// # Errors
/// [`RunError::Input`] names a capacity that is enough for all of them.
pub fn check_holds_trace(configs: &[RunConfig]) -> Result<(), RunError> {
    let Some(pages) = footprint(configs)? else { return Ok(()) };
    for config in configs {
        let Some(capacity) = config.shape.capacity_bytes else { continue };
        let geometry = config.shape.geometry(capacity)?;
        check_footprint(configs, pages, config.shape.logical_pages(&geometry))?;
        formatted(config, &geometry).map_err(|error| match with_capacity(error, configs, pages) {
            RunError::Input(text) => RunError::Input(format!("{}: {text}", config.ftl)),
            error => error,
        })?;
    }
    Ok(())
}

/// Refuses a drive with fewer logical pages than the trace touches.
///
/// # Errors
/// [`RunError::Input`] names a capacity that is enough for all of `configs`.
pub(crate) fn check_footprint(configs: &[RunConfig], pages: u64, logical_pages: u32) -> Result<(), RunError> {
    let Some(RunConfig { shape, .. }) = configs.first() else { return Ok(()) };
    if pages <= u64::from(logical_pages) {
        return Ok(());
    }
    let bytes = |pages: u64| show_bytes(pages * u64::from(shape.page_bytes));
    let right = advice(configs, pages).unwrap_or_else(|| "a larger --capacity".into());
    Err(RunError::Input(format!(
        "the trace touches {} ({pages} pages) and the drive has {} ({logical_pages}): {right} would be right at ratio {}",
        bytes(pages),
        bytes(logical_pages.into()),
        shape.ratio
    )))
}

/// What an FTL says that does not fit its drive, with a capacity that is enough for the trace and all of `configs`.
pub(crate) fn with_capacity(error: RunError, configs: &[RunConfig], pages: u64) -> RunError {
    match (error, advice(configs, pages), configs.first()) {
        (RunError::Input(text), Some(right), Some(RunConfig { shape, .. })) => {
            RunError::Input(format!("{text}; {right} would hold the trace at ratio {}", shape.ratio))
        }
        (error, ..) => error,
    }
}

/// The pages that a trace touches; none of a workload, and of a trace that is wrapped, which fits any drive.
fn footprint(configs: &[RunConfig]) -> Result<Option<u64>, RunError> {
    let Some(RunConfig { shape, input: Input::Trace { trace, fold: FoldChoice::Compact, .. }, .. }) = configs.first()
    else {
        return Ok(None);
    };
    let fold = FoldOptions { page_bytes: shape.page_bytes, fold: Fold::Compact, loops: 1 };
    Ok(Some(PageSource::from_origin(trace, fold).map_err(input_error)?.logical_pages()))
}

/// The options of a drive that is large enough; and of one whose blocks are smaller, where large blocks take much of it.
fn advice(configs: &[RunConfig], pages: u64) -> Option<String> {
    let capacity = least_capacity(configs, pages)?;
    let shown = format!("--capacity {}MiB", capacity / MIB);
    let RunConfig { shape, .. } = configs.first()?;
    if capacity as f64 <= 1.2 * at_ratio(pages, shape.page_bytes, shape.ratio) as f64 {
        return Some(shown);
    }
    let pages_per_block = shape.pages_per_block / 4;
    let mut smaller = configs.to_vec();
    smaller.iter_mut().for_each(|config| config.shape.pages_per_block = pages_per_block);
    match least_capacity(&smaller, pages) {
        Some(less) if less < capacity => {
            Some(format!("{shown}, or --capacity {}MiB --pages-per-block {pages_per_block},", less / MIB))
        }
        _ => Some(shown),
    }
}

/// So many logical pages at a ratio, in whole MiB of flash.
fn at_ratio(pages: u64, page_bytes: u32, ratio: f64) -> u64 {
    let bytes = pages as f64 / ratio * f64::from(page_bytes);
    ((bytes / MIB as f64).ceil().max(1.0) as u64).saturating_mul(MIB)
}

/// The least capacity, in whole MiB, at which all of `configs` come up with so many logical pages or more.
fn least_capacity(configs: &[RunConfig], pages: u64) -> Option<u64> {
    let RunConfig { shape, .. } = configs.first()?;
    let comes_up = |config: &RunConfig, capacity: u64| {
        config.shape.geometry(capacity).is_ok_and(|geometry| {
            let logical_pages = config.shape.logical_pages(&geometry);
            u64::from(logical_pages) >= pages
                && config.composition.check_on(&geometry, logical_pages).is_ok()
                && formatted(config, &geometry).is_ok()
        })
    };
    let fits = |mib: u64| configs.iter().all(|config| comes_up(config, mib * MIB));
    let least = at_ratio(pages, shape.page_bytes, shape.ratio) / MIB;
    let most = (TRIED_PAGES_MAX * u64::from(shape.page_bytes) / MIB).max(least);
    if least == most {
        return Some(least * MIB);
    }
    let (mut too_little, mut enough) = (least - 1, least);
    while !fits(enough) {
        too_little = enough;
        enough = enough.checked_mul(2).filter(|mib| *mib <= most)?;
    }
    while enough - too_little > 1 {
        let between = too_little.midpoint(enough);
        if fits(between) {
            enough = between;
        } else {
            too_little = between;
        }
    }
    Some(enough * MIB)
}
