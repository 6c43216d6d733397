//! Suspect pages: their copies, and the pages that are needed should one turn bad.

use super::buffer::stale_by;
use super::gathered::{GeckoDrive, GeckoGathered};
use super::lost::Lost;
use super::translation::TranslationPages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::common::{FoundPage, Mount, is_older_copy, suspects_that_may_count};
use crate::page_mapped::mapping::{Mapping, Place};
use crate::page_mapped::validity::{Validity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, SpareRead};

impl GeckoGathered {
    /// Whether a logical page is mapped again should suspect runs turn bad.
    pub(super) fn is_trimmed_by_suspects(&self, key: LogicalPage) -> bool {
        self.trimmed_by_suspects.binary_search(&key).is_ok()
    }

    /// Of the suspect pages keeps those that still are, now that all pages written lately have been found. Finds what
    /// will be needed should one turn bad before it is copied.
    pub(super) fn find_fallbacks<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        (scan, frozen): (&ValidityScan, u64),
        translation: &TranslationPages,
    ) {
        self.suspects.retain(|suspect| self.bid.may_have_been_in_flight(&suspect.found.spare));
        self.suspect_metadata.retain(|found| self.bid.may_have_been_in_flight(&found.spare));
        let mut in_use: Vec<Page> = drive.read_mapping(|paged, io| paged.metadata_pages(io));
        in_use.extend(drive.ftl.validity.metadata_pages());
        in_use.extend(drive.ftl.mapping.found_pages());
        in_use.extend(self.lost.iter().flat_map(Lost::learnt_pages));
        in_use.sort_unstable();
        let is_in_use = |found: &FoundPage| in_use.binary_search(&found.page).is_ok();
        let any_in_use = |kind| self.suspect_metadata.iter().any(|found| found.spare.kind == kind && is_in_use(found));
        if any_in_use(Kind::Translation) {
            let is_suspect = |page: &Page| self.suspect_metadata.iter().any(|found| found.page == *page);
            let behind = self.behind_suspects.iter().filter(|(suspect, _)| is_suspect(suspect));
            self.fallbacks.extend(behind.map(|(_, page)| *page));
            // And what those name: a trim has made it stale. What else a synchronization made stale has a newer copy
            // that the scan has met. One that has decayed since counts as well: as a read error.
            for behind in core::mem::take(&mut self.behind_suspects).chunk_by(|a, b| a.0 == b.0) {
                let page = behind[0].0;
                let found = self.suspect_metadata.iter().find(|found| found.page == page);
                let Some((part, version)) = found.and_then(|found| {
                    let version = translation.newest_of(found.spare.key).filter(|version| version.page == page);
                    Some((found.spare.key, version?))
                }) else {
                    continue;
                };
                let was_its_page =
                    |read, key, before| read == SpareRead::Unreadable || is_older_copy(read, key, before);
                let behind = behind.iter().map(|(_, page)| *page);
                let stale = stale_by(drive, (part, behind, &version), was_its_page);
                self.fallbacks.extend(stale.into_iter().map(|(page, _)| page));
            }
        }
        if any_in_use(Kind::MappingLog) {
            let suspects: Vec<Page> = self.suspect_metadata.iter().map(|found| found.page).collect();
            let scan = self.mapping_log.without(&suspects);
            let needed = drive.read_mapping(|paged, io| paged.log_pages_in_use(io, scan, frozen));
            self.fallbacks.extend(needed);
        }
        if any_in_use(drive.ftl.validity.kind()) {
            let suspects: Vec<Page> = self.suspect_metadata.iter().map(|found| found.page).collect();
            let scan = scan.without(&suspects);
            let needed = drive.read_validity(|gecko, io| gecko.pages_in_use(io, scan));
            self.fallbacks.extend(needed);
        }
        // Of the older pages of a suspect the newest that is no suspect itself.
        let suspects: Vec<Page> = self.suspects.iter().map(|suspect| suspect.found.page).collect();
        let sure = |key| {
            let older = self.older.iter().filter(|older| older.spare.key == key && !suspects.contains(&older.page));
            older.map(|older| ((older.spare.version, older.spare.seq), older.page)).max()
        };
        let in_use = self.suspects.iter().map(|suspect| &suspect.found).filter(|found| is_in_use(found));
        self.fallbacks.extend(in_use.filter_map(|found| Some(sure(found.spare.key)?.1)));
        let order_of_sure = |key| sure(key).map_or((0, 0), |(order, _)| order);
        let may_count = suspects_that_may_count(&self.suspects, &self.suspect_metadata, is_in_use, order_of_sure);
        self.fallbacks.extend(may_count);
    }

    /// Holds the pages that are mapped again should suspect runs or user pages turn bad, where Gecko is not believed: then
    /// it is not said anywhere else which they are.
    pub(super) fn hold_what_suspects_replace<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        frozen: u64,
        translation: &TranslationPages,
    ) {
        let suspects: Vec<Page> = self.suspect_metadata.iter().map(|found| found.page).collect();
        let scan = self.mapping_log.without(&suspects);
        let replacing = self.suspects.iter().map(|suspect| LogicalPage(suspect.found.spare.key));
        let mut keys: Vec<LogicalPage> = replacing.filter(|key| drive.ftl.mapping.found(*key).is_some()).collect();
        keys.extend(&self.trimmed_by_suspects);
        keys.sort_unstable();
        keys.dedup();
        // And a translation page.
        self.scratch += keys.capacity() * size_of::<LogicalPage>() + drive.geometry().page_bytes() as usize;
        let by_runs = drive.read_mapping(|paged, io| paged.named_by_runs(io, scan, (frozen, &keys)));
        self.fallbacks.extend(by_runs);
        let mut bytes = (u32::MAX, None);
        for key in keys {
            let part = drive.ftl.mapping.part_of(key);
            if bytes.0 != part {
                let version = translation.newest_of(part);
                bytes = (part, version.and_then(|version| drive.read_translation_page(part, version.page)));
            }
            if let Some(Place::At(page)) = bytes.1.as_ref().map(|bytes| drive.ftl.mapping.place_in(bytes, key)) {
                self.fallbacks.push(page);
            }
        }
        let geometry = drive.geometry();
        // A table on flash may say anything, with a checksum that fits.
        self.fallbacks.retain(|page| geometry.contains(*page));
    }

    /// Suspect translation pages of which there may have been a newer version. A copy of one would look newer than the
    /// version that is lost, should the power fail before it is written anew.
    pub(super) fn suspects_in_doubt<N: Nand>(
        &self,
        drive: &GeckoDrive<'_, N>,
        translation: &TranslationPages,
    ) -> Vec<Page> {
        let Some(lost) = self.lost.as_ref().filter(|_| drive.keeps(Barrier::SuspectsCopied)) else { return Vec::new() };
        let of_table = self.suspect_metadata.iter().filter(|found| found.spare.kind == Kind::Translation);
        of_table.filter(|found| lost.is_in_doubt(translation, found.spare.key)).map(|found| found.page).collect()
    }

    /// Suspect pages, `but` these, go to fresh pages, before anything is written that rests on them.
    pub(super) fn copy_suspects<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        but: &[Page],
        emptied: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if !drive.keeps(Barrier::SuspectsCopied) {
            return Ok(());
        }
        let suspects = |kind| -> Vec<Page> {
            let of_kind = self.suspect_metadata.iter().filter(|found| found.spare.kind == kind);
            of_kind.map(|found| found.page).filter(|page| !but.contains(page)).collect()
        };
        let of_validity = suspects(drive.ftl.validity.kind());
        drive.write_in_need(emptied, Mount::let_go, |drive| {
            drive.write_validity(|gecko, io| gecko.copy_pages(io, &of_validity))
        })?;
        let of_mapping = [suspects(Kind::Translation), suspects(Kind::MappingLog)].concat();
        drive.write_in_need(emptied, Mount::let_go, |drive| {
            drive.write_mapping(|paged, io, _| paged.copy_pages(io, &of_mapping))
        })?;
        // Chosen before the first copy is written: copies go to blocks where stale pages stood.
        if let (Some(lost), Some(places)) = (&mut self.lost, &self.places) {
            lost.forget_stale(places);
        }
        self.suspects.retain(|suspect| {
            let FoundPage { page, spare } = suspect.found;
            let key = LogicalPage(spare.key);
            let is_learnt = || self.lost.as_ref().is_some_and(|lost| lost.has_learnt(key, page));
            spare.kind == Kind::User && (drive.ftl.mapping.found(key) == Some(Place::At(page)) || is_learnt())
        });
        // They do not wait for each other.
        let at = drive.steps.now;
        for suspect in &self.suspects {
            let FoundPage { page, spare } = suspect.found;
            let key = LogicalPage(spare.key);
            let to = drive.write_in_need(emptied, Mount::let_go, |drive| {
                drive.copy_user_page(&spare, &suspect.data, SpareMarks::of_copy(&spare), at)
            })?;
            drive.ftl.mapping.copied(key, to);
            self.lost.iter_mut().for_each(|lost| lost.copied((key, page), to));
            drive.ftl.before.push(page);
        }
        Ok(())
    }
}
