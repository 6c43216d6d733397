//! The merge-cost table (LAST++ section 4.4 and figure 9): the data blocks that each random log block is associated
//! with, each with its valid pages there. How many there are is the association degree: what a merge costs.
//!
//! Reduced, a row has room for 32 data blocks (or as many as a block has pages) and an overflow flag. What comes when
//! it is full is not entered, and sets the flag for good: the log block may be associated with more than the row says.

use crate::RamLedger;
use crate::log_block::layout::LogicalLayout;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Data blocks in a row of the reduced table.
const REDUCED: u32 = 32;

#[derive(Clone, Debug, Default, Preserve)]
struct Row {
    /// Data blocks, by the numbers of their logical blocks, with their valid pages.
    associated: Vec<(u32, u32)>,
    overflow: bool,
    /// The merge sequence ID when the degree was reduced last: the latest update ID.
    latest_update: u64,
    /// Where the log block stands in the order of those that may be merged, if it does: its group, and when it was
    /// begun.
    offered: Option<(u32, u64)>,
}

/// A log block that may be merged: its cost, when it was begun, and its slot.
pub(super) type MergeCandidate = (Cost, u64, u32);

/// The table's cost of a log block: where degrees are the same, one without overflow is the cheaper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Preserve)]
pub(in super::super) struct Cost {
    pub(in super::super) degree: u32,
    pub(in super::super) overflow: bool,
}

impl Cost {
    /// Whether it holds invalid pages alone.
    pub(in super::super) fn is_dead(self) -> bool {
        self.degree == 0 && !self.overflow
    }
}

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct MergeCostTable {
    /// By slot.
    rows: Vec<Row>,
    room: usize,
    /// Log blocks that may be merged, by group, the cheapest first: so none has to be looked for.
    candidates: Vec<BTreeSet<MergeCandidate>>,
    /// LastCounts log blocks of the cold partition that foreground merges took: the merge sequence ID.
    pub(in super::super) sequence: u64,
}

impl MergeCostTable {
    /// With so many groups of log blocks that are looked for apart.
    pub(super) fn new(pages_per_block: u32, reduced: bool, groups: u32) -> Self {
        let room = if reduced { REDUCED.min(pages_per_block) } else { pages_per_block } as usize;
        Self { rows: Vec::new(), room, candidates: vec![BTreeSet::new(); groups as usize], sequence: 0 }
    }

    /// A log block has been opened.
    pub(in super::super) fn open(&mut self, slot: u32) {
        if self.rows.len() <= slot as usize {
            self.rows.resize_with(slot as usize + 1, Row::default);
        }
        let (row, room) = (&mut self.rows[slot as usize], self.room);
        row.associated.clear();
        row.associated.reserve_exact(room);
        row.overflow = false;
        row.latest_update = self.sequence;
        debug_assert!(row.offered.is_none());
    }

    /// Nothing more is written to a log block: it may be merged.
    pub(super) fn offer(&mut self, slot: u32, group: u32, first_seq: u64) {
        let cost = self.cost(slot);
        let row = &mut self.rows[slot as usize];
        debug_assert!(row.offered.is_none());
        row.offered = Some((group, first_seq));
        self.candidates[group as usize].insert((cost, first_seq, slot));
    }

    /// It is no log block any more.
    pub(in super::super) fn close(&mut self, slot: u32) {
        let cost = self.cost(slot);
        if let Some((group, first_seq)) = self.rows[slot as usize].offered.take() {
            let was_offered = self.candidates[group as usize].remove(&(cost, first_seq, slot));
            debug_assert!(was_offered, "slot {slot} is not in the order at what it costs");
        }
    }

    /// Whether a log block stands where it should among those of a group that may be merged.
    pub(super) fn offers(&self, slot: u32, group: u32, first_seq: u64) -> bool {
        self.candidates[group as usize].contains(&(self.cost(slot), first_seq, slot))
    }

    /// The cheapest of a group that may be merged.
    pub(super) fn cheapest(&self, group: u32) -> Option<MergeCandidate> {
        self.candidates[group as usize].first().copied()
    }

