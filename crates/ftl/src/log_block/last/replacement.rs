//! Which random log block is merged, and how large the partitions are (LAST++ section 4.4.2, figure 11).
//!
//! Where a partition needs a block:
//!
//! 1. A dead block of the hot partition, one that holds invalid pages alone, is erased.
//! 2. Where there is none, and the hot partition has its share of the valid pages, the block of the smallest
//!    association degree in either partition is merged. So pages that were hot once leave the hot one. (The paper
//!    takes a hot block for a hot page, and a cold one for a cold page. A full hot partition of few valid pages then
//!    has hot blocks merged where cold ones are cheaper.)
//! 3. Otherwise the block of the cold partition with the smallest association degree is merged.
//!
//! The block that is gained goes to the partition that needs it. The partitions are as large as that makes them.
//!
//! The partitions are the drive's. The victim is one of the channel that needs the block, so that each channel keeps
//! its number of log blocks. Where a full merge is needed, other channels that are about to need one merge theirs with
//! it (figure 10). They are written in turn, so all of them usually are.

use super::state::Last;
use super::tables::Tables;
use crate::log_block::ground::Ground;
use crate::log_block::log_state::NONE;
use crate::log_block::pool::Role;
use alloc::vec;
use alloc::vec::Vec;

impl Last {
    /// Whether the hot partition is as large as its share of the valid pages makes it.
    fn hot_is_at_its_most(&self, ground: &Ground<Tables>) -> bool {
        let [cold, hot] = ground.log.index.valid;
        let written = (0..self.channels)
            .filter(|channel| self.can_be_written(ground, self.open[self.group(Role::Hot, *channel) as usize].slot));
        let full = u64::from(self.hot) - written.count() as u64;
        let log_blocks = u64::from(self.random.iter().sum::<u32>());
        let pages = log_blocks * u64::from(ground.geometry.pages_per_block());
        debug_assert!(cold + hot <= pages, "more pages are valid than random log blocks have");
        full * (cold + hot) >= u64::from(self.random_most) * hot
    }

    /// The random log block to merge, of a channel's or of all.
    pub(super) fn cheapest(&self, ground: &Ground<Tables>, channel: Option<u32>) -> Option<u32> {
        let costs = &ground.log.index.costs;
        let of = |role| match channel {
            Some(channel) => costs.cheapest(self.group(role, channel)),
            None => (0..self.channels).filter_map(|channel| costs.cheapest(self.group(role, channel))).min(),
        };
        let (cold, hot) = (of(Role::Log), of(Role::Hot));
        let is_dead = hot.is_some_and(|(cost, ..)| cost.is_dead());
        let chosen = match (cold, hot) {
            (Some(cold), Some(hot)) if is_dead || (self.hot_is_at_its_most(ground) && hot < cold) => hot,
            (Some(one), _) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        Some(chosen.2)
    }

    /// The log blocks to merge where a channel needs one for a partition.
    pub(super) fn victims(&self, ground: &Ground<Tables>, channel: u32, role: Role) -> Vec<u32> {
        let Some(first) = self.cheapest(ground, Some(channel)).or_else(|| self.cheapest(ground, None)) else {
            return Vec::new();
        };
        let mut victims = vec![first];
        if ground.log.index.costs.cost(first).is_dead() {
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
    fn room_in(&self, ground: &Ground<Tables>, slot: u32) -> u32 {
        if slot == NONE || !self.can_be_written(ground, slot) {
            return 0;
        }
        self.pages_per_log_block - ground.log.get(slot).next
    }
}
