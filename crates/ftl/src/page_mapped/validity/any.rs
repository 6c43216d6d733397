//! One of the validity parts, chosen when the drive is put together.

use super::{Answer, BitmapCache, FlashBitmap, LogarithmicGecko, PageValidityLog, RamBitmap, Validity, ValidityScan};
use crate::medium::Saved;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, GeckoLook, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

/// The validity part that a drive has.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is used for every page")]
pub(crate) enum AnyValidity {
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

/// Asks whichever it is.
macro_rules! each {
    ($validity:expr, $part:ident => $ask:expr) => {
        match $validity {
            AnyValidity::Ram($part) => $ask,
            AnyValidity::Flash($part) => $ask,
            AnyValidity::Gecko($part) => $ask,
            AnyValidity::Log($part) => $ask,
            AnyValidity::Mu($part) => $ask,
        }
    };
}

impl AnyValidity {
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

    /// The power has failed: makes it durable which pages are stale, these among them. What is in RAM alone is saved
    /// afterwards.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn save<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, stale: &mut Vec<Page>) -> Result<(), FtlError> {
        match self {
            Self::Ram(bitmap) => {
                stale.drain(..).for_each(|page| bitmap.clear(page));
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
}

impl Validity for AnyValidity {
    fn kind(&self) -> Kind {
        each!(self, own => own.kind())
    }

    fn is_on_flash(&self) -> bool {
        each!(self, own => own.is_on_flash())
    }

    #[inline]
    fn validate(&mut self, page: Page) {
        each!(self, own => own.validate(page))
    }

    #[inline]
    fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        each!(self, own => own.invalidate(io, page))
    }

    #[inline]
    fn leave(&mut self, geometry: &Geometry, page: Page) {
        each!(self, own => own.leave(geometry, page))
    }

    fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        each!(self, own => own.failed(io, page))
    }

    fn erased<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        each!(self, own => own.erased(io, block))
    }

    fn freed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        each!(self, own => own.freed(io, block))
    }

    fn checkpoint<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        each!(self, own => own.checkpoint(io))
    }

    fn chosen<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        each!(self, own => own.chosen(io, block))
    }

    #[inline]
    fn is_unreadable(&self) -> bool {
        each!(self, own => own.is_unreadable())
    }

    #[inline]
    fn gives_back_at_once(&self) -> bool {
        each!(self, own => own.gives_back_at_once())
    }

    fn given_back(&mut self, block: Block) {
        each!(self, own => own.given_back(block))
    }

    #[inline]
    fn is_held_against_counters(&self) -> bool {
        each!(self, own => own.is_held_against_counters())
    }

    #[inline]
    fn touch(&self, page: Page) -> bool {
        each!(self, own => own.touch(page))
    }

    fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        each!(self, own => own.live_in(io, block, out))
    }

    fn flush<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        each!(self, own => own.flush(io))
    }

    #[inline]
    fn is_damaged(&self) -> bool {
        each!(self, own => own.is_damaged())
    }

    fn overstates(&self) -> bool {
        each!(self, own => own.overstates())
    }

    #[inline]
    fn has_untold_damage(&self) -> bool {
        each!(self, own => own.has_untold_damage())
    }

    fn set_damaged(&mut self) {
        each!(self, own => own.set_damaged())
    }

    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        each!(self, own => own.relocate(io, victim))
    }

    fn metadata_pages(&self) -> Vec<Page> {
        each!(self, own => own.metadata_pages())
    }

    fn look(&self) -> Option<GeckoLook> {
        each!(self, own => own.look())
    }

    fn ram(&self, ledger: &mut RamLedger) {
        each!(self, own => own.ram(ledger))
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        each!(self, own => own.counters(out))
    }
}
