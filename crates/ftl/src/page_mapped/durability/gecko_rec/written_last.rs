//! Step 6 of GeckoRec: the entries of the user pages written last (GeckoFTL section 4.3).
//!
//! Pages are visited in the reverse of the order in which they were programmed, though several blocks were open at a
//! time. So of each logical page the newest comes first. An older one is stale, and perhaps only Gecko's buffer had it.
//! The newest is an entry that was dirty if it was written after its translation page was synchronized.
//!
//! Otherwise the translation page has it or has overruled it. If that was synchronized before the last flush of Gecko's
//! buffer there is nothing to do: pages that were stale then were reported, and are on flash. If it was synchronized
//! since, a trim may have overruled the page, and only the buffer had it as stale. The paper has no trims.

use super::gathered::{GeckoDrive, GeckoGathered};
use super::translation::TranslationPages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::durability::common::{BlockInformation, FoundPage, LastPage, Silent, Suspect};
use crate::page_mapped::mapping::{Mapping, Place};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, SpareRead};

/// The pages that are in translation pages synchronized since the last flush: by those, then by logical page.
pub(super) type Settled = BTreeMap<(u32, LogicalPage), Page>;

/// A block whose pages are yet to be looked at.
struct Unread {
    block: Block,
    /// No page in it was programmed later.
    last_seq: u64,
}

