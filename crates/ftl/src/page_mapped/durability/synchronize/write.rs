//! The writes of a recovery that synchronizes: copies of suspect pages, then translation pages.

use super::found::FoundEntries;
use super::gathered::{Gathered, PagedDrive};
use super::live_by::LiveBy;
use super::translation::Translation;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::BlockUse;
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::common::FoundPage;
use crate::page_mapped::mapping::Mapping;
use crate::page_mapped::validity::Validity;
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Nand};

impl<L: LiveBy> Gathered<L> {
    /// See [`Mount::write_in_need`](crate::page_mapped::durability::common::Mount::write_in_need).
    pub(super) fn write_in_need<R, N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        holding: &mut Vec<Block>,
        write: impl FnMut(&mut PagedDrive<'_, L::Store, N>) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        let let_go = |drive: &mut PagedDrive<'_, L::Store, N>, holding: &mut Vec<Block>| {
            self.live_by.gives_up(drive, holding);
            drive.let_go(holding);
        };
        drive.write_in_need(holding, let_go, write)
    }

    /// The newest version of each translation page is the table's. Nothing rests on the nodes of a tree above them:
    /// every recovery makes them anew.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn enter_translation_pages<N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        translation: &Translation,
        holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        for (part, version) in translation.newest() {
            drive.ftl.mapping.enter_translation_page(part, version.page);
        }
        self.write_in_need(drive, holding, |drive| drive.mapping(|paged, io| paged.build(io).map(drop)))
    }

    /// Suspect pages go to fresh pages, before anything is written that rests on them.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn copy_suspects<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        found: &mut FoundEntries,
        holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if !drive.keeps(Barrier::SuspectsCopied) {
            return Ok(());
        }
        L::copy_suspects(self, drive, holding)?;
        for suspect in &self.suspect_translation {
            let pages = [suspect.page];
            self.write_in_need(drive, holding, |drive| {
                drive.write_mapping(|paged, io, _| paged.copy_pages(io, &pages))
            })?;
        }
        // Chosen before the first copy is written: copies go to blocks where stale suspects stood.
        self.suspects.retain(|suspect| found.place_of(suspect.found.spare.key) == Some(suspect.found.page));
        // They do not wait for each other.
        let at = drive.steps.now;
        for suspect in &self.suspects {
            let FoundPage { page, spare } = suspect.found;
            let to = self.write_in_need(drive, holding, |drive| {
                drive.copy_user_page(&spare, &suspect.data, SpareMarks::of(&spare), at)
            })?;
            drive.ftl.validity.validate(to);
            found.copied(spare.key, to);
            drive.drop_entered(page);
            drive.hear_news()?;
        }
        drive.hear_news()
    }

    /// Dangling entries are among those to be synchronized.
    pub(crate) fn add_lost(&mut self, found: &mut FoundEntries) {
        self.lost.sort_unstable();
        found.add_lost(&self.lost);
    }

    /// Everything is on flash, so that these blocks need not be held any more. The RAM of the recovery.
    pub(crate) fn end<N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        until_synchronized: Vec<Block>,
        translation: &Translation,
        found: &FoundEntries,
    ) -> u64 {
        for block in until_synchronized {
            drive.ftl.blocks.release(block);
        }
        drive.mapping(|paged, io| paged.nothing_is_dirty(io));
        drive.wait_for_programs();
        drive.steps.report.lost_entries = self.lost.len() as u64;
        self.bytes() + translation.bytes() + found.bytes()
    }
}

impl<V: Validity, N: Nand> PagedDrive<'_, V, N> {
    /// Writes all that was found into translation pages.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn synchronize_found(&mut self, found: &FoundEntries) -> Result<(), FtlError> {
        let paged = &self.ftl.mapping;
        for group in found.groups(|key| paged.part_of(LogicalPage(key))) {
            self.gather_part_filled()?;
            let entries = found.in_group(&group).iter().map(|entry| (entry.key, entry.place));
            let scan_from = found.scan_from(group.oldest);
            self.write_mapping(|paged, io, _| paged.synchronize_found(io, group.part, entries, scan_from))?;
            self.hear_news()?;
        }
        Ok(())
    }

    /// Where next to nothing is free, gathers the live pages of the emptiest blocks of metadata: cuts of earlier
    /// recoveries leave part-filled ones.
    ///
    /// # Errors
    /// No block is left.
    pub(super) fn gather_part_filled(&mut self) -> Result<(), FtlError> {
        let geometry = self.geometry();
        while self.ftl.blocks.emergency() {
            let blocks = &self.ftl.blocks;
            let live = |block: &Block| u32::from(blocks.counters.live(*block));
            let emptiest = (0..geometry.blocks())
                .map(Block)
                .filter(|block| blocks.use_of(*block) == BlockUse::Closed)
                .filter(|block| blocks.is_metadata(blocks.stream_of(*block)))
                .min_by_key(live);
            let Some(victim) = emptiest.filter(|block| 2 * live(block) <= geometry.pages_per_block()) else { break };
            let stream = blocks.stream_of(victim);
            self.ftl.blocks.begin_collection(victim);
            self.ftl.victim.taken(&self.ftl.blocks.counters, victim);
            if stream == self.ftl.streams.mapping {
                self.write_mapping(|paged, io, _| paged.relocate(io, victim))?;
            } else {
                debug_assert_eq!(stream, self.ftl.streams.validity, "{victim} is of no stream of metadata");
                self.write_validity(|store, io| store.relocate(io, victim))?;
            }
            self.hear_news()?;
            debug_assert_eq!(self.ftl.blocks.counters.live(victim), 0, "{victim} is not empty");
            self.ftl.blocks.release(victim);
        }
        Ok(())
    }
}
