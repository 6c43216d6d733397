//! The whole mapping in RAM: four bytes a logical page. The analytic reference, and what the demand-paged designs
//! measure themselves against.

use super::{Place, entry_of, place_of};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{LogicalPage, Page};

/// A table of page numbers, by logical page.
#[derive(Clone, Preserve)]
pub(super) struct RamTable {
    entries: Vec<u32>,
}

impl RamTable {
    pub(super) fn new(logical_pages: u32) -> Self {
        Self { entries: vec![entry_of(Place::Nowhere); logical_pages as usize] }
    }

    #[inline]
    pub(super) fn lookup(&self, page: LogicalPage) -> Place {
        place_of(self.entries[page.index()])
    }

    /// `page` is at `to` from now on; where it was before.
    #[inline]
    pub(super) fn set(&mut self, page: LogicalPage, to: Place) -> Place {
        place_of(core::mem::replace(&mut self.entries[page.index()], entry_of(to)))
    }

    /// Whose page `page` is. Looks at everything.
    pub(super) fn owner_of(&self, page: Page) -> Option<LogicalPage> {
        self.entries.iter().position(|e| *e == page.0).map(|at| LogicalPage(at as u32))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.entries.len() as u64 * 4
    }
}
