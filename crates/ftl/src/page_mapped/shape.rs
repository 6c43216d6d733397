//! How the flash is divided, and what fits.

use super::mapping::{PENDING_MAX, regions, translation_pages};
use super::validity::{Tuning, bitmap_pages};
use super::{PageMapped, placement_of};
use crate::blocks::critical_blocks;
use crate::config::{GeckoMerge, MappingPart, MetadataPart, OnMiss, PowerPart, ValidityPart};
use crate::ftl::Shape;
use crate::{ANCHOR_BLOCKS, Config, FtlError, SetAside};
use phelsuma_nand::Geometry;

/// Where blocks of metadata are left until all of their pages are stale, how many times the space of the live ones they
/// may take before the emptiest is collected all the same. Under uniform random writes it is about three times.
const LEFT_SPACE: u32 = 5;

/// What the parts of an FTL need of the flash for themselves.
#[derive(Clone, Copy, Default, Debug)]
struct Needs {
    /// Pages of metadata that can be live at a time.
    live_pages: u64,
    /// Pages that may be programmed during one collection, besides the pages moved.
    programs: u64,
    /// User pages that can be stale without anybody knowing.
    unidentified: u64,
    /// Pages that are programmed on battery.
    battery: u64,
}

impl Needs {
    fn and(self, other: Self) -> Self {
        Self {
            live_pages: self.live_pages + other.live_pages,
            programs: self.programs + other.programs,
            unidentified: self.unidentified + other.unidentified,
            battery: self.battery + other.battery,
        }
    }
}

/// The entries that a demand-paged mapping caches: as asked for, or 1/512 of the table (of four bytes an entry) at eight
/// bytes an entry, at least 1,024.
pub(super) fn cache_entries(logical_pages: u32, asked: u32) -> u32 {
    if asked == 0 { (logical_pages / 1024).max(1024) } else { asked }
}

fn needs(geometry: &Geometry, config: &Config) -> Result<Needs, FtlError> {
    // Counted as if the drive were all logical pages, so that what fits does not depend on what was asked for.
    let most = u32::try_from(geometry.pages()).unwrap_or(u32::MAX);
    let block = u64::from(geometry.pages_per_block());
    let mut unidentified = 0;
    let mapping = match config.composition.mapping {
        MappingPart::RamTable => {
            Needs { live_pages: regions(geometry, most).into(), programs: PENDING_MAX.into(), ..Needs::default() }
        }
        MappingPart::Paged { cache_entries: asked, on_miss } => {
            let pages = u64::from(translation_pages(geometry, most));
            let entries = u64::from(cache_entries(most, asked));
            unidentified = if on_miss == OnMiss::Lazy { entries } else { 0 };
            let battery = if config.composition.power == PowerPart::Battery { entries.min(pages) } else { 0 };
            Needs { live_pages: pages, programs: block, unidentified, battery }
        }
    };
    // Every page moved may make a synchronization report all that it finds; and a trim takes so many pages at a time, one
    // for each entry of a translation page.
    let reports = unidentified + block.max(u64::from(geometry.page_bytes() / 4));
    let validity = match config.composition.validity {
        ValidityPart::RamBitmap => Needs::default(),
        ValidityPart::FlashBitmap => {
            if geometry.pages_per_block() > geometry.page_bytes() * 8 {
                return Err(FtlError::Unsupported("a bitmap in flash needs pages with a bit for each page of a block"));
            }
            Needs { live_pages: bitmap_pages(geometry).into(), programs: reports, ..Needs::default() }
        }
        ValidityPart::Gecko { size_ratio, partitions, merge } => {
            let tuning = Tuning::new(geometry, size_ratio, partitions, merge)?;
            let longest = u64::from(tuning.longest_run());
            let flushes = reports / tuning.buffer_entries() as u64 + 2;
            // A run stays in its level until it has T times the pages, and where entries have met in it, the runs below
            // the longest may together be twice as long as that one.
            let live_pages = 3 * longest + 2;
            // Merging all runs at once writes the longest once. Two by two, each level that joins is written anew on
            // the way: at T = 2 the longest, twice what may be as long, then half of that, and so on.
            let largest_merge = match merge {
                GeckoMerge::MultiWay => 2 * longest,
                GeckoMerge::TwoWay => 4 * longest,
            };
            let levels = u64::from(longest.max(1).ilog2()) + 2;
            Needs { live_pages, programs: largest_merge + flushes * levels, ..Needs::default() }
        }
    };
    Ok(mapping.and(validity))
}

