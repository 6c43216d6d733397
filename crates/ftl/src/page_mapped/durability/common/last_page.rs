//! The last page of a block: it may have been in flight when the power failed.
//!
//! Only its data show whether it holds what its spare area says.

use super::blocks_information::BlocksInformation;
use super::mount::{FoundPage, Mount};
use crate::barriers::{Barrier, Barriers};
use crate::medium::Owned;
use crate::page_mapped::mapping::Mapping;
use crate::page_mapped::validity::Validity;
use phelsuma_nand::{Nand, PageRead};

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
