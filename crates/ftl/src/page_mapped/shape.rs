//! How the flash is divided, and what fits.

use super::collecting::OfGroups;
use super::durability::{Integrity, OF_ONE_TRIM, counters_and_seal, held_blocks, young_blocks};
use super::mapping::{MuMapping, PagedMapping, RamMapping, bitmap_needs};
use super::needs::Needs;
use super::parts::PageConfig;
use super::runs::{RunLayout, Tuning};
use super::sorting::context;
use super::streams::Streams;
use super::validity::{FlashBitmap, PageValidityLog, saved_bytes};
use crate::blocks::{critical_blocks, pages_of_table, region_blocks};
use crate::config::{CollectionPart, MappingPart, MetadataPart, PowerPart, ValidityPart, WearPart};
use crate::ftl::Shape;
use crate::mu_tree::Layout;
use crate::policy::STREAMS_MAX;
use crate::slc_part::SlcPart;
use crate::{ANCHOR_BLOCKS, FtlError, RecoveryBound, SetAside};
use phelsuma_nand::Geometry;

/// Blocks of metadata may be left until all of their pages are stale. This is how many times the space of the live
/// pages they may take then, before the emptiest is collected all the same. Under uniform random writes it is about
/// three times.
const LEFT_SPACE: u32 = 5;

/// How many programs and erases may fail on battery. Each failure costs a program more and the rest of a block. The
/// blocks are those of the critical reserve, which a drive with a battery needs for nothing else while the power fails.
const BATTERY_FAILURES: u32 = 4;

/// The mapping's needs on a drive of so many logical pages.
fn mapping_needs(geometry: &Geometry, config: &PageConfig, logical_pages: u32) -> Needs {
    match config.composition.mapping {
        MappingPart::RamTable => RamMapping::needs(geometry, logical_pages),
        MappingPart::MuTree { write_pages, record_bits, extent_pages, .. } => {
            let counted_on = (write_pages, extent_pages);
            let layout = MuMapping::layout(geometry, record_bits);
            layout.map_or(Needs::default(), |layout| MuMapping::needs(geometry, layout, logical_pages, counted_on))
        }
        MappingPart::Paged { on_miss, evict, log, dirty, directory, .. } => {
            let room = config.composition.mapping.cache_room(logical_pages);
            let entries = PagedMapping::cache_entries_of(room, evict);
            let power = config.composition.power;
            let mut needs = PagedMapping::needs(geometry, logical_pages, entries, on_miss, dirty, directory, power);
            let block = u64::from(geometry.pages_per_block());
            let pages = u64::from(PagedMapping::translation_pages_of(geometry, logical_pages));
            needs.programs += Integrity::programs(&config.composition, block, entries, pages);
            if log > 0 {
                // Entries leave the cache by spills alone, and all that wait have unidentified before-images.
                let of_log = PagedMapping::log_needs(geometry, logical_pages, entries, log);
                needs = Needs { programs: 0, unidentified: 0, ..needs }.and(of_log);
            }
            needs
        }
    }
}

/// Pages that are programmed on battery on a drive of so many logical pages: each entry in the cache may be dirty, and
/// each of another translation page; and what else is saved (`durability/battery/save.rs`).
fn battery_pages(geometry: &Geometry, config: &PageConfig, logical_pages: u32) -> Result<u64, FtlError> {
    if !config.composition.has_battery() {
        return Ok(0);
    }
    let validity = match config.composition.validity {
        ValidityPart::FlashBitmap => FlashBitmap::needs(geometry, 0)?.battery,
        _ => saved_bytes(geometry).div_ceil(u64::from(geometry.page_bytes())),
    };
    Ok(mapping_needs(geometry, config, logical_pages).battery + validity + counters_and_seal(geometry))
}

impl Streams {
    /// # Errors
    /// A placement that has no stream, or more than a spare area can name.
    pub(super) fn of(geometry: &Geometry, config: &PageConfig) -> Result<Self, FtlError> {
        let part = config.composition.placement;
        let placement = part.streams(&context(geometry, config));
        if !(1..=STREAMS_MAX).contains(&placement) {
            return Err(FtlError::Unsupported("the placement part has no stream, or more than 240"));
        }
        let apart = if part.asks().pages { 1 } else { placement };
        let cold = (config.composition.wear != WearPart::Nothing).then_some(placement);
        let behind = placement + u8::from(cold.is_some());
        let slc = (config.composition.slc != SlcPart::Nothing).then_some(behind);
        let mapping = behind + u8::from(slc.is_some());
        // The pages of the mapping's tree have no stream of their own.
        let validity = mapping + u8::from(has_validity_on_flash(config));
        Ok(Self { placement, cold, slc, mapping, validity, count: validity + 1, apart })
    }
}

