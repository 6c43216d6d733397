//! The last page of a block: it may have been in flight when the power failed, and only its data tell whether it holds
//! what its spare area says.

use super::blocks_information::BlocksInformation;
use super::steps::{Owned, Steps};
use super::{Found, PageMapped};
use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::mapping::Place;
use alloc::vec::Vec;
use phelsuma_nand::{Kind, LogicalPage, Nand, Page, PageRead};

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
            PageRead::Written { content, .. } if barriers.forget(Barrier::SuspectsVerified) => Some(Owned::of(content)),
            PageRead::Written { content, .. }
                if barriers.forget(Barrier::OldLastPagesVerified) && !bid.may_have_been_in_flight(&last.spare) =>
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

impl PageMapped {
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
        steps.with_io(nand, &mut self.blocks, |io| io.read(page, Kind::Translation, part).map(<[u8]>::to_vec))
    }
}
