//! The demand-paged mapping: translation pages on flash, a directory of them and a cache of entries in RAM.
//!
//! Follows DFTL as GeckoFTL sections 2 and 4 describe it. A *translation page* holds the entries of consecutive logical
//! pages, four bytes each. The *global mapping directory* (GMD) says where each translation page is. A B+-tree of which
//! the root alone is in RAM can take its place (`tree.rs`). The cache holds entries as they are used. An entry that is
//! newer than its translation page is dirty. When the entry used longest ago must go and is dirty, its translation page
//! is *synchronized*: read, brought up to date with all of its dirty entries, and written anew.
//!
//! Where the entry is cached, the before-image that a host write makes stale is found at once. Where it is not,
//! [`OnMiss::Fetch`] reads the translation page for it. [`OnMiss::Lazy`] leaves it to the next synchronization and
//! marks the entry: there is an unidentified invalid page (UIP, section 4.1).
//!
//! Not as the paper says, because pages would be lost (found by trying its rules):
//! - A migrated page that is not cached gets UIP = false: its before-image dies with the victim.
//! - Finding a page's before-image in a victim clears its UIP flag: the before-image dies with the victim.
//!
//! Trims are written through: the translation page is synchronized with the trimmed entries in it, so that they are
//! durable at once. With a mapping log they are entries of the next spill.

mod arriving;
mod cache;
mod checkpoints;
mod condensed;
mod counters;
mod dirty_queue;
mod ends;
mod entries;
mod loading;
mod log;
mod part;
mod prefetching;
mod recovered;
mod room;
mod scan_mark;
mod synchronized;
mod table;
mod tree;
mod unreadable;

use super::{LOST, MISLAID, NOWHERE, Place, TRIMMED, TRIMMED_FROM, entry_of, place_of};
use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::cache_part::{CacheRoom, Evict, Prefetch};
use crate::config::{DirectoryPart, DirtyLimit, OnMiss, PowerPart};
use crate::medium::marks::SpareMarks;
use crate::medium::{Saved, window};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::needs::Needs;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use arriving::Arriving;
use cache::{MappingCache, Slot};
use checkpoints::Checkpoints;
use condensed::CondensedPages;
use dirty_queue::DirtyQueue;
use entries::{get, index_of, part_of, put};
use log::MappingLog;
pub(crate) use log::Overruled;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, LogicalPage, Nand, Page};
use prefetching::Prefetching;
use synchronized::Says;
use table::{TranslationTable, node_needs};
use unreadable::UnreadablePages;

/// The demand-paged mapping.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
pub(crate) struct PagedMapping {
    logical_pages: u32,
    entries_per_page: u32,
    /// Where the translation pages are.
    table: TranslationTable,
    cache: MappingCache,
    /// Where the entry was found for which there was to be room last.
    prepared: Slot,
    /// What of the cache is being read.
    arriving: Arriving,
    /// Translation pages in fewer bytes, where any are kept.
    condensed: Option<Box<CondensedPages>>,
    on_miss: OnMiss,
    /// Whether a lazy mapping fetches entries for host writes all the same: placement may need the pages that they make
    /// stale.
    fetches_for_placement: Option<bool>,
    barriers: Barriers,
    /// What bounds a recovery's scan, where there is one to come.
    checkpoints: Option<Checkpoints>,
    /// What bounds the number of dirty entries, and their age, where anything does.
    queue: Option<DirtyQueue>,
    prefetch: Option<Prefetching>,
    says: Says,
    /// Where dirty entries wait on flash, if they do.
    log: Option<Box<MappingLog>>,
    /// Entries of trimmed pages name the page that was: a recovery is to find out that it is stale.
    names_trimmed: bool,
    /// A translation page could not be read: its record of stale pages is lost, and only the table shows which pages
    /// are live. It stays so. Validity takes pages that only the lost translation page named for live until their
    /// blocks are collected, however often the translation page is written anew meanwhile.
    damaged: bool,
    /// The translation pages that did so, where it matters which.
    unreadable: Option<UnreadablePages>,
    /// The translation page being changed.
    page: Vec<u8>,
    /// When `page` was synchronized last, in program order; 0 where it never was.
    loaded: u64,
    tally: Tally,
}

