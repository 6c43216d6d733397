//! The whole mapping in RAM: four bytes a logical page. The analytic reference, and what the demand-paged designs
//! measure themselves against.

use super::{Mapping, Place};
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{LogicalPage, Page};

const NOWHERE: u32 = u32::MAX;
const TRIMMED: u32 = u32::MAX - 1;
const LOST: u32 = u32::MAX - 2;

/// A table of page numbers, by logical page.
pub(crate) struct RamTable {
    entries: Vec<u32>,
}

impl RamTable {
    pub(crate) fn new(logical_pages: u32) -> Self {
        Self { entries: vec![NOWHERE; logical_pages as usize] }
    }
}

#[inline]
fn place(entry: u32) -> Place {
    match entry {
        NOWHERE => Place::Nowhere,
        TRIMMED => Place::Trimmed,
        LOST => Place::Lost,
        page => Place::At(Page(page)),
    }
}

impl Mapping for RamTable {
    #[inline]
    fn lookup(&self, page: LogicalPage) -> Place {
        place(self.entries[page.index()])
    }

    #[inline]
    fn set(&mut self, page: LogicalPage, to: Place) -> Place {
        let entry = match to {
            Place::Nowhere => NOWHERE,
            Place::Trimmed => TRIMMED,
            Place::Lost => LOST,
            Place::At(page) => page.0,
        };
        place(core::mem::replace(&mut self.entries[page.index()], entry))
    }

    fn owner_of(&self, page: Page) -> Option<LogicalPage> {
        self.entries.iter().position(|e| *e == page.0).map(|at| LogicalPage(at as u32))
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.table", self.entries.len() as u64 * 4);
    }
}
