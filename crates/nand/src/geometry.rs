//! The shape of a drive's flash: pages, blocks, dies, channels.

use crate::state::Preserve;
use crate::{Block, Page};
use thiserror::Error;

/// The least a spare area holds, in bytes: the fields every page carries ([`Spare`](crate::Spare)).
pub const SPARE_BYTES_MIN: u32 = 32;

/// The shape of a drive's flash. Blocks are dealt to dies in turn: block `b` sits on die `b mod dies()`, and die `d`
/// hangs on channel `d mod channels`, so neighbouring block numbers are on different channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub struct Geometry {
    page_bytes: u32,
    pages_per_block: u32,
    blocks: u32,
    channels: u32,
    dies_per_channel: u32,
    index_bits: u32,
}

/// A shape that no flash has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum GeometryError {
    /// Page size out of range or no power of two.
    #[error("a page of {0} bytes: must be a power of two from 512 to 65,536")]
    PageBytes(u32),
    /// Pages per block out of range.
    #[error("{0} pages per block: must be from 4 to 8,192")]
    PagesPerBlock(u32),
    /// Number of blocks out of range.
    #[error("{blocks} blocks: must be from {least} (with this many dies) to {most} (page numbers have 32 bits)")]
    Blocks {
        /// The request.
        blocks: u64,
        /// The least that works, given the dies.
        least: u64,
        /// The most that page numbers of 32 bits can name.
        most: u64,
    },
    /// Channels or dies out of range.
    #[error("{channels} channels of {dies} dies: channels must be from 1 to 256, dies per channel from 1 to 64")]
    Parallelism {
        /// Requested channels.
        channels: u32,
        /// Requested dies per channel.
        dies: u32,
    },
}

impl Geometry {
    /// A shape, checked: pages of `page_bytes`, `pages_per_block` pages in each of `blocks` blocks, spread over
    /// `channels` channels of `dies_per_channel` dies.
    ///
    /// # Errors
    /// A [`GeometryError`] names the number that is out of range and what would be right.
    pub fn new(
        page_bytes: u32,
        pages_per_block: u32,
        blocks: u64,
        channels: u32,
        dies_per_channel: u32,
    ) -> Result<Self, GeometryError> {
        if !page_bytes.is_power_of_two() || !(512..=65_536).contains(&page_bytes) {
            return Err(GeometryError::PageBytes(page_bytes));
        }
        if !(4..=8_192).contains(&pages_per_block) {
            return Err(GeometryError::PagesPerBlock(pages_per_block));
        }
        if !(1..=256).contains(&channels) || !(1..=64).contains(&dies_per_channel) {
            return Err(GeometryError::Parallelism { channels, dies: dies_per_channel });
        }
        let index_bits = pages_per_block.next_power_of_two().trailing_zeros();
        // The highest four page numbers stay free: FTLs use them for "nowhere" and its like.
        let most = (1u64 << (32 - index_bits)) - 1;
        let least = u64::from(channels * dies_per_channel).max(4);
        if blocks < least || blocks > most {
            return Err(GeometryError::Blocks { blocks, least, most });
        }
        Ok(Self { page_bytes, pages_per_block, blocks: blocks as u32, channels, dies_per_channel, index_bits })
    }

    /// Bytes of data in a page.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Bytes of a page's spare area: a 32nd of the page, and never less than [`SPARE_BYTES_MIN`].
    pub fn spare_bytes(&self) -> u32 {
        (self.page_bytes / 32).max(SPARE_BYTES_MIN)
    }

    /// Pages in a block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Blocks of the whole drive.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Channels: buses that move data one page at a time.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Dies on each channel: what works on one operation at a time.
    pub fn dies_per_channel(&self) -> u32 {
        self.dies_per_channel
    }

    /// Dies of the whole drive: the most operations that can be in flight.
    #[inline]
    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Physical pages of the whole drive.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }

    /// Bytes of data of the whole drive.
    pub fn capacity_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }

    /// The page at `index` of `block`.
    #[inline]
    pub fn page(&self, block: Block, index: u32) -> Page {
        debug_assert!(block.0 < self.blocks && index < self.pages_per_block);
        Page(block.0 << self.index_bits | index)
    }

    /// The block that `page` is in.
    #[inline]
    pub fn block_of(&self, page: Page) -> Block {
        Block(page.0 >> self.index_bits)
    }

    /// Where in its block `page` stands.
    #[inline]
    pub fn index_of(&self, page: Page) -> u32 {
        page.0 & ((1 << self.index_bits) - 1)
    }

    /// One more than the largest page number: the length of an array indexed by [`Page`].
    pub fn page_numbers(&self) -> usize {
        (self.blocks as usize) << self.index_bits
    }

    /// Page numbers per block: pages per block, rounded up to a power of two.
    #[inline]
    pub fn page_numbers_per_block(&self) -> usize {
        1 << self.index_bits
    }

    /// Whether `page` names a page of this drive.
    #[inline]
    pub fn contains(&self, page: Page) -> bool {
        self.block_of(page).0 < self.blocks && self.index_of(page) < self.pages_per_block
    }

    /// The die that `block` is on.
    #[inline]
    pub fn die_of(&self, block: Block) -> u32 {
        let dies = self.dies();
        if dies == 1 { 0 } else { block.0 % dies }
    }

    /// The channel that `die` hangs on.
    #[inline]
    pub fn channel_of(&self, die: u32) -> u32 {
        if self.channels == 1 { 0 } else { die % self.channels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_a_round_trip_whatever_the_block_size() {
        for pages_per_block in [4, 32, 100, 128, 1152] {
            let g = Geometry::new(4096, pages_per_block, 10, 2, 2).unwrap();
            for block in 0..10 {
                for index in 0..pages_per_block {
                    let page = g.page(Block(block), index);
                    assert!(g.contains(page) && page.index() < g.page_numbers());
                    assert_eq!((g.block_of(page), g.index_of(page)), (Block(block), index));
                }
            }
        }
    }

    #[test]
    fn neighbouring_blocks_are_on_different_channels() {
        let g = Geometry::new(4096, 128, 64, 4, 2).unwrap();
        let channels: Vec<u32> = (0..8).map(|b| g.channel_of(g.die_of(Block(b)))).collect();
        assert_eq!(channels, [0, 1, 2, 3, 0, 1, 2, 3]);
    }

    #[test]
    fn impossible_shapes_are_refused_with_what_would_be_right() {
        let text = |r: Result<Geometry, GeometryError>| std::format!("{}", r.unwrap_err());
        assert!(text(Geometry::new(0, 128, 64, 1, 1)).contains("power of two"));
        assert!(text(Geometry::new(4096, 0, 64, 1, 1)).contains("pages per block"));
        assert!(text(Geometry::new(4096, 128, 0, 1, 1)).contains("must be from 4"));
        assert!(text(Geometry::new(4096, 128, 1 << 40, 1, 1)).contains("32 bits"));
        assert!(text(Geometry::new(4096, 128, 8, 16, 1)).contains("must be from 16"));
        assert!(text(Geometry::new(4096, 128, 8, 0, 1)).contains("channels"));
    }
}