/// How the nodes of its µ-Tree lie in pages.
///
/// # Errors
/// Pages are too small, or their numbers too large.
pub(super) fn layout_of_tree(geometry: &Geometry, config: &PageConfig) -> Result<Layout, FtlError> {
    match config.composition.mapping {
        MappingPart::MuTree { record_bits, .. } => MuMapping::layout(geometry, record_bits),
        _ => Err(FtlError::Unsupported("there is no µ-Tree")),
    }
}

/// Whether its µ-Tree may come to take more than its room.
pub(super) fn tree_may_outgrow(config: &PageConfig) -> bool {
    matches!(config.composition.mapping, MappingPart::MuTree { extent_pages: 2.., .. })
}

fn write_pages_of_tree(config: &PageConfig) -> u32 {
    match config.composition.mapping {
        MappingPart::MuTree { write_pages, .. } => write_pages,
        _ => 0,
    }
}

fn has_validity_on_flash(config: &PageConfig) -> bool {
    !matches!(config.composition.validity, ValidityPart::RamBitmap | ValidityPart::MuTree { .. })
}

/// What validity needs: so many pages may be reported at a time, and so many programs a synchronization takes where one
/// may have to begin first.
fn validity_needs(
    geometry: &Geometry,
    config: &PageConfig,
    reports: u64,
    synchronizations: Option<u64>,
) -> Result<Needs, FtlError> {
    Ok(match config.composition.validity {
        ValidityPart::RamBitmap => Needs::default(),
        ValidityPart::MuTree { bitmap_cache } => {
            bitmap_needs(geometry, layout_of_tree(geometry, config)?, bitmap_cache, write_pages_of_tree(config))
        }
        ValidityPart::FlashBitmap => FlashBitmap::needs(geometry, reports)?,
        ValidityPart::PageValidityLog => PageValidityLog::needs(geometry, reports, synchronizations)?,
        ValidityPart::Gecko { size_ratio, partitions, merge, pages } => {
            Tuning::new(geometry, (size_ratio, partitions), (merge, pages))?.needs(reports, synchronizations)
        }
    })
}

/// What all parts together need.
fn needs(geometry: &Geometry, config: &PageConfig) -> Result<Needs, FtlError> {
    // Counted as if the drive were all logical pages, so that the capacity does not depend on the request.
    let most = u32::try_from(geometry.pages()).unwrap_or(u32::MAX);
    let composition = &config.composition;
    let mapping = mapping_needs(geometry, config, most);
    // Every page moved may make a synchronization report all that it finds. A trim takes so many pages at a time, one
    // for each entry of a translation page.
    let most_at_once = geometry.pages_per_block().max(geometry.page_bytes() / 4);
    let reports = mapping.unidentified + u64::from(most_at_once);
    let synchronizations = match composition.power {
        PowerPart::GeckoRec { .. } => Some(mapping.programs),
        PowerPart::Synchronize => Some(0),
        _ => None,
    };
    let validity = validity_needs(geometry, config, reports, synchronizations)?;
    Ok(Needs { battery: battery_pages(geometry, config, most)?, ..mapping.and(validity) })
}

/// Blocks that the battery needs if nothing fails. The block that is open may have no room; on several dies each die
/// opens one, and each stream that is written to has its own.
fn battery_blocks(geometry: &Geometry, config: &PageConfig, needs: &Needs) -> u32 {
    let streams = 1 + u32::from(has_validity_on_flash(config));
    let blocks = needs.battery.div_ceil(u64::from(geometry.pages_per_block()));
    if needs.battery == 0 {
        0
    } else {
        u32::try_from(blocks).unwrap_or(u32::MAX).saturating_add(streams * geometry.dies())
    }
}

