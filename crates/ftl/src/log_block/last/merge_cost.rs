//! The merge-cost table (LAST++ section 4.4 and figure 9): of each random log block the data blocks that it is associated
//! with, each with its valid pages there. How many there are is the association degree: what a merge costs.
//!
//! Reduced, a row has room for 32 data blocks (or as many as a block has pages) and an overflow flag. What comes when
//! it is full is not entered, and sets the flag for good: the log block may be associated with more than the row says.

use crate::RamLedger;
use crate::log_block::layout::Layout;
use alloc::vec::Vec;

/// Data blocks in a row of the reduced table.
const REDUCED: u32 = 32;

#[derive(Clone, Debug, Default)]
struct Row {
    /// Data blocks, by the numbers of their logical blocks, with their valid pages.
    associated: Vec<(u32, u32)>,
    overflow: bool,
    /// The merge sequence ID when the degree was reduced last: the latest update ID.
    latest_update: u64,
}

/// What the table says of a log block: where degrees are the same, one without overflow is the cheaper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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

#[derive(Clone, Debug)]
pub(in super::super) struct MergeCostTable {
    /// By slot.
    rows: Vec<Row>,
    room: usize,
    /// Counts foreground merges of random log blocks: the merge sequence ID.
    pub(in super::super) sequence: u64,
}

impl MergeCostTable {
    pub(super) fn new(pages_per_block: u32, reduced: bool) -> Self {
        let room = if reduced { REDUCED.min(pages_per_block) } else { pages_per_block } as usize;
        Self { rows: Vec::new(), room, sequence: 0 }
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
    }

    /// A page of a logical block has been written to a log block.
    #[inline]
    pub(super) fn entered(&mut self, slot: u32, logical_block: u32) {
        let row = &mut self.rows[slot as usize];
        if let Some((_, pages)) = row.associated.iter_mut().find(|(other, _)| *other == logical_block) {
            *pages += 1;
        } else if row.associated.len() < self.room {
            row.associated.push((logical_block, 1));
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
            row.associated.swap_remove(at);
            row.latest_update = self.sequence;
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

    /// As table I counts it, for so many log blocks: the number of data blocks, the overflow flag, the latest update ID,
    /// and of each data block its number and its valid pages. (The table has five bits for the number, which cannot say
    /// 32.)
    pub(super) fn ram(&self, log_blocks: u32, layout: &Layout, logical_blocks: u32, ledger: &mut RamLedger) {
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let pages = bits(layout.pages_per_block().into());
        let row = bits(self.room as u64 + 1) + 1 + 16 + self.room as u64 * (bits(logical_blocks.into()) + pages);
        let table = (u64::from(log_blocks) * row).div_ceil(8);
        ledger.structure("last.merge_costs", table);
        let rows: usize = self.rows.iter().map(|row| row.associated.capacity() * size_of::<(u32, u32)>()).sum();
        let held = rows + self.rows.capacity() * size_of::<Row>();
        ledger.index("index.last_merge_costs", (held as u64).saturating_sub(table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reduced_table_of_figure_9_has_two_data_blocks_and_an_overflow_flag() {
        let mut table = MergeCostTable { rows: Vec::new(), room: 2, sequence: 0 };
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
        assert!(Cost { degree: 2, overflow: false } < Cost { degree: 2, overflow: true });
        assert!(Cost { degree: 2, overflow: true } < Cost { degree: 3, overflow: false });
    }
}