    /// All of a group that may be merged, the cheapest first.
    pub(super) fn candidates(&self, group: u32) -> impl Iterator<Item = MergeCandidate> + '_ {
        self.candidates[group as usize].iter().copied()
    }

    /// The cost of a log block has changed.
    fn moved(&mut self, slot: u32, before: Cost) {
        let now = self.cost(slot);
        if let Some((group, first_seq)) = self.rows[slot as usize].offered {
            let candidates = &mut self.candidates[group as usize];
            let was_offered = candidates.remove(&(before, first_seq, slot));
            debug_assert!(was_offered, "slot {slot} is not in the order at what it cost");
            candidates.insert((now, first_seq, slot));
        }
    }

    /// A page of a logical block has been written to a log block.
    #[inline]
    pub(super) fn entered(&mut self, slot: u32, logical_block: u32) {
        debug_assert!(self.rows[slot as usize].offered.is_none(), "nothing is written to it any more");
        let row = &mut self.rows[slot as usize];
        if let Some((_, pages)) = row.associated.iter_mut().find(|(other, _)| *other == logical_block) {
            *pages += 1;
        } else if row.associated.len() < self.room {
            row.associated.push((logical_block, 1));
            debug_assert!(row.associated.len() <= self.room, "a row has more data blocks than room");
        } else {
            row.overflow = true;
        }
    }

    /// A page of a logical block has become invalid in a log block.
    #[inline]
    pub(super) fn left(&mut self, slot: u32, logical_block: u32) {
        let row = &mut self.rows[slot as usize];
        let Some(at) = row.associated.iter().position(|(other, _)| *other == logical_block) else {
            // One of those that there was no room for.
            debug_assert!(row.overflow);
            return;
        };
        row.associated[at].1 -= 1;
        if row.associated[at].1 == 0 {
            let before = Cost { degree: row.associated.len() as u32, overflow: row.overflow };
            row.associated.swap_remove(at);
            row.latest_update = self.sequence;
            self.moved(slot, before);
        }
    }

    #[inline]
    pub(in super::super) fn cost(&self, slot: u32) -> Cost {
        let row = &self.rows[slot as usize];
        Cost { degree: row.associated.len() as u32, overflow: row.overflow }
    }

    pub(in super::super) fn latest_update(&self, slot: u32) -> u64 {
        self.rows[slot as usize].latest_update
    }

    /// As table I counts it, for so many log blocks: the number of data blocks, the overflow flag, the latest update
    /// ID, and of each data block its number and its valid pages. (The table has five bits for the number, which cannot
    /// say 32.)
    pub(super) fn ram(&self, log_blocks: u32, layout: &LogicalLayout, logical_blocks: u32, ledger: &mut RamLedger) {
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let pages = bits(layout.pages_per_block().into());
        let row = bits(self.room as u64 + 1) + 1 + 16 + self.room as u64 * (bits(logical_blocks.into()) + pages);
        let table = (u64::from(log_blocks) * row).div_ceil(8);
        ledger.structure("last.merge_costs", table);
        let rows: usize = self.rows.iter().map(|row| row.associated.capacity() * size_of::<(u32, u32)>()).sum();
        let order: usize = self.candidates.iter().map(|group| group.len() * 2 * size_of::<MergeCandidate>()).sum();
        let held = rows + order + self.rows.capacity() * size_of::<Row>();
        ledger.index("index.last_merge_costs", (held as u64).saturating_sub(table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reduced_table_of_figure_9_has_two_data_blocks_and_an_overflow_flag() {
        let mut table = MergeCostTable { room: 2, ..MergeCostTable::new(4, false, 1) };
        table.open(0);
        for logical_block in [2, 3, 2, 4] {
            table.entered(0, logical_block);
        }
        assert_eq!(table.cost(0), Cost { degree: 2, overflow: true });
        table.sequence = 5;
        table.left(0, 2);
        assert_eq!((table.cost(0).degree, table.latest_update(0)), (2, 0));
        table.left(0, 2);
        // The flag stays: it could be associated with more.
        assert_eq!((table.cost(0), table.latest_update(0)), (Cost { degree: 1, overflow: true }, 5));
        // One that was not entered.
        table.left(0, 4);
        table.left(0, 3);
        assert!(!table.cost(0).is_dead());
        table.open(0);
        assert!(table.cost(0).is_dead());
        // In the order of those that may be merged it moves with its cost.
        table.open(1);
        [5, 6].into_iter().for_each(|logical_block| table.entered(1, logical_block));
        table.entered(0, 7);
        table.offer(1, 0, 10);
        table.offer(0, 0, 11);
        assert_eq!(table.cheapest(0).map(|(.., slot)| slot), Some(0));
        table.left(1, 5);
        table.left(1, 6);
        assert_eq!(table.candidates(0).map(|(.., slot)| slot).collect::<Vec<_>>(), [1, 0]);
        table.close(1);
        assert_eq!(table.cheapest(0), Some((Cost { degree: 1, overflow: false }, 11, 0)));
        assert!(Cost { degree: 2, overflow: false } < Cost { degree: 2, overflow: true });
        assert!(Cost { degree: 2, overflow: true } < Cost { degree: 3, overflow: false });
    }
}
