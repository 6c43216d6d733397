//! How many pages are live in each block, by the log and by the entries that are to be added to it.

use super::LiveByLog;
use crate::barriers::Barrier;
use crate::page_mapped::durability::common::{BlockInformation, Silent};
use crate::page_mapped::durability::synchronize::found::FoundEntries;
use crate::page_mapped::durability::synchronize::gathered::{Gathered, PagedDrive};
use crate::page_mapped::durability::synchronize::translation::Translation;
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::validity::{PageValidityLog, Validity};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Geometry, LogicalPage, Nand, Page};

/// Of a block: nothing in it was live at the last report to the log.
const FREE: u16 = u16::MAX;

/// The reason to look for dangling entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suspicion {
    /// Pages whose data cannot be read. A cut may have torn each.
    Torn,
    /// A page that no cut can have torn.
    GoneBad,
}

/// What the log is compared with.
struct Told {
    /// Pages that are stale, and may not be so in the log; ascending.
    pages: Vec<Page>,
    /// Of these, the ones of which nothing can be read in blocks that were not looked at.
    in_front: Vec<Silent>,
}

impl Told {
    /// Keeps those that are not in the log, in blocks that it does not take for free.
    fn keep_news(&mut self, log: &mut LiveByLog, geometry: &Geometry, stale: &[u16], known: Vec<bool>) {
        debug_assert_eq!(known.len(), self.pages.len(), "the log has not answered for each page");
        debug_assert!(self.pages.is_sorted(), "pages are asked about in no order");
        let mut known = known.into_iter();
        self.pages.retain(|page| !known.next().unwrap_or(false) && stale[geometry.block_of(*page).index()] != FREE);
        let is_news = |silent: &Silent| self.pages.binary_search(&silent.page).is_ok();
        log.silent.retain(is_news);
        log.unreadable.retain(is_news);
        self.in_front.retain(is_news);
    }
}

