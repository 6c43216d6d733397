//! The translation pages on flash: the directory's, and those replaced since Gecko's buffer was flushed last.
//!
//! These are GeckoFTL appendix C, step 2, and appendix C.2.2.
//!
//! The paper compares a translation page with "the most recent previous version", and trusts that there is at most one
//! synchronization between two flushes. There can be many: a read evicts a dirty entry. Here the newest version is
//! compared with the one that the flush covered. What a version in between named was a dirty entry when that was
//! written, less than 2 C updates before the flush or later. So the scan of the pages written last meets it.

use super::covered::CoveredVersions;
use crate::barriers::{Barrier, Barriers};
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::common::{FoundPage, TranslationVersion};
use alloc::vec::Vec;
use phelsuma_nand::Page;

/// A version, and whether some translation page could not be read before it was written.
pub(super) type ToldVersion = TranslationVersion<bool>;

/// The versions of every translation page that matter.
pub(super) struct TranslationPages {
    frozen: u64,
    /// By translation page: the newest that the last flush covered.
    before: CoveredVersions,
    /// The newest since: of which translation page, and the version.
    since: Vec<(u32, ToldVersion)>,
    /// Whether wear is levelled.
    has_erase_counts: bool,
    barriers: Barriers,
}

impl TranslationPages {
    /// Of a table of so many pages; the last flush covered everything up to `frozen`.
    pub(super) fn new(translation_pages: u32, frozen: u64, has_erase_counts: bool, barriers: Barriers) -> Self {
        Self { frozen, before: CoveredVersions::new(translation_pages), since: Vec::new(), has_erase_counts, barriers }
    }

    pub(super) fn note(&mut self, found: &FoundPage) {
        let part = found.spare.key;
        if part >= self.before.parts() {
            return;
        }
        let tells_of_damage = SpareMarks::of(&found.spare).tells_of_damage(self.has_erase_counts);
        let version = ToldVersion::of(found, tells_of_damage);
        debug_assert!(version.synchronized <= version.seq, "a translation page is younger than its program");
        if version.synchronized > self.frozen {
            self.since.push((part, version));
        } else if self.before.of(part).is_none_or(|other| other.order() < version.order())
            || !self.barriers.keeps(Barrier::NewestTranslationPages)
        {
            self.before.set(part, version);
        }
    }

    /// Of the versions since the last flush keeps the newest of each translation page.
    pub(super) fn sort(&mut self) {
        self.since.sort_unstable_by_key(|(part, version)| (*part, core::cmp::Reverse(version.order())));
        if !self.barriers.keeps(Barrier::CoveredVersionCompared) {
            // The newest stands first, and copies of a version are the same version.
            let follows = |pair: &&[(u32, ToldVersion)]| {
                pair[0].0 == pair[1].0 && pair[1].1.synchronized < pair[0].1.synchronized
            };
            for pair in self.since.windows(2).rev().filter(follows) {
                self.before.set(pair[1].0, pair[1].1);
            }
        }
        self.since.dedup_by_key(|(part, _)| *part);
        let rises = |part: u32, since: &ToldVersion| {
            self.before.of(part).is_none_or(|before| before.synchronized < since.synchronized)
        };
        debug_assert!(self.since.iter().all(|(part, since)| rises(*part, since)), "a version falls");
    }

    /// The newest version of each translation page that there is, and when it was synchronized.
    pub(super) fn versions(&self) -> impl Iterator<Item = (u32, Page, u64)> + '_ {
        (0..self.before.parts()).filter_map(|part| {
            let (page, synchronized) = self.synchronized(part)?;
            Some((part, page, synchronized))
        })
    }

    /// Whether some translation page could not be read so far.
    pub(super) fn tell_of_damage(&self) -> bool {
        (0..self.before.parts()).any(|part| self.newest_of(part).is_some_and(|version| version.says))
    }

    /// The newest version of a translation page. None of one that the table has not: a spare area may name any.
    pub(super) fn newest_of(&self, part: u32) -> Option<ToldVersion> {
        let since = self.since.binary_search_by_key(&part, |(part, _)| *part);
        since.map(|at| self.since[at].1).ok().or_else(|| self.before.of(part))
    }

    /// The newest version, and when it was synchronized.
    pub(super) fn synchronized(&self, part: u32) -> Option<(Page, u64)> {
        self.newest_of(part).map(|version| (version.page, version.synchronized))
    }

    /// Whether it was synchronized since the last flush.
    pub(super) fn is_since_flush(&self, part: u32) -> bool {
        self.since.binary_search_by_key(&part, |(part, _)| *part).is_ok()
    }

    /// The translation pages synchronized since the last flush: the newest version, and the one that the flush covered,
    /// if there was one.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (u32, Option<ToldVersion>, ToldVersion)> + '_ {
        self.since.iter().map(|(part, version)| (*part, self.before.of(*part), *version))
    }

    /// Of the translation pages synchronized since the last flush, those whose version that it covered may have gone
    /// bad. Such a version was programmed before that moment.
    pub(super) fn replaced_in_doubt(&self, gone_bad: u64) -> impl Iterator<Item = u32> + '_ {
        let may_have =
            move |before: &Option<ToldVersion>| before.is_none_or(|before| before.is_programmed_before(gone_bad));
        let replaced = self.replaced().filter(|_| self.frozen > 0);
        replaced.filter(move |(_, before, _)| may_have(before)).map(|(part, ..)| part)
    }

    /// The pages that another recovery would need before Gecko's buffer is flushed.
    pub(super) fn needed(&self) -> impl Iterator<Item = Page> + '_ {
        self.replaced().flat_map(|(_, before, version)| before.into_iter().chain([version])).map(|version| version.page)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.before.bytes() + (self.since.capacity() * size_of::<(u32, ToldVersion)>()) as u64
    }
}
