//! How long extents are (µ-FTL figures 11 and 12): how many there are of each power of two, and the pages in them.

use super::Extent;
use crate::Counter;
use crate::page_mapped::mapping::Place;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

const CLASSES: usize = 8;

const EXTENTS: [&str; CLASSES] = [
    "extents_of_1",
    "extents_of_2_to_3",
    "extents_of_4_to_7",
    "extents_of_8_to_15",
    "extents_of_16_to_31",
    "extents_of_32_to_63",
    "extents_of_64_to_127",
    "extents_of_128",
];

const PAGES: [&str; CLASSES] = [
    "pages_in_extents_of_1",
    "pages_in_extents_of_2_to_3",
    "pages_in_extents_of_4_to_7",
    "pages_in_extents_of_8_to_15",
    "pages_in_extents_of_16_to_31",
    "pages_in_extents_of_32_to_63",
    "pages_in_extents_of_64_to_127",
    "pages_in_extents_of_128",
];

/// The extents of a tree by length, those alone that name pages.
#[derive(Clone, Copy, Default, Debug, Preserve)]
pub(super) struct Lengths {
    extents: [u32; CLASSES],
    pages: [u32; CLASSES],
}

impl Lengths {
    /// An extent took the place of another one with the same first page, or of none.
    pub(super) fn replaced(&mut self, before: Option<Extent>, after: Option<Extent>) {
        let named = |extent: Option<Extent>| {
            let pages = extent.filter(|extent| matches!(extent.place, Place::At(_)))?.pages;
            Some((pages.ilog2() as usize % CLASSES, pages))
        };
        // A page of the tree may say anything, with a checksum that fits.
        if let Some((class, pages)) = named(before) {
            self.extents[class] = self.extents[class].saturating_sub(1);
            self.pages[class] = self.pages[class].saturating_sub(pages);
        }
        if let Some((class, pages)) = named(after) {
            self.extents[class] += 1;
            self.pages[class] += pages;
        }
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        let named = |names: [&'static str; CLASSES], counts: [u32; CLASSES]| {
            names.into_iter().zip(counts).map(|(name, count)| Counter::level(name, count.into()))
        };
        out.extend(named(EXTENTS, self.extents));
        out.extend(named(PAGES, self.pages));
    }
}