/// The most that a recovery can cost: `live` pages of metadata are live, and each of them may have a few older versions
/// that matter.
///
/// - Each spare area is read. It is read once more as the page that another one is newer than, or as a before-image. So
///   it is if too many were written lately to keep in mind when their blocks were begun. All of user pages are read
///   once more where a translation page has gone bad.
/// - The last page of each block is read in full, and once more if it is copied, and each page of metadata with those
///   versions.
/// - Last pages are copied, and metadata are written anew.
pub(super) fn recovery_bound(geometry: &Geometry, config: &PageConfig) -> Result<RecoveryBound, FtlError> {
    let mut config = config.clone();
    if let MappingPart::MuTree { extent_pages, .. } = &mut config.composition.mapping {
        // A tree that has outgrown its room is read and written anew as well.
        *extent_pages = 1;
    }
    let config = &config;
    let live = mapping_needs(geometry, config, config.logical_pages).and(validity_needs(geometry, config, 0, None)?);
    let live = live.live_pages + u64::from(ANCHOR_BLOCKS);
    // A log that is in doubt is read in vain, and written anew.
    let (log_pages, log_programs) = if config.composition.has_block_log() {
        let of_region = u64::from(region_blocks(geometry)) * u64::from(geometry.pages_per_block());
        // Each block that is opened may take a page.
        (of_region, 2 * u64::from(pages_of_table(geometry)) + u64::from(geometry.blocks()))
    } else {
        (0, 0)
    };
    let blocks = u64::from(geometry.blocks());
    let more = match config.composition.validity {
        // A log's chains are followed where a block may be wholly stale.
        ValidityPart::PageValidityLog => geometry.pages(),
        // The table is read once more where a page of a run is lost.
        ValidityPart::Gecko { .. } => live,
        _ => 0,
    };
    // The runs of a mapping log are read before and after the merges that are in doubt, and for the pages in doubt.
    let more = more + if config.composition.has_mapping_log() { 3 * live } else { 0 };
    Ok(RecoveryBound {
        reads: 2 * blocks + 6 * live + more + log_pages,
        spare_reads: 3 * geometry.pages() + 2 * blocks + u64::from(config.logical_pages) + 2 * log_pages,
        programs: blocks + 2 * live + log_programs,
    })
}

/// Free blocks that [`Ftl::power_fail`](crate::Ftl::power_fail) may need, and what one trim or read takes: with fewer
/// neither is begun that must write. None without a battery.
///
/// Nodes of a tree go to the same block as their translation page. Pages that its entries make stale are reported to a
/// bitmap in flash one by one.
pub(super) fn least_free(geometry: &Geometry, config: &PageConfig) -> Result<u32, FtlError> {
    let blocks = battery_blocks(geometry, config, &needs(geometry, config)?);
    let reports = if has_validity_on_flash(config) { geometry.page_bytes() / 4 } else { 0 };
    let at_once = OF_ONE_TRIM + reports.div_ceil(geometry.pages_per_block());
    Ok(if blocks == 0 { 0 } else { blocks + BATTERY_FAILURES + at_once })
}

/// Free blocks above what a collection needs, below which one begins where they are in slices. A stream may open a block
/// on each die at the same time, and so may that of moved pages.
pub(super) fn early_blocks(geometry: &Geometry, collection: CollectionPart) -> u32 {
    match collection {
        CollectionPart::Slices => 2 + 2 * geometry.dies(),
        _ => 0,
    }
}

/// Blocks that are gained beyond the reserve once it is short. The dies of their victims work side by side.
pub(super) fn batch_blocks(geometry: &Geometry, collection: CollectionPart) -> u32 {
    match collection {
        CollectionPart::Batches => geometry.dies(),
        _ => 0,
    }
}

/// The groups that are collected at once, and free blocks that the live pages of one take while they are written anew,
/// with their translation pages: its stream may open one more on each die, and what is due may be so many blocks late.
/// None on a drive so small that this is more than an eighth.
pub(super) fn groups_of(geometry: &Geometry, config: &PageConfig) -> Option<OfGroups> {
    let pages = config.composition.placement.partition(&context(geometry, config));
    let entries = geometry.page_bytes() / 4;
    let programs = pages.saturating_add(2 * pages.div_ceil(entries));
    let room = programs.div_ceil(geometry.pages_per_block()).saturating_add(2 * geometry.dies());
    let at_once = config.composition.collection == CollectionPart::Groups && room <= geometry.blocks() / 8;
    at_once.then_some(OfGroups { pages, room, entries })
}

