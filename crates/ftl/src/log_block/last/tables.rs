//! The tables of LAST++: page mapping of random log blocks, block mapping of sequential ones, and merge costs.

use super::merge_cost::MergeCostTable;
use super::page_table::PageTable;
use super::segments::Segments;
use crate::RamLedger;
use crate::barriers::{Barrier, Barriers};
use crate::config::{LastParts, MergeCosts};
use crate::log_block::layout::LogicalLayout;
use crate::log_block::log_index::LogIndex;
use crate::log_block::log_state::LogBlock;
use crate::log_block::pool::Role;
use crate::log_block::shape::HybridSizes;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, Page};

/// How large the tables are.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct TableSizes {
    /// Random log blocks at the most.
    pub(super) random: u32,
    /// Segments of sequential log blocks at the most.
    pub(super) segments: u32,
    /// Whether the merge-cost table is the reduced one.
    pub(super) reduced: bool,
    /// Whether sequential log blocks may hold copies of pages that requests skipped.
    pub(super) copies: bool,
}

impl TableSizes {
    pub(super) fn of(parts: &LastParts, geometry: &Geometry, sizes: &HybridSizes) -> Self {
        let segments = segments_of(parts, sizes.log_blocks, geometry.channels());
        let random = sizes.log_blocks - segments * geometry.channels();
        Self { random, segments, reduced: parts.merge_costs == MergeCosts::Reduced, copies: parts.copies_skipped }
    }
}

/// Segments of sequential log blocks, of so many log blocks on so many channels: each has a log block on each.
fn segments_of(parts: &LastParts, log_blocks: u32, channels: u32) -> u32 {
    let share = u64::from(log_blocks) * u64::from(parts.sequential_percent) / 100;
    // Each channel keeps two random ones, which are both open at most times.
    let most = (log_blocks / channels).saturating_sub(2).max(1);
    ((share / u64::from(channels)) as u32).clamp(1, most)
}

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct Tables {
    layout: LogicalLayout,
    sizes: TableSizes,
    barriers: Barriers,
    pub(super) pages: PageTable,
    pub(super) segments: Segments,
    pub(super) costs: MergeCostTable,
    /// Valid pages of the cold partition and of the hot one.
    pub(super) valid: [u64; 2],
}

impl Tables {
    pub(super) fn new(geometry: &Geometry, layout: LogicalLayout, sizes: TableSizes, barriers: Barriers) -> Self {
        let pages = sizes.random as usize * layout.pages_per_block() as usize;
        Self {
            layout,
            sizes,
            barriers,
            pages: PageTable::new(pages),
            segments: Segments::new(geometry, layout, sizes.segments),
            costs: MergeCostTable::new(layout.pages_per_block(), sizes.reduced, 2 * layout.channels()),
            valid: [0; 2],
        }
    }

    /// The count of a random log block's partition.
    fn valid_in(&mut self, role: Role) -> &mut u64 {
        &mut self.valid[usize::from(role == Role::Hot)]
    }
}

impl LogIndex for Tables {
    fn opened(&mut self, slot: u32, log_block: &LogBlock) {
        match log_block.role {
            Role::Sequential => self.segments.open(log_block.owner, slot, log_block.block),
            _ => self.costs.open(slot),
        }
    }

    fn closed(&mut self, slot: u32, log_block: &LogBlock) {
        match log_block.role {
            Role::Sequential => self.segments.close(log_block.owner),
            _ => self.costs.close(slot),
        }
    }

    /// Random log blocks first (section 4.8).
    #[inline]
    fn place(&self, key: u32) -> Option<Page> {
        match self.pages.find(key) {
            Some((page, _)) => Some(page),
            None => {
                let (logical_block, offset) = self.layout.split(key);
                self.segments.place(logical_block, offset)
            }
        }
    }

