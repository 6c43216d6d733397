//! Pages that became stale and are not in the log yet.

use super::LiveByLog;
use crate::medium::marks::{PointsBack, SpareMarks};
use crate::page_mapped::durability::common::was_older_copy;
use crate::page_mapped::durability::synchronize::found::{FoundEntries, MetPage};
use crate::page_mapped::durability::synchronize::gathered::{Gathered, PagedDrive};
use crate::page_mapped::durability::synchronize::translation::Translation;
use crate::page_mapped::mapping::{Mapping, Place};
use crate::page_mapped::validity::{PageValidityLog, Validity};
use alloc::vec::Vec;
use phelsuma_nand::{LogicalPage, Nand, Page, SpareRead};

/// A page that something names whose place it took: whose it must be, and that it must be older.
type NamedPage = (Page, u32, u64);

impl Gathered<LiveByLog> {
    /// Leaves of these pages, which may have been in translation pages, those that are not stale in the log.
    pub(super) fn ask_log<N: Nand>(&self, drive: &mut PagedDrive<'_, PageValidityLog, N>, learnt: &mut Vec<MetPage>) {
        learnt.sort_unstable_by_key(|candidate| candidate.page);
        debug_assert!(learnt.is_sorted_by(|a, b| a.page < b.page), "a page was met twice");
        let pages: Vec<Page> = learnt.iter().map(|candidate| candidate.page).collect();
        let begun = |block| self.user_since.begun(block);
        let known = drive.read_validity(|log, io| log.block_states(io, begun, &pages, |_, _| {}));
        debug_assert_eq!(known.len(), pages.len(), "the log has not answered for each page");
        let mut known = known.into_iter();
        learnt.retain(|_| !known.next().unwrap_or(false));
    }

    /// Finds pages that became stale since the last report to the log.
    pub(super) fn find_reports<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        let mut named = self.named_by_user_pages(drive, found);
        self.named_by_trims(drive, translation, &mut named);
        self.report_named(drive, translation, found, named);
        let log = &mut self.live_by;
        log.reports.sort_unstable();
        log.reports.dedup();
        log.kept.sort_unstable();
        log.kept.dedup();
    }

    /// What user pages name that were written since.
    fn named_by_user_pages<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        found: &FoundEntries,
    ) -> Vec<NamedPage> {
        let log = &mut self.live_by;
        let until = log.heard_until.after;
        let geometry = drive.geometry();
        let mut named = Vec::new();
        for candidates in found.by_key() {
            let mut is_news = false;
            let mut copies = None;
            for candidate in candidates {
                if is_news {
                    log.reports.push(candidate.page);
                }
                is_news |= candidate.seq > until;
                if candidate.seq > until {
                    match candidate.marks.points_back() {
                        PointsBack::Nowhere => {}
                        PointsBack::AtMislaid => drive.ftl.validity.set_damaged(),
                        PointsBack::At(page) => named.push((page, candidate.key, candidate.seq)),
                    }
                    let says = (candidate.version, candidate.marks);
                    if copies.replace(says) != Some(says) {
                        log.kept.push(geometry.block_of(candidate.page));
                    }
                }
            }
        }
        named
    }

    /// What entries of trimmed pages name that were synchronized since.
    fn named_by_trims<N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        named: &mut Vec<NamedPage>,
    ) {
        let until = self.live_by.heard_until.after;
        for (part, version) in translation.newest().filter(|(_, version)| version.synchronized > until) {
            let trimmed: Vec<(u32, Option<Page>)> =
                drive.read_mapping(|paged, io| paged.trimmed_at(io, part, version.page).collect());
            for (key, page) in trimmed {
                match page {
                    Some(page) => named.push((page, key, version.synchronized)),
                    None => drive.ftl.validity.set_damaged(),
                }
            }
        }
    }

    /// Reports a named page that is still the one it is named for, and the page that such a page names if it cannot be
    /// believed.
    fn report_named<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
        mut named: Vec<NamedPage>,
    ) {
        let geometry = drive.geometry();
        let log = &mut self.live_by;
        let until = log.heard_until.after;
        let mut looked_at = 0;
        while let Some((page, key, before)) = named.get(looked_at).copied() {
            looked_at += 1;
            // What holds no user pages has been erased since.
            let since = self.user_since.of(&geometry, page);
            if since == 0 {
                continue;
            }
            let read = drive.read_spare(page);
            if !was_older_copy(read, key, before) {
                continue;
            }
            match read {
                // The last page of its block, and bad. Since something took its place, it had completed.
                SpareRead::Written(spare) if spare.seq > until => {
                    debug_assert!(spare.seq < before, "pages are followed back to one that is younger");
                    let is_believed = found.candidates_of(key).iter().any(|candidate| candidate.page == page);
                    match SpareMarks::of(&spare).points_back() {
                        _ if is_believed => {}
                        PointsBack::Nowhere => {}
                        PointsBack::AtMislaid => drive.ftl.validity.set_damaged(),
                        PointsBack::At(page) => named.push((page, key, spare.seq)),
                    }
                }
                SpareRead::Unreadable => {
                    // Its block may have been written anew since.
                    log.silent.push(drive.silent_at(page));
                    // Or it has gone bad, and whose place it took is lost.
                    if since >= log.heard_until.oldest_open {
                        drive.ftl.validity.set_damaged();
                    }
                }
                // An erase that was cut has made it blank. Or it was in flight: the translation page still names the page
                // whose place it was to take.
                SpareRead::Erased => {
                    let was_in_place = drive.named_by_table(translation, LogicalPage(key), before);
                    named.extend(was_in_place.filter(|was| *was != page).map(|was| (was, key, before)));
                }
                SpareRead::Written(_) => {}
            }
            log.reports.push(page);
        }
        log.scratch = named.capacity() * size_of::<NamedPage>();
    }
}

impl<N: Nand> PagedDrive<'_, PageValidityLog, N> {
    /// The page that its translation page names for a logical page, if that was synchronized before this.
    fn named_by_table(&mut self, translation: &Translation, key: LogicalPage, before: u64) -> Option<Page> {
        let part = self.ftl.mapping.part_of(key);
        let version = translation.newest_of(part).filter(|version| version.synchronized < before)?;
        let bytes = self.read_translation_page(part, version.page)?;
        match self.ftl.mapping.place_in(&bytes, key) {
            // A table on flash may say anything, with a checksum that fits.
            Place::At(page) if self.geometry().contains(page) => Some(page),
            _ => None,
        }
    }
}
