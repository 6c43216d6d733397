//! Entries that a recovery found by scanning the pages written last, and what becomes of them (GeckoFTL section 4.3 and
//! appendix C.3).
//!
//! Such an entry is taken for dirty and for having an unidentified before-image, and marked as unsure. When its
//! translation page is read for whatever reason, one of three things is found:
//! - The page says the same: the entry is clean.
//! - The page was synchronized after the entry's user page was written, and says something else: what was synchronized
//!   was newer, a trim. The user page is stale. The paper knows no trims; resurrecting the page is what it would do.
//! - The page is older: the entry is dirty. What the page names is stale, if it still is this logical page, and was
//!   written before the page was synchronized. The paper looks at the logical page alone: if the physical page was
//!   erased and written again with the same logical page, its newest content would be reported as stale.

use super::{PagedMapping, Slot, get};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::ScanFrom;
use crate::page_mapped::mapping::{Place, entry_of, place_of};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::{Kind, LogicalPage, Nand, Page, SpareRead};

/// What the translation page's entry makes of an unsure one.
enum Finding {
    /// What the translation page says is so.
    Clean,
    /// The page knows better, and what the entry names is stale.
    Overruled,
    /// The entry is newer; what the page names is stale, or was reported, or belongs to somebody else by now.
    Newer(Option<Page>),
}

impl PagedMapping {
    /// Takes checkpoints from now on, so that a recovery has to scan no further back than `scan_from`.
    pub(crate) fn take_checkpoints(&mut self, scan_from: ScanFrom) {
        self.checkpoints = Some(super::Checkpoints::new(self.cache.capacity(), scan_from));
    }

