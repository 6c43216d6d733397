//! The validity stores of which a battery saves the state that is in RAM alone.

use crate::FtlError;
use crate::medium::Saved;
use crate::page_mapped::durability::common::Mount;
use crate::page_mapped::mapping::PagedMapping;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::{AnyValidity, FlashBitmap, RamBitmap, Validity, saved_bytes};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, Spare, SpareRead};

/// A drive with a demand-paged mapping and this validity store that is being mounted.
pub(super) type BatteryDrive<'s, V, N> = Mount<'s, PagedMapping, V, N>;

impl<V: SavedStore, N: Nand> BatteryDrive<'_, V, N> {
    /// The first page and the last one of a full block that begins with a user page: all between them are user pages,
    /// for a block is written by one stream. Two spare areas are read.
    pub(super) fn ends_of_user_block(&mut self, block: Block) -> Option<[(Page, Spare); 2]> {
        let geometry = self.geometry();
        let ends = [0, geometry.pages_per_block() - 1].map(|index| geometry.page(block, index));
        match ends.map(|page| (page, self.read_spare(page))) {
            [(first, SpareRead::Written(of_first)), (last, SpareRead::Written(of_last))]
                if of_first.kind == Kind::User =>
            {
                Some([(first, of_first), (last, of_last)])
            }
            _ => None,
        }
    }
}

/// A validity store of a drive with a battery.
pub(crate) trait SavedStore: Validity + Into<AnyValidity> + TryFrom<AnyValidity, Error = FtlError> {
    /// Further RAM while a recovery reads the table.
    type Aside;

    /// Nothing is entered yet.
    fn aside(geometry: &Geometry) -> Self::Aside;

    /// What that takes.
    fn aside_bytes(geometry: &Geometry) -> u64;

    /// The table names this page. Whether it had not before.
    fn enter(&mut self, aside: &mut Self::Aside, page: Page) -> bool;

    /// All pages are entered: makes it durable where the store is not in RAM.
    ///
    /// # Errors
    /// No block is left.
    fn write_anew<N: Nand>(drive: &mut BatteryDrive<'_, Self, N>, aside: &Self::Aside) -> Result<(), FtlError>;

    /// What of it a battery saves.
    fn saved(&self) -> &dyn Saved;

    /// The same, to be restored.
    fn saved_mut(&mut self) -> &mut dyn Saved;

    /// How many pages of its own it has on flash: keys from there on are free.
    fn parts(&self) -> u32;

    /// The power has failed: makes it durable which pages are stale, these among them. The state in RAM alone is saved
    /// afterwards.
    ///
    /// # Errors
    /// No block is left.
    fn save<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, stale: &mut Vec<Page>) -> Result<(), FtlError>;

    /// As [`Validity::erased`], when [`SavedStore::save`] is to come.
    fn erased_on_battery(&mut self, block: Block);
}

impl SavedStore for RamBitmap {
    type Aside = ();

    fn aside(_geometry: &Geometry) {}

    fn aside_bytes(_geometry: &Geometry) -> u64 {
        0
    }

    fn enter(&mut self, _aside: &mut (), page: Page) -> bool {
        let is_news = !self.is_live(page);
        if is_news {
            self.validate(page);
        }
        is_news
    }

    fn write_anew<N: Nand>(_drive: &mut BatteryDrive<'_, Self, N>, _aside: &()) -> Result<(), FtlError> {
        Ok(())
    }

    fn saved(&self) -> &dyn Saved {
        self
    }

    fn saved_mut(&mut self) -> &mut dyn Saved {
        self
    }

    fn parts(&self) -> u32 {
        0
    }

    fn save<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, stale: &mut Vec<Page>) -> Result<(), FtlError> {
        stale.drain(..).for_each(|page| self.clear(page));
        Ok(())
    }

    fn erased_on_battery(&mut self, _block: Block) {}
}

impl SavedStore for FlashBitmap {
    /// Which pages are live.
    type Aside = RamBitmap;

    fn aside(geometry: &Geometry) -> RamBitmap {
        RamBitmap::new(geometry)
    }

    fn aside_bytes(geometry: &Geometry) -> u64 {
        saved_bytes(geometry)
    }

    fn enter(&mut self, aside: &mut RamBitmap, page: Page) -> bool {
        aside.enter(&mut (), page)
    }

    fn write_anew<N: Nand>(drive: &mut BatteryDrive<'_, Self, N>, aside: &RamBitmap) -> Result<(), FtlError> {
        drive.begin("write the bitmap");
        // A live page that is no user page keeps its block from being used by others: it does not matter.
        let counters = drive.ftl.blocks.counters.clone();
        drive.validity(|bitmap, io| bitmap.rebuild(io, |block| counters.live(block) > 0, aside));
        drive.hear_news()
    }

    fn saved(&self) -> &dyn Saved {
        self.directory()
    }

    fn saved_mut(&mut self) -> &mut dyn Saved {
        self.directory_mut()
    }

    fn parts(&self) -> u32 {
        self.directory().parts()
    }

    fn save<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, stale: &mut Vec<Page>) -> Result<(), FtlError> {
        Self::save(self, io, stale)
    }

    fn erased_on_battery(&mut self, block: Block) {
        Self::erased_on_battery(self, block);
    }
}