impl PageMapped {
    /// How the flash is divided.
    pub(super) fn shape_of(geometry: &Geometry, config: &Config) -> Result<Shape, FtlError> {
        let needs = needs(geometry, config)?;
        let block = u64::from(geometry.pages_per_block());
        let blocks = |pages: u64| u32::try_from(pages.div_ceil(block)).unwrap_or(u32::MAX);
        let validity_streams = u32::from(config.composition.validity != ValidityPart::RamBitmap);
        let streams = u32::from(placement_of(config).streams()) + 1 + validity_streams;
        let open_blocks = streams * geometry.dies();
        let only_tombstones = config.composition.mapping == MappingPart::RamTable && validity_streams == 0;
        let metadata_blocks = match config.composition.metadata {
            MetadataPart::Left if !only_tombstones => blocks(needs.live_pages * u64::from(LEFT_SPACE)) + 2,
            _ => blocks(needs.live_pages) + 1,
        };
        // The few tombstone pages that a collection may write fit the block that every stream has open, and one more.
        let programs = if only_tombstones { 0 } else { blocks(needs.programs) };
        // The block that is open may have no room; on several dies each die opens one.
        let battery = if needs.battery == 0 { 0 } else { blocks(needs.battery) + geometry.dies() };
        Ok(Shape {
            logical_pages: config.logical_pages,
            reserve_blocks: critical_blocks(geometry) + open_blocks + 1 + programs + battery,
            open_blocks,
            fixed_blocks: ANCHOR_BLOCKS,
            metadata_blocks,
            unidentified_blocks: blocks(needs.unidentified),
            metadata_programs_per_collection: u32::try_from(needs.programs).unwrap_or(u32::MAX),
            battery_programs: u32::try_from(needs.battery).unwrap_or(u32::MAX),
        })
    }

    /// Pages that user data can take on a drive with so many bad blocks, and leave collection something to gain.
    pub(super) fn usable_pages(geometry: &Geometry, shape: &Shape, bad: u32) -> u64 {
        let taken = u64::from(shape.reserve_blocks)
            + u64::from(shape.open_blocks)
            + u64::from(shape.fixed_blocks)
            + u64::from(shape.metadata_blocks)
            + u64::from(shape.unidentified_blocks)
            + u64::from(bad);
        u64::from(geometry.blocks()).saturating_sub(taken) * u64::from(geometry.pages_per_block())
    }

    /// How the flash is divided, or why it cannot be.
    pub(super) fn shape_that_fits(geometry: &Geometry, config: &Config, bad: u32) -> Result<Shape, FtlError> {
        let shape = Self::shape_of(geometry, config)?;
        let usable_pages = Self::usable_pages(geometry, &shape, bad);
        if config.logical_pages == 0 || u64::from(config.logical_pages) > usable_pages {
            return Err(FtlError::DoesNotFit {
                logical_pages: config.logical_pages,
                set_aside: SetAside {
                    reserve_blocks: shape.reserve_blocks,
                    open_blocks: shape.open_blocks,
                    metadata_blocks: shape.metadata_blocks,
                    unidentified_blocks: shape.unidentified_blocks,
                },
                usable_pages,
                // Rounded down, so that what is printed fits.
                largest_ratio: (usable_pages as u128 * 10_000 / u128::from(geometry.pages())) as f64 / 10_000.0,
            });
        }
        Ok(shape)
    }
}
