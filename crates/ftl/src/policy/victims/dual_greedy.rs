//! Dual Greedy's victims (Dual Greedy, section IV-B): the emptiest block or the most stable one.
//!
//! The top level of the multi-LRI lists decides which.
//!
//! - A block without a live page comes first, whatever the levels hold (section III-A).
//! - **Utilization mode**, where the top level has several blocks: the one of them that lost a page longest ago.
//! - **Stability mode**, where it has one. Candidates are the blocks that have been dormant for longer than that one.
//!   The emptiest is chosen, of equals the one that lost a page longest ago. Only the heads of the levels are examined.
//!   Where none is more stable, it is the one block of the top level.
//!
//! So no more blocks are examined than a block has pages, however many there are.
//!
//! Where the paper is silent:
//! - **A block that has lost no page is not chosen for its stability.** Figure 6 (b) has the level of full blocks among
//!   the others, and none of its blocks has a latest invalidation. Collecting one gains nothing.
//! - **Purely random writes** (section V-B: "could switch to the greedy policy when it detects that"): the mode is
//!   utilization where the placement part has found that. It looks if its parameter says so
//!   (`placements/dual_greedy.rs`).

use crate::blocks::{View, Wants};
use crate::policy::notes::PurelyRandom;
use crate::policy::{Choice, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("dual-greedy", "the emptiest or the most stable, by lists of ages (Dual Greedy)", |_| {
        Box::new(DualGreedy)
    })
    .wants(|_| Wants::NOTHING.times().lists());

/// The block that the two modes choose from the lists. It keeps nothing itself.
#[derive(Clone, Copy, Preserve)]
struct DualGreedy;

impl Victim for DualGreedy {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let lists = view.lists()?;
        if let Some(block) = lists.head(0) {
            return Some(Choice { block, examined: 1 });
        }
        let top = lists.top()?;
        let mut of_top = lists.level(top);
        let most_stable = of_top.next()?;
        if of_top.next().is_some() || view.of_placement() == Some(&PurelyRandom(true)) {
            return Some(Choice { block: most_stable, examined: 2 });
        }
        let dormant = view.dormant(most_stable);
        let mut examined = 1;
        for head in (top + 1..lists.full()).filter_map(|level| lists.head(level)) {
            examined += 1;
            if view.dormant(head) > dormant {
                return Some(Choice { block: head, examined });
            }
        }
        Some(Choice { block: most_stable, examined })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::scene::Scene;
    use phelsuma_nand::Block;

    /// Ten blocks of four pages, written one after another from moment 0 on.
    fn scene() -> Scene {
        let mut scene = Scene::new(12, 4, 1, SPEC.chosen().wants());
        for block in 0..10 {
            scene.at(block).write(block as u32, 0);
        }
        scene
    }

    fn chosen(scene: &Scene) -> (u32, u32) {
        let choice = DualGreedy.choose(&scene.view()).unwrap();
        (choice.block.0, choice.examined)
    }

    /// Figure 6 (a): several blocks at the top level. The stablest of them, though others are more stable still.
    #[test]
    fn in_utilization_mode_the_stablest_of_the_emptiest() {
        let mut scene = scene();
        scene.at(20).lose(&[0]);
        scene.at(30).lose(&[5, 5]).at(40).lose(&[3]).at(50).lose(&[3]);
        // Level 3: 0 (since 20). Level 2: 5 (since 30), 3 (since 50). The rest is full.
        assert_eq!(chosen(&scene), (5, 2));
        // 5 loses a third page and is alone at the top. All else at 60: the head of level 2, 3, is more stable.
        scene.at(60).lose(&[5]);
        assert_eq!(chosen(&scene), (3, 2));
    }

    /// Figure 6 (b): one block at the top level. Heads that lost a page after it did are ruled out; of the others, the
    /// one of the lowest level.
    #[test]
    fn in_stability_mode_the_emptiest_of_the_more_stable() {
        let mut scene = scene();
        // Level 1: 7, its last loss at 40. Level 2: 2 (since 50), then 8 (since 60). Level 3: 1 (since 35), 4.
        scene.at(35).lose(&[1]);
        scene.at(40).lose(&[7, 7, 7]);
        scene.at(50).lose(&[2, 2]).at(60).lose(&[8, 8]).at(70).lose(&[4]);
        // The head of level 2 is less stable than 7, and so are all behind it; that of level 3 is more stable.
        assert_eq!(chosen(&scene), (1, 3));
        // Another block at the top: utilization, and 7 is the stablest of the two.
        scene.at(80).lose(&[8, 8]).at(90).lose(&[2]);
        assert_eq!(chosen(&scene), (8, 1), "a block with no live page comes first");
        scene.blocks.begin_collection(Block(8));
        assert_eq!(chosen(&scene), (7, 2));
    }

    #[test]
    fn in_the_worst_case_the_one_block_of_the_top_level() {
        let mut scene = scene();
        scene.at(40).lose(&[7, 7, 7]).at(50).lose(&[2, 2]).at(60).lose(&[4]);
        assert_eq!(chosen(&scene), (7, 3));
        // Full blocks are more stable than any. None of them is worth collecting.
        scene.blocks.begin_collection(Block(7));
        scene.blocks.begin_collection(Block(2));
        scene.blocks.begin_collection(Block(4));
        assert_eq!(scene.view().dormant(Block(0)), 60);
        assert_eq!(chosen(&scene), (0, 2), "but where there is nothing else, a full one is named");
    }

    #[test]
    fn where_writes_are_purely_random_the_mode_is_utilization() {
        let mut scene = scene();
        scene.at(35).lose(&[1]).at(40).lose(&[7, 7, 7]);
        assert_eq!(chosen(&scene).0, 1);
        let seen = PurelyRandom(true);
        let choice = DualGreedy.choose(&scene.view().with_notes(Some(&seen)));
        assert_eq!(choice.unwrap().block.0, 7);
    }
}

/// How the time for a choice grows with the drive.
#[cfg(test)]
mod scale {
    extern crate std;

    use super::super::cost_age::CAT_WITHOUT_WEAR;
    use super::*;
    use crate::blocks::scene::Scene;
    use crate::policy::{Context, placements};
    use crate::spec::Chosen;
    use phelsuma_nand::Block;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::println;
    use std::time::Instant;

    const PAGES: u32 = 32;
    const CHOICES: u32 = 4_096;

    /// A drive of so many blocks is overwritten at random until blocks of all levels are there. Then victims are
    /// chosen, and written anew, while other blocks go on losing pages. The most blocks examined for one, and the time.
    fn examined(blocks: u32, policy: Chosen<VictimSpec>, choices: u32) -> (u32, u128) {
        let of_pages = placements::dual_greedy::SPEC.chosen();
        let values = *policy;
        let context = Context {
            blocks,
            pages_per_block: PAGES,
            page_bytes: 4096,
            dies: 1,
            logical_pages: blocks * PAGES,
            seed: 1,
            values,
        };
        let (mut placement, wants) = (of_pages.build(&context), policy.wants().or(of_pages.wants()));
        let mut policy = policy.build(&context);
        let mut scene = Scene::new(blocks, PAGES, 3, wants);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(blocks));
        for block in 0..blocks {
            scene.at(u64::from(block) * u64::from(PAGES)).write(block, (rng.next_u64() % 3) as u8);
        }
        let mut now = u64::from(blocks) * u64::from(PAGES);
        let mut lose = |scene: &mut Scene, now: u64| {
            let block = (rng.next_u64() % u64::from(blocks)) as u32;
            if scene.view().counters.live(Block(block)) > 0 {
                scene.at(now).lose(&[block]);
            }
        };
        for _ in 0..blocks * 4 {
            now += 1;
            lose(&mut scene, now);
        }
        let (mut most, mut nanos) = (0, 0);
        for _ in 0..choices {
            let began = Instant::now();
            let choice = policy.choose(&scene.view()).unwrap();
            let looked_at = placement.collecting(&scene.view(), choice.block);
            nanos += began.elapsed().as_nanos();
            most = most.max(choice.examined + looked_at);
            scene.blocks.begin_collection(choice.block);
            now += 8;
            scene.at(now).write(choice.block.0, 0);
            for _ in 0..8 {
                lose(&mut scene, now);
            }
        }
        (most, nanos / u128::from(choices))
    }

    fn no_more_than_a_block_has_pages_and_eight(powers: core::ops::RangeInclusive<u32>) {
        for power in powers.step_by(2) {
            let (most, nanos) = examined(1 << power, SPEC.chosen(), CHOICES);
            println!("2^{power} blocks: {most} examined at the most, {nanos} ns a choice");
            assert!(most <= PAGES + 8, "{most} at 2^{power} blocks");
        }
    }

    #[test]
    fn blocks_examined_do_not_grow_with_the_drive() {
        no_more_than_a_block_has_pages_and_eight(12..=16);
        let (most, _) = examined(1 << 12, CAT_WITHOUT_WEAR, 16);
        assert!(most > 1 << 12, "DAC's policy scores all blocks: {most}");
    }

    /// The same for drives of up to four million blocks, which take half a gigabyte and a while, and DAC's policy
    /// beside it: `PHELSUMA_THOROUGH=1 cargo test -p phelsuma-ftl --lib -- --nocapture four_million`.
    #[test]
    fn blocks_examined_do_not_grow_up_to_four_million_blocks() {
        if std::env::var_os("PHELSUMA_THOROUGH").is_none_or(|value| value != "1") {
            return;
        }
        no_more_than_a_block_has_pages_and_eight(14..=22);
        for power in (14..=22).step_by(4) {
            let (most, nanos) = examined(1 << power, CAT_WITHOUT_WEAR, 16);
            println!("CAT without wear, 2^{power} blocks: {most} examined, {nanos} ns a choice");
        }
    }
}
