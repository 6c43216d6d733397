//! Dangling entries: the page that they name is gone, and its successor cannot be read.
//!
//! GeckoFTL takes no notice of flash that goes bad. The newest page of a dirty entry is its only record. Where that
//! page has gone bad, an older page of the logical page answers. It is the one that the translation page names, or an
//! older one that the scan has met. But that page was stale: Gecko may have it so, and its block may have been written
//! anew. It would be a page of two owners, or be reported as stale once more when it belongs to another. So two kinds
//! of page are no page of an entry any more: those that are stale in Gecko, and those in a block that was begun after
//! the translation page was synchronized. The entry becomes a read error. A page that is not yet stale in Gecko stays:
//! nothing tells it from the newest page.
//!
//! All translation pages are read to look for such entries. The reason is a page in a block written lately that cannot
//! be read, if three conditions hold. Gecko does not have that page as stale, and no translation page names it. And
//! since the page in front of it Gecko was written, or a block of user pages begun. A page that a cut has just torn is
//! hardly ever such a page, and from the next flush on it is stale in Gecko.

use super::gathered::{GeckoDrive, GeckoGathered};
use super::translation::TranslationPages;
use crate::FtlError;
use crate::page_mapped::mapping::{Mapping, Place};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Page};

/// The state of places that entries may name, page by page.
pub(super) struct Places {
    /// By block: the seq of its first page where it holds user pages, 0 where it does not.
    user_since: Vec<u64>,
    /// By physical page: whether Gecko knew it to be stale.
    stale: Vec<u64>,
}

impl Places {
    /// Whether the page that a translation page names which was synchronized then is that page no more.
    pub(super) fn is_gone(&self, geometry: &Geometry, page: Page, synchronized: u64) -> bool {
        if !geometry.contains(page) {
            return true;
        }
        let since = self.user_since[geometry.block_of(page).index()];
        since == 0 || since > synchronized || self.is_stale(page)
    }

    pub(super) fn is_stale(&self, page: Page) -> bool {
        self.stale[page.0 as usize / 64] >> (page.0 % 64) & 1 == 1
    }

    pub(super) fn bytes(&self) -> u64 {
        ((self.user_since.capacity() + self.stale.capacity()) * 8) as u64
    }
}

impl GeckoGathered {
    /// Reads from Gecko which pages are stale, but for blocks that are empty or were begun `since` its last flush. A
    /// Gecko that has lost a page is not believed.
    pub(super) fn look_at_places<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, since: &[Block]) {
        let mut user_since = vec![0; drive.nand.geometry().blocks() as usize];
        for information in self.bid.user_since(drive, 0) {
            debug_assert!(self.bid.holds_user_pages(information.block), "{} holds none", information.block);
            user_since[information.block.index()] = information.first_seq;
        }
        let mut stale = vec![0; drive.nand.geometry().page_numbers().div_ceil(64)];
        if drive.ftl.validity.is_believed() {
            let erased = |block: Block| self.bid.is_empty(block) || since.binary_search(&block).is_ok();
            drive.read_validity(|gecko, io| {
                gecko.stale_pages(io, erased, |page| stale[page.0 as usize / 64] |= 1 << (page.0 % 64));
            });
        }
        self.places = Some(Places { user_since, stale });
    }

    /// Finds entries that name a page that is gone. A page may have gone bad (`has_gone_bad`) that no cut can have
    /// torn. Then entries are also checked for pages that an interrupted erase has made blank.
    pub(super) fn find_dangling<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        has_gone_bad: bool,
    ) {
        let Some(places) = &self.places else { return };
        let geometry = drive.geometry();
        let mut to = None;
        for part in 0..drive.ftl.mapping.parts() {
            let version = translation.synchronized(part);
            let synchronized = drive.ftl.mapping.known_until(version.map_or(0, |(_, synchronized)| synchronized));
            let version = version.map(|(page, _)| page);
            let bytes = drive.read_mapping(|paged, io| paged.entries_of(io, part, version, &mut to));
            for key in drive.ftl.mapping.range_of(part).map(LogicalPage) {
                let paged = &drive.ftl.mapping;
                let is_learnt = || self.lost.as_ref().is_some_and(|lost| lost.knows(key));
                let is_gone = match (paged.found(key), paged.place_in(&bytes, key)) {
                    (Some(Place::At(page)), _) => places.is_stale(page),
                    (None, Place::At(page)) if !is_learnt() => {
                        places.is_gone(&geometry, page, synchronized)
                            || has_gone_bad && drive.holds_another((page, key), synchronized)
                    }
                    _ => false,
                };
                if is_gone {
                    self.dangling.push(key);
                }
            }
        }
    }

    /// Makes them read errors for good.
    pub(super) fn write_dangling<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        emptied: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        let dangling = core::mem::take(&mut self.dangling);
        debug_assert!(dangling.is_sorted_by(|a, b| a < b), "entries of one translation page stand apart");
        self.scratch += dangling.capacity() * size_of::<LogicalPage>();
        let parts: Vec<u32> = dangling.iter().map(|key| drive.ftl.mapping.part_of(*key)).collect();
        let mut from = 0;
        for of_part in parts.chunk_by(|a, b| a == b) {
            let keys = &dangling[from..from + of_part.len()];
            from += of_part.len();
            drive.let_go_if_out_of_blocks(emptied);
            drive.write_mapping(|paged, io, before| paged.lose(io, of_part[0], keys, before))?;
        }
        Ok(())
    }
}
