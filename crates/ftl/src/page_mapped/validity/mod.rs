//! Validity: which physical pages hold live user data.

mod ram_bitmap;

pub(crate) use ram_bitmap::RamBitmap;

use crate::RamLedger;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Page};

/// The validity part of a page-mapped FTL. It tracks user pages; a metadata page is live while its owner's directory
/// points at it.
pub(crate) trait Validity {
    /// `page` has just been programmed with live user data.
    fn validate(&mut self, page: Page);

    /// `page` is live no longer.
    fn invalidate(&mut self, page: Page);

    /// Whether `page` is live.
    fn is_live(&self, page: Page) -> bool;

    /// The indexes of all live pages of `block`, ascending, appended to `out`.
    fn live_in(&self, block: Block, out: &mut Vec<u16>);

    /// What it keeps in RAM.
    fn ram(&self, ledger: &mut RamLedger);
}
