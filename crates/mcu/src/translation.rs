//! Translation pages: the mapping table on flash, and its entries that are newer in RAM.
//!
//! A translation page holds the places of consecutive logical pages. It is written anew with all entries of it that are
//! dirty (synchronized, GeckoFTL section 4). Its version is the number of its program: what it says is newer than any
//! host page with a lower one.

use crate::barriers::Barrier;
use crate::config::Parts;
use crate::drive::{Drive, META, Source};
use crate::entries::{Before, Entry, is_page};
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::{LOST, NONE};
use crate::meta::{Kind, Meta};
use crate::tables::{Bytes, Table32};

/// A bit of [`crate::layout::Layout::dirty_of`]: an entry is a trim or a page lost.
pub(crate) const TRIMS: u16 = 0x8000;

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// The entries of the translation page in the page buffer.
    pub(crate) fn loaded_entries(&self) -> Table32 {
        self.data_of(self.layout.page).words()
    }

    /// Logical pages of a translation page.
    pub(crate) fn keys_of(&self, part: u32) -> core::ops::Range<u32> {
        let first = part * self.sizes.entries;
        first..(first + self.sizes.entries).min(self.config.logical_pages)
    }

    /// Reads a translation page into a buffer. One that cannot be read has lost its entries.
    pub(crate) fn read_part<F: Flash>(&mut self, flash: &mut F, part: u32, place: u32, into: Bytes) {
        let known = if is_page(place) {
            match self.read_page(flash, place, into) {
                Ok(meta) if meta.kind == Kind::Translation && meta.key == part => return,
                // Nothing tells any more which pages are stale that it had named.
                _ => {
                    self.doubt();
                    LOST
                }
            }
        } else {
            NONE
        };
        let entries = self.data_of(into).words();
        entries.fill(self.memory_mut(), known);
    }

    /// Brings a translation page into the page buffer.
    pub(crate) fn load<F: Flash>(&mut self, flash: &mut F, part: u32) {
        if self.state.loaded != part {
            let place = self.layout.directory.get(self.memory(), part);
            self.read_part(flash, part, place, self.layout.page);
            self.state.loaded = part;
        }
    }

    /// Where a logical page is: a page, [`NONE`] or [`LOST`]. At the most one flash read.
    pub(crate) fn place_of<F: Flash>(&mut self, flash: &mut F, key: u32) -> u32 {
        match self.entry(key) {
            Some(entry) => entry.place,
            None => self.in_translation_page(flash, key),
        }
    }

    /// Where a logical page is, as its translation page on flash has it. At the most one flash read.
    pub(crate) fn in_translation_page<F: Flash>(&mut self, flash: &mut F, key: u32) -> u32 {
        if self.is_ram_table() {
            return NONE;
        }
        let part = self.part_of(key);
        self.load(flash, part);
        self.loaded_entries().get(self.memory(), key - part * self.sizes.entries)
    }

    /// Makes room for an entry of this logical page, with the translation page that has most of them. Nothing stays in the
    /// page buffer.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn make_room_for_entry<F: Flash>(&mut self, flash: &mut F, key: u32) -> Result<(), Error> {
        if self.has_room_for_entry() || self.entry(key).is_some() {
            return Ok(());
        }
        // While a drive mounts the numbers of entries are not there.
        if self.state.mounting {
            return self.synchronize(flash, self.part_of(key));
        }
        self.synchronize_fullest(flash)
    }

    /// Writes the translation page that has most dirty entries.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn synchronize_fullest<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        let dirty = self.layout.dirty_of;
        let fullest = (0..dirty.entries).max_by_key(|part| dirty.get(self.memory(), *part) & !TRIMS);
        self.synchronize(flash, fullest.unwrap_or(0))
    }

    /// An entry of this logical page is dirty, by a page in the block of this number. Whether the entry is new, and
    /// whether it is of a trim or of a page lost.
    pub(crate) fn note_entry(&mut self, key: u32, number: u32, (is_new, is_trim): (bool, bool)) {
        if self.state.mounting {
            return;
        }
        let (part, dirty, oldest) = (self.part_of(key), self.layout.dirty_of, self.layout.oldest_of);
        let word = dirty.get(self.memory(), part);
        let (count, trims) = (word & !TRIMS, if is_trim { TRIMS } else { word & TRIMS });
        let oldest_now = if count == 0 { number } else { oldest.get(self.memory(), part).min(number) };
        oldest.set(self.memory_mut(), part, oldest_now);
        // With the table in RAM it only counts whether there are any.
        let count = if is_new { (count + 1).min(!TRIMS) } else { count };
        dirty.set(self.memory_mut(), part, count | trims);
        self.state.trims |= u32::from(is_trim);
    }

    /// A logical page stands elsewhere, or nowhere any more. Its former page is reported where it is known.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn enter<F: Flash>(&mut self, flash: &mut F, key: u32, to: u32) -> Result<(), Error> {
        let former = self.entry(key);
        if let Some(place) = former.map(|entry| entry.place).filter(|place| is_page(*place)) {
            self.report_stale(flash, place)?;
            self.drop_page(place);
        }
        let before = former.map_or(Before::Counted, |entry| entry.before);
        self.set_entry(key, Entry { place: to, before });
        let is_new = former.is_none() || self.is_ram_table();
        self.note_entry(key, self.state.appended, (is_new, !is_page(to)));
        Ok(())
    }

    /// Writes a translation page with all of its dirty entries; it is in the page buffer afterwards.
    ///
    /// # Errors
    /// [`Error::Full`]; then the entries are still dirty.
    pub(crate) fn synchronize<F: Flash>(&mut self, flash: &mut F, part: u32) -> Result<(), Error> {
        if self.is_ram_table() {
            self.compose_part(part);
        } else {
            self.apply_entries(flash, part)?;
        }
        let page = self.append(flash, META, Kind::Translation, part, Source::Memory(self.layout.page))?;
        self.state.loaded = if self.is_ram_table() { NONE } else { part };
        self.state.tally.translation += 1;
        let directory = self.layout.directory;
        let former = directory.get(self.memory(), part);
        directory.set(self.memory_mut(), part, page);
        if is_page(former) {
            self.drop_page(former);
        }
        if !self.is_ram_table() {
            for key in self.keys_of(part) {
                self.remove_entry(key);
            }
        }
        let (dirty, oldest) = (self.layout.dirty_of, self.layout.oldest_of);
        if self.state.mounting {
            let seq = self.state.seq - 1;
            self.set_synchronized(part, seq);
        } else {
            dirty.set(self.memory_mut(), part, 0);
            oldest.set(self.memory_mut(), part, u32::MAX);
        }
        Ok(())
    }

    /// A translation page of the table in RAM.
    fn compose_part(&mut self, part: u32) {
        self.state.loaded = NONE;
        let entries = self.loaded_entries();
        entries.fill(self.memory_mut(), NONE);
        for (index, key) in self.keys_of(part).enumerate() {
            let place = self.entry(key).map_or(NONE, |entry| entry.place);
            entries.set(self.memory_mut(), index as u32, place);
        }
    }

    /// Puts dirty entries into the page buffer, and reports what they take the place of.
    fn apply_entries<F: Flash>(&mut self, flash: &mut F, part: u32) -> Result<(), Error> {
        self.load(flash, part);
        // An error on the way leaves a buffer that is not what is on flash.
        self.state.loaded = NONE;
        for (index, key) in self.keys_of(part).enumerate() {
            let Some(entry) = self.entry(key) else { continue };
            let entries = self.loaded_entries();
            let former = entries.get(self.memory(), index as u32);
            entries.set(self.memory_mut(), index as u32, entry.place);
            if entry.before == Before::Settled || former == entry.place || !is_page(former) {
                continue;
            }
            // Where something was unreadable, its block may have been freed with what was not known of it.
            let is_sure = entry.before == Before::Counted && !self.state.in_doubt;
            let is_sure = is_sure || !self.config.keeps(Barrier::UnsurePagesRead);
            if is_sure || self.is_of(flash, former, key, self.state.seq) {
                if entry.before == Before::Counted {
                    self.drop_page(former);
                }
                self.report_stale(flash, former)?;
            }
            // Once is enough if the page has to be written again.
            self.set_entry(key, Entry { before: Before::Settled, ..entry });
        }
        Ok(())
    }

    /// Whether a page on flash says that it is of this logical page, and was programmed before a moment.
    pub(crate) fn is_of<F: Flash>(&self, flash: &mut F, page: u32, key: u32, before: u64) -> bool {
        let is_of = |meta: Meta| meta.kind == Kind::User && meta.key == key && meta.seq < before;
        page < self.config.chip.pages() && self.read_meta(flash, page).is_ok_and(is_of)
    }

    /// While a drive mounts: the seq of a translation page's version. Host pages with a higher one are newer than it.
    pub(crate) fn synchronized(&self, part: u32) -> u64 {
        let (low, high) =
            (self.layout.oldest_of.get(self.memory(), part), self.layout.dirty_of.get(self.memory(), part));
        u64::from(high) << 32 | u64::from(low)
    }

    pub(crate) fn set_synchronized(&mut self, part: u32, seq: u64) {
        let (low, high) = (self.layout.oldest_of, self.layout.dirty_of);
        low.set(self.memory_mut(), part, seq as u32);
        high.set(self.memory_mut(), part, (seq >> 32) as u16);
    }
}
