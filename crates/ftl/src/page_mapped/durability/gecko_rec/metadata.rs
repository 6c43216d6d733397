//! Steps 2 and 3 of GeckoRec: which pages of metadata there are (GeckoFTL appendix C).

use super::gathered::{GeckoDrive, GeckoGathered};
use super::lost::Lost;
use super::translation::TranslationPages;
use crate::page_mapped::durability::common::{FoundPage, GoneBad, LastPage};
use crate::page_mapped::mapping::Mapping;
use crate::page_mapped::validity::{Validity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Spare};

impl GeckoGathered {
    /// The pages of a block of metadata that can be believed; the last one as well, if it is suspect.
    fn metadata_pages<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        block: Block,
    ) -> (Vec<FoundPage>, Option<FoundPage>) {
        let mut pages = self.bid.pages_of(drive, block);
        let mut suspect = None;
        if let Some(last) = pages.last().copied() {
            match LastPage::read(&self.bid, drive, &last) {
                LastPage::Bad => drop(pages.pop()),
                LastPage::Sound => {}
                LastPage::MayHaveBeenInFlight(data) => {
                    suspect = Some(last);
                    drive.keep(&last, data);
                }
            }
        }
        (pages, suspect)
    }

    pub(super) fn scan_validity<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>) -> ValidityScan {
        let (mut scan, kind) = (ValidityScan::default(), drive.ftl.validity.kind());
        for information in self.bid.validity.clone() {
            let (pages, suspect) = self.metadata_pages(drive, information.block);
            for found in pages.iter().filter(|found| found.spare.kind == kind) {
                scan.note(found.page, &found.spare);
            }
            let gone_bad = self.bid.gone_bad(drive, information.block, &pages);
            if let Some(before) = gone_bad.and_then(|gone_bad| gone_bad.of_kind(kind)) {
                scan.note_gone_bad(before);
            }
            self.suspect_metadata.extend(suspect);
        }
        scan
    }

    pub(super) fn scan_translation<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, frozen: u64) -> TranslationPages {
        let mut translation = TranslationPages::new(
            drive.ftl.mapping.parts(),
            frozen,
            drive.ftl.blocks.wear.is_some(),
            drive.ftl.blocks.barriers(),
        );
        let mut suspects = Vec::new();
        let mut gone_bad: Vec<GoneBad> = Vec::new();
        for information in self.bid.translation.clone() {
            let (pages, suspect) = self.metadata_pages(drive, information.block);
            let gone_bad_here = self.bid.gone_bad(drive, information.block, &pages);
            gone_bad.extend(gone_bad_here);
            for found in pages.iter().filter(|found| found.spare.kind == Kind::MappingLog) {
                self.mapping_log.note(found.page, &found.spare);
            }
            if let Some(before) = gone_bad_here.and_then(|gone_bad| gone_bad.of_kind(Kind::MappingLog)) {
                self.mapping_log.note_gone_bad(before);
            }
            for found in pages.iter().filter(|found| found.spare.kind == Kind::Translation) {
                if suspect.is_none_or(|suspect| suspect.page != found.page) {
                    translation.note(found);
                }
            }
            suspects.extend(suspect.filter(|suspect| suspect.spare.kind == Kind::Translation));
            self.suspect_metadata.extend(suspect);
        }
        translation.sort();
        // What counts should they turn bad: nothing that is older than the newest that is sure. Were that held as well,
        // a run of cuts would leave no block free.
        let counts =
            |found: &FoundPage| translation.newest_of(found.spare.key).is_none_or(|sure| sure.is_before(found));
        for suspect in suspects.iter().filter(|suspect| counts(suspect)) {
            let part = suspect.spare.key;
            let is_behind = |other: &&FoundPage| other.spare.key == part && other.page != suspect.page && counts(other);
            let others = suspects.iter().filter(is_behind);
            let behind = others.map(|other| other.page).chain(translation.newest_of(part).map(|version| version.page));
            self.behind_suspects.extend(behind.map(|page| (suspect.page, page)));
        }
        suspects.iter().for_each(|suspect| translation.note(suspect));
        translation.sort();
        // Where all else is stale as well an erase may have been cut. The two cases look alike. Then no entry changes,
        // but collections may query the mapping from then on for no reason.
        for gone_bad in gone_bad {
            // One that says which translation page it was leaves none in doubt of which there is a newer version.
            let is_newer = |spare: &Spare| {
                let newest = translation.newest_of(spare.key);
                spare.kind == Kind::Translation
                    && newest.is_none_or(|version| version.is_programmed_before(spare.seq + 1))
            };
            let known = gone_bad.known.filter(is_newer).map(|spare| spare.seq + 1);
            let Some(before) = gone_bad.unknown.max(known) else { continue };
            self.lost.get_or_insert(Lost::new(before)).and_before(before);
            // The evidence of this.
            self.fallbacks.push(drive.geometry().page(gone_bad.block, 0));
        }
        translation
    }
}
