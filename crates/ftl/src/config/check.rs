//! Whether a drive has room for the parameters.

use super::parts::{CACHE_MIN, ENTRY_BYTES};
use super::{
    ConfigError, LastParts, LogInstances, LogParts, LogScheme, MappingPart, PageParts, TrimPages, ValidityPart,
};
use alloc::format;
use phelsuma_nand::Geometry;

impl PageParts {
    pub(super) fn check_on(&self, geometry: &Geometry, logical_pages: u32) -> Result<(), ConfigError> {
        let (blocks, pages) = (geometry.blocks(), geometry.pages_per_block());
        Err(ConfigError::NoRoom(match (self.validity, self.mapping, self.victim.sample()) {
            (ValidityPart::Gecko { partitions, .. }, ..) if partitions > pages => format!(
                "'gecko.partitions' cannot be '{partitions}': a block has {pages} pages and cannot have more parts"
            ),
            (_, MappingPart::Paged { cache_entries: entries, .. }, _) if entries > logical_pages.max(CACHE_MIN) => {
                let bytes = u64::from(logical_pages) * ENTRY_BYTES;
                format!(
                    "a cache of {entries} mapping entries and {logical_pages} logical pages: a cache of at most as many \
                     entries ({bytes} bytes) would be right"
                )
            }
            (.., Some(sample)) if sample.blocks > blocks => format!(
                "'victim.sample' cannot be '{}': the drive has {blocks} blocks and a sample of it no more",
                sample.blocks
            ),
            _ => return Ok(()),
        }))
    }
}

/// Logical blocks of a channel for each page of LAST++'s table of trims, and pages at the most.
const TRIM_PAGE_BLOCKS: u32 = 512;
const TRIM_PAGES_MOST: u32 = 8;

impl LogParts {
    /// Log blocks of an FTL that has all of a drive of this shape.
    pub fn log_blocks_on(&self, geometry: &Geometry) -> u32 {
        match (self.scheme, self.log_blocks) {
            (LogScheme::Block, _) => 1,
            (LogScheme::Last(_), 0) => (geometry.blocks() / 32).max(4 * geometry.channels()),
            (_, 0) => (geometry.blocks() / 32).max(4),
            (_, blocks) => blocks,
        }
    }

    /// Pages of the table of trims, of all channels together. A channel's logical blocks are counted as if all blocks
    /// were such, so that the capacity does not depend on the request.
    pub(crate) fn trim_pages_on(&self, geometry: &Geometry) -> u32 {
        let of_channel = match self.scheme {
            LogScheme::Last(LastParts { trims: TrimPages::BySize, .. }) => {
                (geometry.blocks() / geometry.channels() / TRIM_PAGE_BLOCKS).clamp(1, TRIM_PAGES_MOST)
            }
            _ => 1,
        };
        of_channel * geometry.channels()
    }

    pub(super) fn check_on(&self, geometry: &Geometry, _logical_pages: u32) -> Result<(), ConfigError> {
        let (blocks, channels) = (geometry.blocks(), geometry.channels());
        let is_dealt = self.instances == LogInstances::PerChannel;
        let log_blocks = if is_dealt && self.log_blocks == 0 { 0 } else { self.log_blocks_on(geometry) };
        let maps = if let LogScheme::Superblock(of) = self.scheme { of.maps } else { 0 };
        let dealt = [("log.blocks", self.log_blocks), ("superblock.maps", maps)];
        let too_few = dealt.into_iter().find(|(_, number)| is_dealt && *number > 0 && number / 2 < channels);
        Err(ConfigError::NoRoom(match too_few {
            _ if log_blocks >= blocks => {
                format!("{log_blocks} log blocks (log.blocks) cannot be had: the drive has {blocks} blocks in all")
            }
            _ if matches!(self.scheme, LogScheme::Last(_)) && log_blocks < 3 * channels => format!(
                "'log.blocks' cannot be '{log_blocks}': last++ has a sequential log block and two random ones on each of \
                 {channels} channels; {} or more would be right",
                3 * channels
            ),
            Some((name, number)) => format!(
                "'{name}' cannot be '{number}': it is dealt to the FTLs of {channels} channels, at least two each; {} or \
                 more would be right",
                2 * channels
            ),
            None => return Ok(()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;
    use alloc::string::ToString;
    use phelsuma_nand::Geometry;

    #[test]
    fn what_a_drive_has_no_room_for_is_refused() {
        let parts = with("geckoftl", &[("gecko.partitions", "128"), ("mapping.cache", "1000")]).unwrap();
        let drive = |pages_per_block, blocks| Geometry::new(512, pages_per_block, blocks, 1, 1).unwrap();
        assert!(parts.check_on(&drive(128, 16), 1000).is_ok());
        assert!(parts.check_on(&drive(64, 32), 1000).is_err());
        assert!(parts.check_on(&drive(128, 16), 999).is_err());
        let parts = with("page", &[("victim", "sampled"), ("victim.sample", "32")]).unwrap();
        assert!(parts.check_on(&drive(64, 32), 1000).is_ok());
        let error = parts.check_on(&drive(64, 31), 1000).unwrap_err().to_string();
        assert_eq!(error, "'victim.sample' cannot be '32': the drive has 31 blocks and a sample of it no more");
        assert!(with("page", &[("victim", "sampled")]).unwrap().check_on(&drive(64, 4), 100).is_ok());
    }
}
