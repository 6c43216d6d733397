//! What the scan finds: the newest version of each translation page, and entries that none of them knows.

use super::{Found, Gathered, Suspect};
use crate::barriers::Barrier;
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::recovery::blocks_information::BlockInformation;
use crate::page_mapped::recovery::steps::Steps;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;
use phelsuma_nand::{Kind, LogicalPage, Nand, Page, SpareRead};

/// A version of a translation page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    pub(super) page: Page,
    /// When it was synchronized, in program order: what its range has on flash that is older, it knows.
    pub(super) synchronized: u64,
    /// When this copy was programmed.
    seq: u64,
    marks: SpareMarks,
}

impl Version {
    fn order(&self) -> (u64, u64) {
        (self.synchronized, self.seq)
    }
}

/// The translation pages: the newest version of each, and the newest that cannot have been in flight.
pub(super) struct Translation {
    newest: Vec<Option<Version>>,
    sure: Vec<Option<Version>>,
}

impl Translation {
    pub(super) fn new(translation_pages: u32) -> Self {
        let none = vec![None; translation_pages as usize];
        Self { newest: none.clone(), sure: none }
    }

    pub(super) fn note(&mut self, found: &Found) {
        enter(&mut self.sure, found);
        enter(&mut self.newest, found);
    }

    /// A page that may have been in flight.
    pub(super) fn note_suspect(&mut self, found: &Found) {
        enter(&mut self.newest, found);
    }

    pub(super) fn newest(&self) -> impl Iterator<Item = (u32, Version)> + '_ {
        self.newest.iter().zip(0..).filter_map(|(version, part)| Some((part, (*version)?)))
    }

    pub(super) fn newest_of(&self, part: u32) -> Option<Version> {
        self.newest.get(part as usize).copied().flatten()
    }

    /// The newest version, and when it was synchronized.
    pub(super) fn synchronized(&self, part: u32) -> Option<(Page, u64)> {
        self.newest_of(part).map(|version| (version.page, version.synchronized))
    }

    /// Whether a translation page may have had a newer version than any that is found, if a page of one has gone bad that
    /// was programmed before `gone_bad`.
    pub(super) fn is_in_doubt(&self, part: u32, gone_bad: u64) -> bool {
        self.sure_of(part).is_none_or(|version| version.seq < gone_bad)
    }

    /// The same, where what may have been in flight and reads well counts.
    pub(super) fn may_have_been_newer(&self, part: u32, gone_bad: u64) -> bool {
        self.newest_of(part).is_none_or(|version| version.seq < gone_bad)
    }

    /// The newest of those that cannot have been in flight.
    pub(super) fn sure_of(&self, part: u32) -> Option<Version> {
        self.sure.get(part as usize).copied().flatten()
    }

    /// From where on there may be pages that no translation page knows, though those that may have been in flight turn bad.
    pub(super) fn scan_from(&self) -> ScanFrom {
        let last = self.sure.iter().flatten().max_by_key(|version| version.order());
        last.map_or(ScanFrom::default(), |last| PagedMapping::scan_from(last.synchronized, last.marks))
    }

    pub(super) fn bytes(&self) -> u64 {
        ((self.newest.capacity() + self.sure.capacity()) * size_of::<Option<Version>>()) as u64
    }
}

fn enter(list: &mut [Option<Version>], found: &Found) {
    let Found { page, spare } = *found;
    let version = Version { page, synchronized: spare.version, seq: spare.seq, marks: SpareMarks::of(&spare) };
    if let Some(newest) = list.get_mut(spare.key as usize)
        && newest.is_none_or(|other| other.order() < version.order())
    {
        *newest = Some(version);
    }
}

/// A user page that the scan has met, and that its translation page may not know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) key: u32,
    pub(super) page: Page,
    pub(super) version: u64,
    pub(super) seq: u64,
    /// Where they point back, where pages do: the page whose place it took.
    pub(super) marks: SpareMarks,
    pub(super) is_suspect: bool,
}

