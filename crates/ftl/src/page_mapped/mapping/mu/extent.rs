//! Keys and records of the µ-Tree (µ-FTL figures 3 and 5).
//!
//! | | bits | |
//! | --- | --- | --- |
//! | key of an extent | 1 | 0 |
//! | | 31 | the first logical page |
//! | its record | 25 | the first physical page, or one of two that no drive has: trimmed, lost |
//! | | 7 | pages, less one |
//! | key of a bitmap entry | 1 | 1 |
//! | | 31 | the part of a block: the block and which 32 pages of it |
//! | its record | 32 | a bit for each page that is stale |
//!
//! A drive may have more pages than 25 bits can number (128 GiB of pages of 4 KiB). Then records have 40 bits and 33 of
//! them are the page's (the paper's extension, section 4.2.1). Keys stay as they are.
//!
//! An extent lies in one block and one partition, and has up to 128 pages.

use crate::page_mapped::mapping::Place;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, LogicalPage, Page};

/// Pages of an extent at the most.
pub(crate) const EXTENT_PAGES_MAX: u32 = 128;
/// Pages of a part of a block: the bits of a record.
pub(crate) const PART_PAGES: u32 = 32;

const IS_BITMAP: u32 = 1 << 31;
/// Bits of the number of pages, less one.
const PAGES_BITS: u32 = 7;

/// How extents are written as records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) struct Records {
    /// Bits of a physical page.
    page_bits: u32,
}

impl Records {
    /// For a tree whose records have so many bits.
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self { page_bits: bits - PAGES_BITS }
    }

    /// Physical pages that a record can name. Page numbers of trees have 31 bits, and so have keys.
    pub(crate) fn physical_pages_max(self) -> u64 {
        self.lost().min(1 << 31)
    }

    fn trimmed(self) -> u64 {
        (1 << self.page_bits) - 1
    }

    fn lost(self) -> u64 {
        self.trimmed() - 1
    }

    /// An extent from an entry of the tree; none if it is a bitmap entry.
    pub(crate) fn extent(self, (key, record): (u32, u64)) -> Option<Extent> {
        if key & IS_BITMAP != 0 {
            return None;
        }
        let place = match record >> PAGES_BITS {
            trimmed if trimmed == self.trimmed() => Place::Trimmed,
            lost if lost == self.lost() => Place::Lost,
            page => Place::At(Page(page as u32)),
        };
        Some(Extent { first: key, place, pages: (record & 127) as u32 + 1 })
    }

    /// The record of an extent.
    pub(crate) fn record(self, extent: &Extent) -> u64 {
        debug_assert!((1..=EXTENT_PAGES_MAX).contains(&extent.pages));
        let page = match extent.place {
            Place::At(page) => page.0.into(),
            Place::Trimmed => self.trimmed(),
            Place::Nowhere => unreachable!("what is nowhere has no extent"),
            Place::Lost => self.lost(),
        };
        debug_assert!(page >> self.page_bits == 0);
        page << PAGES_BITS | u64::from(extent.pages - 1)
    }
}

/// Logical pages that are in one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) struct Extent {
    /// The first logical page.
    pub(crate) first: u32,
    /// Where it is; those behind it are behind it there, where it is a page.
    pub(crate) place: Place,
    /// How many there are, 1 to 128.
    pub(crate) pages: u32,
}

impl Extent {
    /// The logical page behind it.
    pub(crate) fn end(&self) -> u32 {
        self.first + self.pages
    }

    /// Where one of its pages is.
    pub(crate) fn place_of(&self, key: u32) -> Option<Place> {
        let index = key.checked_sub(self.first).filter(|index| *index < self.pages)?;
        Some(match self.place {
            Place::At(page) => Place::At(Page(page.0 + index)),
            place => place,
        })
    }