impl GeckoGathered {
    pub(super) fn scan_user<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        scan_from: ScanFrom,
        translation: &TranslationPages,
        blocks: &[BlockInformation],
    ) -> Result<Settled, FtlError> {
        let geometry = drive.geometry();
        let mut unread: Vec<Unread> = Vec::new();
        for BlockInformation { block, first_seq } in blocks.iter().copied() {
            let end = geometry.page(block, geometry.pages_per_block() - 1);
            let last_seq = match drive.read_spare(end) {
                SpareRead::Written(spare) => spare.seq,
                // Still open when the power failed, or closed after it.
                SpareRead::Erased | SpareRead::Unreadable => u64::MAX,
            };
            if last_seq > scan_from.after && first_seq >= scan_from.oldest_open {
                unread.push(Unread { block, last_seq });
            }
        }
        unread.sort_unstable_by_key(|block| block.last_seq);

        // By the seq of the next page of each block that is being read.
        let mut next: BinaryHeap<(u64, usize)> = BinaryHeap::new();
        let mut reading: Vec<Vec<FoundPage>> = Vec::new();
        let mut settled = Settled::new();
        let mut looked_at = u64::MAX;
        loop {
            while let Some(block) = unread.pop_if(|block| next.peek().is_none_or(|(seq, _)| block.last_seq > *seq)) {
                let pages = self.pages_to_look_at(drive, translation, block.block, scan_from);
                if let Some(last) = pages.last() {
                    let slot = reading.iter().position(Vec::is_empty).unwrap_or(reading.len());
                    next.push((last.spare.seq, slot));
                    if slot == reading.len() {
                        reading.push(pages);
                    } else {
                        reading[slot] = pages;
                    }
                }
            }
            let Some((seq, slot)) = next.pop() else { break };
            debug_assert!(seq < looked_at, "pages are not looked at in the reverse of program order");
            looked_at = seq;
            if let Some(found) = reading[slot].pop() {
                debug_assert_eq!(found.spare.seq, seq, "another page is looked at");
                self.scanned += 1;
                self.enter(drive, translation, &found, &mut settled)?;
            }
            if let Some(found) = reading[slot].last() {
                next.push((found.spare.seq, slot));
            }
        }
        self.scratch += (reading.len() as u32 * geometry.pages_per_block()) as usize * size_of::<FoundPage>();
        Ok(settled)
    }

    /// The rest of step 6, once all pages are learnt that only lost translation pages had.
    pub(super) fn settle<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        mut settled: Settled,
    ) {
        self.settle_what_runs_have(drive, &mut settled);
        self.scratch += settled.len() * 2 * size_of::<(u32, LogicalPage, Page)>();
        // What runs have of them: each as looked up, and with the answer.
        self.scratch += usize::from(drive.ftl.mapping.has_log()) * settled.len() * 4 * size_of::<u32>();
        self.report_what_was_trimmed(drive, translation, &settled);
    }

    /// The pages of a block that were written since, in order. Those behind its last one are reported.
    fn pages_to_look_at<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        block: Block,
        scan_from: ScanFrom,
    ) -> Vec<FoundPage> {
        let geometry = drive.geometry();
        let mut pages = self.bid.pages_of(drive, block);
        if let Some(last) = pages.last().copied() {
            match LastPage::read(&self.bid, drive, &last) {
                LastPage::Bad if drive.is_named(&last, |part| translation.synchronized(part)) => {}
                LastPage::Bad => drop(pages.pop()),
                LastPage::Sound => {}
                LastPage::MayHaveBeenInFlight(data) => self.suspects.push(Suspect { found: last, data }),
            }
        }
        // A page that was never written, or is torn, is not live; unless it has gone bad since, which is looked at
        // later.
        self.silent.extend(drive.silent_behind(block, pages.last()));
        let end = pages.last().map_or(0, |last| geometry.index_of(last.page) + 1);
        self.reports.extend((end..geometry.pages_per_block()).map(|index| geometry.page(block, index)));
        // Neither is what an erase has made blank that was cut.
        let mut readable = pages.iter().peekable();
        let mut after = 0;
        for page in (0..end).map(|index| geometry.page(block, index)) {
            if let Some(found) = readable.next_if(|found| found.page == page) {
                after = found.spare.seq;
                continue;
            }
            match drive.read_spare(page) {
                SpareRead::Erased => self.reports.push(page),
                SpareRead::Unreadable => self.unreadable.push(Silent { page, after }),
                SpareRead::Written(_) => {}
            }
        }
        debug_assert!(readable.next().is_none(), "a page of {block} was passed by");
        pages.retain(|FoundPage { spare, .. }| {
            spare.kind == Kind::User && spare.key < drive.ftl.shape.logical_pages && spare.seq > scan_from.after
        });
        pages
    }

    /// Looks at a page; those programmed later have been.
    fn enter<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        found: &FoundPage,
        settled: &mut Settled,
    ) -> Result<(), FtlError> {
        let key = LogicalPage(found.spare.key);
        let part = drive.ftl.mapping.part_of(key);
        let is_learnt = self.lost.as_ref().is_some_and(|lost| lost.knows(key));
        if drive.ftl.mapping.found(key).is_some() || settled.contains_key(&(part, key)) || is_learnt {
            if drive.keeps(Barrier::OlderCopiesReported) {
                self.reports.push(found.page);
            }
            self.older.push(*found);
            return Ok(());
        }
        let synchronized = translation.newest_of(part).map_or(0, |version| version.synchronized);
        let known_until = drive.ftl.mapping.known_until(synchronized);
        let is_younger = found.spare.seq > known_until || !drive.keeps(Barrier::SynchronizedIsKnown);
        // What is younger than the runs of a log fits into the cache. Of the rest they may have left out what was folded
        // into a version that is lost.
        let only_lost_has_it = match drive.ftl.mapping.has_log() {
            true => !is_younger && found.spare.seq > synchronized,
            false => is_younger,
        };
        if only_lost_has_it && let Some(lost) = self.lost.as_mut().filter(|lost| lost.is_in_doubt(translation, part)) {
            lost.learn(found);
            return Ok(());
        }
        if is_younger {
            return drive.ftl.mapping.enter_found(key, found.page);
        }
        if drive.ftl.mapping.has_log() || translation.is_since_flush(part) || self.is_suspect(translation, part) {
            settled.insert((part, key), found.page);
        }
        Ok(())
    }

    /// Of the pages that were learnt, those of which runs of a log have entries are none of a lost version.
    fn settle_what_runs_have<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, settled: &mut Settled) {
        let Some(lost) = self.lost.as_mut().filter(|_| drive.ftl.mapping.has_log()) else { return };
        let mut learnt: Vec<LogicalPage> = lost.learnt_keys().collect();
        self.scratch += learnt.capacity() * size_of::<LogicalPage>();
        drive.read_mapping(|paged, io| paged.look_up_for_judging(io, learnt.iter().copied()));
        learnt.retain(|key| drive.ftl.mapping.place_in_runs(*key).is_some());
        for key in learnt {
            let part = drive.ftl.mapping.part_of(key);
            settled.extend(lost.forget(key).map(|page| ((part, key), page)));
        }
    }

    /// Whether the newest version of a translation page is suspect.
    fn is_suspect(&self, translation: &TranslationPages, part: u32) -> bool {
        translation.newest_of(part).is_some_and(|version| {
            let suspect = self.suspect_metadata.iter().find(|found| found.page == version.page);
            suspect.is_some_and(|found| self.bid.may_have_been_in_flight(&found.spare))
        })
    }

    /// What translation pages that were synchronized since the last flush do not name any more, or runs of a log. Should
    /// such a one turn bad, it was not trimmed.
    fn report_what_was_trimmed<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        translation: &TranslationPages,
        settled: &Settled,
    ) {
        let settled: Vec<(u32, LogicalPage, Page)> =
            settled.iter().map(|((part, key), page)| (*part, *key, *page)).collect();
        // All at once: a page of a run has entries of many translation pages.
        drive.read_mapping(|paged, io| paged.look_up_for_judging(io, settled.iter().map(|(_, key, _)| *key)));
        for of_part in settled.chunk_by(|(a, ..), (b, ..)| a == b) {
            let part = of_part[0].0;
            let version = translation.newest_of(part).map(|version| version.page);
            let trimmed: Option<Vec<(LogicalPage, Page)>> = drive.read_mapping(|paged, io| {
                let is_elsewhere = of_part.iter().any(|(_, key, _)| paged.place_in_runs(*key).is_none());
                let bytes = match is_elsewhere {
                    true => paged.entries_without_log(io, part, version)?.to_vec(),
                    false => Vec::new(),
                };
                let place = |key| paged.place_in_runs(key).unwrap_or_else(|| paged.place_in(&bytes, key));
                let trimmed = of_part.iter().filter(|(_, key, page)| place(*key) != Place::At(*page));
                Some(trimmed.map(|(_, key, page)| (*key, *page)).collect())
            });
            let Some(trimmed) = trimmed else { continue };
            let is_suspect = self.is_suspect(translation, part);
            for (key, page) in trimmed {
                if is_suspect || self.is_trimmed_by_suspects(key) {
                    self.fallbacks.push(page);
                }
                self.reports.push(page);
            }
        }
        drive.ftl.mapping.forget_looked_up();
    }
}