/// An entry that no translation page knows.
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
pub(super) struct Group {
    pub(super) part: u32,
    pub(super) entries: Range<usize>,
    pub(super) oldest: u64,
}

/// What the scan of user pages gathers.
pub(super) struct FoundEntries {
    scan_from: ScanFrom,
    /// By logical page, the newest first.
    candidates: Vec<Candidate>,
    /// By logical page.
    entries: Vec<FoundEntry>,
    /// The first and the last seq of the blocks looked at.
    blocks: Vec<(u64, u64)>,
}

impl FoundEntries {
    /// Of the candidates these may have been in flight.
    pub(super) fn suspect(&mut self, suspects: &[Suspect]) {
        for candidate in &mut self.candidates {
            candidate.is_suspect = suspects.iter().any(|suspect| suspect.found.page == candidate.page);
        }
    }

    /// Keeps of the candidates of each logical page the newest, if its translation page does not know it.
    pub(super) fn choose(&mut self, ftl: &mut PageMapped, translation: &Translation) {
        let by_version = ftl.blocks.keeps(Barrier::VersionOrder);
        let resurrects = !ftl.blocks.keeps(Barrier::SynchronizedIsKnown);
        self.candidates.sort_unstable_by_key(|c| match by_version {
            true => (c.key, Reverse((c.version, c.seq))),
            false => (c.key, Reverse((u64::from(c.page.0), 0))),
        });
        for candidates in self.candidates.chunk_by(|a, b| a.key == b.key) {
            let part = ftl.paged().part_of(LogicalPage(candidates[0].key));
            let synchronized = translation.newest_of(part).map_or(0, |version| version.synchronized);
            let newest = candidates.iter().find(|c| c.seq > synchronized || resurrects);
            self.entries.extend(newest.map(|c| FoundEntry { key: c.key, place: Place::At(c.page), seq: c.seq }));
        }
    }

    /// The pages that the scan has met, logical page by logical page, the newest of each first.
    pub(super) fn by_key(&self) -> impl Iterator<Item = &[Candidate]> {
        self.candidates.chunk_by(|a, b| a.key == b.key)
    }

    /// The pages that the scan has met of a logical page, the newest first.
    pub(super) fn candidates_of(&self, key: u32) -> &[Candidate] {
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

    /// Whether a page of this logical page was found that its translation page does not know.
    pub(super) fn knows(&self, key: u32) -> bool {
        self.entry(key).is_some()
    }

    /// Where a logical page was found.
    pub(super) fn place_of(&self, key: u32) -> Option<Page> {
        self.entry(key).and_then(|at| self.entries[at].page())
    }

    /// A page that was found has been copied.
    pub(super) fn copied(&mut self, key: u32, to: Page) {
        if let Some(at) = self.entry(key) {
            self.entries[at].place = Place::At(to);
        }
    }

    /// All entries.
    pub(super) fn all(&self) -> impl Iterator<Item = &FoundEntry> {
        self.entries.iter()
    }

    /// Logical pages whose entries name what is gone, or that were found where they are not any more; ascending.
    pub(super) fn add_lost(&mut self, keys: &[u32]) {
        let oldest = self.scan_from.after + 1;
        self.entries.retain(|entry| keys.binary_search(&entry.key).is_err());
        self.entries.extend(keys.iter().map(|key| FoundEntry { key: *key, place: Place::Lost, seq: oldest }));
        self.entries.sort_unstable_by_key(|entry| entry.key);
    }

    /// By translation page, those with the oldest page first.
    pub(super) fn groups(&self, part_of: impl Fn(u32) -> u32) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut from = 0;
        for entries in self.entries.chunk_by(|a, b| part_of(a.key) == part_of(b.key)) {
            let oldest = entries.iter().map(|entry| entry.seq).min().unwrap_or(0);
            groups.push(Group { part: part_of(entries[0].key), entries: from..from + entries.len(), oldest });
            from += entries.len();
        }
        groups.sort_unstable_by_key(|group| group.oldest);
        groups
    }

