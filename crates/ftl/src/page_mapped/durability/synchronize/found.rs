//! The result of the scan of user pages: the pages that it has met, and entries that no translation page has.

use super::translation::Translation;
use crate::barriers::{Barrier, Barriers};
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::durability::common::Suspect;
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;
use phelsuma_nand::{LogicalPage, Page};

/// A user page that the scan has met, and that may not be in its translation page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetPage {
    pub(super) key: u32,
    pub(super) page: Page,
    pub(super) version: u64,
    pub(super) seq: u64,
    /// Where they point back, where pages do: the page whose place it took.
    pub(super) marks: SpareMarks,
    pub(super) is_suspect: bool,
}

/// An entry that is in no translation page.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundEntry {
    pub(super) key: u32,
    pub(super) place: Place,
    /// When its page was programmed; a copy that recovery makes of it counts as being from then.
    seq: u64,
}

impl FoundEntry {
    pub(super) fn page(&self) -> Option<Page> {
        match self.place {
            Place::At(page) => Some(page),
            _ => None,
        }
    }
}

/// Entries of one translation page, and when the oldest of their pages was programmed.
pub(super) struct EntryGroup {
    pub(super) part: u32,
    pub(super) entries: Range<usize>,
    pub(super) oldest: u64,
}

/// The findings of the scan of user pages.
pub(crate) struct FoundEntries {
    pub(super) scan_from: ScanFrom,
    /// By logical page, the newest first.
    pub(super) candidates: Vec<MetPage>,
    /// By logical page.
    entries: Vec<FoundEntry>,
    /// The first and the last seq of the blocks looked at.
    pub(super) blocks: Vec<(u64, u64)>,
}

impl FoundEntries {
    /// Nothing is found yet of the writes from there on.
    pub(crate) fn new(scan_from: ScanFrom) -> Self {
        Self { scan_from, candidates: Vec::new(), entries: Vec::new(), blocks: Vec::new() }
    }

    /// Of the candidates these are suspect.
    pub(super) fn suspect(&mut self, suspects: &[Suspect]) {
        for candidate in &mut self.candidates {
            candidate.is_suspect = suspects.iter().any(|suspect| suspect.found.page == candidate.page);
        }
    }

    /// Keeps of the candidates of each logical page the newest, if it is not in its translation page.
    pub(super) fn choose(&mut self, paged: &PagedMapping, translation: &Translation, barriers: Barriers) {
        let by_version = barriers.keeps(Barrier::VersionOrder);
        let resurrects = !barriers.keeps(Barrier::SynchronizedIsKnown);
        self.candidates.sort_unstable_by_key(|c| match by_version {
            true => (c.key, Reverse((c.version, c.seq))),
            false => (c.key, Reverse((u64::from(c.page.0), 0))),
        });
        for candidates in self.candidates.chunk_by(|a, b| a.key == b.key) {
            let part = paged.part_of(LogicalPage(candidates[0].key));
            let synchronized = translation.newest_of(part).map_or(0, |version| version.synchronized);
            let newest = candidates.iter().find(|c| c.seq > synchronized || resurrects);
            self.entries.extend(newest.map(|c| FoundEntry { key: c.key, place: Place::At(c.page), seq: c.seq }));
        }
        debug_assert!(self.entries.is_sorted_by(|a, b| a.key < b.key), "a logical page was found twice");
    }

    /// The pages that the scan has met, logical page by logical page, the newest of each first.
    pub(super) fn by_key(&self) -> impl Iterator<Item = &[MetPage]> {
        self.candidates.chunk_by(|a, b| a.key == b.key)
    }

    /// The pages that the scan has met of a logical page, the newest first.
    pub(super) fn candidates_of(&self, key: u32) -> &[MetPage] {
        let from = self.candidates.partition_point(|c| c.key < key);
        let len = self.candidates[from..].partition_point(|c| c.key == key);
        &self.candidates[from..from + len]
    }

    /// The entries of a range of logical pages.
    pub(super) fn of(&self, keys: Range<u32>) -> &[FoundEntry] {
        let from = self.entries.partition_point(|entry| entry.key < keys.start);
        let until = self.entries.partition_point(|entry| entry.key < keys.end);
        &self.entries[from..until]
    }

    fn entry(&self, key: u32) -> Option<usize> {
        self.entries.binary_search_by_key(&key, |entry| entry.key).ok()
    }

    /// Whether an entry was found that only a lost translation page can have had.
    pub(super) fn has_learnt(&self) -> bool {
        self.entries.iter().any(|entry| entry.seq <= self.scan_from.after)
    }

    /// Whether a page of this logical page was found that is not in its translation page.
    pub(super) fn knows(&self, key: u32) -> bool {
        self.entry(key).is_some()
    }

    /// Where a logical page was found.
    pub(super) fn place_of(&self, key: u32) -> Option<Page> {
        self.entry(key).and_then(|at| self.entries[at].page())
    }

    /// A page that was found has been copied.
    pub(super) fn copied(&mut self, key: u32, to: Page) {
        let entry = self.entry(key);
        debug_assert!(entry.is_some(), "what was not found is copied");
        if let Some(at) = entry {
            self.entries[at].place = Place::At(to);
        }
    }

    /// All entries.
    pub(super) fn all(&self) -> impl Iterator<Item = &FoundEntry> {
        self.entries.iter()
    }

    /// Logical pages whose entries dangle, or that were found where they are not any more; ascending.
    pub(crate) fn add_lost(&mut self, keys: &[u32]) {
        debug_assert!(keys.is_sorted_by(|a, b| a < b), "a logical page is lost twice");
        let oldest = self.scan_from.after + 1;
        self.entries.retain(|entry| keys.binary_search(&entry.key).is_err());
        self.entries.extend(keys.iter().map(|key| FoundEntry { key: *key, place: Place::Lost, seq: oldest }));
        self.entries.sort_unstable_by_key(|entry| entry.key);
    }

    /// By translation page, those with the oldest page first.
    pub(super) fn groups(&self, part_of: impl Fn(u32) -> u32) -> Vec<EntryGroup> {
        let mut groups = Vec::new();
        let mut from = 0;
        for entries in self.entries.chunk_by(|a, b| part_of(a.key) == part_of(b.key)) {
            let oldest = entries.iter().map(|entry| entry.seq).min().unwrap_or(0);
            groups.push(EntryGroup { part: part_of(entries[0].key), entries: from..from + entries.len(), oldest });
            from += entries.len();
        }
        groups.sort_unstable_by_key(|group| group.oldest);
        groups
    }

    /// The entries of a group.
    pub(super) fn in_group(&self, group: &EntryGroup) -> &[FoundEntry] {
        &self.entries[group.entries.clone()]
    }

    /// From where on the next recovery has to scan if all pages older than `oldest` are known.
    pub(super) fn scan_from(&self, oldest: u64) -> ScanFrom {
        let after = oldest - 1;
        let holding = self.blocks.iter().filter(|(_, last)| *last > after);
        ScanFrom { after, oldest_open: holding.map(|(first, _)| *first).min().unwrap_or(oldest) }
    }

    pub(super) fn bytes(&self) -> u64 {
        let candidates = self.candidates.capacity() * size_of::<MetPage>();
        let entries = self.entries.capacity() * size_of::<FoundEntry>();
        (candidates + entries + self.blocks.capacity() * 16) as u64
    }
}
