//! Pages on their way from a victim to their new place: read first, a few at a time, then written.
//!
//! Several at a time, so that a drive's dies read in parallel. The mapping entries of all of them are then on their way
//! from memory before the first is changed.

use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, LogicalPage, Page, Spare, Time};

/// How many pages are held at a time.
pub(crate) const PAGES: usize = 16;

/// A page read from a victim.
#[derive(Clone, Copy, Preserve)]
pub(crate) struct Moving {
    pub(crate) from: Page,
    pub(crate) spare: Spare,
    pub(crate) ready: Time,
    tag: u64,
    /// Where in `bytes` the data begin; none of a hollow page.
    start: Option<usize>,
}

/// Up to [`PAGES`] pages with their data.
#[derive(Clone, Default, Preserve)]
pub(crate) struct MoveBuffer {
    pages: Vec<Moving>,
    bytes: Vec<u8>,
}

impl MoveBuffer {
    pub(crate) fn new() -> Self {
        Self { pages: Vec::with_capacity(PAGES), bytes: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.bytes.clear();
    }

    pub(crate) fn push(&mut self, from: Page, spare: Spare, content: Content<'_>, ready: Time) {
        debug_assert!(self.pages.len() < PAGES, "more pages are on their way than there is room for");
        let (tag, start) = match content {
            Content::Hollow(tag) => (tag, None),
            Content::Bytes(bytes) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                (0, Some(start))
            }
        };
        self.pages.push(Moving { from, spare, ready, tag, start });
    }

    /// Lets go of the pages that `stays` does not want.
    #[inline]
    pub(crate) fn keep(&mut self, stays: impl FnMut(&Moving) -> bool) {
        self.pages.retain(stays);
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The logical pages that they are of.
    pub(crate) fn keys(&self) -> impl Iterator<Item = LogicalPage> + Clone {
        self.pages.iter().map(|page| LogicalPage(page.spare.key))
    }

    pub(crate) fn get(&self, index: usize, page_bytes: u32) -> (Moving, Content<'_>) {
        let page = self.pages[index];
        let content = match page.start {
            None => Content::Hollow(page.tag),
            Some(start) => Content::Bytes(&self.bytes[start..start + page_bytes as usize]),
        };
        (page, content)
    }

    /// RAM, in bytes, with room for the data of all pages. A drive has it also while no page has data.
    pub(crate) fn bytes(&self, page_bytes: u64) -> u64 {
        (self.pages.capacity() * size_of::<Moving>()) as u64 + PAGES as u64 * page_bytes
    }
}
