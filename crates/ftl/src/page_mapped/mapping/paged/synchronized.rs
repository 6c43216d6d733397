//! Limits on dirty entries, and how a recovery synchronizes those that it has found (LazyFTL as GeckoFTL section 6 has
//! it).
//!
//! A translation page is always written with all of its dirty entries, and its version is the moment in program order.
//! So it has exactly those user pages of its range that were programmed before. The version alone shows a recovery
//! which of the entries that it finds are in the page.

use super::dirty_queue::DirtyQueue;
use super::unreadable::UnreadablePages;
use super::{PagedMapping, Slot, get, index_of, put, scan_mark};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::config::{DirtyLimit, PowerPart, Synchronize};
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::mapping::{Mapping, Place, entry_of, page_named, place_of};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page};

/// The marks in the spare area of a translation page, for a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) enum Says {
    /// Nothing.
    Nothing,
    /// From where on to scan, should this page itself be torn. Earlier writes are on flash when it is.
    ScanFrom,
    /// Whether some translation page could not be read so far. Its entries were read errors from then on: a page that
    /// is written in their place never says which page it makes stale.
    Damage,
}

/// The block that an entry's page is in.
fn block_of(geometry: &Geometry, entry: u32) -> Option<Block> {
    match place_of(entry) {
        Place::At(page) if geometry.contains(page) => Some(geometry.block_of(page)),
        _ => None,
    }
}

impl PagedMapping {
    /// Lets no more entries be dirty than `limit` says. A recovery that synchronizes them all needs how far back they
    /// are, whatever their number.
    pub(crate) fn limit_dirty(&mut self, limit: DirtyLimit, power: PowerPart) {
        let is_limit = limit.percent < 100 || limit.synchronize == Synchronize::PhysicalBlock;
        self.says = match power {
            PowerPart::GeckoRec { .. } => Says::Damage,
            PowerPart::Synchronize => Says::ScanFrom,
            PowerPart::Scan | PowerPart::Battery | PowerPart::Fast | PowerPart::Nothing => Says::Nothing,
        };
        // Those that could not be read are written anew before the power is off.
        self.unreadable = (power == PowerPart::Battery).then(UnreadablePages::default);
        if is_limit || power == PowerPart::Synchronize {
            self.queue = Some(DirtyQueue::new(limit, self.cache.capacity(), self.cache.slots()));
        }
    }

    /// Before an update of `key`'s entry: the dirty entry that must go for it, and one of the block that is being
    /// synchronized.
    pub(super) fn make_room_for_update<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let Some(queue) = &mut self.queue else { return Ok(()) };
        if queue.wants_mark() {
            queue.mark(io.scan_from_now());
        }
        let geometry = *io.geometry();
        if let Some(of_block) = queue.next_of_block(&self.cache, |entry| block_of(&geometry, entry)) {
            self.tally.block_synchronizations += 1;
            self.synchronize(io, self.translation_page_of(self.cache.key(of_block)), before)?;
        }
        let is_dirty = self.cache.find(key.0).is_some_and(|slot| self.cache.is_dirty(slot));
        let Some(queue) = &mut self.queue else { return Ok(()) };
        if let Some(oldest) = queue.must_go(&self.cache, is_dirty)
            && self.barriers.keeps(Barrier::DirtyLimitKept)
        {
            self.tally.limit_synchronizations += 1;
            self.begin_draining(io, oldest);
            self.synchronize(io, self.translation_page_of(self.cache.key(oldest)), before)?;
        }
        Ok(())
    }

    /// A dirty entry is about to be synchronized because it must go.
    pub(super) fn begin_draining<N: Nand>(&mut self, io: &MetaIo<'_, N>, slot: Slot) {
        if let Some(queue) = &mut self.queue
            && let Some(block) = block_of(io.geometry(), self.cache.value(slot))
        {
            queue.begin_draining(block);
        }
    }

    /// The marks for the spare area of a translation page that is synchronized now.
    pub(super) fn marks<N: Nand>(&mut self, io: &MetaIo<'_, N>, version: u64) -> SpareMarks {
        // Of every scheme: the queue counts from here until the next one is due.
        let from = self.queue.as_mut().map(|queue| {
            let now = io.scan_from_now();
            (now, queue.scan_from(&self.cache, now))
        });
        match (self.says, from) {
            (Says::Damage, _) => SpareMarks::damage(self.is_damaged() && self.barriers.keeps(Barrier::DamageWritten)),
            (Says::ScanFrom, Some((now, from))) => {
                scan_mark::encode(version, if !self.barriers.keeps(Barrier::DirtyInMark) { now } else { from })
            }
            _ => SpareMarks::NONE,
        }
    }

    /// The marks in a translation page's spare area.
    pub(crate) fn scan_from(version: u64, marks: SpareMarks) -> ScanFrom {
        scan_mark::decode(version, marks)
    }

    /// The entries of a translation page as a version of it has them, which a recovery has found at `page`; none if that
    /// cannot be read.
    pub(crate) fn entries_at<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        translation_page: u32,
        page: Page,
    ) -> Option<impl Iterator<Item = (u32, Place)> + '_> {
        let is_read = self.load_from(io, translation_page, page);
        let mapping = &*self;
        let entries = mapping.pages_of(translation_page).zip(0..);
        is_read.then(|| entries.map(|(key, index)| (key, mapping.place(get(&mapping.page, index)))))
    }

    /// As [`PagedMapping::entries_at`], of trimmed pages alone: where they were; none where that is not known.
    pub(crate) fn trimmed_at<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        translation_page: u32,
        page: Page,
    ) -> impl Iterator<Item = (u32, Option<Page>)> + '_ {
        self.load_from(io, translation_page, page);
        let mapping = &*self;
        let entries = mapping.pages_of(translation_page).zip(0..).map(|(key, index)| (key, get(&mapping.page, index)));
        let trimmed = entries.filter(|(_, entry)| mapping.place(*entry) == Place::Trimmed);
        trimmed.map(|(key, entry)| (key, page_named(entry)))
    }

    /// Whether it can be read.
    fn load_from<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, translation_page: u32, page: Page) -> bool {
        let bytes = io.read(page, Kind::Translation, translation_page);
        match bytes {
            Some(bytes) => self.page.copy_from_slice(bytes),
            None => self.load_lost(),
        }
        bytes.is_some()
    }

    /// Brings a translation page up to date with the entries of its range that a recovery has found.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn synchronize_found<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        translation_page: u32,
        found: impl Iterator<Item = (u32, Place)>,
        scan_from: ScanFrom,
    ) -> Result<(), FtlError> {
        self.load(io, translation_page);
        for (key, place) in found {
            debug_assert!(self.pages_of(translation_page).contains(&key), "an entry of another translation page");
            put(&mut self.page, index_of(key, self.entries_per_page), entry_of(place));
        }
        io.barrier(Barrier::EntriesAfterPages);
        let version = io.seq() + 1;
        let marks = scan_mark::encode(version, scan_from);
        let since = io.read_done();
        self.write_page(io, marks, translation_page, version, since)?;
        self.tally.synchronizations += 1;
        Ok(())
    }

    /// A recovery has synchronized everything.
    pub(crate) fn nothing_is_dirty<N: Nand>(&mut self, io: &MetaIo<'_, N>) {
        if let Some(queue) = &mut self.queue {
            queue.begin(io.scan_from_now());
        }
    }

    /// The logical pages whose entries stand in a translation page, for a recovery.
    pub(crate) fn range_of(&self, translation_page: u32) -> core::ops::Range<u32> {
        self.pages_of(translation_page)
    }
}
