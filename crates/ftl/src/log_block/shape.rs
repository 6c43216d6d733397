//! How the flash is divided, and what fits.

use super::layout::LogicalLayout;
use super::map_blocks;
use super::snapshot;
use crate::config::LogParts;
use crate::ftl::Shape;
use crate::medium::window;
use crate::{FtlError, RecoveryBound, SetAside};
use phelsuma_nand::Geometry;

/// An FTL of this family.
pub(super) type LogConfig = crate::Config<LogParts>;

/// Free blocks that a merge may take before it gives any back: its destination, a map block, and one more where a
/// program fails in either. Where segments are over several channels, a merge has a destination on each.
///
/// No log block is opened with no more free blocks than these and what a recovery may hold ([`in_flight`]). So a drive
/// whose blocks grow bad has fewer log blocks, and each recovery has room to write anew what may turn bad.
pub(super) const MERGE_BLOCKS: u32 = 3;

/// How many blocks are what.
#[derive(Clone, Copy, Debug)]
pub(super) struct HybridSizes {
    pub(super) logical_blocks: u32,
    pub(super) log_blocks: u32,
    pub(super) layout: LogicalLayout,
    pub(super) merge_blocks: u32,
    /// Of the table of trims.
    pub(super) trim_pages: u32,
    pub(super) shape: Shape,
}

/// Pages that a recovery may find to have been in flight, and blocks that it may have to hold back for their sake: as
/// many as the clock lets be in flight, of all pages and of those that no recovery wrote.
fn in_flight(geometry: &Geometry) -> u32 {
    2 * window(geometry.dies()) as u32
}

impl HybridSizes {
    /// The numbers of blocks by their use on a drive of this shape whose logical pages are so laid out, whether they
    /// fit or not. `described` of them hold its description.
    fn of(geometry: &Geometry, config: &LogConfig, layout: LogicalLayout, described: u32) -> Self {
        let logical_blocks = layout.logical_blocks(config.logical_pages);
        let log_blocks = config.composition.log_blocks_on(geometry);
        let merge_blocks = MERGE_BLOCKS - 1 + layout.channels();
        // As if the drive were all logical pages, so that the capacity does not depend on the request.
        let trim_pages = config.composition.trim_pages_on(geometry);
        let metadata_blocks = map_blocks::most(geometry, geometry.blocks(), trim_pages);
        let shape = Shape {
            logical_pages: config.logical_pages,
            reserve_blocks: merge_blocks + in_flight(geometry),
            open_blocks: log_blocks,
            log_blocks,
            fixed_blocks: described,
            metadata_blocks,
            unidentified_blocks: 0,
            metadata_programs_per_collection: geometry.pages_per_block(),
            battery_programs: 0,
        };
        Self { logical_blocks, log_blocks, layout, merge_blocks, trim_pages, shape }
    }

    /// The same, or why it cannot be on a drive with so many bad blocks.
    pub(super) fn that_fit(
        geometry: &Geometry,
        config: &LogConfig,
        layout: LogicalLayout,
        described: u32,
        bad: u32,
    ) -> Result<Self, FtlError> {
        if !map_blocks::has_room(geometry) {
            return Err(FtlError::Unsupported(
                "a page has no room for the bitmap of a block's trimmed pages: larger pages or smaller blocks would be right",
            ));
        }
        let sizes = Self::of(geometry, config, layout, described);
        let shape = sizes.shape;
        let taken = [shape.reserve_blocks, shape.open_blocks, shape.fixed_blocks, shape.metadata_blocks, bad];
        let taken: u64 = taken.iter().map(|blocks| u64::from(*blocks)).sum();
        // A logical block takes a whole one, so the rest is used in full.
        let usable_pages = sizes.layout.logical_pages(u64::from(geometry.blocks()).saturating_sub(taken));
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
    /// - The first spare area of every block, all of those whose first does not identify the block, and all of log
    ///   blocks and map blocks. No spare area is read twice but the first ones.
    /// - Of each log block up to `of_log_block` pages in full. Also the newest version of each part of the map, with
    ///   the last page of each map block that a cut has torn.
    /// - A full merge for each suspect page, and for what a scheme cannot go on with. Suspect parts of the map are
    ///   written anew, and map blocks are emptied where cuts have left too many.
    /// - Where there is a useless snapshot, its pages, the spare areas of one of its blocks, and the parts of the map.
    pub(super) fn recovery_bound(&self, geometry: &Geometry, of_log_block: u64, has_snapshot: bool) -> RecoveryBound {
        let (blocks, block) = (u64::from(geometry.blocks()), u64::from(geometry.pages_per_block()));
        let parts = u64::from(map_blocks::parts(geometry, self.logical_blocks, self.trim_pages));
        let merges = u64::from(in_flight(geometry)) + 2;
        let of_log_blocks = blocks * of_log_block;
        // A program that failed costs the rest of its block.
        let (snapshot, of_its_block) = match has_snapshot {
            true => (snapshot::pages_at_most(geometry, parts as u32, self.log_blocks + 1) + block + parts, block),
            false => (0, 0),
        };
        RecoveryBound {
            reads: u64::from(self.shape.fixed_blocks) + of_log_blocks + snapshot + parts + merges * block,
            spare_reads: geometry.pages() + blocks + of_its_block,
            programs: u64::from(self.shape.fixed_blocks) + merges * (block + 3) + 2 * parts + block,
        }
    }
}
