//! Steps 2 and 3 of GeckoRec: which pages of metadata there are (GeckoFTL appendix C).

use super::Gathered;
use super::lost::Lost;
use super::translation::TranslationPages;
use crate::page_mapped::mapping::Mapping;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::recovery::Found;
use crate::page_mapped::recovery::last_page::LastPage;
use crate::page_mapped::recovery::steps::Steps;
use crate::page_mapped::validity::{Validity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Page};

impl Gathered {
    /// The pages of a block of metadata that can be believed; the last one as well, if it may have been in flight.
    fn metadata_pages<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
    ) -> (Vec<Found>, Option<Found>) {
        let mut pages = self.bid.pages_of(nand, steps, block);
        let mut suspect = None;
        if let Some(last) = pages.last().copied() {
            match LastPage::read(&self.bid, ftl.blocks.barriers(), nand, steps, &last) {
                LastPage::Bad => drop(pages.pop()),
                LastPage::Sound => {}
                LastPage::MayHaveBeenInFlight(data) => {
                    suspect = Some(last);
                    data.keep_for_metadata(ftl, &last);
                }
            }
        }
        (pages, suspect)
    }

    pub(super) fn scan_validity<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
    ) -> ValidityScan {
        let (mut scan, kind) = (ValidityScan::default(), ftl.validity.kind());
        for information in self.bid.validity.clone() {
            let (pages, suspect) = self.metadata_pages(ftl, nand, steps, information.block);
            for found in pages.iter().filter(|found| found.spare.kind == kind) {
                scan.note(found.page, &found.spare);
            }
            if let Some(before) = self.bid.gone_bad_before(nand, steps, &pages) {
                scan.note_gone_bad(before);
            }
            self.suspect_metadata.extend(suspect);
        }
        scan
    }

    pub(super) fn scan_translation<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        frozen: u64,
    ) -> TranslationPages {
        let mut translation =
            TranslationPages::new(ftl.paged().parts(), frozen, ftl.blocks.wear.is_some(), ftl.blocks.barriers());
        let mut suspects = Vec::new();
        let mut gone_bad: Vec<(u64, Page)> = Vec::new();
        for information in self.bid.translation.clone() {
            let (pages, suspect) = self.metadata_pages(ftl, nand, steps, information.block);
            let before = self.bid.gone_bad_before(nand, steps, &pages);
            gone_bad.extend(before.zip(pages.last().map(|last| last.page)));
            for found in pages.iter().filter(|found| found.spare.kind == Kind::Translation) {
                if suspect.is_none_or(|suspect| suspect.page != found.page) {
                    translation.note(found);
                }
            }
            suspects.extend(suspect.filter(|suspect| suspect.spare.kind == Kind::Translation));
            self.suspect_metadata.extend(suspect);
        }
        translation.sort();
        // What counts should they turn bad: nothing that is older than the newest that is sure. Were that held as well, a
        // run of cuts would leave no block free.
        let counts = |found: &Found| translation.newest_of(found.spare.key).is_none_or(|sure| sure.is_before(found));
        for suspect in suspects.iter().filter(|suspect| counts(suspect)) {
            let part = suspect.spare.key;
            let is_behind = |other: &&Found| other.spare.key == part && other.page != suspect.page && counts(other);
            let others = suspects.iter().filter(is_behind);
            let behind = others.map(|other| other.page).chain(translation.newest_of(part).map(|version| version.page));
            self.behind_suspects.extend(behind.map(|page| (suspect.page, page)));
        }
        suspects.iter().for_each(|suspect| translation.note(suspect));
        translation.sort();
        // Where all else is stale as well an erase may have been cut. Nothing tells the one from the other: then no
        // entry comes to something else, but collections may ask the mapping from then on for no reason.
        for (before, last) in gone_bad {
            self.lost.get_or_insert(Lost::new(before)).and_before(before);
            // What tells of this.
            self.fallbacks.push(last);
        }
        translation
    }
}