    /// It is in one of the tables alone: an entry in the other would be taken for the newest some day.
    fn set(&mut self, key: u32, page: Page, role: Role) -> Option<Page> {
        let (logical_block, offset) = self.layout.split(key);
        let forget = !self.barriers.keeps(Barrier::OneLogPlace);
        if role == Role::Sequential {
            let old = if forget { None } else { self.pages.remove(key) };
            let was_set = self.segments.set(logical_block, offset);
            debug_assert!(!was_set, "an offset of a sequential log block is written twice");
            return old;
        }
        let in_place = if forget { None } else { self.segments.clear(logical_block, offset) };
        let old = self.pages.set(key, page);
        debug_assert!(forget || in_place.is_none() || old.is_none(), "page {key} is live in two log blocks");
        old.or(in_place)
    }

    fn remove(&mut self, key: u32) -> Option<Page> {
        if let Some(page) = self.pages.remove(key) {
            return Some(page);
        }
        let (logical_block, offset) = self.layout.split(key);
        self.segments.clear(logical_block, offset)
    }

    /// Of random log blocks the cost of merging each is counted, and the valid pages in either partition.
    #[inline]
    fn entered(&mut self, slot: u32, role: Role, logical_block: u32) {
        if role != Role::Sequential {
            *self.valid_in(role) += 1;
            self.costs.entered(slot, logical_block);
        }
    }

    #[inline]
    fn left(&mut self, slot: u32, role: Role, logical_block: u32) {
        if role != Role::Sequential {
            *self.valid_in(role) -= 1;
            self.costs.left(slot, logical_block);
        }
    }

    /// The live pages of a sequential log block are in its page status table.
    fn live_in(&self, log_block: &LogBlock, from: u32, live_at: impl Fn(u32) -> Option<u32>) -> Option<(u32, u32)> {
        if log_block.role == Role::Sequential {
            let offset = self.segments.first_live(log_block.owner, from)?;
            return Some((offset, self.layout.key(log_block.owner, offset)));
        }
        (from..log_block.next).find_map(|index| Some((index, live_at(index)?)))
    }

    fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        self.pages.entries().chain(self.segments.places())
    }

    fn own_log_block(&self, logical_block: u32) -> Option<u32> {
        self.segments.slot(logical_block)
    }

    fn holds_copies(&self) -> bool {
        self.sizes.copies
    }

    /// A sequential log block is of one.
    fn logical_blocks_most(&self) -> usize {
        let sequential = self.sizes.segments * self.layout.channels();
        self.sizes.random as usize * self.layout.pages_per_block() as usize + sequential as usize
    }

    fn reserve(&mut self, log_blocks: usize) {
        self.pages.reserve(log_blocks * self.layout.pages_per_block() as usize);
    }

    fn ram(&self, geometry: &Geometry, _log_blocks: u32, logical_blocks: u32, ledger: &mut RamLedger) {
        let bits = |n: u32| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let channels = self.layout.channels();
        let block = bits(geometry.blocks().div_ceil(channels));
        let channel = if channels == 1 { 0 } else { bits(channels) };
        self.segments.ram(block, ledger);
        self.pages.ram(channel + block + bits(self.layout.pages_per_block()) + 2, ledger);
        self.costs.ram(self.sizes.random, &self.layout, logical_blocks, ledger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_as_large_as_table_i_says() {
        // 256 GB over eight channels: 32 segments of sequential log blocks and 768 random ones.
        let geometry = Geometry::new(4096, 128, 1 << 19, 8, 1).unwrap();
        let sizes = TableSizes { random: 768, segments: 32, reduced: true, copies: false };
        let tables = Tables::new(&geometry, LogicalLayout::segments(&geometry), sizes, Barriers::default());
        let mut ledger = RamLedger::default();
        tables.ram(&geometry, 1024, 1 << 19, &mut ledger);
        let of = |name| ledger.papers().find(|(of, _)| *of == name).unwrap().1;
        // 4.52 KB, 336 KB and 768.5 KB.
        assert_eq!(of("last.segments"), 32 * 1157 / 8);
        assert_eq!(of("last.page_map"), 336 << 10);
        assert_eq!((of("last.page_hash"), of("last.segment_hash")), (768 << 10, 512));
        // 80 KB, with a bit more of each log block than the paper's 854: five cannot say 32.
        assert_eq!(of("last.merge_costs"), 768 * 855 / 8);
    }
}
