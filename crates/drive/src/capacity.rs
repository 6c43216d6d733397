//! How large a drive is: the capacity that nobody gave, and what would be right where one does not do.

use crate::bytes::show_bytes;
use crate::config::{Arrival, FoldChoice, Input, RunConfig, RunError, input_error};
use crate::drive::Drive;
use phelsuma_ftl::{Config, FtlError, format};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand, TIMINGS, Time};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Fold, PageSource};

/// The capacity of a drive that nobody gave one, in bytes.
pub const CAPACITY_DEFAULT: u64 = 4 << 30;
/// The least capacity chosen for a trace, in bytes.
pub const CAPACITY_TRACE_MIN: u64 = 256 << 20;

/// How often the capacity chosen for a trace is doubled for the FTL's reserve, at the most: what does not fit a drive a
/// thousand times the trace's size has too high a ratio.
const DOUBLINGS_MAX: u32 = 10;
/// The largest drive that is tried in order to say which would be large enough, in pages.
const TRIED_PAGES_MAX: u64 = 1 << 22;

/// Decides the capacity that nobody gave, the same for all of `configs`, which differ in their FTLs alone: 4 GiB for
/// a workload and for a trace that is wrapped; for any other trace the smallest power of two whose logical pages hold
/// its footprint and beside which the reserve of every FTL fits, at least 256 MiB. The capacity, in bytes.
/// `affordable` is asked before a drive is tried.
///
/// # Errors
/// [`RunError::Input`]: a shape or an FTL that cannot be, or a trace that cannot be read; what `affordable` says.
pub fn settle_capacity(
    configs: &mut [RunConfig],
    affordable: impl Fn(&Geometry) -> Result<(), RunError>,
) -> Result<u64, RunError> {
    let Some(RunConfig { shape, input, .. }) = configs.first() else { return Ok(CAPACITY_DEFAULT) };
    // Whatever is wrong with the shape is said before a trace is read for its footprint.
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
    let ftl = Config::new(&config.ftl, config.composition, logical_pages, config.seed);
    Drive::format(SimNand::new(&SimConfig::new(*geometry, config.timing)), &ftl, Arrival::QueueDepth(1))
}

/// What an FTL's refusal of a drive means, in bytes, and which drive or ratio would be right.
pub fn does_not_fit(geometry: &Geometry, config: &Config, error: &FtlError) -> String {
    let FtlError::DoesNotFit { logical_pages, set_aside, usable_pages, largest_ratio } = error else {
        return error.to_string();
    };
    let bytes = |pages: u64| show_bytes(pages * u64::from(geometry.page_bytes()));
    let flash = bytes(geometry.pages());
    // To four digits, and not rounded up.
    let largest = (largest_ratio * 1e4).floor() / 1e4;
    if *usable_pages > 0 && largest > 0.0 {
        return format!(
            "{} of logical pages ({logical_pages}) do not fit {flash} of flash: {set_aside} leave room for {}; \
             the largest ratio that fits is {largest:.4}",
            bytes(u64::from(*logical_pages)),
            bytes(*usable_pages)
        );
    }
    let block = u64::from(geometry.pages_per_block());
    let least = match least_blocks(geometry, config) {
        Some(blocks) => {
            // So that it can be typed; a page has 512 bytes or more.
            let exact = blocks * block * u64::from(geometry.page_bytes()) / 1024;
            let exact = if exact.is_multiple_of(1024) { format!("{}MiB", exact / 1024) } else { format!("{exact}KiB") };
            format!(
                "; at this ratio {exact} (at least {blocks} blocks) would be right, and more to leave it spare space"
            )
        }
        None => String::new(),
    };
    format!(
        "{flash} of flash is too little: of {} blocks of {}, {set_aside} leave no room at any \
         ratio{least}",
        geometry.blocks(),
        bytes(block)
    )
}

/// Whether a blank drive comes up with this FTL: in memory, with any timing. For callers that compile no FTLs of their own.
///
/// # Errors
/// As [`format`](fn@phelsuma_ftl::format).
pub fn comes_up(geometry: &Geometry, config: &Config) -> Result<(), FtlError> {
    format(&mut SimNand::new(&SimConfig::new(*geometry, TIMINGS[0].2)), config, Time::ZERO).map(drop)
}

/// With how many blocks, everything else the same, the FTL would fit; by trying.
fn least_blocks(geometry: &Geometry, config: &Config) -> Option<u64> {
    let ratio = f64::from(config.logical_pages) / geometry.pages() as f64;
    let (page, pages_per_block) = (geometry.page_bytes(), geometry.pages_per_block());
    let fits = |blocks: u64| {
        let (channels, dies) = (geometry.channels(), geometry.dies_per_channel());
        Geometry::new(page, pages_per_block, blocks, channels, dies).is_ok_and(|larger| {
            let logical_pages = ((larger.pages() as f64 * ratio) as u32).max(1);
            let config = Config { logical_pages, ..config.clone() };
            comes_up(&larger, &config).is_ok()
        })
    };
    let most = TRIED_PAGES_MAX / u64::from(pages_per_block);
    let (mut too_few, mut enough) = (u64::from(geometry.blocks()), u64::from(geometry.blocks()) * 2);
    while !fits(enough) {
        too_few = enough;
        enough = enough.checked_mul(2).filter(|blocks| *blocks <= most)?;
    }
    while enough - too_few > 1 {
        let between = too_few.midpoint(enough);
        if fits(between) {
            enough = between;
        } else {
            too_few = between;
        }
    }
    Some(enough)
}
