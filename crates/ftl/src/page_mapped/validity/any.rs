//! One of the validity parts, chosen when the drive is put together.

use super::{Answer, BitmapCache, FlashBitmap, LogarithmicGecko, PageValidityLog, RamBitmap, Validity};
use crate::config::ValidityPart;
use crate::mu_tree::Layout;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::Tuning;
use crate::{Config, Counter, FtlError, GeckoLook, PageParts, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

/// The validity part that a drive has.
#[derive(Clone, Preserve)]
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

/// Calls the one that it is.
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
    /// The one that a drive is to have; `layout` is that of its µ-Tree's nodes, if it has one.
    ///
    /// # Errors
    /// Pages are too small for it.
    pub(crate) fn of(
        geometry: &Geometry,
        config: &Config<PageParts>,
        layout: impl FnOnce() -> Result<Layout, FtlError>,
    ) -> Result<Self, FtlError> {
        Ok(match config.composition.validity {
            ValidityPart::RamBitmap => RamBitmap::new(geometry).into(),
            ValidityPart::FlashBitmap => FlashBitmap::new(geometry).into(),
            ValidityPart::MuTree { bitmap_cache } => BitmapCache::new(geometry, layout()?, bitmap_cache).into(),
            ValidityPart::Gecko { size_ratio, partitions, merge, pages } => {
                let tuning = Tuning::new(geometry, (size_ratio, partitions), (merge, pages))?;
                LogarithmicGecko::new(geometry, tuning, config.barriers()).into()
            }
            ValidityPart::PageValidityLog => {
                PageValidityLog::new(geometry, config.logical_pages, config.barriers()).into()
            }
        })
    }
}

impl From<RamBitmap> for AnyValidity {
    fn from(bitmap: RamBitmap) -> Self {
        Self::Ram(bitmap)
    }
}

impl From<FlashBitmap> for AnyValidity {
    fn from(bitmap: FlashBitmap) -> Self {
        Self::Flash(bitmap)
    }
}

impl From<LogarithmicGecko> for AnyValidity {
    fn from(gecko: LogarithmicGecko) -> Self {
        Self::Gecko(gecko)
    }
}

impl From<PageValidityLog> for AnyValidity {
    fn from(log: PageValidityLog) -> Self {
        Self::Log(log)
    }
}

impl From<BitmapCache> for AnyValidity {
    fn from(cache: BitmapCache) -> Self {
        Self::Mu(cache)
    }
}

/// The error for a recovery of another validity store.
const ANOTHER: FtlError = FtlError::Unsupported("there is no recovery like this for an FTL with this validity store");

impl TryFrom<AnyValidity> for RamBitmap {
    type Error = FtlError;

    fn try_from(validity: AnyValidity) -> Result<Self, FtlError> {
        if let AnyValidity::Ram(bitmap) = validity { Ok(bitmap) } else { Err(ANOTHER) }
    }
}

impl TryFrom<AnyValidity> for FlashBitmap {
    type Error = FtlError;

    fn try_from(validity: AnyValidity) -> Result<Self, FtlError> {
        if let AnyValidity::Flash(bitmap) = validity { Ok(bitmap) } else { Err(ANOTHER) }
    }
}

impl TryFrom<AnyValidity> for LogarithmicGecko {
    type Error = FtlError;

    fn try_from(validity: AnyValidity) -> Result<Self, FtlError> {
        if let AnyValidity::Gecko(gecko) = validity { Ok(gecko) } else { Err(ANOTHER) }
    }
}

impl TryFrom<AnyValidity> for PageValidityLog {
    type Error = FtlError;

    fn try_from(validity: AnyValidity) -> Result<Self, FtlError> {
        if let AnyValidity::Log(log) = validity { Ok(log) } else { Err(ANOTHER) }
    }
}

impl TryFrom<AnyValidity> for BitmapCache {
    type Error = FtlError;

    fn try_from(validity: AnyValidity) -> Result<Self, FtlError> {
        if let AnyValidity::Mu(cache) = validity { Ok(cache) } else { Err(ANOTHER) }
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

    fn have_left<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        each!(self, own => own.have_left(io))
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
