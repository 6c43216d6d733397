//! Dual Greedy's data separation: hot data, other data that the host writes, and what collection moves (Dual Greedy,
//! section III).
//!
//! A host write ends the lifetime of the copy that it makes stale: from the first page write of the block that holds
//! that copy until now (section III-C, figure 4). Where that is shorter than the threshold, the new data are hot. There
//! are no parameters: the threshold is set anew upon every collection. It is the largest page lifetime of some blocks,
//! from the first page write to the latest loss of a page. These are the [`LOOKED_AT`] blocks of the top level that
//! lost a page longest ago.
//!
//! Where the paper is silent:
//! - **Before the first collection** the threshold is 0, and nothing is hot. So it is after a power cut. Blocks from
//!   before the cut count as having lost nothing (`blocks/notes.rs`), so that the threshold comes from lifetimes that
//!   were seen to end.
//! - **A page without an old copy** (never written, trimmed) has no lifetime, and is not hot.
//! - **An old copy may not be known** to a lazy mapping, if the entry is not cached. (The paper has the table in RAM.)
//!   With `placement.unknown=class` the page is not hot. A cache keeps the entries used last, so a page that it does
//!   not have was not written for long. With `fetch` the translation page is read.
//! - **Blocks of metadata** are in the lists where they are collected like others. Their pages' lifetimes say nothing
//!   of the host's data, and are left out. The blocks count among those examined.
//! - **The threshold is replaced**, not raised, by what a collection finds: "updates the page-lifetime threshold with
//!   the maximum". Where all the blocks examined are of metadata it stays.
//!
//! **Purely random writes** (section V-B) are detected by `randomness.rs` with `placement.on-random=greedy`. The paper
//! says only that it could be done. The victim part is then greedy (`victims/dual_greedy.rs`). Pages go on being
//! sorted, which costs little where it does not matter.

use super::randomness::Randomness;
use super::unknown::UNKNOWN;
use crate::blocks::{View, Wants};
use crate::policy::notes::PurelyRandom;
use crate::policy::{Asks, HostWrite, MovedPage, OldCopy, Placement, PlacementSpec, State};
use crate::spec::Param;
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// Blocks of the top level that the threshold comes from (section III-C: "a fixed number, e.g., 8").
const LOOKED_AT: usize = 8;

const HOT: u8 = 0;
const NON_HOT: u8 = 1;
const GC: u8 = 2;

const ON_RANDOM: Param = Param::words(
    "placement.on-random",
    &["keep", "greedy"],
    "whether victim=dual-greedy is greedy while placement=dual-greedy finds the writes purely random",
);

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "dual-greedy",
    "hot data of the host, other data of the host, moved pages (Dual Greedy)",
    |_| 3,
    |context| {
        let detects = context.is(&ON_RANDOM, "greedy");
        Box::new(DualGreedy::new(detects.then_some(context.logical_pages)))
    },
)
.params(&[UNKNOWN, ON_RANDOM])
.wants(|_| Wants::NOTHING.times().lists())
.asks(|values| match values.is(&UNKNOWN, "fetch") {
    true => Asks::NOTHING.pages().fetches(),
    false => Asks::NOTHING.pages(),
})
.counts_all();

/// Three streams: hot data, other data of the host, and what collection moves.
#[derive(Clone, Preserve)]
struct DualGreedy {
    threshold: u32,
    randomness: Option<Randomness>,
    /// The victim part's view: how it was when the last block was collected.
    shown: PurelyRandom,
    hot_pages: u64,
    unknown_pages: u64,
}

impl DualGreedy {
    /// It detects on a drive of so many logical pages whether the writes are purely random, if at all.
    fn new(detect_on: Option<u32>) -> Self {
        let (randomness, shown) = (detect_on.map(Randomness::new), PurelyRandom::default());
        Self { threshold: 0, randomness, shown, hot_pages: 0, unknown_pages: 0 }
    }
}

