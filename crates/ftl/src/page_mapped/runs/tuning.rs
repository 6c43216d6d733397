//! How runs are tuned.

use super::page::RunLayout;
use crate::FtlError;
use crate::gecko_part::{GeckoMerge, GeckoPages};
use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// The tuning of sorted runs.
#[derive(Clone, Copy, Debug, Preserve)]
pub(crate) struct Tuning {
    /// T.
    pub(crate) size_ratio: u32,
    /// How runs are merged.
    pub(crate) merge: GeckoMerge,
    pub(crate) layout: RunLayout,
    /// What a run has at the most: blocks with entries for all parts, or entries of one word.
    groups: u32,
}

impl Tuning {
    /// That of Logarithmic Gecko for a drive; `parts` of 0 means one for each 32 pages of a block (section 3.3).
    ///
    /// # Errors
    /// A page has no room for the entries of two blocks.
    pub(crate) fn new(
        geometry: &Geometry,
        (size_ratio, parts): (u32, u32),
        (merge, pages): (GeckoMerge, GeckoPages),
    ) -> Result<Self, FtlError> {
        let b = geometry.pages_per_block();
        let parts = if parts == 0 { (b / 32).max(1) } else { parts };
        let layout = RunLayout::new(geometry, parts.min(b), pages)
            .ok_or(FtlError::Unsupported("a page is too small for the Gecko entries of two blocks: use fewer parts"))?;
        Ok(Self { size_ratio, merge, layout, groups: geometry.blocks() })
    }

    /// That of entries of one word, of which a run has no more than these. T is 2.
    pub(crate) fn of_words(geometry: &Geometry, entries: u32) -> Self {
        Self { size_ratio: 2, merge: GeckoMerge::MultiWay, layout: RunLayout::of_words(geometry), groups: entries }
    }

    /// The entries that fill the buffer: V less what keeps all entries of a block on one page.
    pub(crate) fn buffer_entries(&self) -> usize {
        self.layout.entries() - self.layout.parts as usize + 1
    }

    /// Pages of a run that has an entry for every part of every block: no run has more.
    pub(crate) fn longest_run(&self) -> u32 {
        let groups_per_page = self.layout.entries() as u32 / self.layout.parts;
        self.groups.div_ceil(groups_per_page)
    }
}
