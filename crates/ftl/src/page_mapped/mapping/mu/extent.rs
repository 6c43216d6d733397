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
//! An extent lies in one block and one partition, and has up to 128 pages.

use crate::page_mapped::mapping::Place;
use phelsuma_nand::{Block, Geometry, LogicalPage, Page};

/// Pages of an extent at the most.
pub(crate) const EXTENT_PAGES_MAX: u32 = 128;
/// Physical pages that a record can name.
pub(crate) const PHYSICAL_PAGES_MAX: u32 = (1 << 25) - 2;
/// Pages of a part of a block: the bits of a record.
pub(crate) const PART_PAGES: u32 = 32;

const TRIMMED: u32 = (1 << 25) - 1;
const LOST: u32 = (1 << 25) - 2;
const IS_BITMAP: u32 = 1 << 31;

/// Logical pages that are in one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// The first logical page.
    pub(crate) first: u32,
    /// Where it is; those behind it are behind it there, where it is a page.
    pub(crate) place: Place,
    /// How many there are, 1 to 128.
    pub(crate) pages: u32,
}

impl Extent {
    /// An extent from an entry of the tree; none if it is a bitmap entry.
    pub(crate) fn of((key, record): (u32, u32)) -> Option<Self> {
        if key & IS_BITMAP != 0 {
            return None;
        }
        let place = match record >> 7 {
            TRIMMED => Place::Trimmed,
            LOST => Place::Lost,
            page => Place::At(Page(page)),
        };
        Some(Self { first: key, place, pages: (record & 127) + 1 })
    }

    /// Its record.
    pub(crate) fn record(&self) -> u32 {
        debug_assert!((1..=EXTENT_PAGES_MAX).contains(&self.pages));
        let page = match self.place {
            Place::At(page) => page.0,
            Place::Trimmed | Place::Nowhere => TRIMMED,
            Place::Lost => LOST,
        };
        debug_assert!(page >> 25 == 0);
        page << 7 | (self.pages - 1)
    }

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

    /// Whether the page `key` at `to` goes on where it ends: it is the next one, there as well, in the same block and in
    /// the same partition.
    pub(crate) fn goes_on(&self, geometry: &Geometry, partition: u32, key: LogicalPage, to: Place) -> bool {
        let (Place::At(page), Place::At(to)) = (self.place, to) else { return false };
        self.end() == key.0
            && self.pages < EXTENT_PAGES_MAX
            && page.0 + self.pages == to.0
            && geometry.block_of(page) == geometry.block_of(to)
            && !key.0.is_multiple_of(partition)
    }
}

/// Parts of a block, each with a bitmap entry of its own.
pub(crate) fn parts_of_block(geometry: &Geometry) -> u32 {
    geometry.pages_per_block().div_ceil(PART_PAGES)
}

/// The key of the bitmap entry of a part of a block.
pub(crate) fn bitmap_key(geometry: &Geometry, block: Block, part: u32) -> u32 {
    IS_BITMAP | (block.0 * parts_of_block(geometry) + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let places = [Place::At(Page(0)), Place::At(Page(PHYSICAL_PAGES_MAX - 1)), Place::Trimmed, Place::Lost];
        for place in places {
            for pages in [1, 2, 127, 128] {
                let extent = Extent { first: 77, place, pages };
                assert_eq!(Extent::of((77, extent.record())), Some(extent));
            }
        }
        assert_eq!(Extent::of((IS_BITMAP | 3, 5)), None);
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
}
