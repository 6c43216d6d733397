//! Entries that leave the cache for others, and those that come along with one that was missed.

use super::PagedMapping;
use super::cache::{Coming, Slot};
use crate::FtlError;
use crate::page_mapped::mapping::Place;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Page, Time};

impl PagedMapping {
    /// A new entry, clean, evicting another where there is no room.
    pub(super) fn insert<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        entry: u32,
        before: &mut Vec<Page>,
    ) -> Result<Slot, FtlError> {
        let coming = self.make_room(io, key, before)?;
        Ok(self.cache.insert_coming(&coming, entry))
    }

    /// Reads `key`'s entry, which is not cached; it is cached from now on, with those that come along. One that is lost
    /// is where it is going to be written.
    pub(super) fn fetch<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        is_written: bool,
        before: &mut Vec<Page>,
    ) -> (u32, Result<(), FtlError>) {
        let now = io.read_done();
        let entry = self.entry_on_flash(io, key, true);
        let since = io.read_done();
        if self.place(entry) == Place::Lost && !is_written {
            return (entry, Ok(()));
        }
        let inserted = self.insert(io, key, entry, before).map(|slot| {
            self.prepared = slot;
            self.arriving.note(key, since, now);
            self.insert_prefetched(key, since, now);
        });
        (entry, inserted)
    }

    /// There is room for `key`'s entry in the cache from now on, by one synchronization at the most.
    pub(super) fn make_room<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        before: &mut Vec<Page>,
    ) -> Result<Coming, FtlError> {
        let mut coming = Coming::of(key);
        while let Some(going) = self.cache.must_go(&mut coming) {
            self.make_clean(io, going, before)?;
            if !self.cache.leave(going) {
                break;
            }
        }
        Ok(coming)
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

    /// The entries that were gathered when `key` was missed, which is cached by now, are cached too.
    #[inline]
    pub(super) fn insert_prefetched(&mut self, key: u32, since: Time, now: Time) {
        let Some(mut prefetch) = self.prefetch.take() else { return };
        let (part, mut entered) = (self.translation_page_of(key), 0);
        'entries: for (key, entry) in prefetch.take() {
            debug_assert_eq!(self.translation_page_of(key), part);
            if key >= self.logical_pages || matches!(self.place(entry), Place::Lost) {
                continue;
            }
            while let Some(going) = self.cache.must_go(&mut Coming::of(key)) {
                let of = self.translation_page_of(self.cache.key(going));
                if self.cache.is_dirty(going) || of == part {
                    break 'entries;
                }
                self.cache.leave(going);
            }
            self.cache.insert_prefetched(key, entry);
            self.arriving.note(key, since, now);
            entered += 1;
        }
        debug_assert!(self.cache.find(key).is_some(), "what was missed went for what was not");
        prefetch.count(entered);
        self.prefetch = Some(prefetch);
    }
}
