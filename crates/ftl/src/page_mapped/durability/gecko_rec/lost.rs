//! Updates of the mapping whose translation pages cannot be read any more.
//!
//! GeckoFTL takes no notice of flash that goes bad. A page in a block of translation pages may not say what it was.
//! Then it may have been the newest version of any translation page of which no version is found that was programmed
//! later. An older one would answer in its place. The second source is the spare areas of the user pages. All are read
//! then, and for these translation pages it counts
//! - of a logical page the newest copy that is younger than the version found, if it is not stale in Gecko;
//! - what the version found names, if that has not been written anew since, and is not stale in Gecko.
//!
//! Where neither is there, the logical page is a read error: it may have been trimmed, or written to a page that has gone
//! bad. So a trim is undone only if it had not reached Gecko either. Translation pages whose content changes by this are
//! written anew, together with their dirty entries. The block with the evidence is not erased before, and a suspect
//! version is not copied before: its copy would look newer than the lost one. They do not go through the cache: a
//! translation page can have more updates than that holds.
//!
//! What only the lost version named, and something newer has replaced, is stale, and is reported to Gecko. The power
//! may fail before Gecko has that on flash, and no later recovery would find it again. And the lost version may be one
//! that the last flush covered. Then there is no record of what the newer ones have made stale since. So the new
//! version says that it stands for one that was lost, and from then on collections query the mapping.

use super::dangling::Places;
use super::gathered::{GeckoDrive, GeckoGathered};
use super::translation::TranslationPages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::common::{FoundPage, LastPage};
use crate::page_mapped::mapping::Mapping;
use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page};

/// The evidence where translation pages are in doubt.
pub(super) struct Lost {
    /// The bad pages were programmed before this.
    gone_bad: u64,
    /// By logical page, of those translation pages: the newest user page that is not in the version found.
    learnt: BTreeMap<u32, FoundPage>,
    /// Pages that are stale by that, and that only the lost version may have named; with the translation page.
    reported: Vec<(Page, u32)>,
}

impl Lost {
    pub(super) fn new(gone_bad: u64) -> Self {
        Self { gone_bad, learnt: BTreeMap::new(), reported: Vec::new() }
    }

    /// Those bad pages were programmed before this as well.
    pub(super) fn and_before(&mut self, gone_bad: u64) {
        self.gone_bad = self.gone_bad.max(gone_bad);
    }

    /// Whether there may have been a newer version of this translation page than any that is found.
    pub(super) fn is_in_doubt(&self, translation: &TranslationPages, part: u32) -> bool {
        translation.newest_of(part).is_none_or(|version| version.is_programmed_before(self.gone_bad))
    }

    pub(super) fn knows(&self, key: LogicalPage) -> bool {
        self.learnt.contains_key(&key.0)
    }

    /// A page of a translation page that is in doubt; the one that is stale by that, if any.
    pub(super) fn learn(&mut self, found: &FoundPage) -> Option<Page> {
        debug_assert_eq!(found.spare.kind, Kind::User, "it is no user page");
        let order = |found: &FoundPage| (found.spare.version, found.spare.seq);
        match self.learnt.entry(found.spare.key) {
            Entry::Vacant(slot) => {
                slot.insert(*found);
                None
            }
            Entry::Occupied(mut slot) if order(slot.get()) < order(found) => Some(slot.insert(*found).page),
            Entry::Occupied(_) => Some(found.page),
        }
    }

