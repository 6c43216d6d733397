//! What LAST++ keeps of its log blocks' pages: the page mapping table of random ones, the block mapping table of sequential
//! ones, and the merge-cost table.

use super::merge_cost::MergeCostTable;
use super::page_table::PageTable;
use super::segments::Segments;
use crate::RamLedger;
use crate::barriers::{Barrier, Barriers};
use crate::log_block::layout::Layout;
use phelsuma_nand::{Geometry, Page};

/// How large the tables are.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct TableSizes {
    /// Random log blocks at the most.
    pub(in super::super) random: u32,
    /// Segments of sequential log blocks at the most.
    pub(in super::super) segments: u32,
    /// Whether the merge-cost table is the reduced one.
    pub(in super::super) reduced: bool,
    /// Whether sequential log blocks may hold copies of pages that requests skipped.
    pub(in super::super) copies: bool,
    pub(in super::super) barriers: Barriers,
}

#[derive(Clone, Debug)]
pub(in super::super) struct Tables {
    layout: Layout,
    sizes: TableSizes,
    pub(in super::super) pages: PageTable,
    pub(in super::super) segments: Segments,
    pub(in super::super) costs: MergeCostTable,
    /// Valid pages of the cold partition and of the hot one.
    pub(in super::super) valid: [u64; 2],
}

impl Tables {
    pub(in super::super) fn new(geometry: &Geometry, layout: Layout, sizes: TableSizes) -> Self {
        let pages = sizes.random as usize * layout.pages_per_block() as usize;
        Self {
            layout,
            sizes,
            pages: PageTable::new(pages),
            segments: Segments::new(geometry, layout, sizes.segments),
            costs: MergeCostTable::new(layout.pages_per_block(), sizes.reduced, 2 * layout.channels()),
            valid: [0; 2],
        }
    }

    /// Makes room for what a recovery has found: so many log blocks.
    pub(in super::super) fn reserve(&mut self, log_blocks: usize) {
        self.pages.reserve(log_blocks * self.layout.pages_per_block() as usize);
    }

    /// The slot of a logical block's sequential log block, if that may hold copies.
    pub(in super::super) fn slot_with_copies(&self, logical_block: u32) -> Option<u32> {
        if self.sizes.copies { self.segments.slot(logical_block) } else { None }
    }

    /// Where the newest version of a logical page is, if it is in a log block (section 4.8): random log blocks first.
    #[inline]
    pub(in super::super) fn place(&self, key: u32) -> Option<Page> {
        match self.pages.find(key) {
            Some((page, _)) => Some(page),
            None => {
                let (logical_block, offset) = self.layout.split(key);
                self.segments.place(logical_block, offset)
            }
        }
    }

    /// A logical page stands at `page` of a log block; where it stood. It is in one of the tables alone: whatever the other
    /// says of it would be taken for the newest some day.
    pub(in super::super) fn set(&mut self, key: u32, page: Page, sequential: bool) -> Option<Page> {
        let (logical_block, offset) = self.layout.split(key);
        let one_place = self.sizes.barriers.keeps(Barrier::OneLogPlace);
        if sequential {
            let old = if one_place { self.pages.remove(key) } else { None };
            let was_set = self.segments.set(logical_block, offset);
            debug_assert!(!was_set, "an offset of a sequential log block is written twice");
            return old;
        }
        let old = if one_place { self.segments.clear(logical_block, offset) } else { None };
        self.pages.set(key, page).or(old)
    }

    /// A logical page is in no log block any more; where it stood.
    pub(in super::super) fn remove(&mut self, key: u32) -> Option<Page> {
        if let Some(page) = self.pages.remove(key) {
            return Some(page);
        }
        let (logical_block, offset) = self.layout.split(key);
        self.segments.clear(logical_block, offset)
    }

    /// A page of a logical block has been written to a random log block.
    #[inline]
    pub(in super::super) fn entered(&mut self, slot: u32, hot: bool, logical_block: u32) {
        self.valid[usize::from(hot)] += 1;
        self.costs.entered(slot, logical_block);
    }

    /// A page of a logical block has become invalid in a random log block.
    #[inline]
    pub(in super::super) fn left(&mut self, slot: u32, hot: bool, logical_block: u32) {
        self.valid[usize::from(hot)] -= 1;
        self.costs.left(slot, logical_block);
    }

    /// The first live page of a logical block's sequential log block from an offset on.
    pub(in super::super) fn first_live(&self, logical_block: u32, from: u32) -> Option<(u32, u32)> {
        let offset = self.segments.first_live(logical_block, from)?;
        Some((offset, self.layout.key(logical_block, offset)))
    }

    /// Everything that is live, in no order.
    pub(in super::super) fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        self.pages.entries().chain(self.segments.places())
    }

    pub(in super::super) fn ram(&self, geometry: &Geometry, logical_blocks: u32, ledger: &mut RamLedger) {
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
        let sizes =
            TableSizes { random: 768, segments: 32, reduced: true, copies: false, barriers: Barriers::default() };
        let tables = Tables::new(&geometry, Layout::segments(&geometry), sizes);
        let mut ledger = RamLedger::default();
        tables.ram(&geometry, 1 << 19, &mut ledger);
        let of = |name| ledger.papers().find(|(of, _)| *of == name).unwrap().1;
        // 4.52 KB, 336 KB and 768.5 KB.
        assert_eq!(of("last.segments"), 32 * 1157 / 8);
        assert_eq!(of("last.page_map"), 336 << 10);
        assert_eq!((of("last.page_hash"), of("last.segment_hash")), (768 << 10, 512));
        // 80 KB, with a bit more of each log block than the paper's 854: five cannot say 32.
        assert_eq!(of("last.merge_costs"), 768 * 855 / 8);
    }
}
