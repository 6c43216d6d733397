//! Programs that failed before a mount: which unreadable pages they left.
//!
//! The page that was programmed in the place of one says so. It must not be erased before that one, so blocks with such a
//! page are emptied first of all, as they are before the power fails.

use crate::medium::marks::{InPlaceOf, SpareMarks};
use phelsuma_nand::{Block, Geometry, Kind, Page, Spare};

/// In whose places metadata pages stand.
#[derive(Clone, Copy, Default)]
pub(super) struct FailedPrograms(InPlaceOf);

impl FailedPrograms {
    pub(super) fn note(&mut self, spare: &Spare) {
        if matches!(spare.kind, Kind::Translation | Kind::Bitmap) {
            self.0.note(SpareMarks::of(spare));
        }
    }

    /// Whether a page stands in the place of this one.
    pub(super) fn left(&self, page: Page) -> bool {
        self.0.may_be(page)
    }

    /// The blocks that have one of these pages, last in its block and unreadable, because its program failed.
    pub(super) fn blocks(
        self,
        geometry: &Geometry,
        unreadable: impl Iterator<Item = Page>,
    ) -> impl Iterator<Item = Block> {
        unreadable.filter(move |page| self.left(*page)).map(|page| geometry.block_of(page))
    }
}
