//! Entries that a recovery found by scanning the pages written last (GeckoFTL section 4.3 and appendix C.3).
//!
//! The paper takes every page found for a dirty entry, and leaves it to later synchronizations to find out which were
//! not. That costs as many page reads as there are translation pages. But a recovery reads the spare area of a
//! translation page anyway, and it shows when the page was synchronized. All of its dirty entries were written then. A
//! user page written before is in it, or was overruled by a trim, and one that was written later is not. So a recovery
//! enters exactly the entries that were dirty.
//!
//! It cannot tell whether the before-image, which the translation page names, was reported. The entry is marked as
//! unsure of that (C.3.2). The translation page is read for the next synchronization. The before-image is reported then
//! if it still is this logical page, and was written before the translation page was synchronized. The paper looks at
//! the logical page alone. If the physical page was erased and written again with the same logical page, its newest
//! content would be reported as stale.

use super::log::{InLog, LookedUpTo, RestoredLog};
use super::{PagedMapping, Slot, get, index_of, put};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::mapping::{Mapping, Place, entry_of, place_of};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::ValidityScan;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Kind, LogicalPage, Nand, Page, SpareRead};

impl PagedMapping {
    /// Takes checkpoints from now on, so that a recovery has to scan no further back than `scan_from`.
    pub(crate) fn take_checkpoints(&mut self, scan_from: ScanFrom) {
        if self.log.is_none() {
            self.checkpoints = Some(super::Checkpoints::new(self.cache.capacity(), scan_from));
        }
    }

    /// The most updates that may be in no translation page as far as flash says, where so many marks may pass between
    /// two that are written down.
    pub(crate) fn updates_in_doubt(&self, marks: u32) -> u64 {
        match &self.log {
            Some(log) => log.updates_in_doubt(marks),
            None => super::Checkpoints::updates_in_doubt(self.cache.capacity(), marks),
        }
    }

