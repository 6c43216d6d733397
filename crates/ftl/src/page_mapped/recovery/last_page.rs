//! The last page of a block: it may have been in flight when the power failed, and only its data tell whether it holds
//! what its spare area says.

use super::Found;
use super::blocks_information::{BlockInformation, BlocksInformation};
use super::steps::{Owned, Steps};
use crate::barriers::{Barrier, Barriers};
use crate::medium::EPOCH;
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::parts::PageMapped;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, PageRead, SpareRead};

/// What reading a block's last page in full has shown.
pub(super) enum LastPage {
    /// Some cut has torn it.
    Bad,
    /// It holds what it says, and was safe before the last cut.
    Sound,
    /// It holds what it says. As far as is known by now it may have been in flight at the last cut: this may have been
    /// the last time that it reads well.
    MayHaveBeenInFlight(Owned),
}

impl LastPage {
    pub(super) fn read<N: Nand>(
        bid: &BlocksInformation,
        barriers: Barriers,
        nand: &mut N,
        steps: &mut Steps,
        last: &Found,
    ) -> Self {
        steps.report.last_pages += 1;
        let data = match steps.read(nand, last.page) {
            PageRead::Written { content, .. } if !barriers.keeps(Barrier::SuspectsVerified) => Some(Owned::of(content)),
            PageRead::Written { content, .. }
                if !barriers.keeps(Barrier::OldLastPagesVerified) && !bid.may_have_been_in_flight(&last.spare) =>
            {
                Some(Owned::of(content))
            }
            read => read.verified().map(|(content, _)| Owned::of(content)),
        };
        match data {
            None => {
                steps.report.last_pages_bad += 1;
                Self::Bad
            }
            Some(data) if bid.may_have_been_in_flight(&last.spare) => Self::MayHaveBeenInFlight(data),
            Some(_) => Self::Sound,
        }
    }
}

/// A page of which nothing can be read, in a block of user pages: some cut has torn it, or the erase of its block, or it
/// has gone bad since.
#[derive(Clone, Copy)]
pub(super) struct Silent {
    pub(super) page: Page,
    /// When the last readable page before it was programmed, in program order; 0 where there is none.
    pub(super) after: u64,
}

impl PageMapped {
    /// The silent pages of a block behind the last one that can be believed, or all of it.
    pub(super) fn silent_behind<N: Nand>(
        &self,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
        last: Option<&Found>,
    ) -> Vec<Silent> {
        let geometry = *nand.geometry();
        let (from, after) = last.map_or((0, 0), |last| (geometry.index_of(last.page) + 1, last.spare.seq));
        let behind = (from..geometry.pages_per_block()).map(|index| geometry.page(block, index));
        // Nothing was programmed behind a page that is blank.
        let written = behind.take_while(|page| steps.read_spare(nand, *page) != SpareRead::Erased);
        written.map(|page| Silent { page, after }).collect()
    }

    /// Such a page anywhere in a block.
    pub(super) fn silent_at<N: Nand>(&self, nand: &mut N, steps: &mut Steps, page: Page) -> Silent {
        let geometry = *nand.geometry();
        let block = geometry.block_of(page);
        let before = (0..geometry.index_of(page)).rev().map(|index| geometry.page(block, index));
        let after = before.map(|page| steps.read_spare(nand, page)).find_map(|read| match read {
            SpareRead::Written(spare) => Some(spare.seq),
            SpareRead::Erased | SpareRead::Unreadable => None,
        });
        Silent { page, after: after.unwrap_or(0) }
    }

    /// Whether a silent page had surely completed before the power failed, so that no cut has torn it: in the same session
    /// a block was begun behind its own. These are blocks of user pages, by when they were begun.
    ///
    /// Or its program failed, and what it should have held was written again elsewhere.
    pub(super) fn has_completed(&self, silent: &Silent, user: &[BlockInformation]) -> bool {
        let geometry = self.blocks.geometry();
        let block = geometry.block_of(silent.page);
        // On each die a stream has one block open, and there is one of user pages. At a recovery the seq skips an epoch.
        let is_one_stream = self.streams.mapping == 1;
        let behind = |other: &BlockInformation| {
            geometry.die_of(other.block) == geometry.die_of(block)
                && other.first_seq > silent.after
                && other.first_seq - silent.after < EPOCH
        };
        is_one_stream && silent.after > 0 && user.iter().any(behind)
    }

    /// Whether a page is not any more what a translation page names that was synchronized then: an erase that was cut has
    /// made it blank, or it is another by now.
    pub(super) fn holds_another<N: Nand>(
        &self,
        nand: &mut N,
        steps: &mut Steps,
        (page, key): (Page, LogicalPage),
        synchronized: u64,
    ) -> bool {
        match steps.read_spare(nand, page) {
            SpareRead::Erased => true,
            SpareRead::Written(spare) => (spare.kind, spare.key) != (Kind::User, key.0) || spare.seq > synchronized,
            // Perhaps it is, and bad.
            SpareRead::Unreadable => false,
        }
    }

    /// Which of these pages translation pages name: they had completed when those were synchronized, so no cut has torn
    /// them. `versions` gives of each translation page the newest version and when that was synchronized; some entries
    /// may be `overruled` by a newer page.
    ///
    /// Reads the translation pages that were synchronized after the oldest of them can have been programmed. Where a cut
    /// has just torn a page that is hardly any.
    pub(super) fn named_among<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        silent: &[Silent],
        versions: impl Iterator<Item = (u32, Page, u64)>,
        overruled: impl Fn(&PagedMapping, LogicalPage) -> bool,
    ) -> Vec<Page> {
        let mut named = Vec::new();
        let Some(oldest) = silent.iter().map(|silent| silent.after).min() else { return named };
        if !self.blocks.keeps(Barrier::SilentLookedUp) {
            return named;
        }
        for (part, version, synchronized) in versions.filter(|(.., synchronized)| *synchronized > oldest) {
            let Some(bytes) = self.read_translation_page(nand, steps, part, version) else { continue };
            // What was synchronized before a page can have been written names what was in its place.
            let after = |page: Page| silent.iter().any(|silent| silent.page == page && silent.after < synchronized);
            let paged = self.paged();
            for key in paged.range_of(part).map(LogicalPage) {
                if let Place::At(page) = paged.place_in(&bytes, key)
                    && after(page)
                    && !overruled(paged, key)
                {
                    named.push(page);
                }
            }
        }
        named.sort_unstable();
        named
    }

    /// Whether a translation page names a user page, where `synchronized` gives of each the newest version and when that
    /// was synchronized. Then it had completed before that: if it cannot be read, no cut has torn it, it has gone bad since.
    pub(super) fn is_named<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        found: &Found,
        synchronized: impl Fn(u32) -> Option<(Page, u64)>,
    ) -> bool {
        if found.spare.kind != Kind::User || found.spare.key >= self.shape.logical_pages {
            return false;
        }
        let key = LogicalPage(found.spare.key);
        let part = self.paged().part_of(key);
        let Some((version, _)) = synchronized(part).filter(|(_, since)| found.spare.seq < *since) else { return false };
        let bytes = self.read_translation_page(nand, steps, part, version);
        bytes.is_some_and(|bytes| self.paged().place_in(&bytes, key) == Place::At(found.page))
    }

    /// The bytes of a translation page.
    pub(super) fn read_translation_page<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        part: u32,
        page: Page,
    ) -> Option<Vec<u8>> {
        steps.with_io(nand, (&mut self.blocks, &mut self.durability), |io| {
            io.read(page, Kind::Translation, part).map(<[u8]>::to_vec)
        })
    }
}
