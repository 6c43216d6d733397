//! MiDAS's victims, from groups of blocks that have a size each (`placements/midas`).
//!
//! A block is collected from the group that is over its size by most, there the one that was closed first. Where none
//! is over, it is the block of the last group with the fewest live pages.
//!
//! Every block without a live page comes first. Each choice looks at all blocks.

use crate::RamLedger;
use crate::blocks::{Counters, View, Wants};
use crate::policy::notes::{GROUPS_MAX, Groups};
use crate::policy::{Choice, State, Victim, VictimSpec};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("midas", "closed first in the group that is over its size (MiDAS)", |context| {
        Box::new(Chain { closed: vec![0; context.blocks as usize], next: 0 })
    })
    .wants(|_| Wants::NOTHING.clock())
    .pairs_with("midas", "which divides blocks into groups");

/// Oldest of a group that is too large, or emptiest of the last.
#[derive(Clone, Preserve)]
struct Chain {
    /// By block: how many had been closed before it.
    closed: Vec<u64>,
    next: u64,
}

/// The findings on a group.
#[derive(Clone, Copy, Default)]
struct Group {
    blocks: u32,
    oldest: Option<(u64, Block)>,
}

/// Of groups with so many blocks, the last being the rest, the one that is over its limit by most.
fn over_by_most(blocks: &[u32], limits: &[u32]) -> Option<usize> {
    let over = |group: &usize| blocks[*group].saturating_sub(limits[*group]);
    let groups = 0..blocks.len().saturating_sub(1);
    groups.filter(|group| over(group) > 0).max_by_key(|group| (over(group), usize::MAX - group))
}

impl Victim for Chain {
    fn closed(&mut self, _counters: &Counters, block: Block) {
        self.closed[block.index()] = self.next;
        self.next += 1;
    }

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let groups = view.of_placement::<Groups>().copied().unwrap_or_default();
        let count = usize::from(groups.count.max(1));
        let mut found = [Group::default(); GROUPS_MAX];
        let mut emptiest: Option<(u32, Block)> = None;
        let mut emptiest_of_last: Option<(u32, Block)> = None;
        for (block, live) in view.candidates() {
            if emptiest.is_none_or(|(least, _)| live < least) {
                emptiest = Some((live, block));
            }
            // Metadata, where they are collected, are among the last group's.
            let number = if view.is_metadata(block) { count - 1 } else { groups.of(view.stream_of(block)) };
            if number == count - 1 && emptiest_of_last.is_none_or(|(least, _)| live < least) {
                emptiest_of_last = Some((live, block));
            }
            let group = &mut found[number];
            group.blocks += 1;
            let when = self.closed[block.index()];
            if group.oldest.is_none_or(|(oldest, _)| when < oldest) {
                group.oldest = Some((when, block));
            }
        }
        let examined = view.blocks();
        let (least, block) = emptiest?;
        if least == 0 {
            return Some(Choice { block, examined });
        }
        let blocks = found.map(|group| group.blocks);
        let over = over_by_most(&blocks[..count], &groups.limits[..count]).and_then(|group| found[group].oldest);
        let full = |live| live == view.pages_per_block();
        let block = match (over, emptiest_of_last) {
            (Some((_, oldest)), _) => oldest,
            // There is nothing to gain in the last group, or it has no blocks.
            (None, Some((live, of_last))) if !full(live) => of_last,
            (None, _) => block,
        };
        Some(Choice { block, examined })
    }
}

impl State for Chain {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("victim.closed_order", self.closed.len() as u64 * 8 + 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_that_is_over_its_size_by_most_is_collected_and_the_last_never_is_over() {
        assert_eq!(over_by_most(&[5, 9, 100], &[4, 7, 0]), Some(1));
        assert_eq!(over_by_most(&[6, 9, 100], &[4, 7, 0]), Some(0));
        assert_eq!(over_by_most(&[4, 7, 100], &[4, 7, 0]), None);
        assert_eq!(over_by_most(&[100], &[0]), None);
    }
}
