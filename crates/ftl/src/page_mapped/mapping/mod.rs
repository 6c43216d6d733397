//! Mapping: where each logical page is.

mod ram_table;

pub(crate) use ram_table::RamTable;

use crate::RamLedger;
use phelsuma_nand::{LogicalPage, Page};

/// Where a logical page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// It was never written.
    Nowhere,
    /// It was discarded: reads as zeros, and older copies may still be on flash.
    Trimmed,
    /// It was somewhere, and the flash gave it back no more. A read error until it is written again.
    Lost,
    /// Here.
    At(Page),
}

/// The mapping part of a page-mapped FTL.
pub(crate) trait Mapping {
    /// Where `page` is.
    fn lookup(&self, page: LogicalPage) -> Place;

    /// `page` is at `place` from now on; where it was before.
    fn set(&mut self, page: LogicalPage, place: Place) -> Place;

    /// Whose page `page` is, for one that cannot say so itself. Looks at everything.
    fn owner_of(&self, page: Page) -> Option<LogicalPage>;

    /// What it keeps in RAM.
    fn ram(&self, ledger: &mut RamLedger);
}
