//! The demand-paged mapping: translation pages on flash, a directory of them and a cache of entries in RAM.
//!
//! Follows DFTL as GeckoFTL sections 2 and 4 describe it. A *translation page* holds the entries of consecutive logical
//! pages, four bytes each. The *global mapping directory* (GMD), or a B+-tree of which the root alone is in RAM
//! (`tree.rs`), says where each translation page is. The cache holds
//! entries as they are used; those that a translation page does not know yet are dirty. When the entry used longest ago
//! must go and is dirty, its translation page is *synchronized*: read, brought up to date with all of its dirty
//! entries, and written anew.
//!
//! Which before-image a host write makes stale is known at once where the entry is cached. Where it is not,
//! [`OnMiss::Fetch`] reads the translation page for it, and [`OnMiss::Lazy`] leaves it to the next synchronization and
//! marks the entry: there is an unidentified invalid page (UIP, section 4.1).
//!
//! Not as the paper says, because pages would be lost (found by trying its rules):
//! - A migrated page that is not cached gets UIP = false: its before-image dies with the victim.
//! - Finding a page's before-image in a victim clears its UIP flag: the before-image dies with the victim.
//!
//! Trims are written through: the translation page is synchronized with the trimmed entries in it, so that they are
//! durable at once.

mod cache;
mod checkpoints;
mod dirty_queue;
mod node_cache;
mod recovered;
mod scan_mark;
mod synchronized;
mod table;
mod tree;
mod tree_shape;

use super::{
    Before, Judgement, LOST, LastPlace, MISLAID, NOWHERE, Place, TRIMMED, TRIMMED_FROM, entry_of, page_named, place_of,
};
use crate::barriers::{Barrier, Barriers};
use crate::config::{DirectoryPart, DirtyLimit, OnMiss, PowerPart};
use crate::medium::marks::SpareMarks;
use crate::medium::{Saved, window};
use crate::page_mapped::directory::PartRead;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::needs::Needs;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use cache::{MappingCache, Slot};
use checkpoints::Checkpoints;
use dirty_queue::DirtyQueue;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Page};
use synchronized::Says;
use table::{TranslationTable, node_needs};

/// The demand-paged mapping.
#[derive(Clone)]
pub(crate) struct PagedMapping {
    logical_pages: u32,
    entries_per_page: u32,
    /// Where the translation pages are.
    table: TranslationTable,
    cache: MappingCache,
    on_miss: OnMiss,
    /// A lazy mapping fetches entries for host writes all the same: placement asks what they make stale.
    fetches_for_placement: bool,
    barriers: Barriers,
    /// What bounds a recovery's scan, where there is one to come.
    checkpoints: Option<Checkpoints>,
    /// What bounds the number of dirty entries, and their age, where anything does.
    queue: Option<DirtyQueue>,
    says: Says,
    /// Entries of trimmed pages name the page that was: a recovery is to find out that it is stale.
    names_trimmed: bool,
    /// A translation page could not be read: what it said of stale pages is lost, and only the table tells what is
    /// live. It stays so: validity takes pages that only the lost translation page named for live until their blocks
    /// are collected, however often the translation page is written anew meanwhile.
    damaged: bool,
    /// The translation page being changed.
    page: Vec<u8>,
    /// When `page` was synchronized last, in program order; 0 where it never was.
    loaded: u64,
    tally: Tally,
}

/// Translation pages that are fetched together from the host's memory.
const WARM: usize = 48;

/// What the mapping counts.
#[derive(Clone, Copy, Default)]
struct Tally {
    hits: u64,
    misses: u64,
    synchronizations: u64,
    entries_synchronized: u64,
    translation_pages_unreadable: u64,
    checkpoint_synchronizations: u64,
    limit_synchronizations: u64,
    block_synchronizations: u64,
    fetched_for_placement: u64,
}

fn entries_per_page(geometry: &Geometry) -> u32 {
    geometry.page_bytes() / 4
}

/// Translation pages of a table of so many logical pages.
fn translation_pages(geometry: &Geometry, logical_pages: u32) -> u32 {
    logical_pages.div_ceil(entries_per_page(geometry))
}

