//! Merges on all channels together (LAST++ sections 4.3 and 4.4, figures 7 and 10).
//!
//! The new data blocks of as many logical blocks as there are channels are written side by side. Then each map page that
//! names some of them is written, and the old blocks of these are given back. So each logical block switches alone, or
//! with others that one page switches. (The paper has one atomic write for all.)

use super::state::Last;
use super::tables::Tables;
use crate::FtlError;
use crate::log_block::ground::Ground;
use crate::log_block::log_state::NONE;
use crate::log_block::merge::Merge;
use crate::log_block::pool::Role;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Time};

impl Last {
    /// Merges the segment that was allocated least recently; none where there is none.
    pub(super) fn merge_oldest_segment<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let slots = ground.log.index.segments.oldest();
        if slots.is_empty() {
            return Ok(None);
        }
        let copies = ground.tally.page_copies;
        let merge = |slot: &u32| Merge { logical_block: ground.log.get(*slot).owner, own: Some(*slot) };
        let merges: Vec<Merge> = slots.iter().map(merge).collect();
        let done = ground.merge_together(nand, &merges, self.channels, at)?;
        self.counts.segments_merged += 1;
        self.counts.sequential_copies += ground.tally.page_copies - copies;
        Ok(Some(done))
    }

    /// Merges random log blocks, all logical blocks that have live pages in any of them together, and gives them back.
    pub(super) fn merge_random<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        victims: &[u32],
        at: Time,
    ) -> Result<Time, FtlError> {
        let (mut logical_blocks, mut degrees) = (Vec::new(), Vec::new());
        for victim in victims {
            let own = associated(ground, *victim);
            degrees.push(own.len() as u32 + self.merged_in_background(*victim));
            logical_blocks.extend(own);
        }
        logical_blocks.sort_unstable();
        logical_blocks.dedup();
        let mut done = self.merge_in_full(ground, nand, &logical_blocks, at)?;
        for (victim, degree) in victims.iter().zip(degrees) {
            done = self.give_random_back(ground, nand, *victim, degree, done)?;
        }
        Ok(done)
    }

    /// Merges logical blocks in full, side by side, and gives back their sequential log blocks.
    pub(super) fn merge_in_full<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        logical_blocks: &[u32],
        at: Time,
    ) -> Result<Time, FtlError> {
        // A full merge takes the newest pages from sequential log blocks as well, and empties them.
        let segments = &ground.log.index.segments;
        let sequential: Vec<(u32, u32)> =
            (logical_blocks.iter().filter_map(|logical_block| segments.slot(*logical_block)))
                .map(|slot| (slot, u32::from(ground.log.get(slot).live > 0)))
                .collect();
        let copies = ground.tally.page_copies;
        let merges: Vec<Merge> = logical_blocks.iter().map(|logical_block| Merge::full(*logical_block)).collect();
        let mut done = ground.merge_together(nand, &merges, self.channels, at)?;
        self.counts.random_copies += ground.tally.page_copies - copies;
        for (slot, degree) in sequential {
            done = ground.give_back(nand, slot, degree, done)?;
        }
        Ok(done)
    }

    /// Gives back a random log block in which nothing is live, after merges of so many logical blocks.
    pub(super) fn give_random_back<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        victim: u32,
        degree: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        debug_assert_eq!(ground.log.get(victim).live, 0, "a victim holds pages that were not merged");
        let is_hot = ground.log.get(victim).role == Role::Hot;
        let done = ground.give_back(nand, victim, degree, at)?;
        self.begun = self.begun.filter(|begun| begun.slot != victim);
        self.random[self.opened_for[victim as usize] as usize] -= 1;
        // One that was written to its end is open no longer.
        self.open.iter_mut().filter(|open| open.slot == victim).for_each(|open| open.slot = NONE);
        self.hot -= u32::from(is_hot);
        let victims = if is_hot { &mut self.counts.hot_victims } else { &mut self.counts.cold_victims };
        *victims += 1;
        self.counts.dead_victims += u64::from(degree == 0);
        Ok(done)
    }
}

/// The logical blocks that have live pages in a log block, in order.
pub(super) fn associated(ground: &Ground<Tables>, slot: u32) -> Vec<u32> {
    let (mut logical_blocks, mut from) = (Vec::new(), 0);
    while let Some((index, key)) = ground.log.live_in(slot, from) {
        logical_blocks.push(ground.split(key).0);
        from = index + 1;
    }
    logical_blocks.sort_unstable();
    logical_blocks.dedup();
    logical_blocks
}
