//! Drives with room for an FTL: placements of several streams have a block open for each of them on each die.

#![allow(clippy::unwrap_used, unreachable_pub)]

use phelsuma_drive::comes_up;
use phelsuma_ftl::{Composition, Config, FtlError};
use phelsuma_nand::Geometry;

/// Blocks that may go bad before a drive is full.
const BAD: u32 = 6;

/// The smallest drive of at least so many blocks of 32 pages on which so many logical pages fit though some blocks are
/// bad.
pub fn roomy(name: &str, composition: Composition, logical_pages: u32, blocks: u64, dies: (u32, u32)) -> Geometry {
    let fits = |geometry: &Geometry| {
        let config = Config::new(name, composition, logical_pages + BAD * geometry.pages_per_block(), 1);
        !matches!(comes_up(geometry, &config), Err(FtlError::DoesNotFit { .. }))
    };
    let sizes = (blocks..2 * blocks + 16).step_by(16);
    let mut drives = sizes.map(|blocks| Geometry::new(512, 32, blocks, dies.0, dies.1).unwrap());
    drives.find(fits).unwrap_or_else(|| panic!("{name}: twice as many blocks have no room, either"))
}
