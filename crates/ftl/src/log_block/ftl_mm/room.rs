//! What an FTL for each channel leaves room for: a drive has as many logical pages as its tightest channel bears.

use super::super::lane::Lane;
use super::super::log_block_ftl::LogBlockFtl;
use super::super::shape::LogConfig;
use crate::{FtlError, SetAside};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry};

/// Whether each channel has room for its logical pages, with the drive's description in these blocks and `is_bad` ones
/// lost.
///
/// # Errors
/// [`FtlError::DoesNotFit`], in the drive's pages; [`FtlError::Unsupported`].
pub(super) fn check(
    lanes: &[Lane],
    drive: &Geometry,
    config: &LogConfig,
    anchors: &[Block],
    is_bad: impl Fn(Block) -> bool,
) -> Result<(), FtlError> {
    if (1..drive.channels()).contains(&config.logical_pages) {
        return Err(FtlError::Unsupported(
            "an FTL for each channel, and fewer logical pages than channels: a page for each would be right",
        ));
    }
    let described = lanes.iter().map(|lane| of_lane_alone(lane, anchors).len());
    debug_assert_eq!(described.sum::<usize>(), anchors.len(), "a block of the description is on no channel");
    let fits = |lane: &Lane, logical_pages| {
        let own = of_lane(lane, config, logical_pages);
        let blocks = (0..lane.geometry().blocks()).map(|own| lane.block(Block(own)));
        let bad = blocks.filter(|block| is_bad(*block)).count() as u32;
        let described = of_lane_alone(lane, anchors).len() as u32;
        LogBlockFtl::fits(lane.geometry(), &own, described, bad)
    };
    let mut is_too_much = false;
    for lane in lanes {
        match fits(lane, lane.logical_pages(config.logical_pages)) {
            Err(FtlError::DoesNotFit { .. }) => is_too_much = true,
            outcome => outcome?,
        }
    }
    if !is_too_much {
        return Ok(());
    }
    let mut usable_pages = u64::MAX;
    let mut all = SetAside { reserve_blocks: 0, open_blocks: 0, metadata_blocks: 0, unidentified_blocks: 0 };
    for lane in lanes {
        // What fits does not depend on what is asked for, so more than can be has it said.
        let Err(FtlError::DoesNotFit { usable_pages: own, set_aside, .. }) = fits(lane, u32::MAX) else { continue };
        // A page more than its last one would be the next channel's.
        usable_pages = usable_pages.min(if own == 0 { 0 } else { lane.drive_pages(own) });
        all.reserve_blocks += set_aside.reserve_blocks;
        all.open_blocks += set_aside.open_blocks;
        all.metadata_blocks += set_aside.metadata_blocks;
        all.unidentified_blocks += set_aside.unidentified_blocks;
    }
    Err(FtlError::DoesNotFit {
        logical_pages: config.logical_pages,
        set_aside: all,
        usable_pages,
        // Rounded down, so that what is printed fits.
        largest_ratio: (u128::from(usable_pages) * 10_000 / u128::from(drive.pages())) as f64 / 10_000.0,
    })
}

/// The FTL of one channel with so many logical pages.
pub(super) fn of_lane(lane: &Lane, config: &LogConfig, logical_pages: u32) -> LogConfig {
    let parts = config.composition.of_channel(lane.number(), lane.channels());
    LogConfig { logical_pages, ..config.of(parts) }
}

/// Those of the drive's blocks that are this channel's, as it counts them.
pub(super) fn of_lane_alone(lane: &Lane, blocks: &[Block]) -> Vec<Block> {
    blocks.iter().filter_map(|block| lane.own_block(*block)).collect()
}
