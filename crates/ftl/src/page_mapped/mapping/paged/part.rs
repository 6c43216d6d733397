//! The mapping's interface to the composition, for the demand-paged mapping.

use super::cache::Coming;
use super::log::InLog;
use super::table::TranslationTable;
use super::{PagedMapping, Slot, WARM, get, index_of, put};
use crate::barriers::Barrier;
use crate::config::OnMiss;
use crate::page_mapped::directory::PartRead;
use crate::page_mapped::mapping::{
    Before, Judgement, LastPlace, MISLAID, Mapping, NOWHERE, Place, TRIMMED, entry_of, page_named,
};
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, Time};

impl Mapping for PagedMapping {
    fn kind(&self) -> Kind {
        Kind::Translation
    }

    #[inline]
    fn is_lazy(&self) -> bool {
        self.on_miss == OnMiss::Lazy
    }

    #[inline]
    fn requested(&mut self, pages: Range<u32>) {
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.requested(pages);
        }
    }

    /// Where `key` is; its entry is cached from now on, or its translation page is condensed.
    fn lookup<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage, before: &mut Vec<Page>) -> Place {
        if let Some((place, since)) = self.cached(key, io.read_done()) {
            io.wait_until(since);
            return place;
        }
        self.tally.misses += 1;
        // A drive that cannot be written any more can still be read: then the entry is not cached.
        let (entry, _) = self.fetch(io, key.0, false, before);
        self.place(entry)
    }

    #[inline]
    fn lookups_program(&self) -> bool {
        true
    }

    /// Where `key` is, without any change to the cache.
    fn peek<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        match self.cache.find(key.0) {
            Some(slot) => {
                io.wait_until(self.since(slot, io.read_done()));
                self.place(self.cache.value(slot))
            }
            None => {
                let entry = self.entry_on_flash(io, key.0, false);
                self.place(entry)
            }
        }
    }

    #[inline]
    fn cached(&mut self, key: LogicalPage, now: Time) -> Option<(Place, Time)> {
        self.place_in_ram(key, now)
    }

    /// Fetches the translation pages from the host's memory that are likely to be read when the entries of these pages
    /// are entered, and others leave for them. Nothing changes by it.
    fn warm<N: Nand>(&self, nand: &N, entered: impl Iterator<Item = LogicalPage> + Clone, by_host: bool) -> bool {
        if self.log.is_some() {
            // Entries leave for the log, and of a translation page one entry is read.
            return true;
        }
        let mut pages = [Page(0); WARM];
        let known = entered.filter(|key| key.0 < self.logical_pages).map(|key| key.0);
        let missed = known.clone().filter(|key| self.cache.find(*key).is_none());
        let must_go = self.queue.iter().flat_map(|queue| queue.oldest_first(&self.cache)).take(2 * known.count());
        let going = missed
            .clone()
            .filter_map(|key| self.cache.must_go(&mut Coming::of(key)))
            .filter(|slot| self.cache.is_dirty(*slot));
        let going = must_go.chain(going).map(|slot| self.cache.key(slot));
        let fetched = missed.filter(|_| by_host && self.fetches());
        let parts = fetched.chain(going).map(|key| self.translation_page_of(key));
        let mut count = 0;
        for (page, at) in pages.iter_mut().zip(parts.filter_map(|part| self.table.place_in_ram(part))) {
            *page = at;
            count += 1;
        }
        nand.warm(&pages[..count]);
        true
    }

    /// Makes room for a change of `key`'s entry, so that [`PagedMapping::written`] and
    /// [`PagedMapping::moved`] touch no flash.
    fn prepare<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        by_host: bool,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if self.log.is_some() {
            self.work_on_log(io, before)?;
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            let at = checkpoints.step(io, &self.cache);
            if self.cache.visited(at) && self.barriers.keeps(Barrier::CheckpointsTaken) {
                self.tally.checkpoint_synchronizations += 1;
                self.synchronize(io, self.translation_page_of(self.cache.key(at)), before)?;
            }
        }
        if self.queue.is_some() {
            self.make_room_for_update(io, key, before)?;
        }
        if let Some(slot) = self.cache.find(key.0) {
            self.tally.hits += u64::from(by_host);
            self.prepared = slot;
            self.cache.touch(slot);
            io.wait_until(self.since(slot, io.read_done()));
            return Ok(());
        }
        self.tally.misses += u64::from(by_host);
        if by_host && self.fetches() {
            self.tally.fetched_for_placement += u64::from(self.on_miss == OnMiss::Lazy);
            return self.fetch(io, key.0, true, before).1;
        }
        self.make_room(io, key.0, before).map(|_| ())
    }

    /// Where `key` is, if its entry is cached.
    #[inline]
    fn known(&self, key: LogicalPage) -> Option<Place> {
        self.cache.find(key.0).map(|slot| self.place(self.cache.value(slot)))
    }

    /// Whether entries are fetched for host writes from now on.
    fn fetch_for_placement(&mut self, fetches: bool) {
        self.fetches_for_placement = Some(fetches);
    }

    /// The physical page that `key`, whose entry is cached, had last.
    #[inline]
    fn last_place(&self, key: LogicalPage) -> LastPlace {
        match self.cache.find(key.0).map_or(NOWHERE, |slot| self.cache.value(slot)) {
            MISLAID | TRIMMED => LastPlace::Mislaid,
            entry => page_named(entry).map_or(LastPlace::Nowhere, LastPlace::At),
        }
    }

    /// The host has written `key` to `to`. The place before, where that is known.
    #[inline]
    fn written(&mut self, key: LogicalPage, to: Page) -> Before {
        if let Some(slot) = self.cache.find_from(self.prepared, key.0) {
            let before = self.place(self.cache.value(slot));
            // What a run or a translation page names is reported when that record of it goes.
            let is_on_flash = self.log.is_some() && !self.cache.is_dirty(slot);
            self.set_dirty(slot, to.0);
            return if is_on_flash { Before::Unidentified } else { Before::Known(before) };
        }
        let slot = self.cache.insert(key.0, to.0);
        self.cache.set_uip(slot, true);
        self.set_dirty(slot, to.0);
        Before::Unidentified
    }

    /// Collection has moved `key`'s page from a victim.
    #[inline]
    fn moved(&mut self, key: LogicalPage, place: Place) {
        let entry = entry_of(place);
        let slot = self.cache.find_from(self.prepared, key.0).unwrap_or_else(|| {
            // Not cached: the before-image dies with the victim, there is nothing to identify.
            let slot = self.cache.insert(key.0, entry);
            self.cache.set_uip(slot, !self.barriers.keeps(Barrier::MigratedHasNoBeforeImage));
            slot
        });
        self.set_dirty(slot, entry);
    }

    /// The verdict on a page of a victim that validity takes for live, by the cache.
    ///
    /// A stale page is identified by that: the mark of its entry (UIP) is cleared, so that no synchronization reports
    /// the page once its block holds something else.
    #[inline]
    fn judge(&mut self, key: LogicalPage, page: Page) -> Judgement {
        match self.cache.find(key.0) {
            None => match self.log.as_ref().and_then(|log| log.judged(key.0)) {
                Some(entry) if entry != page.0 && self.barriers.keeps(Barrier::RunsJudge) => Judgement::Stale,
                _ => Judgement::Live,
            },
            Some(slot) if self.cache.value(slot) == page.0 => Judgement::Live,
            Some(slot) => {
                // The unidentified invalid page itself, most likely. It dies with the victim. After a recovery it may
                // be another one, and the mark is looked into anyway.
                if self.barriers.keeps(Barrier::VictimClearsUip) && !self.cache.is_unsure(slot) {
                    self.cache.set_uip(slot, false);
                }
                Judgement::Stale
            }
        }
    }

    /// Whose page `page` of a victim is, for one that cannot say so itself. Reads the whole table.
    ///
    /// The table may name it several times: a translation page that was not synchronized since goes on naming the page
    /// that was there before its block was erased. A cached entry overrules each such mention, and the search goes on.
    /// As in [`PagedMapping::judge`], one of them may be the unidentified invalid page itself: it dies with the victim.
    fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        if let Some(slot) = self.cache.iter().find(|slot| self.cache.value(*slot) == page.0) {
            return Some(LogicalPage(self.cache.key(slot)));
        }
        for part in 0..self.table.parts() {
            let keys = self.pages_of(part);
            if self.log.is_some() {
                self.load_with_log(io, part);
                let named = |key: &u32| get(&self.page, index_of(*key, self.entries_per_page)) == page.0;
                if let Some(key) = keys.clone().find(|key| named(key) && self.cache.find(*key).is_none()) {
                    return Some(LogicalPage(key));
                }
                continue;
            }
            let PartRead::Bytes(bytes, _) = self.table.peek(io, part) else { continue };
            for key in keys.filter(|key| get(bytes, index_of(*key, self.entries_per_page)) == page.0) {
                match self.cache.find(key) {
                    None => return Some(LogicalPage(key)),
                    Some(slot) if self.cache.is_unsure(slot) || !self.barriers.keeps(Barrier::VictimClearsUip) => {}
                    Some(slot) => self.cache.set_uip(slot, false),
                }
            }
        }
        None
    }

    #[inline]
    fn marks_lost(&self) -> bool {
        true
    }

    /// How many logical pages one trim can take: up to the end of `key`'s translation page.
    fn trim_reach(&self, key: LogicalPage) -> u32 {
        (self.pages_of(self.translation_page_of(key.0)).end - key.0).min(self.trimmed_at_once())
    }

    /// Discards logical pages of one translation page: read as zeros from now on, durably so.
    fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let part = self.translation_page_of(pages.start);
        debug_assert_eq!(part, self.translation_page_of(pages.end - 1));
        if self.log.is_some() {
            return self.trim_to_log(io, pages, before);
        }
        if !self.cache.has_dirty(part) && self.table.was_never_written(io, part) {
            return Ok(());
        }
        self.load(io, part);
        if self.cache.has_unsure() {
            self.make_loaded_sure(io, part, before);
        }
        let mut changes = false;
        for key in pages.clone() {
            if let Some(slot) = self.cache.find(key) {
                let entry = self.cache.value(slot);
                let now = self.place(entry);
                if let Place::At(page) = now {
                    before.push(page);
                }
                if !matches!(now, Place::Nowhere | Place::Trimmed) {
                    self.cache.set_dirty(slot, self.trimmed(entry));
                    changes = true;
                }
            }
        }
        let in_cache = before.len();
        for key in pages.filter(|key| self.cache.find(*key).is_none()) {
            let index = index_of(key, self.entries_per_page);
            let entry = get(&self.page, index);
            let now = self.place(entry);
            if let Place::At(page) = now {
                before.push(page);
            }
            if !matches!(now, Place::Nowhere | Place::Trimmed) {
                let trimmed = self.trimmed(entry);
                put(&mut self.page, index, trimmed);
                changes = true;
            }
        }
        if !changes {
            return Ok(());
        }
        let written = self.write_loaded(io, part, before);
        if written.is_err() {
            // A page without an entry in the cache is not trimmed.
            before.truncate(in_cache);
        }
        written
    }

    #[inline]
    fn has_pending_trims(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.has_trims())
    }

    /// Spills: the reports that this brings come with the next spill.
    fn write_pending_trims<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, before: &mut Vec<Page>) -> Result<(), FtlError> {
        if self.has_pending_trims() { self.spill(io, before) } else { Ok(()) }
    }

    #[inline]
    fn victim_given_up(&mut self) {
        self.log.iter_mut().for_each(|log| log.be_unsure());
    }

    fn judges_by_flash(&self) -> bool {
        self.log.is_some()
    }

    fn look_up_for_judging<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, keys: impl Iterator<Item = LogicalPage>) {
        if let Some(log) = &mut self.log {
            log.look_up_all(io, keys.map(|key| key.0));
            self.damaged |= log.is_damaged();
        }
    }

    fn places_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32, places: &mut Vec<(LogicalPage, Page)>) {
        self.places_in_part(io, part, places);
    }

    fn parts(&self) -> u32 {
        self.table.parts()
    }

    #[inline]
    fn part_of(&self, key: LogicalPage) -> u32 {
        self.translation_page_of(key.0)
    }

    /// Whether a translation page has dirty entries.
    #[inline]
    fn is_dirty(&self, part: u32) -> bool {
        self.cache.has_dirty(part)
    }

    /// Synchronizes a translation page; with a log, spills.
    fn synchronize_part<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if self.log.is_some() {
            return self.spill(io, before);
        }
        self.synchronize(io, part, before)
    }

    fn lose_unreadable<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: &[LogicalPage],
        before: &mut Vec<Page>,
    ) -> Result<bool, FtlError> {
        let (mut of_log, mut any) = (Vec::new(), false);
        for key in keys.iter().copied() {
            if self.cache.find(key.0).is_some() {
                continue;
            }
            let part = self.translation_page_of(key.0);
            match self.log.as_mut().map_or(InLog::Nothing, |log| log.look_up(io, key.0)) {
                InLog::Entry(_) => {}
                InLog::Lost => of_log.push(key),
                InLog::Nothing if matches!(self.table.read(io, part), PartRead::Unreadable) => {
                    self.write_as_lost(io, part)?;
                    any = true;
                }
                InLog::Nothing => {}
            }
        }
        if of_log.is_empty() {
            return Ok(any);
        }
        self.lose_to_log(io, &of_log, before).map(|()| true)
    }

    /// Synchronizes the first translation page from `from` on that has dirty entries; the one after it.
    fn synchronize_next<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        from: u32,
        before: &mut Vec<Page>,
    ) -> Result<Option<u32>, FtlError> {
        if self.log.is_some() {
            return self.empty_log(io, from, before);
        }
        let Some(part) = (from..self.table.parts()).find(|part| self.cache.has_dirty(*part)) else { return Ok(None) };
        self.synchronize(io, part, before)?;
        Ok(Some(part + 1))
    }

    /// Whether a translation page could not be read: stale pages that it named may be taken for live.
    fn is_damaged(&self) -> bool {
        self.damaged || self.table.is_damaged() || self.log.as_ref().is_some_and(|log| log.is_damaged())
    }

    /// Copies translation pages out of a victim. One that cannot even be copied is replaced by one that says so: when
    /// the victim is erased, an older copy elsewhere must not be taken for the newest.
    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        let geometry = *io.geometry();
        let of_log = self.log.as_mut().map(|log| log.relocate(io, |page| geometry.block_of(page) == victim));
        let of_log = of_log.transpose()?.unwrap_or(0);
        match &mut self.table {
            TranslationTable::Flat(directory) => {
                let copied = directory.relocate(io, victim, &mut self.page)?;
                Ok(of_log + copied + self.write_lost(io)?)
            }
            TranslationTable::Tree(tree) => {
                let mut lost = Vec::new();
                let mut written = tree.relocate(io, victim, &mut self.page, &mut lost)?;
                for part in lost {
                    self.write_as_lost(io, part)?;
                    written += 1;
                }
                // Pages that still count as live are the newest of leaves that were lost with their node.
                io.drop_rest(victim);
                Ok(of_log + written)
            }
        }
    }

    /// Programs that moving one of its pages takes at the most.
    fn programs_to_move(&self) -> u32 {
        self.table.programs_to_write()
    }

    /// Where its metadata is.
    fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let mut pages = self.table.metadata_pages(io);
        pages.extend(self.log.iter().flat_map(|log| log.pages()));
        pages
    }

    /// Before-images that are not identified yet, or, where `unsure`, those that perhaps are not: for checks.
    fn unidentified<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, unsure: bool) -> Vec<Page> {
        if self.log.is_some() {
            return if self.is_sure_of_named() == unsure { Vec::new() } else { self.named_and_stale(io) };
        }
        let marked = |slot: &Slot| self.cache.is_uip(*slot) && self.cache.is_unsure(*slot) == unsure;
        let uip: Vec<u32> = self.cache.iter().filter(marked).map(|slot| self.cache.key(slot)).collect();
        let mut pages = Vec::new();
        for key in uip {
            let entry = self.entry_on_flash(io, key, false);
            if let Place::At(page) = self.place(entry) {
                pages.push(page);
            }
        }
        pages
    }

    fn part_amiss<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Option<u32> {
        self.condensed_amiss(io)
    }

    fn ram(&self, ledger: &mut RamLedger) {
        self.table.ram(ledger);
        self.cache.ram(ledger);
        self.arriving.ram(ledger);
        if let Some(condensed) = &self.condensed {
            condensed.ram(ledger);
        }
        ledger.index("buffer.translation_page", self.page.capacity() as u64);
        if let Some(checkpoints) = &self.checkpoints {
            ledger.structure("mapping.checkpoints", checkpoints.bytes());
        }
        if let Some(queue) = &self.queue {
            queue.ram(ledger);
        }
        if let Some(unreadable) = &self.unreadable {
            unreadable.ram(ledger);
        }
        if let Some(prefetch) = &self.prefetch {
            prefetch.ram(ledger);
        }
        if let Some(log) = &self.log {
            log.ram(ledger);
        }
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        self.list_counters(out);
    }
}
