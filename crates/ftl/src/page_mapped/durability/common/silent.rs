//! Pages whose data cannot be read: torn, or gone bad since.

use super::blocks_information::BlockInformation;
use super::mount::{FoundPage, Mount};
use crate::barriers::Barrier;
use crate::medium::EPOCH;
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::validity::Validity;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, SpareRead};

/// A page whose data cannot be read, in a block of user pages: some cut has torn it, or the erase of its block, or
/// it has gone bad since.
#[derive(Clone, Copy)]
pub(crate) struct Silent {
    pub(crate) page: Page,
    /// It was programmed after this, in program order: its own spare area says it, where that can be read. Otherwise it is
    /// when the last readable page before it was programmed; 0 where there is none.
    pub(crate) after: u64,
}

impl<V: Validity, N: Nand> Mount<'_, PagedMapping, V, N> {
    /// The silent pages of a block behind the last one that can be believed, or all of it.
    pub(crate) fn silent_behind(&mut self, block: Block, last: Option<&FoundPage>) -> Vec<Silent> {
        let geometry = self.geometry();
        debug_assert!(last.is_none_or(|last| geometry.block_of(last.page) == block), "that page is not of {block}");
        let (from, after) = last.map_or((0, 0), |last| (geometry.index_of(last.page) + 1, last.spare.seq));
        let behind = (from..geometry.pages_per_block()).map(|index| geometry.page(block, index));
        let silent = behind.map_while(|page| match self.read_spare(page) {
            SpareRead::Written(spare) => Some(Silent { page, after: after.max(spare.seq.saturating_sub(1)) }),
            SpareRead::Unreadable => Some(Silent { page, after }),
            // Nothing was programmed behind a page that is blank.
            SpareRead::Erased => None,
        });
        silent.collect()
    }

    /// Such a page anywhere in a block.
    pub(crate) fn silent_at(&mut self, page: Page) -> Silent {
        let geometry = self.geometry();
        let block = geometry.block_of(page);
        let before = (0..geometry.index_of(page)).rev().map(|index| geometry.page(block, index));
        let after = before.map(|page| self.read_spare(page)).find_map(|read| match read {
            SpareRead::Written(spare) => Some(spare.seq),
            SpareRead::Erased | SpareRead::Unreadable => None,
        });
        Silent { page, after: after.unwrap_or(0) }
    }

    /// Whether a silent page had surely completed before the power failed, so that no cut has torn it. It had if in the
    /// same session a block was begun behind its own. These are blocks of user pages, by when they were begun.
    ///
    /// Or its program failed, and its data were written again elsewhere.
    pub(crate) fn has_completed(&self, silent: &Silent, user: &[BlockInformation]) -> bool {
        let geometry = self.geometry();
        let block = geometry.block_of(silent.page);
        // On each die a stream has one block open, and there is one of user pages. At a recovery the seq skips an
        // epoch.
        let is_one_stream = self.ftl.streams.mapping == 1;
        let behind = |other: &BlockInformation| {
            other.block != block
                && geometry.die_of(other.block) == geometry.die_of(block)
                && other.first_seq > silent.after
                && other.first_seq - silent.after < EPOCH
        };
        is_one_stream && silent.after > 0 && user.iter().any(behind)
    }

    /// Whether a page is no longer the one that a translation page names that was synchronized then. An erase that was
    /// cut has made it blank, or it is another by now.
    pub(crate) fn holds_another(&mut self, (page, key): (Page, LogicalPage), synchronized: u64) -> bool {
        debug_assert!(self.geometry().contains(page), "the drive has no {page}");
        match self.read_spare(page) {
            SpareRead::Erased => true,
            SpareRead::Written(spare) => (spare.kind, spare.key) != (Kind::User, key.0) || spare.seq > synchronized,
            // Perhaps it is, and bad.
            SpareRead::Unreadable => false,
        }
    }

    /// Which of these pages translation pages name, ascending, with the logical pages. They had completed when those were
    /// synchronized, so no cut has torn them. `versions` gives of each translation page the newest version and when that
    /// was synchronized. Some entries may be `overruled` by a newer page.
    ///
    /// Reads the translation pages that were synchronized after the oldest of them can have been programmed. Where a
    /// cut has just torn a page that is hardly any.
    pub(crate) fn named_among(
        &mut self,
        silent: &[Silent],
        versions: impl Iterator<Item = (u32, Page, u64)>,
        overruled: impl Fn(&PagedMapping, LogicalPage) -> bool,
    ) -> Vec<(Page, LogicalPage)> {
        let mut named = Vec::new();
        let Some(oldest) = silent.iter().map(|silent| silent.after).min() else { return Vec::new() };
        if !self.keeps(Barrier::SilentLookedUp) {
            return Vec::new();
        }
        for (part, version, synchronized) in versions.filter(|(.., synchronized)| *synchronized > oldest) {
            let Some(bytes) = self.read_translation_page(part, version) else { continue };
            // A translation page synchronized before a page can have been written names the page that was in its place.
            let after = |page: Page| silent.iter().any(|silent| silent.page == page && silent.after < synchronized);
            let paged = &self.ftl.mapping;
            for key in paged.range_of(part).map(LogicalPage) {
                if let Place::At(page) = paged.place_in(&bytes, key)
                    && after(page)
                    && !overruled(paged, key)
                {
                    named.push((key, page));
                }
            }
        }
        let mut pages: Vec<Page> = silent.iter().map(|silent| silent.page).collect();
        pages.sort_unstable();
        let in_log = self.read_mapping(|paged, io| {
            named.retain(|(key, page)| paged.is_not_overruled(io, *key, *page));
            paged.named_in_log(io, &pages)
        });
        named.extend(in_log.into_iter().filter(|(key, _)| !overruled(&self.ftl.mapping, *key)));
        let mut named: Vec<(Page, LogicalPage)> = named.into_iter().map(|(key, page)| (page, key)).collect();
        named.sort_unstable();
        named
    }

    /// Whether a translation page names a user page, where `synchronized` gives of each the newest version and when
    /// that was synchronized. Then it had completed before that: if it cannot be read, no cut has torn it, it has gone
    /// bad since.
    pub(crate) fn is_named(&mut self, found: &FoundPage, synchronized: impl Fn(u32) -> Option<(Page, u64)>) -> bool {
        if found.spare.kind != Kind::User || found.spare.key >= self.ftl.shape.logical_pages {
            return false;
        }
        let key = LogicalPage(found.spare.key);
        let part = self.ftl.mapping.part_of(key);
        let version = synchronized(part);
        let known = self.ftl.mapping.known_until(version.map_or(0, |(_, since)| since));
        if found.spare.seq > known {
            return false;
        }
        let bytes = self.read_mapping(|paged, io| paged.entries_of(io, part, version.map(|(page, _)| page), &mut None));
        self.ftl.mapping.place_in(&bytes, key) == Place::At(found.page)
    }

    /// The bytes of a translation page.
    pub(crate) fn read_translation_page(&mut self, part: u32, page: Page) -> Option<Vec<u8>> {
        debug_assert!(part < self.ftl.mapping.parts(), "the table has no such translation page");
        self.read_mapping(|_, io| io.read(page, Kind::Translation, part).map(<[u8]>::to_vec))
    }
}
