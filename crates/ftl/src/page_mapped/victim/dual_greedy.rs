//! Dual Greedy's victims (Dual Greedy, section IV-B): the emptiest block or the most stable one, as the top level of the
//! multi-LRI lists has it.
//!
//! - A block without a live page comes first, whatever the levels hold (section III-A).
//! - **Utilization mode**, where the top level has several blocks: the one of them that lost a page longest ago.
//! - **Stability mode**, where it has one: of the blocks that have been dormant for longer than that one, the emptiest;
//!   of equals the one that lost a page longest ago. Only the heads of the levels are looked at. Where none is more
//!   stable, the one block of the top level.
//!
//! So no more blocks are examined than a block has pages, however many there are.
//!
//! Where the paper is silent:
//! - **A block that has lost no page is not chosen for its stability.** Figure 6 (b) has the level of full blocks among
//!   the others, and none of its blocks has a latest invalidation. Collecting one gains nothing.
//! - **Purely random writes** (section V-B: "could switch to the greedy policy when it detects that"): where the
//!   placement part has found that, if it is asked to look (`placement/dual_greedy.rs`), the mode is utilization.

use super::{Choice, Victim};
use crate::RamLedger;
use crate::blocks::{Counters, View, Wants};
use alloc::boxed::Box;
use phelsuma_nand::Block;

/// The block that the two modes choose from the lists. It keeps nothing itself.
#[derive(Clone)]
pub(crate) struct DualGreedy;

impl Victim for DualGreedy {
    fn wants(&self) -> Wants {
        Wants { times: true, lists: true, ..Wants::default() }
    }

    fn closed(&mut self, _counters: &Counters, _block: Block) {}

    fn taken(&mut self, _counters: &Counters, _block: Block) {}

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let lists = view.lists()?;
        if let Some(block) = lists.head(0) {
            return Some(Choice { block, examined: 1 });
        }
        let top = lists.top()?;
        let mut of_top = lists.level(top);
        let most_stable = of_top.next()?;
        if of_top.next().is_some() || view.is_purely_random() {
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

    fn ram(&self, _ledger: &mut RamLedger) {}

    fn copy(&self) -> Box<dyn Victim> {
        Box::new(self.clone())
    }
}
