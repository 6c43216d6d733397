//! Whether an FTL fits a drive, and what would be right where it does not.

use crate::bytes::show_bytes;
use phelsuma_ftl::{Config, FtlError, format};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand, TIMINGS, Time};

/// The largest drive that is tried in order to say which would be large enough, in pages.
const TRIED_PAGES_MAX: u64 = 1 << 22;

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

/// Whether a blank drive mounts with this FTL: in memory, with any timing. For callers that compile no FTLs of their
/// own.
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
