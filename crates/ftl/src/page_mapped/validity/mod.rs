//! Validity: which physical pages hold live user data.
//!
//! It tracks user pages; a metadata page is live while its owner's directory points at it. A store in flash reads and
//! writes its own pages through a [`MetaIo`].

mod bitmap_cache;
mod flash_bitmap;
mod gecko;
mod page_validity_log;
mod ram_bitmap;
mod scan;

pub(crate) use bitmap_cache::BitmapCache;
pub(crate) use flash_bitmap::FlashBitmap;
pub(crate) use gecko::{LogarithmicGecko, Tuning};
pub(crate) use page_validity_log::PageValidityLog;
pub(crate) use ram_bitmap::{RamBitmap, saved_bytes};
use scan::StorePage;
pub(crate) use scan::{BlockState, ValidityScan};

use super::meta_io::MetaIo;
use crate::blocks::ScanFrom;
use crate::medium::Saved;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

/// What a store's answer about a block is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The pages given are the programmed user pages that it takes for live.
    Exact,
    /// They are those not known to be stale: perhaps some were never programmed.
    NotKnownStale,
    /// A part of what it knew cannot be read: some may be stale, and only the mapping can tell.
    Uncertain,
}

/// The validity part of a page-mapped FTL.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is used for every page")]
pub(crate) enum Validity {
    /// A bitmap in RAM.
    Ram(RamBitmap),
    /// A bitmap in flash.
    Flash(FlashBitmap),
    /// Logarithmic Gecko.
    Gecko(LogarithmicGecko),
    /// A page validity log.
    Log(PageValidityLog),
    /// Bitmap entries in the mapping's µ-Tree, and the bitmap cache.
    Mu(BitmapCache),
}

impl Validity {
    /// Whether it keeps anything on flash.
    pub(crate) fn is_on_flash(&self) -> bool {
        !matches!(self, Self::Ram(_))
    }

    /// `page` has just been programmed with live user data.
    #[inline]
    pub(crate) fn validate(&mut self, page: Page) {
        if let Self::Ram(bitmap) = self {
            bitmap.validate(page);
        }
    }