    /// Everything written so far is in translation pages.
    pub(crate) fn all_synchronized<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.all_synchronized(io);
        }
    }

    /// Where a recovery has found `key`; nothing where it has not.
    pub(crate) fn found(&self, key: LogicalPage) -> Option<Place> {
        let cached = self.cache.find(key.0).map(|slot| self.cache.value(slot));
        cached.or_else(|| self.overflow.get(&key.0).copied()).map(place_of)
    }

    /// Whether `key`'s entry is unsure.
    pub(crate) fn is_unsure(&self, key: LogicalPage) -> bool {
        self.cache.has_unsure() && self.cache.find(key.0).is_some_and(|slot| self.cache.is_unsure(slot))
    }

    /// The pages that the entries found by a recovery name.
    pub(crate) fn found_pages(&self) -> Vec<Page> {
        let cached = self.cache.iter().filter(|slot| self.cache.is_unsure(*slot)).map(|slot| self.cache.value(slot));
        cached.chain(self.overflow.values().copied()).map(Page).collect()
    }

    /// Entries whose pages are stale turn out to be wrong: their translation pages know better.
    pub(crate) fn forget_found<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, stale: impl Fn(Page) -> bool) {
        let mut wrong: Vec<Slot> = self.cache.iter().filter(|slot| self.cache.is_unsure(*slot)).collect();
        wrong.retain(|slot| stale(Page(self.cache.value(*slot))));
        for slot in wrong {
            let key = self.cache.key(slot);
            self.load(io, self.translation_page_of(key));
            self.cache.overruled(slot, get(&self.page, key % self.entries_per_page));
        }
        self.overflow.retain(|_, page| !stale(Page(*page)));
    }

    /// A recovery has found `key`'s newest page so far; it finds the newest of all first. Where the cache has no room the
    /// entry is kept apart until its translation page is synchronized, which must know of it.
    pub(crate) fn enter_found(&mut self, key: LogicalPage, page: Page) {
        let slot = match self.cache.find(key.0) {
            None if self.cache.is_full() => {
                self.overflow.insert(key.0, page.0);
                return;
            }
            None => {
                let slot = self.cache.insert(key.0, page.0);
                self.cache.demote(slot);
                slot
            }
            Some(slot) => slot,
        };
        self.cache.set_unsure(slot, page.0);
    }

    /// A recovery has copied `key`'s page, which its entry names, to `to`.
    pub(crate) fn copied(&mut self, key: LogicalPage, to: Page) {
        match self.cache.find(key.0) {
            Some(slot) => self.cache.set_dirty(slot, to.0),
            None => drop(self.overflow.insert(key.0, to.0)),
        }
    }

    /// Asks the translation page about `key`'s entry, and about all unsure ones of its neighbours.
    pub(crate) fn make_sure<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage, before: &mut Vec<Page>) {
        let part = self.translation_page_of(key.0);
        self.load(io, part);
        self.make_loaded_sure(io, part, before);
        self.make_overflow_sure(io, part, before);
    }

    /// Synchronizes a translation page with entries that are kept apart; false where there are none left.
    pub(crate) fn synchronize_overflow<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        before: &mut Vec<Page>,
    ) -> Result<bool, FtlError> {
        let Some((key, _)) = self.overflow.first_key_value() else { return Ok(false) };
        let part = self.translation_page_of(*key);
        self.load(io, part);
        self.make_overflow_sure(io, part, before);
        if self.overflow.range(self.pages_of(part)).next().is_some() {
            self.synchronize(io, part, before)?;
        }
        Ok(true)
    }

    /// Settles the entries kept apart of the translation page in `page`.
    pub(super) fn make_overflow_sure<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32, before: &mut Vec<Page>) {
        let apart: Vec<(u32, u32)> = self.overflow.range(self.pages_of(part)).map(|(k, v)| (*k, *v)).collect();
        for (key, value) in apart {
            let on_flash = get(&self.page, key % self.entries_per_page);
            match self.finding(io, key, value, true, on_flash) {
                Finding::Clean => drop(self.overflow.remove(&key)),
                Finding::Overruled => {
                    before.extend(self.overflow.remove(&key).map(Page).filter(|page| io.is_in_use(*page)));
                }
                Finding::Newer(stale) => before.extend(stale),
            }
        }
    }

    /// Settles all unsure entries of the translation page in `page`.
    pub(super) fn make_loaded_sure<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32, before: &mut Vec<Page>) {
        let unsure: Vec<Slot> = self.cache.dirty_of(part).filter(|slot| self.cache.is_unsure(*slot)).collect();
        for slot in unsure {
            let key = self.cache.key(slot);
            let on_flash = get(&self.page, key % self.entries_per_page);
            match self.finding_of(io, slot, on_flash) {
                Finding::Clean => self.cache.overruled(slot, on_flash),
                Finding::Overruled => {
                    if let Place::At(page) = place_of(self.cache.value(slot))
                        && io.is_in_use(page)
                    {
                        before.push(page);
                    }
                    self.cache.overruled(slot, on_flash);
                }
                Finding::Newer(stale) => {
                    before.extend(stale);
                    self.cache.made_sure(slot);
                }
            }
        }
    }

    fn finding_of<N: Nand>(&self, io: &mut MetaIo<'_, N>, slot: Slot, on_flash: u32) -> Finding {
        self.finding(io, self.cache.key(slot), self.cache.value(slot), self.cache.is_uip(slot), on_flash)
    }

    fn finding<N: Nand>(&self, io: &mut MetaIo<'_, N>, key: u32, value: u32, uip: bool, on_flash: u32) -> Finding {
        if value == on_flash {
            return Finding::Clean;
        }
        let mut seq_of = |page: Page| match io.read_spare(page) {
            SpareRead::Written(spare) if spare.kind == Kind::User && spare.key == key => Some(spare.seq),
            // Who cannot say when it was written is not asked to give way.
            SpareRead::Unreadable => Some(u64::MAX),
            _ => None,
        };
        // Where the page names a copy that is gone, a recovery made that copy, and the next one took it for no better than
        // the original.
        let there = match place_of(on_flash) {
            Place::At(page) => seq_of(page).is_some_and(|seq| seq < self.loaded),
            _ => true,
        };
        if let Place::At(page) = place_of(value) {
            match seq_of(page) {
                // Its block was collected: nothing was live there.
                None => return Finding::Clean,
                Some(seq) if there && seq < self.loaded && !self.barriers.forget(Barrier::TrimsOverruleFound) => {
                    return Finding::Overruled;
                }
                _ => {}
            }
        }
        let stale = match place_of(on_flash) {
            Place::At(page) if uip => seq_of(page)
                .filter(|seq| *seq < self.loaded || self.barriers.forget(Barrier::SeqBeforeSynchronization))
                .map(|_| page),
            _ => None,
        };
        Finding::Newer(stale.filter(|page| io.is_in_use(*page)))
    }

    /// Where a logical page is whose entry is unsure; nothing changes.
    pub(super) fn peek_unsure<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, slot: Slot) -> Place {
        let key = self.cache.key(slot);
        self.load(io, self.translation_page_of(key));
        let on_flash = get(&self.page, key % self.entries_per_page);
        match self.finding_of(io, slot, on_flash) {
            Finding::Newer(_) => place_of(self.cache.value(slot)),
            Finding::Clean | Finding::Overruled => place_of(on_flash),
        }
    }

    /// Copies the translation pages at `pages`, which may have been in flight when the power failed.
    pub(crate) fn copy_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Result<u64, FtlError> {
        self.table.copy_pages(io, pages, &mut self.page)
    }

    /// The entries in which two versions of a translation page differ: the logical page, and where the older one says
    /// that it is.
    pub(crate) fn differing<'b>(
        &self,
        translation_page: u32,
        older: &'b [u8],
        newer: &'b [u8],
    ) -> impl Iterator<Item = (LogicalPage, Page)> + 'b {
        let first = self.pages_of(translation_page).start;
        let entries = self.pages_of(translation_page).len() as u32;
        (0..entries).filter_map(move |index| match place_of(get(older, index)) {
            Place::At(page) if get(newer, index) != entry_of(Place::At(page)) => {
                Some((LogicalPage(first + index), page))
            }
            _ => None,
        })
    }
}
