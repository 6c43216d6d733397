//! Future knowledge: pages are sorted by how long they still have to live, which the host says with each write
//! ([`Hint::Death`](crate::Hint::Death)). What this reaches is a bound for all that only guess.
//!
//! **No real FTL has this**, and whatever is put together with it counts as an oracle.
//!
//! Windows are spaced as powers: window 0 is for pages that live on for less than a least lifetime, each window after it
//! reaches `spread` times as far, and the last one is for all that live longer, and those of which nothing is known. What
//! collection moves is sorted by what it has left then. With `victim=oracle` those blocks are collected whose pages have
//! long to live and little space to them (`victim/oracle.rs`).
//!
//! When pages die is kept in RAM by physical page (`blocks/deaths.rs`). After a power cut nothing is known, and
//! everything that is not written again is in the last window.

use super::{Asks, HostWrite, MovedPage, Placement};
use crate::blocks::{View, Wants};
use crate::ftl::Hint;
use crate::{ORACLE_WINDOWS_MAX, RamLedger};
use alloc::boxed::Box;

/// A stream for each window.
#[derive(Clone)]
pub(crate) struct Oracle {
    windows: u8,
    /// By window but the last: lifetimes below are in it, in pages that the host writes.
    below: [u64; ORACLE_WINDOWS_MAX],
}

impl Oracle {
    /// The last but one window ends at `reach` percent of the logical pages, each one before it ends sooner by `spread`
    /// percent of its own length, 100 being twice.
    pub(crate) fn new(windows: u8, reach: u32, spread: u32, logical_pages: u32) -> Self {
        let mut below = [u64::MAX; ORACLE_WINDOWS_MAX];
        let mut end = u64::from(logical_pages) * u64::from(reach) / 100;
        for window in (0..usize::from(windows) - 1).rev() {
            below[window] = end.max(1);
            end = end * 100 / (100 + u64::from(spread));
        }
        Self { windows, below }
    }

    fn window(&self, left: Option<u64>) -> u8 {
        let left = left.unwrap_or(u64::MAX);
        let all = &self.below[..usize::from(self.windows) - 1];
        all.iter().position(|below| left < *below).unwrap_or(all.len()) as u8
    }
}

impl Placement for Oracle {
    fn streams(&self) -> u8 {
        self.windows
    }

    fn wants(&self) -> Wants {
        Wants { deaths: true, ..Wants::default() }
    }

    fn asks(&self) -> Asks {
        Asks { pages: true, ..Asks::default() }
    }

    fn host(&mut self, _view: &View<'_>, write: &HostWrite) -> u8 {
        self.window(match write.hint {
            Hint::Death(left) => Some(left),
            Hint::None | Hint::Class(_) => None,
        })
    }

    fn moved(&mut self, _view: &View<'_>, page: &MovedPage) -> u8 {
        self.window(page.left)
    }

    fn recovered(&self) -> u8 {
        self.windows - 1
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.windows", u64::from(self.windows) * 8);
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_reach_each_twice_as_far() {
        let oracle = Oracle::new(4, 200, 100, 400);
        assert_eq!(oracle.below[..3], [200, 400, 800]);
        let windows = [0, 199, 200, 399, 400, 799, 800, u64::MAX].map(|left| oracle.window(Some(left)));
        assert_eq!(windows, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(oracle.window(None), 3);
        // Of a drive of next to no pages.
        let oracle = Oracle::new(16, 100, 900, 2);
        assert_eq!((oracle.window(Some(0)), oracle.window(Some(2))), (0, 15));
    }
}
