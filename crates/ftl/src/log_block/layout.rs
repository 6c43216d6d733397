//! Which logical page stands where in which logical block.

use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// How logical pages are laid out in logical blocks.
///
/// Over one channel: a logical block is as many adjacent pages as a block has. Over several, *segments* in a zigzag
/// (LAST++ section 4.1 and equation 1): a segment is a logical block for each channel, and adjacent pages are on
/// adjacent channels, each at the same offset before the next offset begins.
///
/// ```text
/// channel = page % channels
/// segment = page / (pages per block × channels)
/// offset  = page % (pages per block × channels) / channels
/// ```
///
/// The logical block of a segment on a channel has the number `segment × channels + channel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) struct LogicalLayout {
    pages_per_block: u32,
    channels: u32,
}

impl LogicalLayout {
    /// Adjacent pages in a logical block.
    pub(super) fn adjacent(geometry: &Geometry) -> Self {
        Self { pages_per_block: geometry.pages_per_block(), channels: 1 }
    }

    /// Segments over all channels of a drive.
    pub(super) fn segments(geometry: &Geometry) -> Self {
        Self { pages_per_block: geometry.pages_per_block(), channels: geometry.channels() }
    }

    /// Logical blocks of a segment: one for each channel.
    #[inline]
    pub(super) fn channels(&self) -> u32 {
        self.channels
    }

    #[inline]
    pub(super) fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    #[inline]
    fn pages_per_segment(&self) -> u32 {
        self.pages_per_block * self.channels
    }

    /// The logical block of a logical page, and where in it the page stands.
    #[inline]
    pub(super) fn split(&self, key: u32) -> (u32, u32) {
        if self.channels == 1 {
            return (key / self.pages_per_block, key % self.pages_per_block);
        }
        let (segment, rest) = (key / self.pages_per_segment(), key % self.pages_per_segment());
        (segment * self.channels + rest % self.channels, rest / self.channels)
    }

    /// The logical page at an offset of a logical block.
    #[inline]
    pub(super) fn key(&self, logical_block: u32, offset: u32) -> u32 {
        debug_assert!(offset < self.pages_per_block, "a logical block has no page {offset}");
        let (segment, channel) = (logical_block / self.channels, logical_block % self.channels);
        segment * self.pages_per_segment() + offset * self.channels + channel
    }

    /// How many logical blocks so many logical pages take: whole segments.
    pub(super) fn logical_blocks(&self, logical_pages: u32) -> u32 {
        let per_segment = u64::from(self.pages_per_block) * u64::from(self.channels);
        (u64::from(logical_pages).div_ceil(per_segment) * u64::from(self.channels)) as u32
    }

    /// Logical pages that so many logical blocks can hold: those of whole segments.
    pub(super) fn logical_pages(&self, logical_blocks: u64) -> u64 {
        logical_blocks / u64::from(self.channels) * u64::from(self.channels) * u64::from(self.pages_per_block)
    }

    /// Pages of a logical block on a drive of so many: those of the last segment may be shorter, or have none.
    #[inline]
    pub(super) fn pages_in(&self, logical_block: u32, logical_pages: u32) -> u32 {
        self.pages_below(logical_block, logical_pages)
    }

    /// How many pages of a logical block are in front of this logical page.
    #[inline]
    pub(super) fn pages_below(&self, logical_block: u32, key: u32) -> u32 {
        let first = self.key(logical_block, 0);
        key.saturating_sub(first).div_ceil(self.channels).min(self.pages_per_block)
    }

    /// The channel that a logical block is on; none where it may be on any.
    #[inline]
    pub(super) fn home(&self, logical_block: u32) -> Option<u32> {
        (self.channels > 1).then_some(logical_block % self.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_segment_is_a_zigzag_over_the_channels() {
        // LAST++ figures 3 and 5: four channels, four pages a block.
        let layout = LogicalLayout::segments(&Geometry::new(512, 4, 64, 4, 1).unwrap());
        assert_eq!([0, 4, 8, 12].map(|key| layout.split(key)), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        assert_eq!([1, 5, 13].map(|key| layout.split(key)), [(1, 0), (1, 1), (1, 3)]);
        // Segment 1 begins with page 16.
        assert_eq!([15, 16, 17].map(|key| layout.split(key)), [(3, 3), (4, 0), (5, 0)]);
        for key in 0..1000 {
            let (logical_block, offset) = layout.split(key);
            assert_eq!(layout.key(logical_block, offset), key);
        }
    }

    #[test]
    fn every_page_of_a_drive_is_in_one_logical_block() {
        for (channels, pages) in [(1, 45), (3, 100), (4, 33), (4, 64), (4, 1)] {
            let layout = LogicalLayout::segments(&Geometry::new(512, 4, 64, channels, 1).unwrap());
            let mut keys: Vec<u32> = (0..layout.logical_blocks(pages))
                .flat_map(|block| (0..layout.pages_in(block, pages)).map(move |offset| layout.key(block, offset)))
                .collect();
            keys.sort_unstable();
            assert_eq!(keys, (0..pages).collect::<Vec<_>>(), "{channels} channels");
            assert!(layout.logical_pages(layout.logical_blocks(pages).into()) >= pages.into());
        }
    }
}
