//! The newest version of each translation page.

use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::durability::common::{FoundPage, TranslationVersion};
use crate::page_mapped::mapping::PagedMapping;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Page;

/// A version, with how far back its mark reaches.
type Version = TranslationVersion<SpareMarks>;

/// The translation pages: the newest version of each, and the newest that cannot have been in flight.
pub(crate) struct Translation {
    newest: Vec<Option<Version>>,
    sure: Vec<Option<Version>>,
}

impl Translation {
    pub(super) fn new(translation_pages: u32) -> Self {
        let none = vec![None; translation_pages as usize];
        Self { newest: none.clone(), sure: none }
    }

    pub(super) fn note(&mut self, found: &FoundPage) {
        enter(&mut self.sure, found);
        enter(&mut self.newest, found);
        let order = |version: Option<Version>| version.map(|version| version.order());
        let (newest, sure) = (self.newest_of(found.spare.key), self.sure_of(found.spare.key));
        debug_assert!(order(newest) >= order(sure), "the newest version is not the newest");
    }

    /// A suspect page.
    pub(super) fn note_suspect(&mut self, found: &FoundPage) {
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

    /// Whether a translation page may have had a newer version than any that is found. That is possible if a page of
    /// one has gone bad that was programmed before `gone_bad`.
    pub(super) fn is_in_doubt(&self, part: u32, gone_bad: u64) -> bool {
        self.sure_of(part).is_none_or(|version| version.seq < gone_bad)
    }

    /// The same, where suspect pages that read well count.
    pub(super) fn may_have_been_newer(&self, part: u32, gone_bad: u64) -> bool {
        self.newest_of(part).is_none_or(|version| version.seq < gone_bad)
    }

    /// The newest of those that cannot have been in flight.
    pub(super) fn sure_of(&self, part: u32) -> Option<Version> {
        self.sure.get(part as usize).copied().flatten()
    }

    /// From where on there may be pages that are in no translation page, even if suspect pages turn bad.
    pub(crate) fn scan_from(&self) -> ScanFrom {
        let last = self.sure.iter().flatten().max_by_key(|version| version.order());
        last.map_or(ScanFrom::default(), |last| PagedMapping::scan_from(last.synchronized, last.says))
    }

    pub(super) fn bytes(&self) -> u64 {
        ((self.newest.capacity() + self.sure.capacity()) * size_of::<Option<Version>>()) as u64
    }
}

fn enter(list: &mut [Option<Version>], found: &FoundPage) {
    let version = Version::of(found, SpareMarks::of(&found.spare));
    if let Some(newest) = list.get_mut(found.spare.key as usize)
        && newest.is_none_or(|other| other.order() < version.order())
    {
        *newest = Some(version);
    }
}
