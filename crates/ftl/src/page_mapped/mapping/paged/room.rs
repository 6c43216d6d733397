//! Room in the cache: entries that leave for others.

use super::PagedMapping;
use super::cache::{Coming, Slot};
use crate::FtlError;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Page};

impl PagedMapping {
    /// A new entry, clean, evicting another where there is no room.
    pub(super) fn insert<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        entry: u32,
        before: &mut Vec<Page>,
    ) -> Result<Slot, FtlError> {
        self.make_room(io, key, before)?;
        Ok(self.cache.insert(key, entry))
    }

    /// There is room for `key`'s entry in the cache from now on, by one synchronization at the most.
    pub(super) fn make_room<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let mut coming = Coming::of(key);
        while let Some(going) = self.cache.must_go(&mut coming) {
            self.make_clean(io, going, before)?;
            if !self.cache.leave(going) {
                break;
            }
        }
        Ok(())
    }

    /// The entry at a slot is in its translation page from now on.
    pub(super) fn make_clean<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        slot: Slot,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if self.cache.is_dirty(slot) {
            if self.log.is_some() {
                return self.spill(io, before);
            }
            self.begin_draining(io, slot);
            self.synchronize(io, self.translation_page_of(self.cache.key(slot)), before)?;
        }
        Ok(())
    }
}
