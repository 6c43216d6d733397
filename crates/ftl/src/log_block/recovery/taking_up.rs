//! How the log blocks that count are taken up.

use super::super::ground::Ground;
use super::super::log_index::LogIndex;
use super::super::log_state::NOBODY;
use super::super::log_state::NONE;
use super::super::pool::{Role, Use};
use super::super::scheme::Scheme;
use super::{FoundLogBlock, SpareScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Page};

impl<I: LogIndex> Ground<I> {
    /// Takes up the log blocks that hold these pages, each of which is the newest of its logical page. It goes in the
    /// order in which they were begun, and none is written any further. The RAM that this takes, in bytes, with the
    /// given pages.
    pub(super) fn take_up_log_blocks<S: Scheme<Index = I>>(
        &mut self,
        scan: &SpareScan,
        newest: &[(u32, Page)],
        begun: impl Fn(Block) -> u64,
    ) -> u64 {
        let geometry = self.geometry;
        let block_of = |page: Page| geometry.block_of(page);
        let mut blocks: Vec<(u64, Block)> =
            newest.iter().map(|(_, page)| (begun(block_of(*page)), block_of(*page))).collect();
        blocks.sort_unstable();
        blocks.dedup();
        self.log.index.reserve(blocks.len());
        let mut standing: Vec<(Block, u32, u32)> = Vec::new();
        if S::TAKES_UP_BY_PAGES {
            let place = |(key, page): &(u32, Page)| (block_of(*page), *key, geometry.index_of(*page));
            standing.extend(newest.iter().map(place));
            standing.sort_unstable();
        }
        let bytes = size_of_val(newest)
            + blocks.capacity() * size_of::<(u64, Block)>()
            + standing.capacity() * size_of::<(Block, u32, u32)>();
        for (first_seq, block) in blocks {
            let from = standing.partition_point(|(other, ..)| *other < block);
            let until = standing.partition_point(|(other, ..)| *other <= block);
            let found = FoundLogBlock { label: scan.role(block), pages: &standing[from..until] };
            debug_assert!(!self.log.is_log_block(block), "{block} is taken up twice");
            let (role, owner) = S::taken_up(self, &found);
            debug_assert!(role.is_log(), "{block} is taken up as {role:?}");
            let slot = self.log.open(block, owner, role, first_seq);
            let state = self.log.get_mut(slot);
            (state.closed, state.in_place, state.next) = (true, false, geometry.pages_per_block());
            self.pool.take(block, Use::Log);
        }
        for (key, page) in newest {
            self.log.set(*key, *page);
        }
        let slots: Vec<u32> = self.log.slots().collect();
        for slot in slots {
            let mut owners = self.log.get(slot).keys.iter().filter(|key| **key != NONE);
            let owner = owners.next().map(|key| self.split(*key).0);
            let alone = owner.filter(|owner| owners.all(|key| self.split(*key).0 == *owner));
            let state = self.log.get_mut(slot);
            state.used = state.live;
            state.owner = alone.unwrap_or(NOBODY);
            let (role, owner, live) = (state.role, state.owner, state.live);
            // A sequential log block that is complete may still become a data block.
            self.log.get_mut(slot).in_place = role == Role::Sequential && live == self.pages_in(owner);
        }
        bytes as u64
    }
}
