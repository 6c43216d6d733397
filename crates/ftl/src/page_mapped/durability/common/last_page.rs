//! The last page of a block: it may have been in flight when the power failed.
//!
//! Only its data show whether it holds what its spare area says.

use super::blocks_information::BlocksInformation;
use super::mount::{FoundPage, Mount};
use crate::barriers::{Barrier, Barriers};
use crate::medium::Owned;
use crate::page_mapped::mapping::Mapping;
use crate::page_mapped::validity::Validity;
use alloc::vec::Vec;
use phelsuma_nand::{Kind, Nand, Page, PageRead};

/// The data of a block's last page, if they are what its spare area says.
pub(crate) fn last_page_data(
    read: PageRead<'_>,
    barriers: Barriers,
    is_suspect: impl FnOnce() -> bool,
) -> Option<Owned> {
    match read {
        PageRead::Written { content, .. } if !barriers.keeps(Barrier::SuspectsVerified) => Some(Owned::of(content)),
        PageRead::Written { content, .. } if !barriers.keeps(Barrier::OldLastPagesVerified) && !is_suspect() => {
            Some(Owned::of(content))
        }
        read => read.verified().map(|(content, _)| Owned::of(content)),
    }
}

/// A suspect user page: read in full, and sound by now.
pub(crate) struct Suspect {
    pub(crate) found: FoundPage,
    pub(crate) data: Owned,
}

/// Of these suspect pages those that may come to count where others turn bad, of which some `is_newest`. Of copies of one
/// content it is the first and the last but one: the host may have been told that it is safe, and it is then, whatever
/// became of the copies that recoveries made.
///
/// While operations of other dies are in flight, a logical page may be written several times, and all but the last
/// acknowledged. So those count as well that a suspect has replaced, back to the version and seq of the newest that is
/// `sure`.
pub(crate) fn suspects_that_may_count(
    suspects: &[Suspect],
    metadata: &[FoundPage],
    is_newest: impl Fn(&FoundPage) -> bool,
    sure: impl Fn(u32) -> (u64, u64),
) -> Vec<Page> {
    let users = || suspects.iter().map(|suspect| suspect.found);
    let mut all: Vec<FoundPage> = users().chain(metadata.iter().copied()).collect();
    let content = |found: &FoundPage| (found.spare.kind, found.spare.key, found.spare.version);
    all.sort_unstable_by_key(|found| (content(found), found.spare.seq));
    let is_replaced = |FoundPage { spare, .. }: &FoundPage| {
        spare.kind == Kind::User
            && users().any(|newest| newest.spare.key == spare.key && is_newest(&newest))
            && (spare.version, spare.seq) > sure(spare.key)
    };
    let mut pages = Vec::new();
    for copies in all.chunk_by(|a, b| content(a) == content(b)) {
        let last = &copies[copies.len() - 1];
        let is_in_use = copies.iter().any(&is_newest);
        if is_in_use || is_replaced(last) {
            pages.extend([copies[0].page, copies[copies.len().saturating_sub(2)].page]);
            pages.extend((!is_in_use).then_some(last.page));
        }
    }
    pages
}

/// What reading a block's last page in full has shown.
pub(crate) enum LastPage {
    /// Some cut has torn it.
    Bad,
    /// It holds what it says, and was safe before the last cut.
    Sound,
    /// It holds what it says. So far it is suspect from the last cut: this may have been the last time that it reads
    /// well.
    MayHaveBeenInFlight(Owned),
}

impl LastPage {
    pub(crate) fn read<M: Mapping, V: Validity, N: Nand>(
        bid: &BlocksInformation,
        drive: &mut Mount<'_, M, V, N>,
        last: &FoundPage,
    ) -> Self {
        drive.steps.report.last_pages += 1;
        let barriers = drive.ftl.blocks.barriers();
        let is_suspect = || bid.may_have_been_in_flight(&last.spare);
        match last_page_data(drive.read_page(last.page), barriers, is_suspect) {
            None => {
                drive.steps.report.last_pages_bad += 1;
                Self::Bad
            }
            Some(data) if is_suspect() => Self::MayHaveBeenInFlight(data),
            Some(_) => Self::Sound,
        }
    }
}
