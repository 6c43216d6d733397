//! Future knowledge: pages are sorted by how long they still have to live.
//!
//! The host says that with each write ([`Hint::Death`](crate::Hint::Death)). The result is a bound for all placements
//! that only guess.
//!
//! **No real FTL has this**, and every combination with it counts as an oracle.
//!
//! Windows are spaced as powers. Window 0 is for pages that live on for less than a least lifetime. Each window after
//! it reaches `spread` times as far. The last one is for all that live longer, and for those without a recorded death.
//! Pages that collection moves are sorted by what they have left then. With `victim=oracle` those blocks are collected
//! whose pages have long to live and little space to them (`victims/oracle.rs`).
//!
//! When pages die is kept in RAM by physical page (`policy/notes/deaths.rs`). A power cut loses it, and everything that
//! is not written again is in the last window.

use crate::RamLedger;
use crate::blocks::{View, Wants};
use crate::ftl::Hint;
use crate::policy::notes::Deaths;
use crate::policy::{Asks, Context, HostWrite, Knowledge, MovedPage, Placement, PlacementSpec, Source, State};
use crate::spec::Param;
use alloc::boxed::Box;
use core::any::Any;
use phelsuma_nand::Page;
use phelsuma_nand::state::Preserve;

/// The most windows that there can be.
const WINDOWS_MAX: usize = 32;

const WINDOWS: Param =
    Param::number("oracle.windows", 2, WINDOWS_MAX as u32, 16, "windows of what pages have left to live")
        .shown_together();

const REACH: Param = Param::number(
    "oracle.reach",
    1,
    100_000,
    400,
    "where the last window of oracle begins, of the logical pages written by the host",
)
.unit("percent")
.shown_together();

const SPREAD: Param =
    Param::number("oracle.spread", 1, 900, 50, "by which each window of oracle reaches further than the one before")
        .unit("percent")
        .shown_together();

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "oracle",
    "windows of the time that pages have left to live, which the host says: an oracle",
    |context| context.number(&WINDOWS) as u8,
    |context| Box::new(Oracle::new(context)),
)
.params(&[WINDOWS, REACH, SPREAD])
.wants(|_| Wants::NOTHING.clock())
.asks(|_| Asks::NOTHING.pages().places())
.knows(|_| Knowledge::Deaths);

/// A stream for each window.
#[derive(Clone, Preserve)]
struct Oracle {
    windows: u8,
    /// By window but the last: lifetimes below are in it, in pages that the host writes.
    below: [u64; WINDOWS_MAX],
    deaths: Deaths,
}

impl Oracle {
    /// The last but one window ends at `reach` percent of the logical pages. Each one before it ends sooner by `spread`
    /// percent of its own length, 100 being twice.
    fn new(context: &Context) -> Self {
        let (windows, logical_pages) = (context.number(&WINDOWS) as u8, context.logical_pages);
        let (reach, spread) = (context.number(&REACH), context.number(&SPREAD));
        let mut below = [u64::MAX; WINDOWS_MAX];
        let mut end = u64::from(logical_pages) * u64::from(reach) / 100;
        for window in (0..usize::from(windows) - 1).rev() {
            below[window] = end.max(1);
            end = end * 100 / (100 + u64::from(spread));
        }
        debug_assert!(below.is_sorted(), "a window reaches less far than the one before");
        Self { windows, below, deaths: Deaths::new(context.blocks, context.pages_per_block) }
    }

    /// How much will be written until this page dies, if that is known. One that should have died is going to at once.
    fn left_of(&self, page: Page, now: u64) -> Option<u64> {
        self.deaths.of(page).map(|death| death.saturating_sub(now))
    }

    fn window(&self, left: Option<u64>) -> u8 {
        let left = left.unwrap_or(u64::MAX);
        let all = &self.below[..usize::from(self.windows) - 1];
        all.iter().position(|below| left < *below).unwrap_or(all.len()) as u8
    }
}

impl Placement for Oracle {
    fn host(&mut self, _view: &View<'_>, write: &HostWrite) -> u8 {
        self.window(match write.hint {
            Hint::Death(left) => Some(left),
            Hint::None | Hint::Class(_) | Hint::Handle(_) => None,
        })
    }

    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8 {
        self.window(self.left_of(page.from, view.now()))
    }

    fn placed(&mut self, view: &View<'_>, page: Page, source: Source) {
        let left = match source {
            Source::Host(Hint::Death(left)) => Some(left),
            Source::Host(Hint::None | Hint::Class(_) | Hint::Handle(_)) => None,
            Source::Moved(from) => self.left_of(from, view.now()),
        };
        self.deaths.lives(page, left.and_then(|left| view.now().checked_add(left)));
    }

    fn gone(&mut self, page: Page) {
        self.deaths.dies(page);
    }

    fn recovered(&self) -> u8 {
        self.windows - 1
    }

    fn notes(&self) -> Option<&dyn Any> {
        Some(&self.deaths)
    }
}

impl State for Oracle {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.windows", u64::from(self.windows) * 8);
        self.deaths.enter(ledger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(windows: u32, reach: u32, spread: u32, logical_pages: u32) -> Oracle {
        let chosen = SPEC.chosen().with(0, windows).with(1, reach).with(2, spread);
        Oracle::new(&Context {
            blocks: 8,
            pages_per_block: 4,
            page_bytes: 4096,
            dies: 1,
            logical_pages,
            seed: 1,
            values: *chosen,
        })
    }

    #[test]
    fn windows_reach_each_twice_as_far() {
        let oracle = with(4, 200, 100, 400);
        assert_eq!(oracle.below[..3], [200, 400, 800]);
        let windows = [0, 199, 200, 399, 400, 799, 800, u64::MAX].map(|left| oracle.window(Some(left)));
        assert_eq!(windows, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(oracle.window(None), 3);
        // Of a drive of next to no pages.
        let oracle = with(16, 100, 900, 2);
        assert_eq!((oracle.window(Some(0)), oracle.window(Some(2))), (0, 15));
    }
}
