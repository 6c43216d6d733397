//! A recovery that reads the whole translation table: pages that it names are live (LazyFTL).

use super::found::FoundEntries;
use super::gathered::{Gathered, PagedDrive};
use super::live_by::LiveBy;
use super::translation::Translation;
use crate::barriers::Barrier;
use crate::page_mapped::durability::{Survival, Synchronizing};
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::validity::{RamBitmap, Validity};
use alloc::vec::Vec;
use phelsuma_nand::{LogicalPage, Nand, Page};

/// The translation table decides which pages are live, and a bitmap in RAM keeps it.
#[derive(Default)]
pub(crate) struct LiveByTable;

impl LiveBy for LiveByTable {
    type Store = RamBitmap;

    const READS: &'static str = "read the translation table";

    fn begin(_paged: &mut PagedMapping, _store: &mut RamBitmap) -> Survival {
        Survival::Synchronize(Synchronizing::ByTable)
    }

    fn read<N: Nand>(
        of: &mut Gathered<Self>,
        drive: &mut PagedDrive<'_, RamBitmap, N>,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        of.read_table(drive, translation, found, false);
    }
}

impl Gathered<LiveByTable> {
    /// Reads the whole table: which pages are live. Where a newer version of a translation page may have gone bad, all of
    /// it is lost, if `gives_up_doubtful`.
    pub(crate) fn read_table<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, RamBitmap, N>,
        translation: &Translation,
        found: &FoundEntries,
        gives_up_doubtful: bool,
    ) {
        let geometry = drive.geometry();
        let gives_up = drive.keeps(Barrier::StaleEntriesGivenUp);
        for part in 0..drive.ftl.mapping.parts() {
            let range = drive.ftl.mapping.range_of(part);
            let mut entries = found.of(range.clone()).iter().peekable();
            let version = translation.newest_of(part);
            if gives_up_doubtful && self.may_have_been_newer(translation, part) {
                self.lost.extend(range);
                version.iter().for_each(|version| drive.ftl.blocks.counters.add(geometry.block_of(version.page)));
                continue;
            }
            if let Some(version) = version {
                drive.ftl.blocks.counters.add(geometry.block_of(version.page));
            } else if entries.peek().is_none() {
                continue;
            }
            let read: Option<Vec<(u32, Place)>> = drive.read_mapping(|paged, io| match version {
                Some(version) => paged.entries_at(io, part, version.page).map(Iterator::collect),
                None => Some(range.clone().map(|key| (key, Place::Nowhere)).collect()),
            });
            // It is written anew as lost. Once the page behind it has gone bad as well it would look torn.
            let is_unreadable = read.is_none();
            let known = read.unwrap_or_else(|| range.map(|key| (key, Place::Lost)).collect());
            let synchronized = version.map_or(0, |version| version.synchronized);
            let is_older = self.may_have_been_newer(translation, part) && drive.keeps(Barrier::OlderVersionsChecked);
            debug_assert!(known.is_sorted_by_key(|(key, _)| *key), "the entries of a translation page are in no order");
            for (key, place) in known {
                match (entries.next_if(|entry| entry.key == key), place) {
                    (Some(entry), _) => {
                        if let Some(page) = entry.page() {
                            drive.enter_live(page);
                        }
                    }
                    (None, Place::At(page)) => {
                        // Programmed before the translation page, and not erased since.
                        let since = self.user_since.of(&geometry, page);
                        let named =
                            |since: u64| version.is_some_and(|version| !gives_up || since < version.synchronized);
                        let is_gone = since == 0
                            || !named(since)
                            || is_older && drive.holds_another((page, LogicalPage(key)), synchronized);
                        if is_gone || !drive.enter_live(page) {
                            self.lost.push(key);
                        }
                    }
                    (None, Place::Lost) if is_unreadable => self.lost.push(key),
                    _ => {}
                }
            }
            debug_assert!(entries.peek().is_none(), "an entry that was found is of another translation page");
        }
    }
}

impl<N: Nand> PagedDrive<'_, RamBitmap, N> {
    /// An entry names this page. Whether none had before: a table with checksums that fit may name a page twice all the
    /// same.
    fn enter_live(&mut self, page: Page) -> bool {
        let is_news = !self.ftl.validity.is_live(page);
        if is_news {
            self.ftl.validity.validate(page);
            self.ftl.blocks.counters.add(self.geometry().block_of(page));
        }
        is_news
    }
}
