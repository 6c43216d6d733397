//! Validity: which physical pages hold live user data.
//!
//! It tracks user pages; a metadata page is live while its owner's directory points at it. A store in flash reads and
//! writes its own pages through a [`MetaIo`].

mod any;
mod bitmap_cache;
mod flash_bitmap;
mod gecko;
mod page_validity_log;
mod ram_bitmap;
mod scan;

pub(crate) use any::AnyValidity;
pub(crate) use bitmap_cache::BitmapCache;
pub(crate) use flash_bitmap::FlashBitmap;
pub(crate) use gecko::LogarithmicGecko;
pub(crate) use page_validity_log::PageValidityLog;
pub(crate) use ram_bitmap::{RamBitmap, saved_bytes};
pub(crate) use scan::StorePage;
pub(crate) use scan::{BlockValidity, ValidityScan};

use super::meta_io::MetaIo;
use crate::{Counter, FtlError, GeckoLook, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

/// The worth of a store's answer about a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The pages given are the programmed user pages that it takes for live.
    Exact,
    /// They are those not known to be stale: perhaps some were never programmed.
    NotKnownStale,
    /// A part of it cannot be read: some pages may be stale, and only the mapping decides which.
    Uncertain,
}

/// The validity part of a page-mapped FTL.
///
/// The defaults are those of a bitmap in RAM.
pub(crate) trait Validity: Clone {
    /// What its pages are on flash.
    fn kind(&self) -> Kind {
        Kind::Bitmap
    }

    /// Whether it keeps anything on flash.
    fn is_on_flash(&self) -> bool {
        true
    }

    /// `page` has just been programmed with live user data.
    #[inline]
    fn validate(&mut self, _page: Page) {}

    /// `page` is live no longer.
    ///
    /// # Errors
    /// No block is left.
    fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError>;

    /// `page` has left a victim: it is not queried again before its block is erased, unless the power fails.
    #[inline]
    fn leave(&mut self, _geometry: &Geometry, _page: Page) {}

    /// Pages have left several victims: does what is due for that.
    ///
    /// # Errors
    /// No block is left.
    #[inline]
    fn have_left<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        Ok(())
    }

    /// A page that a failed program left at `page` is not live.
    ///
    /// # Errors
    /// No block is left.
    fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError>;

    /// `block` was erased: older entries of its pages are void.
    ///
    /// # Errors
    /// No block is left.
    fn erased<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError>;

    /// Nothing in `block` is live, and it waits for its erase.
    ///
    /// # Errors
    /// No block is left.
    fn freed<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _block: Block) -> Result<(), FtlError> {
        Ok(())
    }

    /// As [`Validity::flush`], and writes down from where a recovery is to begin even where there is nothing to flush.
    ///
    /// # Errors
    /// No block is left.
    fn checkpoint<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        Ok(())
    }

    /// `block` is going to be collected.
    ///
    /// # Errors
    /// No block is left.
    fn chosen<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _block: Block) -> Result<(), FtlError> {
        Ok(())
    }

    /// Whether an entry in the µ-Tree could not be read: the drive has to mount anew.
    #[inline]
    fn is_unreadable(&self) -> bool {
        false
    }

    /// Whether a block without a live page is given back at once.
    #[inline]
    fn gives_back_at_once(&self) -> bool {
        false
    }

    /// `block` is given back at once.
    fn given_back(&mut self, _block: Block) {}

    /// Whether its answer about a block is exact if it agrees with the counter, and not otherwise.
    #[inline]
    fn is_held_against_counters(&self) -> bool {
        false
    }

    /// Whether `page` is live, where RAM has that.
    #[inline]
    fn touch(&self, _page: Page) -> bool {
        false
    }

    /// The indexes of the pages of `block` that may be live, ascending, appended to `out`.
    fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer;

    /// Makes everything durable that is in RAM alone.
    ///
    /// # Errors
    /// No block is left.
    fn flush<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        Ok(())
    }

    /// Whether something is missing in it.
    #[inline]
    fn is_damaged(&self) -> bool {
        false
    }

    /// Whether it takes pages for live that were not reported to it, or all that there are.
    fn overstates(&self) -> bool {
        false
    }

    /// Whether pages of a run that are lost are to be written down before the block that held them is erased.
    #[inline]
    fn has_untold_damage(&self) -> bool {
        false
    }

    /// Something is lost that a log should have.
    fn set_damaged(&mut self) {}

    /// Moves its pages out of a victim.
    ///
    /// # Errors
    /// No block is left.
    fn relocate<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _victim: Block) -> Result<u64, FtlError> {
        Ok(0)
    }

    /// The live pages that it keeps on flash.
    fn metadata_pages(&self) -> Vec<Page> {
        Vec::new()
    }

    /// Its runs, for an onlooker, if it has any.
    fn look(&self) -> Option<GeckoLook> {
        None
    }

    /// Its RAM.
    fn ram(&self, ledger: &mut RamLedger);

    /// Its counters.
    fn counters(&self, _out: &mut Vec<Counter>) {}
}