/// Translation pages that are fetched together from the host's memory.
const WARM: usize = 48;

/// Counters of the mapping.
#[derive(Clone, Copy, Default, Preserve)]
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

/// What an entry says, of a table that may name trimmed pages.
#[inline]
fn place_in(names_trimmed: bool, entry: u32) -> Place {
    if names_trimmed && entry & TRIMMED_FROM != 0 && entry < MISLAID { Place::Trimmed } else { place_of(entry) }
}

impl PagedMapping {
    /// A mapping in which no page is anywhere, with a cache of `entries` entries.
    pub(crate) fn new(
        geometry: &Geometry,
        logical_pages: u32,
        entries: u32,
        (on_miss, evict): (OnMiss, Evict),
        directory: DirectoryPart,
        barriers: Barriers,
    ) -> Self {
        let entries_per_page = entries_per_page(geometry);
        let pages = translation_pages(geometry, logical_pages);
        Self {
            logical_pages,
            entries_per_page,
            table: TranslationTable::new(geometry, logical_pages, directory),
            cache: MappingCache::new(entries, window(geometry.dies()) as u32, pages, entries_per_page, evict),
            prepared: Slot::FIRST,
            arriving: Arriving::new(geometry.dies()),
            condensed: None,
            on_miss,
            fetches_for_placement: None,
            barriers,
            checkpoints: None,
            queue: None,
            prefetch: None,
            says: Says::Nothing,
            log: None,
            names_trimmed: false,
            damaged: false,
            unreadable: None,
            page: vec![0; geometry.page_bytes() as usize],
            loaded: 0,
            tally: Tally::default(),
        }
    }

    /// Entries are fetched with others from now on.
    pub(crate) fn prefetch(&mut self, prefetch: Prefetch) {
        self.prefetch = Prefetching::of(prefetch, self.entries_per_page);
    }

