//! Which random log block is merged, and how large the partitions are (LAST++ section 4.4.2, figure 11).
//!
//! Where a partition needs a block:
//!
//! 1. A dead block of the hot partition, one that holds invalid pages alone, is erased.
//! 2. Where there is none, and the hot partition is as large as its share of the valid pages makes it, its block of the
//!    smallest association degree is merged: so pages that were hot once leave it.
//! 3. Otherwise the block of the cold partition with the smallest association degree is merged.
//!
//! The block that is gained goes to the partition that needs it; the partitions are as large as that makes them.
//!
//! The partitions are the drive's; the victim is one of the channel that needs the block, so that each channel keeps as many
//! log blocks as it has. Where a full merge is needed, other channels that are about to need one have theirs merged with it
//! (figure 10): they are written in turn, so all of them usually are.

use super::Last;
use crate::FtlError;
use crate::log_block::ground::Ground;
use crate::log_block::log::NONE;
use crate::log_block::pool::Role;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Time};

impl Last {
    /// Whether the hot partition is as large as its share of the valid pages makes it.
    fn hot_is_at_its_most(&self, ground: &Ground) -> bool {
        let [cold, hot] = ground.log.last().map_or([0; 2], |tables| tables.valid);
        let written = (0..self.channels)
            .filter(|channel| self.can_be_written(ground, self.open[self.group(Role::Hot, *channel) as usize].slot));
        let full = u64::from(self.hot) - written.count() as u64;
        full * (cold + hot) >= u64::from(self.random_most) * hot
    }

    /// The random log block to merge, of a channel's or of all.
    pub(super) fn cheapest(&self, ground: &Ground, channel: Option<u32>) -> Option<u32> {
        let costs = &ground.log.last()?.costs;
        let of = |role| match channel {
            Some(channel) => costs.cheapest(self.group(role, channel)),
            None => (0..self.channels).filter_map(|channel| costs.cheapest(self.group(role, channel))).min(),
        };
        let (cold, hot) = (of(Role::Log), of(Role::Hot));
        let is_dead = hot.is_some_and(|(cost, ..)| cost.is_dead());
        let (first, second) = if is_dead || self.hot_is_at_its_most(ground) { (hot, cold) } else { (cold, hot) };
        first.or(second).map(|(.., slot)| slot)
    }

    /// The log blocks to merge where a channel needs one for a partition.
    fn victims(&self, ground: &Ground, channel: u32, role: Role) -> Vec<u32> {
        let Some(first) = self.cheapest(ground, Some(channel)).or_else(|| self.cheapest(ground, None)) else {
            return Vec::new();
        };
        let is_dead = |slot| ground.log.last().is_some_and(|tables| tables.costs.cost(slot).is_dead());
        let mut victims = vec![first];
        if is_dead(first) {
            return victims;
        }
        for other in (0..self.channels).filter(|other| *other != channel) {
            let is_full = self.random[other as usize] >= self.quota[other as usize];
            if is_full
                && self.room_in(ground, self.open[self.group(role, other) as usize].slot) <= 1
                && let Some(victim) = self.cheapest(ground, Some(other))
                && !victims.contains(&victim)
            {
                victims.push(victim);
            }
        }
        victims
    }

    /// Pages that a random log block still takes.
    fn room_in(&self, ground: &Ground, slot: u32) -> u32 {
        if slot == NONE || !self.can_be_written(ground, slot) {
            return 0;
        }
        self.pages_per_log_block - ground.log.get(slot).next
    }

    /// Makes room for another random log block of a channel.
    pub(super) fn make_room<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        channel: u32,
        role: Role,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut at = at;
        // Each round gives up a log block.
        loop {
            let is_full = self.random[channel as usize] >= self.quota[channel as usize];
            if !is_full && ground.pool.free() > ground.merge_blocks {
                return Ok(at);
            }
            let victims = self.victims(ground, channel, role);
            if victims.is_empty() {
                match self.merge_oldest_segment(ground, nand, at)? {
                    Some(done) => at = done,
                    // Merges have given back all that there was.
                    None => return Ok(at),
                }
                continue;
            }
            at = self.merge_in_foreground(ground, nand, &victims, at)?;
        }
    }

    /// Merges random log blocks that somebody waits for. The merge sequence ID counts those of the cold partition among
    /// them, one by one: so it counts what takes log blocks off the sorted merge-cost list, and of that the list's
    /// positions speak. (In the paper's figures each merge takes one.)
    pub(super) fn merge_in_foreground<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        victims: &[u32],
        at: Time,
    ) -> Result<Time, FtlError> {
        let cold = victims.iter().filter(|victim| ground.log.get(**victim).role == Role::Log).count();
        if let Some(tables) = ground.log.last_mut() {
            tables.costs.sequence += cold as u64;
        }
        self.merge_random(ground, nand, victims, at)
    }
}