    /// The pages that will be written into translation pages, if they are not stale in Gecko.
    pub(super) fn learnt_pages(&self) -> impl Iterator<Item = Page> + '_ {
        self.learnt.values().map(|found| found.page)
    }

    /// The logical pages of which a page is learnt, ascending.
    pub(super) fn learnt_keys(&self) -> impl Iterator<Item = LogicalPage> + '_ {
        self.learnt.keys().copied().map(LogicalPage)
    }

    /// Pages that are stale in Gecko do not count.
    pub(super) fn forget_stale(&mut self, places: &Places) {
        self.learnt.retain(|_, found| !places.is_stale(found.page));
    }

    /// Whether this page was learnt.
    pub(super) fn has_learnt(&self, key: LogicalPage, page: Page) -> bool {
        self.learnt.get(&key.0).is_some_and(|found| found.page == page)
    }

    /// A page was copied; its copy is learnt where it was.
    pub(super) fn copied(&mut self, (key, page): (LogicalPage, Page), to: Page) {
        let learnt = self.learnt.get_mut(&key.0).filter(|found| found.page == page);
        learnt.into_iter().for_each(|found| found.page = to);
    }

    /// A logical page that is known otherwise; the page that was learnt, if any.
    pub(super) fn forget(&mut self, key: LogicalPage) -> Option<Page> {
        self.learnt.remove(&key.0).map(|found| found.page)
    }

    pub(super) fn bytes(&self) -> u64 {
        // A node of the tree holds up to eleven.
        (self.learnt.len() * size_of::<(u32, FoundPage)>() * 3 / 2
            + self.reported.capacity() * size_of::<(Page, u32)>()) as u64
    }
}

impl GeckoGathered {
    /// Of the user pages that were written before `after` those that may have been in translation pages in doubt.
    pub(super) fn scan_for_lost<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        after: u64,
    ) {
        let Some(mut lost) = self.lost.take() else { return };
        let blocks: Vec<Block> = self.bid.user_blocks().collect();
        self.scratch += blocks.capacity() * size_of::<Block>();
        for block in blocks {
            let mut pages = self.bid.pages_of(drive, block);
            // One that some cut has torn may say that it is the newest.
            if let Some(last) = pages.last()
                && matches!(LastPage::read(&self.bid, drive, last), LastPage::Bad)
            {
                pages.pop();
            }
            for found in pages {
                let (spare, key) = (&found.spare, LogicalPage(found.spare.key));
                // Younger pages have been looked at.
                if spare.kind != Kind::User || key.0 >= drive.ftl.shape.logical_pages || spare.seq > after {
                    continue;
                }
                let part = drive.ftl.mapping.part_of(key);
                let known = translation.newest_of(part).map_or(0, |version| version.synchronized);
                if spare.seq > known && lost.is_in_doubt(translation, part) {
                    let is_found = drive.ftl.mapping.found(key).is_some();
                    let stale = if is_found { Some(found.page) } else { lost.learn(&found) };
                    // Should the younger one turn bad.
                    self.older.extend(is_found.then_some(found));
                    lost.reported.extend(stale.map(|page| (page, part)));
                    self.reports.extend(stale);
                }
            }
        }
        self.lost = Some(lost);
    }

    /// Writes translation pages anew whose content differs from the version found. Pages that this makes stale are
    /// reported to Gecko later: erases have to be reported first.
    pub(super) fn write_lost<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        emptied: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        let Some(lost) = self.lost.take().filter(|_| drive.keeps(Barrier::LostVersionsLookedFor)) else {
            return Ok(());
        };
        let Some(places) = &self.places else { return Ok(()) };
        self.scratch += lost.bytes() as usize;
        let geometry = drive.geometry();
        // What Gecko knew is no news.
        debug_assert!(self.reports.is_sorted(), "reports are looked up in no order");
        let is_told = |page: &Page| self.reports.binary_search(page).is_ok();
        let mut news: BTreeSet<u32> =
            lost.reported.iter().filter(|(page, _)| is_told(page)).map(|(_, part)| *part).collect();
        news.extend(translation.replaced_in_doubt(lost.gone_bad));
        for part in 0..drive.ftl.mapping.parts() {
            let is_in_doubt = lost.is_in_doubt(translation, part);
            if !is_in_doubt && !news.contains(&part) {
                continue;
            }
            let synchronized = translation.newest_of(part).map_or(0, |version| version.synchronized);
            let of_part = lost.learnt.range(drive.ftl.mapping.range_of(part));
            let learnt: Vec<(LogicalPage, Page)> =
                of_part.map(|(key, found)| (LogicalPage(*key), found.page)).collect();
            let is_gone = |page| is_in_doubt && places.is_gone(&geometry, page, synchronized);
            drive.let_go_if_out_of_blocks(emptied);
            drive.write_mapping(|paged, io, before| {
                paged.restore_part(io, part, &learnt, news.contains(&part), is_gone, before)
            })?;
        }
        Ok(())
    }
}
