//! The capacity of a drive with an FTL for each channel: as many logical pages as its tightest channel bears.

use super::super::lane::Lane;
use super::super::log_block_ftl::LogBlockFtl;
use super::super::shape::LogConfig;
use crate::config::{LogInstances, LogParts, LogScheme, SuperblockParts};
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
        // The capacity does not depend on the request, so a larger request gets it in the error.
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
        // Rounded down, so that the printed number fits.
        largest_ratio: (u128::from(usable_pages) * 10_000 / u128::from(drive.pages())) as f64 / 10_000.0,
    })
}

/// The FTL of one channel with so many logical pages.
pub(super) fn of_lane(lane: &Lane, config: &LogConfig, logical_pages: u32) -> LogConfig {
    let parts = dealt_to(lane.number(), lane.channels(), &config.composition);
    LogConfig { logical_pages, ..config.of(parts) }
}

/// The parts of the FTL of one channel: log blocks and cached maps are dealt to the channels. Two of each are the least
/// that any has.
fn dealt_to(channel: u32, channels: u32, parts: &LogParts) -> LogParts {
    let share = |all: u32| match all {
        0 => 0,
        all => (all / channels + u32::from(channel < all % channels)).max(2),
    };
    let scheme = match parts.scheme {
        LogScheme::Superblock(of) => LogScheme::Superblock(SuperblockParts { maps: share(of.maps), ..of }),
        scheme => scheme,
    };
    LogParts { scheme, log_blocks: share(parts.log_blocks), instances: LogInstances::One }
}

/// Those of the drive's blocks that are this channel's, as it counts them.
pub(super) fn of_lane_alone(lane: &Lane, blocks: &[Block]) -> Vec<Block> {
    blocks.iter().filter_map(|block| lane.own_block(*block)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_blocks_and_cached_maps_are_dealt_to_the_channels() {
        let superblocks = SuperblockParts { blocks: 0, most: 7, maps: 9 };
        let scheme = LogScheme::Superblock(superblocks);
        let parts = LogParts { scheme, log_blocks: 11, instances: LogInstances::PerChannel };
        let dealt = |channel| {
            let of = dealt_to(channel, 4, &parts);
            let LogScheme::Superblock(SuperblockParts { maps, most: 7, .. }) = of.scheme else { panic!("{of:?}") };
            assert_eq!(of.instances, LogInstances::One);
            (of.log_blocks, maps)
        };
        assert_eq!([0, 1, 2, 3].map(dealt), [(3, 3), (3, 2), (3, 2), (2, 2)]);
        // The default is each one's own.
        assert_eq!(dealt_to(3, 4, &LogParts { log_blocks: 0, ..parts }).log_blocks, 0);
    }
}
