//! When the host wrote each logical page last, in logical time.
//!
//! This is four bytes a logical page in RAM. Or it is nothing, and the spare area of the old copy is read first.
//!
//! A power cut loses the state in RAM: from then on every page counts as written for the first time, until it is
//! written again.

use crate::RamLedger;
use crate::blocks::{Moments, View};
use crate::policy::HostWrite;
use phelsuma_nand::state::Preserve;

/// Where it is from.
#[derive(Clone, Preserve)]
pub(super) enum LastWrites {
    /// A table. The hand keeps old moments old (`blocks/times.rs`).
    Ram { moments: Moments, began: Option<u64>, hand: usize },
    /// The old copy's spare area.
    Spare,
}

impl LastWrites {
    /// Of so many logical pages, in a table.
    pub(super) fn in_ram(logical_pages: u32) -> Self {
        Self::Ram { moments: Moments::new(logical_pages as usize), began: None, hand: 0 }
    }

    /// The host writes a page: how much it has written since it wrote this one last. None where it did not, or where
    /// there is no record.
    pub(super) fn interval(&mut self, view: &View<'_>, write: &HostWrite) -> Option<u64> {
        let now = view.now();
        match self {
            Self::Spare => write.old_spare.map(|spare| view.age_of_version(spare.version)),
            Self::Ram { moments, began, hand } => {
                let since = *began.get_or_insert_with(|| {
                    moments.forget(now);
                    now
                });
                moments.visit(*hand, now);
                *hand = if *hand + 1 == moments.len() { 0 } else { *hand + 1 };
                let age = u64::from(moments.age(write.page.index(), now));
                moments.set(write.page.index(), now);
                // Writes before this began were not seen.
                (age <= now - since).then_some(age)
            }
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        if let Self::Ram { moments, .. } = self {
            ledger.structure("placement.last_writes", moments.bytes());
        }
    }
}
