//! The last page of a block: it may have been in flight when the power failed, and only its data tell whether it holds
//! what its spare area says.

use super::Found;
use super::blocks_information::BlocksInformation;
use super::steps::{Owned, Steps};
use crate::barriers::{Barrier, Barriers};
use phelsuma_nand::{Nand, PageRead};

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
