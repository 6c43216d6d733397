//! Translation pages on their way from flash and to it, and those that RAM has in fewer bytes.

use super::condensed::CondensedPages;
use super::unreadable::UnreadablePages;
use super::{PagedMapping, Slot, get, index_of, put};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::cache_part::{CacheRoom, Condense};
use crate::medium::marks::SpareMarks;
use crate::page_mapped::directory::PartRead;
use crate::page_mapped::mapping::{MISLAID, Place, entry_of};
use crate::page_mapped::meta_io::MetaIo;
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::{LogicalPage, Nand, Page, Time};

impl PagedMapping {
    /// Translation pages are kept from now on in so many bytes as the cache's room says.
    pub(crate) fn condense(&mut self, dies: u32, condense: Condense, room: CacheRoom) {
        let condensed =
            CondensedPages::of(condense, (self.table.parts(), self.entries_per_page), dies, room.condensed_bytes);
        self.condensed = condensed.map(Box::new);
    }

    /// An entry as flash has it. If it `is_used`, a translation page that is read for it is condensed, and others of its
    /// entries are gathered.
    pub(super) fn entry_on_flash<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32, is_used: bool) -> u32 {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.forget();
        }
        if let Some(entry) = self.entry_in_log(io, key) {
            return entry;
        }
        let condensed = self.condensed.as_mut();
        if let Some((entry, since)) =
            condensed.and_then(|condensed| if is_used { condensed.entry(key) } else { condensed.peek(key) })
        {
            io.wait_until(since);
            return entry;
        }
        let part = self.translation_page_of(key);
        let entry = match self.table.peek(io, part) {
            PartRead::Nowhere => entry_of(Place::Nowhere),
            PartRead::Bytes(bytes, version) => {
                if let Some(prefetch) = self.prefetch.as_mut().filter(|_| is_used) {
                    prefetch.gather(&self.cache, key, |index| get(bytes, index));
                }
                if let Some(condensed) = self.condensed.as_mut().filter(|_| is_used) {
                    condensed.enter(part, version, bytes);
                }
                get(bytes, index_of(key, self.entries_per_page))
            }
            PartRead::Unreadable => {
                self.tally.translation_pages_unreadable += 1;
                self.damaged = true;
                if let Some(unreadable) = &mut self.unreadable {
                    unreadable.found(part);
                }
                MISLAID
            }
        };
        if let Some(condensed) = self.condensed.as_mut().filter(|_| is_used) {
            condensed.arrives(part, io.read_done());
        }
        entry
    }

    /// Adds the pages of a translation page to `places`, each with its place: the cache's entry, or that on flash.
    pub(super) fn places_in_part<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        places: &mut Vec<(LogicalPage, Page)>,
    ) {
        self.load(io, part);
        for (key, index) in self.pages_of(part).zip(0..) {
            let entry = self.cache.find(key).map_or_else(|| get(&self.page, index), |slot| self.cache.value(slot));
            if let Place::At(page) = self.place(entry) {
                places.push((LogicalPage(key), page));
            }
        }
    }

    /// Where `key` is, as far as RAM has it, and from when on. Counts as a hit of the cache or of a condensed page, and as
    /// a use of it.
    #[inline]
    pub(super) fn place_in_ram(&mut self, key: LogicalPage, now: Time) -> Option<(Place, Time)> {
        let Some(slot) = self.cache.find(key.0) else {
            let found = self.condensed_place(key)?;
            self.tally.misses += 1;
            return Some((found.0, found.1.max(now)));
        };
        self.tally.hits += 1;
        self.cache.touch(slot);
        Some((self.place(self.cache.value(slot)), self.since(slot, now)))
    }

    /// From when on a cached entry is there: one that is dirty was made in RAM.
    #[inline]
    pub(super) fn since(&self, slot: Slot, now: Time) -> Time {
        if self.cache.is_dirty(slot) { now } else { self.arriving.since(self.cache.key(slot), now) }
    }

    /// Where a logical page is that is not cached, if a condensed translation page says so. With a log that is not all
    /// there is.
    fn condensed_place(&mut self, key: LogicalPage) -> Option<(Place, Time)> {
        let condensed = self.condensed.as_mut().filter(|_| self.log.is_none())?;
        let (entry, since) = condensed.entry(key.0)?;
        Some((self.place(entry), since))
    }

    /// A translation page that is condensed otherwise than flash has it: for checks.
    pub(super) fn condensed_amiss<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Option<u32> {
        let condensed = self.condensed.as_ref()?;
        let (table, entries_per_page) = (&mut self.table, self.entries_per_page);
        (0..table.parts()).filter(|part| condensed.has(*part)).find(|part| {
            let PartRead::Bytes(bytes, _) = table.peek(io, *part) else { return false };
            let differs = |index: &u32| {
                condensed.peek(part * entries_per_page + index).is_some_and(|(entry, _)| entry != get(bytes, *index))
            };
            (0..entries_per_page).any(|index| differs(&index))
        })
    }

    /// Fetches a translation page into `page`.
    #[inline]
    pub(super) fn load<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) {
        if let Some(unreadable) = &mut self.unreadable {
            unreadable.loaded(None);
        }
        if let Some((entries, version, since)) = self.condensed.as_ref().and_then(|condensed| condensed.whole(part)) {
            io.wait_until(since);
            (0..).zip(entries).for_each(|(index, entry)| put(&mut self.page, index, entry));
            self.loaded = version;
            return;
        }
        self.loaded = 0;
        match self.table.read(io, part) {
            PartRead::Bytes(bytes, version) => {
                self.page.copy_from_slice(bytes);
                self.loaded = version;
            }
            PartRead::Nowhere => self.page.fill(0xff),
            PartRead::Unreadable => {
                self.load_lost();
                if let Some(unreadable) = &mut self.unreadable {
                    unreadable.found(part);
                    unreadable.loaded(self.table.place_in_ram(part));
                }
            }
        }
    }

    /// The translation page cannot be read: in `page` all of its entries are lost.
    #[cold]
    pub(super) fn load_lost(&mut self) {
        self.loaded = 0;
        self.tally.translation_pages_unreadable += 1;
        self.damaged = true;
        for index in 0..self.entries_per_page {
            put(&mut self.page, index, MISLAID);
        }
    }

    /// Writes `page` as a translation page of this version, whose bytes are in RAM since then.
    pub(super) fn write_page<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        marks: SpareMarks,
        part: u32,
        version: u64,
        since: Time,
    ) -> Result<(), FtlError> {
        let marks = self.unreadable.as_ref().map_or(marks, |unreadable| unreadable.marks(marks));
        self.table.write(io, marks, part, version, &self.page)?;
        if let Some(unreadable) = &mut self.unreadable {
            unreadable.written(part);
        }
        if let Some(condensed) = &mut self.condensed
            && self.barriers.keeps(Barrier::CondensedFollowsFlash)
        {
            condensed.enter(part, version, &self.page);
            condensed.arrives(part, since);
        }
        Ok(())
    }

    /// What flash has of a translation page changes.
    pub(super) fn forget_condensed(&mut self, translation_page: u32) {
        if let Some(condensed) = &mut self.condensed {
            condensed.forget(translation_page);
        }
    }

    /// Writes those that could not be read as lost, on battery, when no entry is dirty any more. So many translation pages
    /// were `written` for that: a battery has the programs for as many as can have dirty entries.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn write_unreadable<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, written: u32) -> Result<(), FtlError> {
        for _ in written..self.cache_entries().min(self.table.parts()) {
            let Some(part) = self.unreadable.as_ref().and_then(UnreadablePages::next) else {
                break;
            };
            let mut before = Vec::new();
            self.synchronize(io, part, &mut before)?;
            debug_assert!(before.is_empty(), "nothing is dirty, and nothing is known of what it named");
        }
        Ok(())
    }
}
