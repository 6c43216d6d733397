//! Merges on all channels together (LAST++ sections 4.3 and 4.4, figures 7 and 10).
//!
//! Of what is merged at a time each logical block has its new data block written side by side with the others'; then the
//! map page that names them; and only then the old blocks are given back. What is not in the same map page is merged one
//! after the other: each logical block switches alone, or with others that one page switches (the paper has one atomic
//! write for all).

use super::Last;
use crate::FtlError;
use crate::log_block::ground::Ground;
use crate::log_block::log::NONE;
use crate::log_block::pool::Role;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Time};

/// A logical block whose new data block is written.
struct Ready {
    logical_block: u32,
    block: Option<Block>,
    /// Where that is its sequential log block: the slot, and whether nothing had to be copied.
    became: Option<(u32, bool)>,
}

impl Ground {
    /// Merges logical blocks in full, as many at a time as there are channels.
    fn merge_together<N: Nand>(&mut self, nand: &mut N, logical_blocks: &[u32], at: Time) -> Result<Time, FtlError> {
        let (mut done, mut rest) = (at, logical_blocks);
        while let Some(first) = rest.first() {
            let part = self.data.part_of(*first);
            let same = rest.partition_point(|logical_block| self.data.part_of(*logical_block) == part);
            let blocks = self.gather_some(nand, &rest[..same], done)?;
            let (now, behind) = rest.split_at(blocks.len());
            let ready = now.iter().zip(blocks).map(|(lb, block)| Ready { logical_block: *lb, block, became: None });
            done = self.switch_together(nand, &ready.collect::<Vec<_>>(), done)?;
            rest = behind;
        }
        Ok(done)
    }

    /// New data blocks, written side by side, of as many of these logical blocks as there is room for: at least one.
    fn gather_some<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_blocks: &[u32],
        at: Time,
    ) -> Result<Vec<Option<Block>>, FtlError> {
        // One for the map and one for a program that fails are left.
        let room = self.pool.free().saturating_sub(2).clamp(1, self.layout.channels()) as usize;
        let chosen = logical_blocks.get(..room).unwrap_or(logical_blocks);
        if chosen.len() > 1 {
            match self.gather_in_step(nand, chosen, at) {
                Err(FtlError::Full { .. }) => {}
                gathered => return gathered,
            }
        }
        match chosen.first() {
            Some(logical_block) => Ok(vec![self.gather(nand, *logical_block, at)?]),
            None => Ok(Vec::new()),
        }
    }

    /// What is ready becomes data blocks: all of one map page.
    fn switch_together<N: Nand>(&mut self, nand: &mut N, ready: &[Ready], at: Time) -> Result<Time, FtlError> {
        let blocks: Vec<_> = ready.iter().map(|ready| (ready.logical_block, ready.block)).collect();
        let done = self.switch_all(nand, &blocks, at)?;
        for ready in ready {
            let Some((slot, is_switch)) = ready.became else {
                self.tally.full_merges += 1;
                continue;
            };
            self.became_data_block(slot, is_switch);
        }
        Ok(done)
    }

    /// Merges sequential log blocks of one segment: each the cheapest way that there is (figure 7), those of all channels
    /// together.
    fn merge_segment<N: Nand>(&mut self, nand: &mut N, slots: &[u32], at: Time) -> Result<Time, FtlError> {
        let (mut done, mut rest) = (at, slots.to_vec());
        // Each round gives up a log block.
        while let Some(first) = rest.first() {
            let part = self.data.part_of(self.log.get(*first).owner);
            let same = rest.partition_point(|slot| self.data.part_of(self.log.get(*slot).owner) == part);
            let behind = rest.split_off(same);
            let (in_place, others): (Vec<u32>, Vec<u32>) =
                rest.iter().partition(|slot| self.can_become_data_block(**slot));
            let completed = self.complete_in_step(nand, &in_place, done)?;
            let (mut ready, mut given_back, mut copied) = (Vec::new(), Vec::new(), Vec::new());
            let each = in_place.iter().copied().zip(completed).chain(others.iter().map(|slot| (*slot, None)));
            for (slot, completed) in each {
                let state = self.log.get(slot);
                let (logical_block, block, live) = (state.owner, state.block, state.live);
                match completed {
                    Some(is_switch) => {
                        ready.push(Ready { logical_block, block: Some(block), became: Some((slot, is_switch)) });
                    }
                    None if live == 0 => given_back.push((slot, 0)),
                    None => copied.push((slot, logical_block)),
                }
            }
            let logical_blocks: Vec<u32> = copied.iter().map(|(_, logical_block)| *logical_block).collect();
            let blocks = match self.gather_some(nand, &logical_blocks, done) {
                Ok(blocks) => blocks,
                Err(error) if ready.is_empty() && given_back.is_empty() => return Err(error),
                // What is written gives blocks back.
                Err(FtlError::Full { .. }) => Vec::new(),
                Err(error) => return Err(error),
            };
            let left = copied.split_off(blocks.len());
            for ((slot, logical_block), block) in copied.into_iter().zip(blocks) {
                ready.push(Ready { logical_block, block, became: None });
                given_back.push((slot, 1));
            }
            done = self.switch_together(nand, &ready, done)?;
            for (slot, degree) in given_back {
                done = self.give_back(nand, slot, degree, done)?;
            }
            rest = left.into_iter().map(|(slot, _)| slot).chain(behind).collect();
        }
        Ok(done)
    }
}