    /// `page` is live no longer.
    ///
    /// # Errors
    /// No block is left.
    #[inline]
    pub(crate) fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        match self {
            Self::Ram(bitmap) => {
                bitmap.invalidate(page);
                Ok(())
            }
            Self::Flash(bitmap) => bitmap.invalidate(io, page),
            Self::Gecko(gecko) => gecko.invalidate(io, page),
            Self::Log(log) => log.invalidate(io, page),
            Self::Mu(cache) => cache.invalidate(io, page),
        }
    }

    /// A recovery is to find out what is stale: it is to be told of pages that leave a victim. The entries of its
    /// buffer; none where there is no such recovery.
    pub(crate) fn tell_of_leaving(&mut self) -> Option<u32> {
        match self {
            Self::Ram(_) | Self::Flash(_) | Self::Mu(_) => None,
            Self::Gecko(gecko) => {
                gecko.tell_of_leaving();
                Some(gecko.buffer_entries())
            }
            Self::Log(log) => {
                log.tell_of_leaving();
                Some(log.buffer_entries())
            }
        }
    }

    /// `page` has left a victim: nobody asks for it again before its block is erased, unless the power fails.
    #[inline]
    pub(crate) fn leave(&mut self, geometry: &Geometry, page: Page) {
        match self {
            Self::Ram(bitmap) => bitmap.invalidate(page),
            Self::Flash(_) | Self::Mu(_) => {}
            Self::Gecko(gecko) => gecko.leave(geometry, page),
            Self::Log(log) => log.leave(page),
        }
    }

    /// Whatever a failed program left at `page` is not live.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) => Ok(()),
            Self::Flash(bitmap) => bitmap.invalidate(io, page),
            Self::Gecko(gecko) => gecko.failed(io, page),
            Self::Log(log) => log.failed(io, page),
            Self::Mu(cache) => cache.invalidate(io, page),
        }
    }

    /// `block` was erased: what was known of its pages is void.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn erased<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) => Ok(()),
            Self::Flash(bitmap) => bitmap.erased(io, block),
            Self::Gecko(gecko) => gecko.erased(io, block),
            Self::Log(log) => {
                log.erased(block);
                Ok(())
            }
            Self::Mu(cache) => cache.erased(io, block),
        }
    }

    /// Nothing in `block` is live, and it waits for its erase.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn freed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) | Self::Flash(_) => Ok(()),
            Self::Gecko(gecko) => gecko.freed(io, block),
            Self::Log(log) => log.freed(io, block),
            Self::Mu(cache) => {
                cache.freed(block);
                Ok(())
            }
        }
    }

    /// As [`Validity::flush`], and writes down what a recovery is to begin with even where there is nothing to flush.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn checkpoint<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) | Self::Flash(_) | Self::Mu(_) => Ok(()),
            Self::Gecko(gecko) => gecko.checkpoint(io),
            Self::Log(log) => log.checkpoint(io),
        }
    }

    /// A recovery is going to call [`Validity::checkpoint`].
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn prepare_checkpoint<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        match self {
            Self::Log(log) => log.clean_ahead(io),
            _ => Ok(()),
        }
    }

    /// `block` is going to be collected.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn chosen<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        match self {
            Self::Mu(cache) => cache.chosen(io, block),
            _ => Ok(()),
        }
    }

    /// Whether an entry in the µ-Tree could not be read: the drive has to come up anew.
    #[inline]
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Mu(cache) if cache.is_unreadable())
    }

    /// The bitmap cache, if it has one: then a block without a live page is given back at once.
    #[inline]
    pub(crate) fn bitmap_cache(&mut self) -> Option<&mut BitmapCache> {
        match self {
            Self::Mu(cache) => Some(cache),
            _ => None,
        }
    }

    /// Whether `page` is live, where RAM tells.
    #[inline]
    pub(crate) fn touch(&self, page: Page) -> bool {
        match self {
            Self::Ram(bitmap) => bitmap.is_live(page),
            _ => false,
        }
    }

    /// The indexes of the pages of `block` that may be live, ascending, appended to `out`.
    pub(crate) fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        match self {
            Self::Ram(bitmap) => {
                bitmap.live_in(block, out);
                Answer::Exact
            }
            Self::Flash(bitmap) => bitmap.live_in(io, block, out),
            Self::Gecko(gecko) => gecko.live_in(io, block, out),
            Self::Log(log) => log.live_in(io, block, out),
            Self::Mu(cache) => cache.live_in(io, block, out),
        }
    }

    /// Makes everything durable that only RAM knows.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn flush<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        match self {
            // What a bitmap cache holds comes out of the scan.
            Self::Ram(_) | Self::Mu(_) => Ok(()),
            Self::Flash(bitmap) => bitmap.flush(io),
            Self::Gecko(gecko) => gecko.flush(io),
            Self::Log(log) => log.flush(io),
        }
    }

    /// The power has failed: makes it durable which pages are stale, these among them. What is in RAM alone is saved
    /// afterwards.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn save<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, stale: &mut Vec<Page>) -> Result<(), FtlError> {
        match self {
            Self::Ram(bitmap) => {
                stale.drain(..).for_each(|page| bitmap.invalidate(page));
                Ok(())
            }
            Self::Flash(bitmap) => bitmap.save(io, stale),
            Self::Gecko(_) | Self::Log(_) | Self::Mu(_) => Ok(()),
        }
    }

    /// As [`Validity::erased`], when [`Validity::save`] is to come.
    pub(crate) fn erased_on_battery(&mut self, block: Block) {
        if let Self::Flash(bitmap) = self {
            bitmap.erased_on_battery(block);
        }
    }

    /// Whether it does not know all that it should.
    pub(crate) fn is_damaged(&self) -> bool {
        match self {
            Self::Flash(bitmap) => bitmap.is_damaged(),
            Self::Log(log) => log.is_damaged(),
            Self::Gecko(gecko) => gecko.is_damaged(),
            Self::Ram(_) | Self::Mu(_) => false,
        }
    }

    /// Whether pages of a run that are lost are to be written down before the block that held them is erased.
    pub(crate) fn has_untold_damage(&self) -> bool {
        matches!(self, Self::Gecko(gecko) if gecko.has_untold_damage())
    }

    /// Something is lost that a log should know.
    pub(crate) fn set_damaged(&mut self) {
        if let Self::Log(log) = self {
            log.set_damaged();
        }
    }

    /// How many parts a bitmap in flash has; none elsewhere.
    pub(crate) fn bitmap_parts(&self) -> u32 {
        match self {
            Self::Flash(bitmap) => bitmap.directory().parts(),
            Self::Ram(_) | Self::Gecko(_) | Self::Log(_) | Self::Mu(_) => 0,
        }
    }

    /// What of it a battery saves.
    pub(crate) fn saved(&self) -> Option<&dyn Saved> {
        match self {
            Self::Ram(bitmap) => Some(bitmap),
            Self::Flash(bitmap) => Some(bitmap.directory()),
            Self::Gecko(_) | Self::Log(_) | Self::Mu(_) => None,
        }
    }

    /// The same, to be restored.
    pub(crate) fn saved_mut(&mut self) -> Option<&mut dyn Saved> {
        match self {
            Self::Ram(bitmap) => Some(bitmap),
            Self::Flash(bitmap) => Some(bitmap.directory_mut()),
            Self::Gecko(_) | Self::Log(_) | Self::Mu(_) => None,
        }
    }

    /// Moves its pages out of a victim.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        match self {
            Self::Ram(_) | Self::Mu(_) => Ok(0),
            Self::Flash(bitmap) => bitmap.relocate(io, victim),
            Self::Gecko(gecko) => gecko.relocate(io, victim),
            Self::Log(log) => log.relocate(io, victim),
        }
    }

    /// The kind of the pages that a recovery looks for.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Log(_) => Kind::ValidityLog,
            _ => Kind::Gecko,
        }
    }

    /// Takes what was found on flash for its own: what the last flush had frozen, and from where on to scan.
    pub(crate) fn restore<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> (u64, ScanFrom) {
        match self {
            Self::Ram(_) | Self::Flash(_) | Self::Mu(_) => Default::default(),
            Self::Gecko(gecko) => gecko.restore(io, scan),
            Self::Log(log) => log.restore(io, scan),
        }
    }

    /// From where on a log would not know what was made stale, if this were all that is found of it.
    pub(crate) fn heard_until<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> ScanFrom {
        match self {
            Self::Log(log) => log.heard_until(io, scan),
            _ => ScanFrom::default(),
        }
    }

    /// The pages that it would take for its own.
    pub(crate) fn pages_in_use<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> Vec<Page> {
        match self {
            Self::Ram(_) | Self::Flash(_) | Self::Mu(_) => Vec::new(),
            Self::Gecko(gecko) => gecko.pages_in_use(io, scan),
            Self::Log(log) => log.pages_in_use(io, scan),
        }
    }

    /// Copies pages that may have been in flight when the power failed.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn copy_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Result<u64, FtlError> {
        match self {
            Self::Ram(_) | Self::Flash(_) | Self::Mu(_) => Ok(0),
            Self::Gecko(gecko) => gecko.copy_pages(io, pages),
            Self::Log(log) => log.copy_pages(io, pages),
        }
    }

    /// The live pages that it keeps on flash.
    pub(crate) fn metadata_pages(&self) -> Vec<Page> {
        match self {
            Self::Ram(_) | Self::Mu(_) => Vec::new(),
            Self::Flash(bitmap) => bitmap.metadata_pages().collect(),
            Self::Gecko(gecko) => gecko.metadata_pages().collect(),
            Self::Log(log) => log.metadata_pages().collect(),
        }
    }

    /// What it keeps in RAM.
    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        match self {
            Self::Ram(bitmap) => bitmap.ram(ledger),
            Self::Flash(bitmap) => bitmap.ram(ledger),
            Self::Gecko(gecko) => gecko.ram(ledger),
            Self::Log(log) => log.ram(ledger),
            Self::Mu(cache) => cache.ram(ledger),
        }
    }

    /// What it has counted.
    pub(crate) fn counters(&self, out: &mut Vec<Counter>) {
        match self {
            Self::Ram(_) => {}
            Self::Flash(bitmap) => bitmap.counters(out),
            Self::Gecko(gecko) => gecko.counters(out),
            Self::Log(log) => log.counters(out),
            Self::Mu(cache) => cache.counters(out),
        }
    }
}