    /// What it needs of the flash on a drive of so many logical pages with a cache of `entries`.
    ///
    /// Each page that a collection moves may evict an entry, and so synchronize a translation page. The hand of the
    /// checkpoints may find another, or the dirty queue two. Each entry of a lazy mapping may have an unidentified
    /// before-image. A battery pays for as many translation pages as can have dirty entries, and a recovery that
    /// synchronizes writes as many.
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
        let updates = if matches!(power, PowerPart::GeckoRec { .. }) { 2 * block } else { block };
        let of_limit = dirty_queue::programs(dirty, power, block, entries, leaves.into());
        Needs {
            live_pages: u64::from(leaves) + nodes.live,
            programs: (updates + of_limit) * (1 + nodes.each),
            unidentified: if on_miss == OnMiss::Lazy { entries.into() } else { 0 },
            battery: if power == PowerPart::Battery { dirty_entries + nodes.battery } else { 0 },
        }
    }

    /// The most entries that can be cached in so much RAM.
    pub(crate) fn cache_entries_of(room: CacheRoom, evict: Evict) -> u32 {
        MappingCache::entries_in(room.entries, evict)
    }

    /// Translation pages of a table of so many logical pages.
    pub(crate) fn translation_pages_of(geometry: &Geometry, logical_pages: u32) -> u32 {
        translation_pages(geometry, logical_pages)
    }

    /// The translation page that holds a logical page's entry.
    #[inline]
    fn translation_page_of(&self, key: u32) -> u32 {
        part_of(key, self.entries_per_page)
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
        place_in(self.names_trimmed, entry)
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
        self.on_miss == OnMiss::Fetch || self.fetches_for_placement == Some(true)
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

    /// Writes `page` as a translation page, with all of its dirty entries.
    #[inline]
    fn write_loaded<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let (identified, since) = (before.len(), io.read_done());
        let (cache, page, names_trimmed) = (&self.cache, &mut self.page, self.names_trimmed);
        let any = !self.barriers.keeps(Barrier::UipChecked);
        cache.each_dirty_of(part, |key, value, is_uip| {
            let index = index_of(key, self.entries_per_page);
            if (is_uip || any)
                && let Place::At(page) = place_in(names_trimmed, get(page, index))
            {
                before.push(page);
            }
            put(page, index, value);
        });
        // The pages that it names must be on flash before it is: older copies are not looked for then.
        io.barrier(Barrier::EntriesAfterPages);
        // Translation pages are ordered by when they were synchronized, in program order, which a recovery holds
        // against the seq of user pages.
        let version = io.seq() + 1;
        let marks = self.marks(io, version);
        if let Err(error) = self.write_page(io, marks, part, version, since) {
            // The entries stay dirty, and the pages that they make stale unidentified.
            before.truncate(identified);
            return Err(error);
        }
        io.synchronized(version);
        self.tally.synchronizations += 1;
        self.tally.entries_synchronized += u64::from(self.cache.clean(part));
        Ok(())
    }

    /// An update: the translation page's entry is out of date from now on.
    #[inline]
    fn set_dirty(&mut self, slot: Slot, value: u32) {
        self.cache.set_dirty(slot, value);
        if let Some(queue) = &mut self.queue {
            queue.push(slot);
        }
    }

    /// Writes each translation page whose loss is in RAM alone. How many it wrote.
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
    /// That is a synchronization, since an older copy must not look newer. So it takes the dirty entries along as every
    /// one does. A recovery takes user pages that were programmed before it for contained in it, also those written
    /// after it was lost.
    pub(super) fn write_as_lost<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) -> Result<(), FtlError> {
        let place = self.table.place_in_ram(part);
        self.load_lost();
        if let Some(unreadable) = &mut self.unreadable {
            unreadable.loaded(place);
        }
        self.lay_over_what_a_mount_finds(io, part);
        if let Some(log) = self.log.take() {
            let written = self.write_folded(io, &log, part);
            self.log = Some(log);
            return written;
        }
        // It names no page, so there is no before-image to find.
        let mut before = Vec::new();
        if self.cache.has_unsure() {
            self.make_loaded_sure(io, part, &mut before);
        }
        let written = self.write_loaded(io, part, &mut before);
        debug_assert!(before.is_empty());
        written
    }

    /// C.
    pub(crate) fn cache_entries(&self) -> u32 {
        self.cache.capacity()
    }

    /// A recovery has found a translation page; the one it takes the place of.
    pub(crate) fn enter_translation_page(&mut self, translation_page: u32, page: Page) -> Option<Page> {
        self.forget_condensed(translation_page);
        self.table.enter(translation_page, Some(page))
    }

    /// A recovery cannot find the newest copy of a translation page.
    pub(crate) fn enter_lost(&mut self, translation_page: u32) {
        self.forget_condensed(translation_page);
        self.table.enter(translation_page, None);
    }

    /// Whether all of its directory is in RAM.
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.table, TranslationTable::Flat(_))
    }

    /// The entries that a recovery has entered are all there are. How many pages were written above it.
    pub(crate) fn build<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<u64, FtlError> {
        self.table.build(io)
    }

    /// Writes the cached state of where translation pages are.
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
            debug_assert!(self.translation_page_of(key.0) == part, "{key} is of another translation page");
            debug_assert!(self.cache.find(key.0).is_none(), "what the cache says of {key} is not taken out");
            put(&mut self.page, index_of(key.0, self.entries_per_page), entry_of(Place::Lost));
        }
        let (version, since) = (io.seq() + 1, io.read_done());
        self.write_page(io, SpareMarks::NONE, part, version, since)
    }
}
