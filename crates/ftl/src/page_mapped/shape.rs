//! How the flash is divided, and what fits.

use super::trim_map::{PENDING_MAX, regions};
use super::{PageMapped, placement_of};
use crate::blocks::critical_blocks;
use crate::ftl::Shape;
use crate::{ANCHOR_BLOCKS, Config, FtlError};
use phelsuma_nand::Geometry;

impl PageMapped {
    /// How the flash is divided.
    pub(super) fn shape_of(geometry: &Geometry, config: &Config) -> Shape {
        let streams = u32::from(placement_of(config).streams()) + 1;
        let open_blocks = streams * geometry.dies();
        Shape {
            logical_pages: config.logical_pages,
            reserve_blocks: critical_blocks(geometry) + open_blocks + 1,
            open_blocks,
            fixed_blocks: ANCHOR_BLOCKS,
            metadata_programs_per_collection: PENDING_MAX,
        }
    }

    /// Pages that user data can take on a drive with so many bad blocks, and leave collection something to gain.
    pub(super) fn usable_pages(geometry: &Geometry, shape: &Shape, bad: u32) -> u64 {
        // Each region may have a live tombstone page besides its user pages; counted as if the drive were all logical
        // pages, so that what fits does not depend on what was asked for.
        let most = u32::try_from(geometry.pages()).unwrap_or(u32::MAX);
        let tombstones = regions(geometry, most).div_ceil(geometry.pages_per_block()) + 1;
        let taken = shape.reserve_blocks + shape.open_blocks + shape.fixed_blocks + bad + tombstones;
        u64::from(geometry.blocks().saturating_sub(taken)) * u64::from(geometry.pages_per_block())
    }

    /// How the flash is divided, or why it cannot be.
    pub(super) fn shape_that_fits(geometry: &Geometry, config: &Config, bad: u32) -> Result<Shape, FtlError> {
        let shape = Self::shape_of(geometry, config);
        let usable_pages = Self::usable_pages(geometry, &shape, bad);
        if config.logical_pages == 0 || u64::from(config.logical_pages) > usable_pages {
            return Err(FtlError::DoesNotFit {
                logical_pages: config.logical_pages,
                reserve_blocks: shape.reserve_blocks,
                open_blocks: shape.open_blocks,
                usable_pages,
                // Rounded down, so that what is printed fits.
                largest_ratio: (usable_pages as u128 * 10_000 / u128::from(geometry.pages())) as f64 / 10_000.0,
            });
        }
        Ok(shape)
    }
}
