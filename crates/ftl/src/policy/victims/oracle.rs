//! Cost-benefit with the future known: the block of the largest L (1 - u) / u.
//!
//! u is the share of its pages that are live and L the mean of what they still have to live.
//!
//! Collecting a block costs its live pages, and gives its other pages free. Those would come free by themselves when
//! the rest has died: where that is soon, it is better to wait. So a block is worth the more, the longer its pages
//! stay. (Plain cost-benefit has the age in the place of L, and hopes that cold pages stay cold.)
//!
//! As in `cost_age.rs` every choice scores all blocks, and the emptiest of equals is taken. A block without a live page
//! is taken at once, and one of which all pages are live only where there is no other.

use crate::blocks::View;
use crate::policy::notes::Deaths;
use crate::policy::{Choice, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("oracle", "live pages and how long they have left to live: an oracle", |_| Box::new(Oracle))
        .pairs_with("oracle", "which is told when pages die");

/// The block that is worth most, its deaths being known.
#[derive(Clone, Copy, Preserve)]
struct Oracle;

/// The worth of a block: L (1 - u) / u as a fraction. With v of p pages live that have s left together, L is s / v.
fn worth(live: u32, pages: u32, left: u64) -> (u128, u128) {
    debug_assert!(live <= pages, "a block has more live pages than pages");
    (u128::from(left) * u128::from(pages.saturating_sub(live)), u128::from(live) * u128::from(live))
}

impl Victim for Oracle {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let pages = view.pages_per_block();
        let deaths = view.of_placement::<Deaths>()?;
        let mut best: Option<((u128, u128), u32, Block)> = None;
        for (block, live) in view.candidates() {
            let left =
                if view.is_metadata(block) { deaths.unknown(live) } else { deaths.left(block, live, view.now()) };
            let worth = worth(live, pages, left);
            let is_better = |(than, its_live, _): &((u128, u128), u32, Block)| {
                (live == 0, live < pages)
                    .cmp(&(*its_live == 0, *its_live < pages))
                    .then((worth.0 * than.1).cmp(&(than.0 * worth.1)))
                    .then(its_live.cmp(&live))
                    .is_gt()
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((worth, live, block));
            }
        }
        best.map(|(.., block)| Choice { block, examined: view.blocks() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 8 pages. A has 2 live with 30 left each: 30 * 0.75 / 0.25 = 90. B has 4 with 100 each: 100 * 0.5 /
    /// 0.5.
    #[test]
    fn a_fuller_block_is_worth_more_if_its_pages_stay() {
        let (a, b) = (worth(2, 8, 60), worth(4, 8, 400));
        assert_eq!((a.0 / a.1, b.0 / b.1), (90, 100));
        // As large as it gets.
        assert!(worth(8_191, 8_192, u64::MAX).0.checked_mul(u128::from(8_191u32).pow(2)).is_some());
    }
}