    /// Everything written so far is in translation pages, and what that made stale is in Gecko's buffer.
    pub(crate) fn all_synchronized<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.all_synchronized(io);
        }
        self.log.iter_mut().filter_map(|log| log.take_mark()).for_each(|mark| io.mark(mark));
    }

    /// Some translation page could not be read: stale pages that it named may be taken for live, from now on for good.
    pub(crate) fn set_damaged(&mut self) {
        self.damaged = true;
    }

    /// The page of `key`'s entry, if it is cached.
    pub(crate) fn found(&self, key: LogicalPage) -> Option<Place> {
        self.cache.find(key.0).map(|slot| place_of(self.cache.value(slot)))
    }

    /// The pages that entries found by a recovery name.
    pub(crate) fn found_pages(&self) -> Vec<Page> {
        let found = self.cache.iter().filter(|slot| self.cache.is_unsure(*slot));
        found.map(|slot| Page(self.cache.value(slot))).collect()
    }

    /// A recovery has found where `key` is, which is not in its translation page. The pages written last come first.
    ///
    /// There may be a few more than the cache holds: where a translation page was torn, its updates are dirty again,
    /// and so are those written while it was in flight.
    ///
    /// # Errors
    /// There are more: the drive was written with a larger cache.
    pub(crate) fn enter_found(&mut self, key: LogicalPage, page: Page) -> Result<(), FtlError> {
        if self.cache.has_no_room() {
            return Err(FtlError::Unsupported(
                "this cache cannot hold the mapping entries that a power cut left behind: open the drive with the cache it \
                 was written with",
            ));
        }
        self.cache.insert_found(key.0, page.0);
        Ok(())
    }

    /// Evicts one of the entries for which the cache has no room in the long run; false where there are none.
    pub(crate) fn evict_surplus<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        before: &mut Vec<Page>,
    ) -> Result<bool, FtlError> {
        let Some(slot) = self.cache.last_surplus() else { return Ok(false) };
        self.make_clean(io, slot, before)?;
        self.cache.remove_surplus();
        Ok(true)
    }

    /// A recovery has copied `key`'s page, which its entry names, to `to`: it is the one written last.
    pub(crate) fn copied(&mut self, key: LogicalPage, to: Page) {
        if let Some(slot) = self.cache.find(key.0) {
            self.cache.set_dirty(slot, to.0);
            self.cache.touch(slot);
        }
    }

    /// Looks into the before-images of all unsure entries of the translation page in `page`.
    pub(super) fn make_loaded_sure<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32, before: &mut Vec<Page>) {
        let unsure: Vec<Slot> = self.cache.dirty_of(part).filter(|slot| self.cache.is_unsure(*slot)).collect();
        for slot in unsure {
            let key = self.cache.key(slot);
            if self.cache.is_uip(slot)
                && let Place::At(page) = place_of(get(&self.page, index_of(key, self.entries_per_page)))
                && self.is_before_image(io, key, page)
                && self.barriers.keeps(Barrier::UnsureLookedInto)
            {
                before.push(page);
            }
            self.cache.made_sure(slot);
        }
    }

    /// Writes a translation page anew of which the version found may not be the newest, if its content changes.
    /// `learnt` are places of these logical pages, by number, and some of the pages that it names are `gone`. Dirty
    /// entries overrule either. It is also written if the place that it `replaced` is in RAM alone.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn restore_part<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        learnt: &[(LogicalPage, Page)],
        replaced: bool,
        is_gone: impl Fn(Page) -> bool,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.load(io, part);
        let mut learnt = learnt.iter().peekable();
        let mut changes: Vec<(LogicalPage, Place)> = Vec::new();
        for key in self.pages_of(part).map(LogicalPage) {
            let place = self.place_in(&self.page, key);
            let to = match (learnt.next_if(|(learnt, _)| *learnt == key), place) {
                (Some((_, page)), _) => Place::At(*page),
                // Trimmed, or written anew to a page that cannot be read: nothing tells which.
                (None, Place::At(page)) if is_gone(page) => Place::Lost,
                _ => continue,
            };
            if to != place && !self.cache.find(key.0).is_some_and(|slot| self.cache.is_dirty(slot)) {
                changes.push((key, to));
            }
        }
        // Entries in runs are as new as the last spill.
        self.look_up_for_judging(io, changes.iter().map(|(key, _)| *key));
        changes.retain(|(key, _)| self.place_in_runs(*key).is_none());
        let is_news = replaced || !changes.is_empty();
        for (key, to) in changes {
            let index = index_of(key.0, self.entries_per_page);
            if let Place::At(page) = self.place_in(&self.page, key)
                && self.is_before_image(io, key.0, page)
            {
                before.push(page);
            }
            put(&mut self.page, index, entry_of(to));
        }
        debug_assert!(learnt.next().is_none(), "what was learnt is out of order, or of another translation page");
        if !is_news {
            return Ok(());
        }
        self.set_damaged();
        if let Some(log) = self.log.take() {
            let written = self.write_folded(io, &log, part);
            self.log = Some(log);
            return written;
        }
        self.make_loaded_sure(io, part, before);
        self.write_loaded(io, part, before)
    }

    /// Writes a translation page anew in which these logical pages of it are read errors, whatever entries a cache has
    /// of them.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn lose<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        keys: &[LogicalPage],
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if self.log.is_some() {
            return self.lose_to_log(io, keys, before);
        }
        self.load(io, part);
        self.make_loaded_sure(io, part, before);
        let lost = entry_of(Place::Lost);
        for key in keys {
            debug_assert!(self.translation_page_of(key.0) == part, "{key} is of another translation page");
            match self.cache.find(key.0) {
                Some(slot) => self.cache.set_dirty(slot, lost),
                None => put(&mut self.page, index_of(key.0, self.entries_per_page), lost),
            }
        }
        self.write_loaded(io, part, before)
    }

    /// Whether the page that the translation page in `page` names is still the one it was at the synchronization:
    /// `key`'s page, stale by now.
    fn is_before_image<N: Nand>(&self, io: &mut MetaIo<'_, N>, key: u32, page: Page) -> bool {
        io.is_in_use(page)
            && match io.read_spare(page) {
                SpareRead::Written(spare)
                    if spare.kind == Kind::User
                        && (spare.key == key || !self.barriers.keeps(Barrier::BeforeImageIsOfThePage)) =>
                {
                    spare.seq < self.loaded || !self.barriers.keeps(Barrier::SeqBeforeSynchronization)
                }
                _ => false,
            }
    }

    /// Where `key` is by a translation page's bytes.
    pub(crate) fn place_in(&self, bytes: &[u8], key: LogicalPage) -> Place {
        self.place(get(bytes, index_of(key.0, self.entries_per_page)))
    }

    /// Copies the suspect translation pages at `pages`, and those of runs of a log.
    pub(crate) fn copy_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Result<u64, FtlError> {
        let of_log = self.log.as_mut().map(|log| log.relocate(io, |page| pages.contains(&page))).transpose()?;
        Ok(of_log.unwrap_or(0) + self.table.copy_pages(io, pages, &mut self.page)?)
    }

    /// Programs pages of runs of a log that have gone bad, and parity pages that are bad.
    ///
    /// # Errors
    /// The flash is gone.
    pub(crate) fn program_missing_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.log.as_mut().map_or(Ok(()), |log| log.program_missing_pages(io))
    }

    /// Takes the runs of the log that are on flash for its own, where the last flush of Gecko covers everything up to a
    /// moment, and translation pages were folded since that have these logical pages. Where its pages are, and the
    /// findings.
    pub(crate) fn restore_log<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: &ValidityScan,
        since: (u64, &[Range<u32>]),
        is_suspect: impl Fn(Page) -> bool,
    ) -> (Vec<Page>, RestoredLog) {
        let Some(log) = &mut self.log else { return Default::default() };
        let restored = log.restore(io, scan, since, is_suspect);
        self.damaged |= log.is_damaged();
        (log.pages(), restored)
    }

    /// The pages of runs of the log that such a scan would find.
    pub(crate) fn log_pages_in_use<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        covered: u64,
    ) -> Vec<Page> {
        self.log.as_ref().map_or(Vec::new(), |log| log.pages_in_use(io, scan, covered))
    }

    /// The pages that the runs of the log which such a scan would find name for these logical pages, ascending.
    pub(crate) fn named_by_runs<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        of: (u64, &[LogicalPage]),
    ) -> Vec<Page> {
        self.log.as_mut().map_or(Vec::new(), |log| log.named_by(io, scan, of))
    }

    /// User pages of a translation page's range that were programmed until then are in the table, or overruled there,
    /// where the translation page was synchronized at `synchronized`.
    pub(crate) fn known_until(&self, synchronized: u64) -> u64 {
        let log = self.log.as_ref().filter(|_| self.barriers.keeps(Barrier::SpilledIsKnown));
        log.map_or(synchronized, |log| log.frozen())
    }

    /// Whether entries wait in a log.
    pub(crate) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// The bytes of a translation page that stands at `page`, or nowhere, with the entries that wait for it: these alone
    /// where it cannot be read. The look at runs goes on where that of translation pages before this one has come to.
    pub(crate) fn entries_of<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        page: Option<Page>,
        to: &mut LookedUpTo,
    ) -> Vec<u8> {
        if self.entries_without_log(io, part, page).is_none() {
            self.page.fill(0xff);
        }
        self.lay_log_over(io, part, to);
        self.page.clone()
    }

    /// The bytes without the entries that wait for it. None where it cannot be read.
    pub(crate) fn entries_without_log<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        page: Option<Page>,
    ) -> Option<&[u8]> {
        match page {
            Some(page) => self.page.copy_from_slice(io.read(page, Kind::Translation, part)?),
            None => self.page.fill(0xff),
        }
        Some(&self.page)
    }

    /// Gives the RAM back that looking up many logical pages took.
    pub(crate) fn forget_looked_up(&mut self) {
        self.log.iter_mut().for_each(|log| log.forget_looked_up());
    }

    /// Where a logical page is by the newest entry in runs, if it was among those looked up last.
    pub(crate) fn place_in_runs(&self, key: LogicalPage) -> Option<Place> {
        Some(self.place(self.log.as_ref()?.judged(key.0)?))
    }

    /// Whether no run has another page of a logical page than its translation page.
    pub(crate) fn is_not_overruled<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage, page: Page) -> bool {
        match self.log.as_mut().map(|log| log.look_up(io, key.0)) {
            Some(InLog::Entry(entry)) => entry == page.0,
            _ => true,
        }
    }

    /// Of these pages, in order, those that the newest entries in runs name, with the logical pages.
    pub(crate) fn named_in_log<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Vec<(LogicalPage, Page)> {
        self.log.as_mut().map_or(Vec::new(), |log| log.named_among(io, pages))
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