impl Last {
    /// Merges the segment that was allocated least recently; none where there is none.
    pub(super) fn merge_oldest_segment<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let slots = ground.log.last().map(|tables| tables.segments.oldest()).unwrap_or_default();
        if slots.is_empty() {
            return Ok(None);
        }
        let copies = ground.tally.page_copies;
        let done = ground.merge_segment(nand, &slots, at)?;
        self.counts.segments_merged += 1;
        self.counts.sequential_copies += ground.tally.page_copies - copies;
        Ok(Some(done))
    }

    /// Merges random log blocks, all logical blocks that have live pages in any of them together, and gives them back.
    pub(super) fn merge_random<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        victims: &[u32],
        at: Time,
    ) -> Result<Time, FtlError> {
        let (mut logical_blocks, mut degrees) = (Vec::new(), Vec::new());
        for victim in victims {
            let before = logical_blocks.len();
            let mut from = 0;
            while let Some((index, key)) = ground.log.live_in(*victim, from) {
                logical_blocks.push(ground.split(key).0);
                from = index + 1;
            }
            let own: &mut [u32] = &mut logical_blocks[before..];
            own.sort_unstable();
            degrees.push(own.chunk_by(|a, b| a == b).count() as u32);
        }
        logical_blocks.sort_unstable();
        logical_blocks.dedup();
        // A full merge takes the newest pages from sequential log blocks as well, and empties them.
        let tables = ground.log.last();
        let slot_of = |logical_block| tables.and_then(|tables| tables.segments.slot(logical_block));
        let sequential: Vec<(u32, u32)> = (logical_blocks.iter().filter_map(|logical_block| slot_of(*logical_block)))
            .map(|slot| (slot, u32::from(ground.log.get(slot).live > 0)))
            .collect();
        let copies = ground.tally.page_copies;
        let mut done = ground.merge_together(nand, &logical_blocks, at)?;
        self.counts.random_copies += ground.tally.page_copies - copies;
        for (slot, degree) in sequential {
            done = ground.give_back(nand, slot, degree, done)?;
        }
        for (victim, degree) in victims.iter().zip(degrees) {
            let is_hot = ground.log.get(*victim).role == Role::Hot;
            done = ground.give_back(nand, *victim, degree, done)?;
            self.random[self.home[*victim as usize] as usize] -= 1;
            // One that was written to its end is open no longer.
            self.open.iter_mut().filter(|open| open.slot == *victim).for_each(|open| open.slot = NONE);
            self.hot -= u32::from(is_hot);
            let victims = if is_hot { &mut self.counts.hot_victims } else { &mut self.counts.cold_victims };
            *victims += 1;
            self.counts.dead_victims += u64::from(degree == 0);
        }
        Ok(done)
    }

    /// Makes room for a sequential log block of a logical block: merges segments until there is an entry and a free block
    /// for it.
    pub(super) fn room_for_sequential<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        logical_block: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut at = at;
        // Each round gives up a log block.
        loop {
            let can_open = ground.log.last().is_some_and(|tables| tables.segments.can_open(logical_block));
            if can_open && ground.pool.free() > ground.merge_blocks {
                return Ok(at);
            }
            at = match self.merge_oldest_segment(ground, nand, at)? {
                Some(done) => done,
                None => match self.cheapest(ground, None) {
                    Some(victim) => self.merge_in_foreground(ground, nand, &[victim], at)?,
                    // Merges have given back all that there was.
                    None => return Ok(at),
                },
            };
        }
    }
}