    /// The entries of a group.
    pub(super) fn in_group(&self, group: &Group) -> &[FoundEntry] {
        &self.entries[group.entries.clone()]
    }

    /// From where on the next recovery has to scan if all pages older than `oldest` are known.
    pub(super) fn scan_from(&self, oldest: u64) -> ScanFrom {
        let after = oldest - 1;
        let holding = self.blocks.iter().filter(|(_, last)| *last > after);
        ScanFrom { after, oldest_open: holding.map(|(first, _)| *first).min().unwrap_or(oldest) }
    }

    pub(super) fn bytes(&self) -> u64 {
        let candidates = self.candidates.capacity() * size_of::<Candidate>();
        let entries = self.entries.capacity() * size_of::<FoundEntry>();
        (candidates + entries + self.blocks.capacity() * 16) as u64
    }
}

impl Gathered {
    /// What translation pages have learnt of which nothing is left that can be read: all user pages of theirs that are
    /// younger than what is left.
    pub(super) fn scan_for_lost<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        found: &mut FoundEntries,
    ) {
        let Some(gone_bad) = self.gone_bad.filter(|_| ftl.blocks.keeps(Barrier::LostVersionsLookedFor)) else {
            return;
        };
        let mut learnt: Vec<Candidate> = Vec::new();
        for information in self.user.clone() {
            let (pages, _) = self.pages_of(ftl, nand, steps, information.block);
            let Some(last) = pages.last().copied() else { continue };
            let mut is_news = false;
            for Found { page, spare } in pages {
                // What is younger has been looked at.
                if spare.kind != Kind::User || spare.key >= ftl.shape.logical_pages || spare.seq > found.scan_from.after
                {
                    continue;
                }
                let part = ftl.paged().part_of(LogicalPage(spare.key));
                let known = translation.sure_of(part).map_or(0, |version| version.synchronized);
                if spare.seq > known && translation.is_in_doubt(part, gone_bad) {
                    let (key, version, seq) = (spare.key, spare.version, spare.seq);
                    let marks = SpareMarks::of(&spare);
                    learnt.push(Candidate { key, page, version, seq, marks, is_suspect: false });
                    is_news = true;
                }
            }
            if is_news {
                found.blocks.push((information.first_seq, last.spare.seq));
            }
        }
        self.ask_log(ftl, nand, steps, &mut learnt);
        found.candidates.append(&mut learnt);
    }

    /// The user pages written since `scan_from`.
    pub(super) fn scan_user<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        scan_from: ScanFrom,
    ) -> FoundEntries {
        let geometry = *nand.geometry();
        let (candidates, entries, blocks) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = FoundEntries { scan_from, candidates, entries, blocks };
        let mut late: Vec<BlockInformation> =
            self.user.iter().filter(|i| i.first_seq >= scan_from.oldest_open).copied().collect();
        late.sort_unstable_by_key(|information| Reverse(information.first_seq));
        for information in late {
            let end = geometry.page(information.block, geometry.pages_per_block() - 1);
            if information.first_seq <= scan_from.after
                && let SpareRead::Written(spare) = steps.read_spare(nand, end)
                && spare.seq <= scan_from.after
            {
                continue;
            }
            let (mut pages, suspect) = self.pages_of(ftl, nand, steps, information.block);
            if let Some(log) = &mut self.log {
                log.look_at(ftl, nand, steps, translation, information.block, &pages);
            }
            let Some(last) = pages.last().copied() else { continue };
            found.blocks.push((information.first_seq, last.spare.seq));
            self.suspects.extend(suspect.map(|data| Suspect { found: last, data }));
            pages.retain(|page| page.spare.seq > scan_from.after);
            for Found { page, spare } in pages {
                if spare.kind == Kind::User && spare.key < ftl.shape.logical_pages {
                    let (key, version, seq) = (spare.key, spare.version, spare.seq);
                    let marks = SpareMarks::of(&spare);
                    found.candidates.push(Candidate { key, page, version, seq, marks, is_suspect: false });
                }
            }
        }
        found
    }
}