impl Placement for DualGreedy {
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        if let Some(randomness) = &mut self.randomness {
            randomness.written(write.page, view.now());
        }
        let OldCopy::Known(block) = write.old else {
            self.unknown_pages += u64::from(write.old == OldCopy::Unknown);
            return NON_HOT;
        };
        let is_hot = view.since_first_write(block) < self.threshold;
        self.hot_pages += u64::from(is_hot);
        if is_hot { HOT } else { NON_HOT }
    }

    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        GC
    }

    fn collecting(&mut self, view: &View<'_>, _victim: Block) -> u32 {
        self.shown = PurelyRandom(self.randomness.as_ref().is_some_and(Randomness::is_random));
        let Some((lists, top)) = view.lists().and_then(|lists| Some((lists, lists.top()?))) else { return 0 };
        let looked_at = lists.level(top).take(LOOKED_AT);
        let is_of_top = |block: Block| u32::from(view.counters().live(block)) == top;
        debug_assert!(looked_at.clone().all(is_of_top), "a block is in another level's list");
        let of_users = looked_at.clone().filter(|block| !view.is_metadata(*block));
        if let Some(longest) = of_users.map(|block| view.largest_lifetime(block)).max() {
            self.threshold = longest;
        }
        looked_at.count() as u32
    }

    fn notes(&self) -> Option<&dyn Any> {
        Some(&self.shown)
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("placement_hot_pages", self.hot_pages));
        out.push(Counter::sum("placement_unknown_pages", self.unknown_pages));
        out.push(Counter::level("placement_lifetime_threshold", self.threshold.into()));
        if let Some(randomness) = &self.randomness {
            randomness.counters(out);
        }
    }
}

impl State for DualGreedy {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.threshold", 4);
        if let Some(randomness) = &self.randomness {
            randomness.ram(ledger);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::scene::Scene;
    use crate::ftl::Hint;
    use phelsuma_nand::LogicalPage;

    fn stream_of(placement: &mut DualGreedy, scene: &Scene, old: OldCopy) -> u8 {
        placement.host(
            &scene.view(),
            &HostWrite { page: LogicalPage(0), old, old_spare: None, old_life: 0, hint: Hint::None },
        )
    }

    #[test]
    fn the_threshold_is_the_largest_lifetime_of_the_eight_stablest_of_the_top_level() {
        let mut placement = DualGreedy::new(None);
        let mut scene = Scene::new(24, 4, 3, SPEC.chosen().wants());
        for block in 0..20 {
            scene.at(block * 10).write(block as u32, 1);
        }
        // Nothing is hot before the first collection, be it as young as it may.
        assert_eq!(stream_of(&mut placement, &scene, OldCopy::Known(Block(19))), NON_HOT);
        // To level 3: blocks 2, 4, 6, 8, 10, 12, 14, 16 at 200, 210 and so on; then 0 and 18.
        for (n, block) in (2..17).step_by(2).enumerate() {
            scene.at(200 + n as u64 * 10).lose(&[block]);
        }
        scene.at(300).lose(&[0]).at(310).lose(&[18]);
        // Lifetimes: 2: 200 - 20 = 180, 4: 210 - 40 = 170, ... the ninth, block 0, would be 300.
        assert_eq!(placement.collecting(&scene.view(), Block(2)), 8);
        assert_eq!(placement.threshold, 180);
        // One at level 2 is the top level from then on: 330 - 180.
        scene.at(330).lose(&[18]);
        assert_eq!(placement.collecting(&scene.view(), Block(18)), 1);
        assert_eq!(placement.threshold, 150);
    }

    #[test]
    fn hot_is_what_lived_shorter_than_the_threshold() {
        let mut placement = DualGreedy::new(None);
        let mut scene = Scene::new(8, 4, 3, SPEC.chosen().wants());
        scene.at(100).write(0, 1).at(250).write(1, 1).at(300).lose(&[0]);
        placement.collecting(&scene.view(), Block(0));
        assert_eq!(placement.threshold, 200, "from 100 to 300");
        // 449 - 250 = 199 lived shorter; 200 did not; and block 0 is older still.
        scene.at(449);
        assert_eq!(stream_of(&mut placement, &scene, OldCopy::Known(Block(1))), HOT);
        assert_eq!(stream_of(&mut placement, &scene, OldCopy::Known(Block(0))), NON_HOT);
        scene.at(450);
        assert_eq!(stream_of(&mut placement, &scene, OldCopy::Known(Block(1))), NON_HOT);
        assert_eq!(stream_of(&mut placement, &scene, OldCopy::None), NON_HOT);
        assert_eq!(stream_of(&mut placement, &scene, OldCopy::Unknown), NON_HOT);
        assert_eq!((placement.hot_pages, placement.unknown_pages), (1, 1));
    }

    #[test]
    fn lifetimes_of_metadata_are_left_out() {
        let mut placement = DualGreedy::new(None);
        let mut scene = Scene::new(8, 4, 3, SPEC.chosen().wants());
        scene.at(0).write(0, 3).at(100).write(1, 0).at(150).write(2, 3);
        scene.at(400).lose(&[0]).at(430).lose(&[1]);
        assert_eq!(placement.collecting(&scene.view(), Block(0)), 2);
        assert_eq!(placement.threshold, 330, "430 - 100, and not 400 - 0");
        // Metadata alone say nothing.
        scene.at(500).lose(&[2, 2]);
        placement.collecting(&scene.view(), Block(2));
        assert_eq!(placement.threshold, 330);
    }
}
