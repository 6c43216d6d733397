//! The layout of superblocks on a drive of this shape, and how many fit.

use super::super::map_blocks;
use super::super::shape::LogConfig;
use super::super::shape::MERGE_BLOCKS;
use super::page_map;
use crate::config::SuperblockParts;
use crate::ftl::Shape;
use crate::medium::window;
use crate::{FtlError, RecoveryBound, SetAside};
use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// Blocks that a superblock may have beyond its most: one that a collection fills, and what power cuts leave.
const BEYOND_MOST: u32 = 4;

/// Logical blocks of a superblock by default.
const BLOCKS: u32 = 4;

/// How logical pages are divided into superblocks, and how large these may grow.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct SuperblockLayout {
    pub(super) pages_per_block: u32,
    /// Logical blocks of a superblock.
    pub(super) blocks: u32,
    /// Physical blocks of a superblock at the most.
    pub(super) most: u32,
    pub(super) logical_pages: u32,
}

impl SuperblockLayout {
    /// # Errors
    /// [`FtlError::Unsupported`]: a page map of such a superblock does not fit a page.
    pub(super) fn of(geometry: &Geometry, config: &LogConfig, parts: SuperblockParts) -> Result<Self, FtlError> {
        let with = |blocks| Self {
            pages_per_block: geometry.pages_per_block(),
            blocks,
            most: if parts.most == 0 { 2 * blocks } else { parts.most },
            logical_pages: config.logical_pages,
        };
        let fits = |layout: &Self| {
            page_map::bytes(layout) <= geometry.page_bytes() as usize
                && layout.slots() * layout.pages_per_block < u32::from(page_map::NOWHERE)
        };
        let asked = if parts.blocks == 0 { 1..=BLOCKS } else { parts.blocks..=parts.blocks };
        let Some(layout) = asked.rev().map(with).find(fits) else {
            return Err(FtlError::Unsupported(
                "a page has no room for a superblock's page map: a smaller superblock or larger pages would be right",
            ));
        };
        if layout.most <= layout.blocks {
            return Err(FtlError::Unsupported(
                "a superblock may have no more blocks than it has logical ones: a larger superblock.most would be right",
            ));
        }
        Ok(layout)
    }

    /// Places for physical blocks in a superblock.
    pub(super) fn slots(&self) -> u32 {
        self.most + BEYOND_MOST
    }

    /// Logical pages of a superblock, but for the last one.
    pub(super) fn pages(&self) -> u32 {
        self.blocks * self.pages_per_block
    }

    pub(super) fn superblocks(&self) -> u32 {
        self.logical_pages.div_ceil(self.pages())
    }

    /// The superblock of a logical page, and where in it the page stands.
    #[inline]
    pub(super) fn split(&self, key: u32) -> (u32, u32) {
        (key / self.pages(), key % self.pages())
    }

    /// Logical pages of a superblock: the last one may be shorter.
    pub(super) fn pages_in(&self, superblock: u32) -> u32 {
        self.pages().min(self.logical_pages - superblock * self.pages())
    }

    /// Blocks that its logical pages fill.
    pub(super) fn blocks_in(&self, superblock: u32) -> u32 {
        self.pages_in(superblock).div_ceil(self.pages_per_block)
    }
}

/// How many blocks are what.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuperblockSizes {
    pub(super) layout: SuperblockLayout,
    /// Update blocks at the most.
    pub(super) updates: u32,
    pub(super) shape: Shape,
}

/// Pages that a recovery may find to have been in flight: of all pages, and of those that no recovery wrote.
fn in_flight(geometry: &Geometry) -> u32 {
    2 * window(geometry.dies()) as u32
}

impl SuperblockSizes {
    /// How many blocks are what on a drive of this shape, `described` of which hold its description, whether they fit
    /// or not.
    ///
    /// # Errors
    /// As [`SuperblockLayout::of`].
    pub(super) fn of(
        geometry: &Geometry,
        config: &LogConfig,
        parts: SuperblockParts,
        described: u32,
    ) -> Result<Self, FtlError> {
        let layout = SuperblockLayout::of(geometry, config, parts)?;
        let updates = config.composition.log_blocks_on(geometry);
        // As if the drive were all logical pages, so that the capacity does not depend on the request.
        let metadata_blocks = map_blocks::room_for(geometry, geometry.blocks().div_ceil(layout.blocks));
        let shape = Shape {
            logical_pages: config.logical_pages,
            reserve_blocks: MERGE_BLOCKS + in_flight(geometry),
            open_blocks: updates,
            log_blocks: updates,
            fixed_blocks: described,
            metadata_blocks,
            unidentified_blocks: 0,
            metadata_programs_per_collection: geometry.pages_per_block(),
            battery_programs: 0,
        };
        Ok(Self { layout, updates, shape })
    }

    /// The same, or why it cannot be on a drive with so many bad blocks.
    pub(super) fn that_fit(
        geometry: &Geometry,
        config: &LogConfig,
        parts: SuperblockParts,
        described: u32,
        bad: u32,
    ) -> Result<Self, FtlError> {
        let sizes = Self::of(geometry, config, parts, described)?;
        let shape = sizes.shape;
        let taken = [shape.reserve_blocks, shape.open_blocks, shape.fixed_blocks, shape.metadata_blocks, bad];
        let taken: u64 = taken.iter().map(|blocks| u64::from(*blocks)).sum();
        let usable_pages = u64::from(geometry.blocks()).saturating_sub(taken) * u64::from(geometry.pages_per_block());
        if config.logical_pages == 0 || u64::from(config.logical_pages) > usable_pages {
            return Err(FtlError::DoesNotFit {
                logical_pages: config.logical_pages,
                set_aside: SetAside {
                    reserve_blocks: shape.reserve_blocks,
                    open_blocks: shape.open_blocks,
                    metadata_blocks: shape.metadata_blocks,
                    unidentified_blocks: 0,
                },
                usable_pages,
                // Rounded down, so that the printed number fits.
                largest_ratio: (usable_pages as u128 * 10_000 / u128::from(geometry.pages())) as f64 / 10_000.0,
            });
        }
        Ok(sizes)
    }

    /// The most that a recovery can cost:
    ///
    /// - The first spare area of every block, and all of those whose first does not identify the block. Also those of
    ///   map blocks, and twice those of pages that may be younger than their superblock's map.
    /// - A part of the map for each superblock, twice where something is younger. Also the older version of suspect
    ///   ones and the pages of map blocks that a cut has torn. Also the last page of each block that has any younger
    ///   one, in full.
    /// - A copy and a map page for each suspect page; and map blocks emptied where cuts have left too many.
    pub(super) fn recovery_bound(&self, geometry: &Geometry) -> RecoveryBound {
        let (blocks, block) = (u64::from(geometry.blocks()), u64::from(geometry.pages_per_block()));
        let parts = u64::from(self.layout.superblocks());
        let unsure = u64::from(in_flight(geometry)) + 2;
        RecoveryBound {
            reads: u64::from(self.shape.fixed_blocks) + 2 * blocks + 3 * parts + unsure + block,
            spare_reads: 2 * geometry.pages() + blocks,
            programs: u64::from(self.shape.fixed_blocks) + 4 * unsure + parts + block,
        }
    }
}