#[inline]
fn get(page: &[u8], index: u32) -> u32 {
    let at = index as usize * 4;
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

#[inline]
fn put(page: &mut [u8], index: u32, entry: u32) {
    let at = index as usize * 4;
    page[at..at + 4].copy_from_slice(&entry.to_le_bytes());
}

impl PagedMapping {
    /// A mapping in which no page is anywhere, with a cache of `entries` entries.
    pub(crate) fn new(
        geometry: &Geometry,
        logical_pages: u32,
        entries: u32,
        on_miss: OnMiss,
        directory: DirectoryPart,
        barriers: Barriers,
    ) -> Self {
        let entries_per_page = entries_per_page(geometry);
        let pages = translation_pages(geometry, logical_pages);
        Self {
            logical_pages,
            entries_per_page,
            table: TranslationTable::new(geometry, logical_pages, directory),
            cache: MappingCache::new(entries, window(geometry.dies()) as u32, pages, entries_per_page),
            on_miss,
            fetches_for_placement: false,
            barriers,
            checkpoints: None,
            queue: None,
            says: Says::Nothing,
            names_trimmed: false,
            damaged: false,
            page: vec![0; geometry.page_bytes() as usize],
            loaded: 0,
            tally: Tally::default(),
        }
    }

    /// What it needs of the flash on a drive of so many logical pages with a cache of `entries`.
    ///
    /// Each page that a collection moves may evict an entry, and so synchronize a translation page, and the hand of the
    /// checkpoints may find another, or the dirty queue two. Each entry of a lazy mapping may have a before-image that
    /// nobody knows of. A battery pays for as many translation pages as can
    /// have dirty entries, and a recovery that synchronizes writes as many.
    pub(crate) fn needs(
        geometry: &Geometry,
        logical_pages: u32,
        entries: u32,
        on_miss: OnMiss,
        dirty: DirtyLimit,
        directory: DirectoryPart,
        power: PowerPart,
    ) -> Needs {
        let leaves = translation_pages(geometry, logical_pages);
        let block = u64::from(geometry.pages_per_block());
        let dirty_entries = u64::from(entries.min(leaves));
        let nodes = node_needs(geometry, directory, leaves, dirty_entries);
        let updates = if power == PowerPart::GeckoRec { 2 * block } else { block };
        let of_limit = dirty_queue::programs(dirty, power, block, entries, leaves.into());
        Needs {
            live_pages: u64::from(leaves) + nodes.live,
            programs: (updates + of_limit) * (1 + nodes.each),
            unidentified: if on_miss == OnMiss::Lazy { entries.into() } else { 0 },
            battery: if power == PowerPart::Battery { dirty_entries + nodes.battery } else { 0 },
        }
    }

    /// Translation pages of a table of so many logical pages.
    pub(crate) fn translation_pages_of(geometry: &Geometry, logical_pages: u32) -> u32 {
        translation_pages(geometry, logical_pages)
    }

    /// The translation page that holds a logical page's entry.
    #[inline]
    fn translation_page_of(&self, key: u32) -> u32 {
        key / self.entries_per_page
    }

    /// The logical pages whose entries stand in a translation page.
    fn pages_of(&self, translation_page: u32) -> core::ops::Range<u32> {
        let first = translation_page * self.entries_per_page;
        first..first.saturating_add(self.entries_per_page).min(self.logical_pages)
    }

    /// Entries of trimmed pages are to name the page that was.
    pub(crate) fn name_trimmed(&mut self) {
        self.names_trimmed = true;
    }

    /// What an entry says.
    #[inline]
    fn place(&self, entry: u32) -> Place {
        if self.names_trimmed && entry & TRIMMED_FROM != 0 && entry < MISLAID {
            Place::Trimmed
        } else {
            place_of(entry)
        }
    }

    /// What becomes of an entry when its page is trimmed. In a table that names trimmed pages, one that is trimmed and
    /// names none was mislaid.
    #[inline]
    fn trimmed(&self, entry: u32) -> u32 {
        match entry {
            LOST if self.names_trimmed => NOWHERE,
            page if self.names_trimmed && page < MISLAID && self.barriers.keeps(Barrier::TrimsPointBack) => {
                page | TRIMMED_FROM
            }
            _ => TRIMMED,
        }
    }

    /// Whether a host write reads the translation page of an entry that is not cached.
    #[inline]
    fn fetches(&self) -> bool {
        self.on_miss == OnMiss::Fetch || self.fetches_for_placement
    }

    /// Entries are fetched for host writes from now on.
    pub(crate) fn fetch_for_placement(&mut self) {
        self.fetches_for_placement = true;
    }

    /// Where `key` is, if its entry is cached.
    #[inline]
    pub(crate) fn known(&self, key: LogicalPage) -> Option<Place> {
        self.cache.find(key.0).map(|slot| self.place(self.cache.value(slot)))
    }

    /// The physical page that `key`, whose entry is cached, had last.
    #[inline]
    pub(crate) fn last_place(&self, key: LogicalPage) -> LastPlace {
        match self.cache.find(key.0).map_or(NOWHERE, |slot| self.cache.value(slot)) {
            MISLAID | TRIMMED => LastPlace::Mislaid,
            entry => page_named(entry).map_or(LastPlace::Nowhere, LastPlace::At),
        }
    }

    /// Has the translation pages fetched from the host's memory that are likely to be read when the entries of these pages
    /// are, and so many are evicted. Nothing changes by it.
    pub(crate) fn warm<N: Nand>(&self, nand: &N, entered: &[LogicalPage], evicted: usize) {
        let mut pages = [Page(0); WARM];
        let fetched = entered.iter().filter(|key| key.0 < self.logical_pages && self.fetches());
        let missed = fetched.filter(|key| self.cache.find(key.0).is_none()).map(|key| key.0);
        let going: &mut dyn Iterator<Item = Slot> = match &self.queue {
            Some(queue) => &mut queue.oldest_first(&self.cache),
            None if self.cache.is_full() => &mut self.cache.oldest_first(),
            None => &mut core::iter::empty(),
        };
        let going = going.take(2 * evicted).filter(|slot| self.cache.is_dirty(*slot)).map(|slot| self.cache.key(slot));
        let parts = missed.chain(going).map(|key| self.translation_page_of(key));
        let mut count = 0;
        for (page, at) in pages.iter_mut().zip(parts.filter_map(|part| self.table.place_in_ram(part))) {
            *page = at;
            count += 1;
        }
        nand.warm(&pages[..count]);
    }

    /// Synchronizes the translation page of `key`.
    pub(crate) fn synchronize_key<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.synchronize(io, self.translation_page_of(key.0), before)
    }

    /// Synchronizes a translation page.
    pub(crate) fn synchronize_part<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.synchronize(io, part, before)
    }

    /// Whether a translation page has dirty entries.
    #[inline]
    pub(crate) fn is_dirty(&self, part: u32) -> bool {
        self.cache.has_dirty(part)
    }

    /// An entry as flash has it.
    fn entry_on_flash<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> u32 {
        match self.table.peek(io, self.translation_page_of(key)) {
            PartRead::Nowhere => entry_of(Place::Nowhere),
            PartRead::Bytes(bytes, _) => get(bytes, key % self.entries_per_page),
            PartRead::Unreadable => {
                self.tally.translation_pages_unreadable += 1;
                self.damaged = true;
                MISLAID
            }
        }
    }

    /// A new entry, clean, evicting the oldest one where there is no room.
    fn insert<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: u32,
        entry: u32,
        before: &mut Vec<Page>,
    ) -> Result<Slot, FtlError> {
        if !self.cache.is_full() {
            return Ok(self.cache.insert(key, entry));
        }
        self.clean_oldest(io, before)?;
        Ok(self.cache.replace_oldest(key, entry))
    }

    fn clean_oldest<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, before: &mut Vec<Page>) -> Result<(), FtlError> {
        if let Some(oldest) = self.cache.oldest()
            && self.cache.is_dirty(oldest)
        {
            self.begin_draining(io, oldest);
            self.synchronize(io, self.translation_page_of(self.cache.key(oldest)), before)?;
        }
        Ok(())
    }

    /// Brings a translation page up to date with all of its dirty entries. Before-images not identified so far are.
    fn synchronize<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.load(io, part);
        if self.cache.has_unsure() {
            self.make_loaded_sure(io, part, before);
        }
        self.write_loaded(io, part, before)
    }

    /// Fetches a translation page into `page`.
    #[inline]
    fn load<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) {
        self.loaded = 0;
        match self.table.read(io, part) {
            PartRead::Bytes(bytes, version) => {
                self.page.copy_from_slice(bytes);
                self.loaded = version;
            }
            PartRead::Nowhere => self.page.fill(0xff),
            PartRead::Unreadable => self.load_lost(),
        }
    }

    /// The translation page cannot be read: in `page` all of its entries are lost.
    #[cold]
    fn load_lost(&mut self) {
        self.tally.translation_pages_unreadable += 1;
        self.damaged = true;
        for index in 0..self.entries_per_page {
            put(&mut self.page, index, MISLAID);
        }
    }

    /// Writes `page` as a translation page, with all of its dirty entries.
    #[inline]
    fn write_loaded<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let identified = before.len();
        for slot in self.cache.dirty_of(part) {
            let index = self.cache.key(slot) % self.entries_per_page;
            if (self.cache.is_uip(slot) || !self.barriers.keeps(Barrier::UipChecked))
                && let Place::At(page) = self.place(get(&self.page, index))
            {
                before.push(page);
            }
            put(&mut self.page, index, self.cache.value(slot));
        }
        // What it names must be on flash before it is: older copies are not looked for then.
        io.barrier(Barrier::EntriesAfterPages);
        // Translation pages are ordered by when they were synchronized, in program order, which a recovery holds against
        // the seq of user pages.
        let version = io.seq() + 1;
        let marks = self.marks(io, version);
        if let Err(error) = self.table.write(io, marks, part, version, &self.page) {
            // The entries stay dirty, and what they make stale unidentified.
            before.truncate(identified);
            return Err(error);
        }
        io.synchronized(version);
        self.tally.synchronizations += 1;
        self.tally.entries_synchronized += u64::from(self.cache.clean(part));
        Ok(())
    }

    /// Where `key` is, as far as the cache alone can tell. Counts as a hit, and as a use of the entry.
    #[inline]
    pub(crate) fn cached(&mut self, key: LogicalPage) -> Option<Place> {
        let slot = self.cache.find(key.0)?;
        self.tally.hits += 1;
        self.cache.touch(slot);
        Some(self.place(self.cache.value(slot)))
    }

    /// Where `key` is; its entry is cached from now on.
    pub(crate) fn lookup<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        before: &mut Vec<Page>,
    ) -> Place {
        if let Some(place) = self.cached(key) {
            return place;
        }
        self.tally.misses += 1;
        let entry = self.entry_on_flash(io, key.0);
        // A drive that cannot be written any more can still be read: then the entry is not cached.
        if self.place(entry) != Place::Lost {
            let _ = self.insert(io, key.0, entry, before);
        }
        self.place(entry)
    }

    /// Where `key` is, without any change to the cache.
    pub(crate) fn peek<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        match self.cache.find(key.0) {
            Some(slot) => self.place(self.cache.value(slot)),
            None => {
                let entry = self.entry_on_flash(io, key.0);
                self.place(entry)
            }
        }
    }

    /// Makes room for a change of `key`'s entry, so that [`PagedMapping::written`] and
    /// [`PagedMapping::moved`] touch no flash.
    pub(crate) fn prepare<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        by_host: bool,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if let Some(checkpoints) = &mut self.checkpoints {
            let at = checkpoints.step(io, self.cache.len());
            if let Some(old) = self.cache.visited(at)
                && self.barriers.keeps(Barrier::CheckpointsTaken)
            {
                self.tally.checkpoint_synchronizations += 1;
                self.synchronize(io, self.translation_page_of(self.cache.key(old)), before)?;
            }
        }
        if self.queue.is_some() {
            self.make_room_for_update(io, key, before)?;
        }
        if let Some(slot) = self.cache.find(key.0) {
            self.tally.hits += u64::from(by_host);
            self.cache.touch(slot);
            return Ok(());
        }
        self.tally.misses += u64::from(by_host);
        if by_host && self.fetches() {
            self.tally.fetched_for_placement += u64::from(self.on_miss == OnMiss::Lazy);
            let entry = self.entry_on_flash(io, key.0);
            self.insert(io, key.0, entry, before)?;
            return Ok(());
        }
        if self.cache.is_full() { self.clean_oldest(io, before) } else { Ok(()) }
    }

    /// The host has written `key` to `to`. What was there before, where that is known.
    #[inline]
    pub(crate) fn written(&mut self, key: LogicalPage, to: Page) -> Before {
        if let Some(slot) = self.cache.find(key.0) {
            let before = self.place(self.cache.value(slot));
            self.set_dirty(slot, to.0);
            return Before::Known(before);
        }
        let slot = self.insert_prepared(key.0, to.0);
        self.cache.set_uip(slot, true);
        self.set_dirty(slot, to.0);
        Before::Unidentified
    }

    /// Collection has moved `key`'s page from a victim.
    #[inline]
    pub(crate) fn moved(&mut self, key: LogicalPage, place: Place) {
        let entry = entry_of(place);
        let slot = self.cache.find(key.0).unwrap_or_else(|| {
            // Not cached: the before-image dies with the victim, there is nothing to identify.
            let slot = self.insert_prepared(key.0, entry);
            self.cache.set_uip(slot, !self.barriers.keeps(Barrier::MigratedHasNoBeforeImage));
            slot
        });
        self.set_dirty(slot, entry);
    }

    /// An update: what the translation page says of the entry is out of date from now on.
    #[inline]
    fn set_dirty(&mut self, slot: Slot, value: u32) {
        self.cache.set_dirty(slot, value);
        if let Some(queue) = &mut self.queue {
            queue.push(slot);
        }
    }

    fn insert_prepared(&mut self, key: u32, entry: u32) -> Slot {
        if self.cache.is_full() { self.cache.replace_oldest(key, entry) } else { self.cache.insert(key, entry) }
    }

    /// What is to become of a page of a victim that validity takes for live, by what the cache says.
    ///
    /// A stale page is identified by that: the mark of its entry (UIP) is cleared, so that no synchronization reports
    /// the page once its block holds something else.
    #[inline]
    pub(crate) fn judge(&mut self, key: LogicalPage, page: Page) -> Judgement {
        match self.cache.find(key.0) {
            None => Judgement::Live,
            Some(slot) if self.cache.value(slot) == page.0 => Judgement::Live,
            Some(slot) => {
                // The unidentified invalid page itself, most likely. It dies with the victim. After a recovery it may be
                // another one, and the mark is looked into anyway.
                if self.barriers.keeps(Barrier::VictimClearsUip) && !self.cache.is_unsure(slot) {
                    self.cache.set_uip(slot, false);
                }
                Judgement::Stale
            }
        }
    }

    /// Discards logical pages of one translation page: read as zeros from now on, durably so.
    pub(crate) fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: core::ops::Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let part = self.translation_page_of(pages.start);
        debug_assert_eq!(part, self.translation_page_of(pages.end - 1));
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
            let index = key % self.entries_per_page;
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
            // What the cache does not hold is not trimmed.
            before.truncate(in_cache);
        }
        written
    }

    /// Synchronizes the first translation page from `from` on that has dirty entries; the one after it.
    pub(crate) fn synchronize_next<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        from: u32,
        before: &mut Vec<Page>,
    ) -> Result<Option<u32>, FtlError> {
        let Some(part) = (from..self.table.parts()).find(|part| self.cache.has_dirty(*part)) else { return Ok(None) };
        self.synchronize(io, part, before)?;
        Ok(Some(part + 1))
    }

    /// Whether a translation page could not be read: stale pages that it named may be taken for live.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged || self.table.is_damaged()
    }

    /// How many logical pages one trim can take: up to the end of `key`'s translation page.
    pub(crate) fn trim_reach(&self, key: LogicalPage) -> u32 {
        self.pages_of(self.translation_page_of(key.0)).end - key.0
    }

    /// Copies translation pages out of a victim. One that cannot even be copied is replaced by one that says so: when
    /// the victim is erased, an older copy elsewhere must not be taken for the newest.
    pub(crate) fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        match &mut self.table {
            TranslationTable::Flat(directory) => {
                let copied = directory.relocate(io, victim, &mut self.page)?;
                Ok(copied + self.write_lost(io)?)
            }
            TranslationTable::Tree(tree) => {
                let mut lost = Vec::new();
                let mut written = tree.relocate(io, victim, &mut self.page, &mut lost)?;
                for part in lost {
                    self.write_as_lost(io, part)?;
                    written += 1;
                }
                // What still counts as live is what was newest of leaves that were lost with their node.
                io.drop_rest(victim);
                Ok(written)
            }
        }
    }

    /// Writes each translation page of which only RAM knows that it is lost. How many it wrote.
    pub(crate) fn write_lost<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<u64, FtlError> {
        let (mut written, mut from) = (0, 0);
        while let Some(part) = self.table.next_lost(io, from) {
            self.write_as_lost(io, part)?;
            (written, from) = (written + 1, part + 1);
        }
        Ok(written)
    }

    /// Writes a translation page of which all entries are lost but the dirty ones.
    ///
    /// That is a synchronization, since an older copy must not look newer. So it takes the dirty entries along as every one
    /// does: a recovery takes what was programmed before it for known to it, also what was written after it was lost.
    fn write_as_lost<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) -> Result<(), FtlError> {
        self.load_lost();
        // It names no page, so there is no before-image to find.
        let mut before = Vec::new();
        if self.cache.has_unsure() {
            self.make_loaded_sure(io, part, &mut before);
        }
        let written = self.write_loaded(io, part, &mut before);
        debug_assert!(before.is_empty());
        written
    }

    /// Whose page `page` of a victim is, for one that cannot say so itself. Reads the whole table.
    ///
    /// The table may name it several times: a translation page that was not synchronized since goes on naming what the
    /// place held before its block was erased. A cached entry overrules each such mention, and the search goes on. As
    /// in [`PagedMapping::judge`], one of them may be the unidentified invalid page itself: it dies with the victim.
    pub(crate) fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        if let Some(slot) = self.cache.iter().find(|slot| self.cache.value(*slot) == page.0) {
            return Some(LogicalPage(self.cache.key(slot)));
        }
        for part in 0..self.table.parts() {
            let keys = self.pages_of(part);
            let PartRead::Bytes(bytes, _) = self.table.peek(io, part) else { continue };
            for key in keys.filter(|key| get(bytes, key % self.entries_per_page) == page.0) {
                match self.cache.find(key) {
                    None => return Some(LogicalPage(key)),
                    Some(slot) if self.cache.is_unsure(slot) || !self.barriers.keeps(Barrier::VictimClearsUip) => {}
                    Some(slot) => self.cache.set_uip(slot, false),
                }
            }
        }
        None
    }

    /// C.
    pub(crate) fn cache_entries(&self) -> u32 {
        self.cache.capacity()
    }

    /// How many translation pages the table has.
    pub(crate) fn translation_pages(&self) -> u32 {
        self.table.parts()
    }

    /// A recovery has found a translation page; the one it takes the place of.
    pub(crate) fn enter_translation_page(&mut self, translation_page: u32, page: Page) -> Option<Page> {
        self.table.enter(translation_page, Some(page))
    }

    /// A recovery cannot find the newest copy of a translation page.
    pub(crate) fn enter_lost(&mut self, translation_page: u32) {
        self.table.enter(translation_page, None);
    }

    /// Programs that moving one of its pages takes at the most.
    pub(crate) fn programs_to_move(&self) -> u32 {
        self.table.programs_to_write()
    }

    /// Whether all of its directory is in RAM.
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.table, TranslationTable::Flat(_))
    }

    /// What a recovery has entered is all there is. How many pages were written above it.
    pub(crate) fn build<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<u64, FtlError> {
        self.table.build(io)
    }

    /// Writes what a cache holds of where translation pages are.
    pub(crate) fn write_dirty_nodes<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.table.write_dirty_nodes(io)
    }

    /// What of it a battery saves when its entries are synchronized.
    pub(crate) fn saved_table(&self) -> &dyn Saved {
        &self.table
    }

    /// The same, to be restored.
    pub(crate) fn saved_table_mut(&mut self) -> &mut dyn Saved {
        &mut self.table
    }

    /// The first key of a translation page that no page of the table in use has.
    pub(crate) fn behind_table(&self) -> u32 {
        self.table.behind()
    }

    /// A page's bytes, for a moment.
    pub(crate) fn lend_buffer(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.page)
    }

    /// They are back.
    pub(crate) fn return_buffer(&mut self, page: Vec<u8>) {
        self.page = page;
    }

    /// The physical pages that a translation page's bytes name, and whose they are.
    pub(crate) fn pages_in<'b>(
        &'b self,
        translation_page: u32,
        bytes: &'b [u8],
    ) -> impl Iterator<Item = (LogicalPage, Page)> + 'b {
        let keys = self.pages_of(translation_page);
        keys.enumerate().filter_map(|(index, key)| match self.place(get(bytes, index as u32)) {
            Place::At(page) => Some((LogicalPage(key), page)),
            _ => None,
        })
    }

    /// Writes a translation page anew in which these logical pages of it are lost; none of them is cached.
    pub(crate) fn write_dangling<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        dangling: &[LogicalPage],
    ) -> Result<(), FtlError> {
        let Some(first) = dangling.first() else { return Ok(()) };
        let part = self.translation_page_of(first.0);
        self.load(io, part);
        for key in dangling {
            put(&mut self.page, key.0 % self.entries_per_page, entry_of(Place::Lost));
        }
        let version = io.seq() + 1;
        self.table.write(io, SpareMarks::NONE, part, version, &self.page).map(drop)
    }

    /// Before-images that are not identified yet, or, where `unsure`, those that perhaps are not: for checks.
    pub(crate) fn unidentified<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, unsure: bool) -> Vec<Page> {
        let marked = |slot: &Slot| self.cache.is_uip(*slot) && self.cache.is_unsure(*slot) == unsure;
        let uip: Vec<u32> = self.cache.iter().filter(marked).map(|slot| self.cache.key(slot)).collect();
        let mut pages = Vec::new();
        for key in uip {
            let entry = self.entry_on_flash(io, key);
            if let Place::At(page) = self.place(entry) {
                pages.push(page);
            }
        }
        pages
    }

    /// Where its metadata is.
    pub(crate) fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        self.table.metadata_pages(io)
    }

    pub(crate) fn is_lazy(&self) -> bool {
        self.on_miss == OnMiss::Lazy
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        self.table.ram(ledger);
        self.cache.ram(ledger);
        ledger.index("buffer.translation_page", self.page.capacity() as u64);
        if let Some(checkpoints) = &self.checkpoints {
            ledger.structure("mapping.checkpoints", checkpoints.bytes());
        }
        if let Some(queue) = &self.queue {
            queue.ram(ledger);
        }
    }

    pub(crate) fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("cache_hits", self.tally.hits),
            Counter::sum("cache_misses", self.tally.misses),
            Counter::level("cache_entries", u64::from(self.cache.capacity())),
            Counter::level("dirty_entries", u64::from(self.cache.dirty_count())),
            Counter::sum("synchronizations", self.tally.synchronizations),
            Counter::sum("entries_synchronized", self.tally.entries_synchronized),
            Counter::sum("translation_pages_unreadable", self.tally.translation_pages_unreadable),
            Counter::sum("checkpoint_synchronizations", self.tally.checkpoint_synchronizations),
        ]);
        if self.fetches_for_placement {
            out.push(Counter::sum("entries_fetched_for_placement", self.tally.fetched_for_placement));
        }
        self.table.counters(out);
        if self.queue.is_some() {
            out.extend([
                Counter::sum("limit_synchronizations", self.tally.limit_synchronizations),
                Counter::sum("block_synchronizations", self.tally.block_synchronizations),
            ]);
        }
    }
}
