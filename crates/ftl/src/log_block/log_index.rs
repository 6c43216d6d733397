//! Where the newest versions of logical pages stand in log blocks: the part in which the tables of log-block FTLs
//! differ.
//!
//! BAST, FAST and plain block mapping have one hash table ([`HashIndex`]). LAST++ has two tables for its two kinds of
//! log blocks, and one of what a merge of each would cost ([`Tables`](super::last::Tables)).

use super::log_state::LogBlock;
use super::pool::Role;
use super::shape::HybridSizes;
use crate::RamLedger;
use alloc::vec::Vec;
use hashbrown::HashTable;
use phelsuma_nand::state::{Load, Preserve, StateError, StateIn, StateOut};
use phelsuma_nand::{Geometry, Page};

/// An index of the pages that are live in log blocks. [`Log`](super::log::Log) owns it, and calls it for each change.
pub(super) trait LogIndex: Clone + Send {
    /// A log block has been opened.
    fn opened(&mut self, slot: u32, log_block: &LogBlock) {
        let _ = (slot, log_block);
    }

    /// A log block in which nothing is live is one no longer.
    fn closed(&mut self, slot: u32, log_block: &LogBlock) {
        let _ = (slot, log_block);
    }

    /// Where a logical page stands.
    fn place(&self, key: u32) -> Option<Page>;

    /// A logical page stands at `page` of a log block of this role from now on; where it stood.
    fn set(&mut self, key: u32, page: Page, role: Role) -> Option<Page>;

    /// A logical page stands in no log block any more; where it stood.
    fn remove(&mut self, key: u32) -> Option<Page>;

    /// A page of a logical block has become live in a log block.
    #[inline]
    fn entered(&mut self, slot: u32, role: Role, logical_block: u32) {
        let _ = (slot, role, logical_block);
    }

    /// A page of a logical block is live in a log block no longer.
    #[inline]
    fn left(&mut self, slot: u32, role: Role, logical_block: u32) {
        let _ = (slot, role, logical_block);
    }

    /// The first live page of a log block from page `from` on: where it stands, and which logical page it is. `live_at`
    /// says of a page which logical page is live there.
    fn live_in(&self, log_block: &LogBlock, from: u32, live_at: impl Fn(u32) -> Option<u32>) -> Option<(u32, u32)> {
        (from..log_block.next).find_map(|index| Some((index, live_at(index)?)))
    }

    /// Everything that is live, in no order.
    fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_;

    /// The slot of the log block that a logical block has to itself, where the index leads there.
    fn own_log_block(&self, logical_block: u32) -> Option<u32> {
        let _ = logical_block;
        None
    }

    /// Whether that one may hold pages besides those that are live in it: copies of what stands elsewhere.
    fn holds_copies(&self) -> bool {
        false
    }

    /// Logical blocks that may have live pages in log blocks at a time, unless a recovery has found more log blocks.
    fn logical_blocks_most(&self) -> usize;

    /// A recovery has found so many log blocks: there must be room for all of their pages.
    fn reserve(&mut self, log_blocks: usize) {
        let _ = log_blocks;
    }

    /// As the papers count it, for so many log blocks at the most on a drive of so many logical blocks, and its other
    /// RAM.
    fn ram(&self, geometry: &Geometry, log_blocks: u32, logical_blocks: u32, ledger: &mut RamLedger);
}

/// One hash table for all log blocks.
#[derive(Clone, Debug)]
pub(super) struct HashIndex {
    /// Logical page, and where it stands.
    places: HashTable<(u32, Page)>,
    logical_blocks_most: usize,
    /// Slots of the table at the most: it doubles once removals have used up its room and over half of it is in use.
    slots_most: usize,
}

/// Logical pages of a row of so many stand beside each other in the table, since they are written, merged and forgotten
/// together: as many as the table looks at in one go, so that nothing is gained by a stride.
const ROW_BITS: u32 = 4;

/// The low bits say where it stands, the topmost seven distinguish it from others there.
#[inline]
fn hash(key: u32) -> u64 {
    let spread = |n: u32| u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let row = spread(key >> ROW_BITS);
    let place = (row ^ row >> 32) << ROW_BITS | u64::from(key & ((1 << ROW_BITS) - 1));
    place ^ (spread(key) >> 57 << 57)
}

impl HashIndex {
    /// With room for the pages of all log blocks, and of one more. They may be of as many logical blocks.
    pub(super) fn of(geometry: &Geometry, sizes: &HybridSizes) -> Self {
        let pages = (sizes.log_blocks as usize + 1) * geometry.pages_per_block() as usize;
        let places = HashTable::with_capacity(pages);
        let doubles = pages > places.capacity() / 2;
        let slots_most = places.num_buckets() << u32::from(doubles);
        Self { places, logical_blocks_most: pages, slots_most }
    }

    /// The same where each log block is of one logical block.
    pub(super) fn of_owned(geometry: &Geometry, sizes: &HybridSizes) -> Self {
        Self { logical_blocks_most: sizes.log_blocks as usize + 1, ..Self::of(geometry, sizes) }
    }
}

impl Preserve for HashIndex {
    fn put_state(&self, to: &mut dyn StateOut) -> Result<(), StateError> {
        // The others follow from the configuration.
        let Self { places, logical_blocks_most: _, slots_most: _ } = self;
        places.put_state(to)?;
        places.iter().copied().collect::<Vec<_>>().put_state(to)
    }

    fn take_state(&mut self, from: &mut dyn StateIn) -> Result<(), StateError> {
        // The others follow from the configuration.
        let Self { places, logical_blocks_most: _, slots_most: _ } = self;
        places.take_state(from)?;
        for place in Vec::<(u32, Page)>::load(from)? {
            places.insert_unique(hash(place.0), place, |(key, _)| hash(*key));
        }
        Ok(())
    }
}

impl LogIndex for HashIndex {
    #[inline]
    fn place(&self, key: u32) -> Option<Page> {
        self.places.find(hash(key), |(other, _)| *other == key).map(|(_, page)| *page)
    }

    #[inline]
    fn set(&mut self, key: u32, page: Page, _role: Role) -> Option<Page> {
        match self.places.find_mut(hash(key), |(other, _)| *other == key) {
            Some((_, place)) => Some(core::mem::replace(place, page)),
            None => {
                self.places.insert_unique(hash(key), (key, page), |(key, _)| hash(*key));
                None
            }
        }
    }

    #[inline]
    fn remove(&mut self, key: u32) -> Option<Page> {
        let entry = self.places.find_entry(hash(key), |(other, _)| *other == key).ok()?;
        let ((_, page), _) = entry.remove();
        Some(page)
    }

    fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        self.places.iter().copied()
    }

    fn logical_blocks_most(&self) -> usize {
        self.logical_blocks_most
    }

    fn ram(&self, geometry: &Geometry, log_blocks: u32, logical_blocks: u32, ledger: &mut RamLedger) {
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let pages_of = |blocks: u32| u64::from(blocks) * u64::from(geometry.pages_per_block());
        ledger.structure("log.page_map", (pages_of(log_blocks) * bits(pages_of(logical_blocks))).div_ceil(8));
        // A slot of the table and its byte of control. A recovery may have found more log blocks.
        let slots = self.slots_most.max(self.places.num_buckets());
        ledger.index("index.log_hash", (slots * (size_of::<(u32, Page)>() + 1)) as u64);
    }
}