/// How the flash is divided.
pub(super) fn shape_of(geometry: &Geometry, config: &PageConfig) -> Result<Shape, FtlError> {
    if config.composition.shares_bits().is_some() {
        return Err(FtlError::Unsupported(
            "wear levelling or a placement writes the bits of a spare area that this recovery needs",
        ));
    }
    if config.composition.why_no_block_log().is_some() {
        return Err(FtlError::Unsupported(
            "a mount with a block log does not read what wear levelling or a policy needs",
        ));
    }
    if config.composition.why_no_mapping_log().is_some() {
        return Err(FtlError::Unsupported(
            "a mapping log needs mapping.on-miss=lazy, power=gecko-rec and no dirty limit",
        ));
    }
    let needs = needs(geometry, config)?;
    let block = u64::from(geometry.pages_per_block());
    let blocks = |pages: u64| u32::try_from(pages.div_ceil(block)).unwrap_or(u32::MAX);
    let streams = Streams::of(geometry, config)?;
    let open_blocks = u32::from(streams.count) * geometry.dies();
    let opened = streams.opened_from_reserve() * geometry.dies();
    debug_assert!(opened <= open_blocks, "more blocks are opened from the reserve than can be open");
    let only_tombstones = config.composition.mapping == MappingPart::RamTable && !has_validity_on_flash(config);
    let metadata_blocks = match config.composition.metadata {
        MetadataPart::Left if !only_tombstones => blocks(needs.live_pages * u64::from(LEFT_SPACE)) + 2,
        _ => blocks(needs.live_pages) + 1,
    };
    // The few tombstone pages that a collection may write fit the block that every stream has open, and one more.
    let programs = if only_tombstones { 0 } else { blocks(needs.programs) };
    let held = match config.composition.power {
        PowerPart::GeckoRec { .. } => held_blocks(geometry),
        PowerPart::Synchronize if has_validity_on_flash(config) => young_blocks(geometry),
        _ => 0,
    };
    let log = if config.composition.has_block_log() { region_blocks(geometry) } else { 0 };
    let battery = battery_blocks(geometry, config, &needs);
    debug_assert!(BATTERY_FAILURES <= critical_blocks(geometry), "failures on battery are not paid for");
    let has_battery = config.composition.has_battery();
    let battery_programs = battery_pages(geometry, config, config.logical_pages)?
        + if has_battery { u64::from(BATTERY_FAILURES) } else { 0 };
    Ok(Shape {
        logical_pages: config.logical_pages,
        reserve_blocks: critical_blocks(geometry)
            + opened
            + 1
            + programs
            + battery
            + held
            + early_blocks(geometry, config.composition.collection)
            + batch_blocks(geometry, config.composition.collection)
            + groups_of(geometry, config).map_or(0, |groups| groups.room)
            + config.composition.slc.set_aside(geometry),
        open_blocks,
        log_blocks: 0,
        fixed_blocks: ANCHOR_BLOCKS + log,
        metadata_blocks,
        unidentified_blocks: blocks(needs.unidentified),
        metadata_programs_per_collection: u32::try_from(needs.programs).unwrap_or(u32::MAX),
        battery_programs: u32::try_from(battery_programs).unwrap_or(u32::MAX),
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

/// Pages that user data can take, as far as the mapping can name them.
fn room(geometry: &Geometry, config: &PageConfig, shape: &Shape, bad: u32) -> Result<u64, FtlError> {
    let usable = usable_pages(geometry, shape, bad);
    Ok(match config.composition.mapping {
        MappingPart::MuTree { .. } => {
            usable.min(MuMapping::logical_pages_max(geometry, layout_of_tree(geometry, config)?))
        }
        MappingPart::Paged { log: 1.., .. } => usable.min(RunLayout::KEYS_MAX.into()),
        _ => usable,
    })
}

/// How the flash is divided, or why it cannot be.
pub(super) fn shape_that_fits(geometry: &Geometry, config: &PageConfig, bad: u32) -> Result<Shape, FtlError> {
    let mut shape = shape_of(geometry, config)?;
    let mut usable_pages = room(geometry, config, &shape, bad)?;
    if config.logical_pages == 0 || u64::from(config.logical_pages) > usable_pages {
        // With so many logical pages, which are fewer, a placement may keep more blocks open, or fewer of them.
        let with = |pages: u64| -> Result<(u64, Shape), FtlError> {
            let logical_pages = u32::try_from(pages).unwrap_or(u32::MAX);
            let fewer = PageConfig { logical_pages, ..config.clone() };
            let shape = shape_of(geometry, &fewer)?;
            Ok((room(geometry, &fewer, &shape, bad)?, shape))
        };
        let mut left;
        loop {
            (left, shape) = with(usable_pages)?;
            if left >= usable_pages {
                break;
            }
            usable_pages = left;
        }
        // What is left for these is perhaps enough for more.
        let mut too_many = left + 1;
        while usable_pages + 1 < too_many {
            let between = usable_pages.midpoint(too_many);
            let (left, other) = with(between)?;
            if left >= between {
                (usable_pages, shape) = (between, other);
            } else {
                too_many = between;
            }
        }
        return Err(FtlError::DoesNotFit {
            logical_pages: config.logical_pages,
            set_aside: SetAside {
                reserve_blocks: shape.reserve_blocks,
                open_blocks: shape.open_blocks,
                metadata_blocks: shape.metadata_blocks,
                unidentified_blocks: shape.unidentified_blocks,
            },
            usable_pages,
            // Rounded down, so that the printed number fits.
            largest_ratio: (usable_pages as u128 * 10_000 / u128::from(geometry.pages())) as f64 / 10_000.0,
        });
    }
    Ok(shape)
}