impl Gathered<LiveByLog> {
    /// Reads the log, as the paper charges IB-FTL's recovery with: how many pages are live in each block. What is to be
    /// reported to it remains.
    pub(super) fn read_log<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        let geometry = drive.geometry();
        let all = geometry.pages_per_block();
        for (_, version) in translation.newest() {
            drive.ftl.blocks.counters.add(geometry.block_of(version.page));
        }
        let mut told = self.what_to_tell(&geometry);
        // The stale pages of each block, here and in the log, take a counter of two bytes.
        let told_bytes = told.pages.capacity() * (size_of::<Page>() + size_of::<bool>());
        self.live_by.scratch = self.live_by.scratch.max(told_bytes + 4 * geometry.blocks() as usize);
        let mut stale = vec![0u16; geometry.blocks() as usize];
        // All that is known of blocks without user pages is older than their last erase.
        let begun = |block| self.user_since.begun(block);
        let known = drive.read_validity(|log, io| {
            log.block_states(io, begun, &told.pages, |block, state| {
                stale[block.index()] = if state.free { FREE } else { state.stale };
            })
        });
        told.keep_news(&mut self.live_by, &geometry, &stale, known);
        self.leave_named_out(drive, translation, found, &mut told);
        for page in &told.pages {
            stale[geometry.block_of(*page).index()] += 1;
        }
        let log = &mut self.live_by;
        let is_news = |page: &Page| told.pages.binary_search(page).is_ok();
        log.reports.retain(is_news);
        log.unwritten.retain(|from| {
            let block = geometry.block_of(*from);
            (geometry.index_of(*from)..all).any(|index| is_news(&geometry.page(block, index)))
        });
        for BlockInformation { block, .. } in &self.user {
            let stale = stale[block.index()].min(all as u16);
            if stale < all as u16 {
                drive.ftl.blocks.counters.set(*block, all as u16 - stale);
            }
        }
        // A page may have been reported more than once.
        drive.ftl.blocks.counters.may_be_low = true;
        self.look_for_dangling(drive, translation, found);
    }

    /// Pages that are stale, and may not be so in the log.
    fn what_to_tell(&self, geometry: &Geometry) -> Told {
        let log = &self.live_by;
        let mut pages = log.reports.clone();
        for from in &log.unwritten {
            let block = geometry.block_of(*from);
            pages.extend(
                (geometry.index_of(*from)..geometry.pages_per_block()).map(|index| geometry.page(block, index)),
            );
        }
        pages.extend(log.unreadable.iter().map(|silent| silent.page));
        // Also of blocks that were not looked at. The log may have had the report before the first readable page was
        // programmed, which counts as when the block was begun.
        let mut in_front: Vec<Silent> =
            self.bid.unreadable_in_front.iter().map(|page| Silent { page: *page, after: 0 }).collect();
        in_front.retain(|silent| !pages.contains(&silent.page));
        pages.extend(in_front.iter().map(|silent| silent.page));
        pages.sort_unstable();
        pages.dedup();
        Told { pages, in_front }
    }

    /// Of the pages whose data cannot be read those that translation pages name are live.
    fn leave_named_out<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
        told: &mut Told,
    ) {
        let geometry = drive.geometry();
        let log = &mut self.live_by;
        let versions = || translation.newest().map(|(part, version)| (part, version.page, version.synchronized));
        let overruled = |_: &PagedMapping, key: LogicalPage| found.knows(key.0);
        let pages =
            |named: Vec<(Page, LogicalPage)>| -> Vec<Page> { named.into_iter().map(|(page, _)| page).collect() };
        let named = pages(drive.named_among(&log.silent, versions(), overruled));
        if !named.is_empty() {
            log.leave_out(&geometry, &named);
            log.reports.retain(|page| named.binary_search(page).is_err());
            told.pages.retain(|page| named.binary_search(page).is_err());
            // Whose place they took is lost.
            drive.ftl.validity.set_damaged();
        }
        log.silent.retain(|silent| named.binary_search(&silent.page).is_err());
        let unreadable: Vec<Silent> = log.unreadable.iter().chain(&told.in_front).copied().collect();
        let named = pages(drive.named_among(&unreadable, versions(), overruled));
        told.pages.retain(|page| named.binary_search(page).is_err());
        log.unreadable.retain(|silent| named.binary_search(&silent.page).is_err());
        told.in_front.retain(|silent| named.binary_search(&silent.page).is_err());
        log.reports.extend(log.unreadable.iter().chain(&told.in_front).map(|silent| silent.page));
        log.reports.sort_unstable();
        log.reports.dedup();
    }

    /// Looks for dangling entries if there may be any. That takes a page that replaced another, where the log has that
    /// or the other's block was written anew. Such a page is older than the log's last page or the block begun last. Or
    /// an older version of a translation page answers for one that is lost.
    fn look_for_dangling<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        let log = &self.live_by;
        let begun_last = self.user.iter().map(|information| information.first_seq).max().unwrap_or(0);
        let until = log.told_until.max(begun_last);
        let took_a_place = |silent: &Silent| silent.after < until;
        let is_silent = log.silent.iter().chain(&log.unreadable).any(took_a_place);
        let silent = is_silent.then(|| {
            // Those in front of others that can be read are no torn ones.
            let completed = |silent: &Silent| took_a_place(silent) && drive.has_completed(silent, &self.user);
            let has_gone_bad = log.unreadable.iter().any(took_a_place) || log.silent.iter().any(completed);
            if has_gone_bad { Suspicion::GoneBad } else { Suspicion::Torn }
        });
        let older = (0..drive.ftl.mapping.parts()).any(|part| self.may_have_been_newer(translation, part));
        if silent.is_some() || older && drive.keeps(Barrier::OlderVersionsChecked) {
            self.find_dangling(drive, (translation, found), silent);
        }
    }

    /// Finds entries that name a page that is gone, and whose successor cannot be read: the newest page of a dirty
    /// entry is its only record. Two kinds of page are no page of an entry: those that are stale in the log, and those
    /// in a block that was begun after the translation page was synchronized. Such a page would have two owners, or be
    /// reported as stale once more when it belongs to another. A page that is not in the log stays: nothing tells it
    /// from the newest page.
    ///
    /// The log is read once more for it, and all translation pages, or those that are older versions of lost ones. If a
    /// page may have gone bad that no cut can have torn, entries are also checked for pages that an interrupted erase
    /// has made blank.
    fn find_dangling<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        (translation, found): (&Translation, &FoundEntries),
        silent: Option<Suspicion>,
    ) {
        let geometry = drive.geometry();
        let mut stale: Vec<u64> = vec![0; geometry.page_numbers().div_ceil(64)];
        let begun = |block| self.user_since.begun(block);
        drive.read_validity(|log, io| {
            log.stale_pages(io, begun, |page| stale[page.0 as usize / 64] |= 1 << (page.0 % 64));
        });
        self.live_by.scratch = self.live_by.scratch.max(stale.capacity() * 8);
        let is_stale = |page: Page| stale[page.0 as usize / 64] >> (page.0 % 64) & 1 == 1;
        let suspicion = |this: &Self, part| match this.may_have_been_newer(translation, part) {
            true => Some(Suspicion::GoneBad),
            false => silent,
        };
        for entry in found.all().filter(|entry| entry.page().is_some_and(is_stale)) {
            let part = drive.ftl.mapping.part_of(LogicalPage(entry.key));
            self.lost.extend(suspicion(self, part).map(|_| entry.key));
        }
        for (part, version) in translation.newest() {
            let Some(suspicion) = suspicion(self, part) else { continue };
            let Some(bytes) = drive.read_translation_page(part, version.page) else { continue };
            for key in drive.ftl.mapping.range_of(part).filter(|key| !found.knows(*key)) {
                let Place::At(page) = drive.ftl.mapping.place_in(&bytes, LogicalPage(key)) else { continue };
                let since = self.user_since.of(&geometry, page);
                if since == 0
                    || since > version.synchronized
                    || is_stale(page)
                    || suspicion == Suspicion::GoneBad
                        && drive.holds_another((page, LogicalPage(key)), version.synchronized)
                {
                    self.lost.push(key);
                }
            }
        }
    }
}