    /// The pages of it from `from` on, before `to`.
    pub(crate) fn cut(&self, from: u32, to: u32) -> Option<Self> {
        let (first, end) = (self.first.max(from), self.end().min(to));
        let pages = end.checked_sub(first).filter(|pages| *pages > 0)?;
        Some(Self { first, place: self.place_of(first)?, pages })
    }

    /// Whether the page `key` at `to` goes on where it ends: it is the next one, in the same partition, and there it is
    /// the next one of the same block; or both are trimmed, or lost.
    pub(crate) fn goes_on(&self, geometry: &Geometry, partition: u32, key: LogicalPage, to: Place) -> bool {
        let goes_on = match (self.place, to) {
            (Place::At(page), Place::At(to)) => {
                page.0 + self.pages == to.0 && geometry.block_of(page) == geometry.block_of(to)
            }
            (Place::Trimmed, Place::Trimmed) | (Place::Lost, Place::Lost) => true,
            _ => false,
        };
        goes_on && self.end() == key.0 && self.pages < EXTENT_PAGES_MAX && !key.0.is_multiple_of(partition)
    }
}

/// Parts of a block, each with a bitmap entry of its own.
pub(crate) fn parts_of_block(geometry: &Geometry) -> u32 {
    geometry.pages_per_block().div_ceil(PART_PAGES)
}

/// The key of the bitmap entry of a part of a block.
pub(crate) fn bitmap_key(geometry: &Geometry, block: Block, part: u32) -> u32 {
    debug_assert!(part < parts_of_block(geometry), "a part of a block is another block's");
    IS_BITMAP | (block.0 * parts_of_block(geometry) + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        for (bits, most) in [(32, (1 << 25) - 3), (40, u32::MAX)] {
            let records = Records::of_bits(bits);
            for place in [Place::At(Page(0)), Place::At(Page(most)), Place::Trimmed, Place::Lost] {
                for pages in [1, 2, 127, 128] {
                    let extent = Extent { first: 77, place, pages };
                    assert_eq!(records.extent((77, records.record(&extent))), Some(extent));
                    assert_eq!(records.record(&extent) >> bits, 0);
                }
            }
            assert_eq!(records.extent((IS_BITMAP | 3, 5)), None);
        }
        assert_eq!(Records::of_bits(32).physical_pages_max(), (1 << 25) - 2);
        assert_eq!(Records::of_bits(40).physical_pages_max(), 1 << 31);
    }

    #[test]
    fn an_extent_ends_with_its_block_its_partition_and_128_pages() {
        let geometry = Geometry::new(4096, 16, 64, 1, 1).unwrap();
        let on = |first: u32, page: u32, pages: u32| {
            let extent = Extent { first, place: Place::At(Page(page)), pages };
            extent.goes_on(&geometry, 1000, LogicalPage(first + pages), Place::At(Page(page + pages)))
        };
        assert!(on(10, 16, 15));
        assert!(!on(10, 15, 1), "the next block");
        assert!(!on(998, 16, 2), "the next partition");
        let large = Geometry::new(4096, 256, 64, 1, 1).unwrap();
        let full = Extent { first: 0, place: Place::At(Page(0)), pages: 128 };
        assert!(!full.goes_on(&large, 1000, LogicalPage(128), Place::At(Page(128))));
    }

    #[test]
    fn what_is_trimmed_goes_on_with_what_is_trimmed() {
        let geometry = Geometry::new(4096, 16, 64, 1, 1).unwrap();
        let places = [Place::Trimmed, Place::Lost, Place::At(Page(7)), Place::Nowhere];
        for (place, to) in places.iter().flat_map(|place| places.map(|to| (*place, to))) {
            let extent = Extent { first: 20, place, pages: 30 };
            let goes_on = |key| extent.goes_on(&geometry, 1000, LogicalPage(key), to);
            assert_eq!(goes_on(50), place == to && [Place::Trimmed, Place::Lost].contains(&to), "{place:?}, {to:?}");
            assert!(!goes_on(51) && !goes_on(49));
        }
    }
}
