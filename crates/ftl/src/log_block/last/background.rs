//! Merges while the host is idle (LAST++ section 4.5), of log blocks of the cold partition.
//!
//! Without them the full merges of these log blocks would hold up host writes. They begin when the host has been idle
//! for a fixed time. *Aggressive* merges whatever is the cheapest, as long as there is anything. *Conservative* merges
//! only a log block whose merge cost is not likely to fall before a foreground merge would take it ([`conservative`]).
//!
//! A step merges a few logical blocks of the log block: of each channel one at the most, all named by one map page. So
//! a request that ends the idle time waits for about as long as one logical block takes, not for all that the log block
//! is associated with. To power cuts each step is a merge like any other: what is left of the log block is still one.
//! The next idle time goes on with it, unless a foreground merge has taken it.
//!
//! The sorted merge-cost list is that of the blocks that may be merged. Here the merge-cost table keeps it in order;
//! the paper sorts it when it is needed.

use super::merge_cost::MergeCandidate;
use super::merges::associated;
use super::state::{Begun, Last};
use super::tables::Tables;
use crate::FtlError;
use crate::config::LastBackground;
use crate::ftl::Step;
use crate::log_block::ground::Ground;
use crate::log_block::pool::Role;
use alloc::vec::Vec;
use core::iter::Peekable;
use phelsuma_nand::{Nand, Time};

/// `latest_updates` has the latest update IDs of log blocks in the order of their merge costs, the cheapest first. The
/// result is the first whose distance from the current merge sequence ID is larger than its position, counted from 1.
/// The position says after how many foreground merges it would be the victim. The distance says for how many its cost
/// has not become smaller, so for how many it is not expected to.
pub(super) fn conservative(latest_updates: impl Iterator<Item = u64>, sequence: u64) -> Option<usize> {
    let is_settled = |(position, latest): (u64, u64)| sequence - latest.min(sequence) > position;
    (1..).zip(latest_updates).position(is_settled)
}

impl Last {
    /// A host request was done by then.
    #[inline]
    pub(super) fn note_request(&mut self, done: Time, changed: bool) {
        self.idle_since = self.idle_since.max(done);
        self.has_looked &= !changed;
    }

    /// From when on there may be something to merge, if there was no look since the last write.
    pub(super) fn background_is_due(&self) -> Option<Time> {
        let is_on = self.parts.background != LastBackground::Foreground && !self.has_looked;
        is_on.then_some(Time(self.idle_since.0.saturating_add(u64::from(self.parts.idle_ms) * 1_000_000)))
    }

    /// Merges a part of a log block of the cold partition, if there is one that is worth it. That there is none is found
    /// out once.
    pub(super) fn merge_in_background<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        at: Time,
    ) -> Result<Step, FtlError> {
        if self.parts.background == LastBackground::Foreground || self.has_looked {
            return Ok(Step::Nothing);
        }
        let begun = self.begun.map(|begun| begun.slot).or_else(|| self.background_victim(ground));
        let Some(victim) = begun else {
            self.has_looked = true;
            return Ok(Step::Did(at));
        };
        let done = self.merge_a_step(ground, nand, victim, at)?;
        // What comes next waits for it, and is due at once.
        let waited = Time(done.0.saturating_sub(u64::from(self.parts.idle_ms) * 1_000_000));
        self.idle_since = self.idle_since.max(waited);
        Ok(Step::Did(done))
    }

    fn merge_a_step<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        victim: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        let left = associated(ground, victim);
        let mut step: Vec<u32> = Vec::new();
        for logical_block in &left {
            let goes_along = |first: &u32| ground.data.part_of(*first) == ground.data.part_of(*logical_block);
            let is_apart = step.iter().all(|other| other % self.channels != logical_block % self.channels);
            if step.first().is_none_or(goes_along) && is_apart {
                step.push(*logical_block);
            }
        }
        let done = self.merge_in_full(ground, nand, &step, at)?;
        let merged = self.merged_in_background(victim) + step.len() as u32;
        self.begun = Some(Begun { slot: victim, merged });
        if step.len() < left.len() {
            return Ok(done);
        }
        let done = self.give_random_back(ground, nand, victim, merged, done)?;
        self.counts.background_merges += 1;
        Ok(done)
    }

    /// Logical blocks of a log block that idle time has merged so far.
    pub(super) fn merged_in_background(&self, slot: u32) -> u32 {
        self.begun.filter(|begun| begun.slot == slot).map_or(0, |begun| begun.merged)
    }

    fn background_victim(&self, ground: &Ground<Tables>) -> Option<u32> {
        let costs = &ground.log.index.costs;
        let cold = |channel| costs.candidates(self.group(Role::Log, channel));
        match self.parts.background {
            LastBackground::Foreground => None,
            LastBackground::Aggressive => (0..self.channels).filter_map(|channel| cold(channel).next()).min(),
            LastBackground::Conservative => {
                let sorted =
                    Sorted { of_channels: (0..self.channels).map(|channel| cold(channel).peekable()).collect() };
                let mut latest = None;
                let updates = sorted.map(|candidate| {
                    latest = Some(candidate);
                    costs.latest_update(candidate.2)
                });
                conservative(updates, costs.sequence).and(latest)
            }
        }
        .map(|(.., slot)| slot)
    }
}

/// The sorted merge-cost list: what may be merged on each channel, together.
struct Sorted<I: Iterator<Item = MergeCandidate>> {
    of_channels: Vec<Peekable<I>>,
}

impl<I: Iterator<Item = MergeCandidate>> Iterator for Sorted<I> {
    type Item = MergeCandidate;

    fn next(&mut self) -> Option<MergeCandidate> {
        let heads = self.of_channels.iter_mut();
        let cheapest = heads.filter_map(|channel| Some((*channel.peek()?, channel))).min_by_key(|(head, _)| *head);
        cheapest.and_then(|(_, channel)| channel.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_victim_of_figures_13_and_14_is_log_block_d() {
        // Figure 13, sequence 98: A, B, C, D and E in this order, with these latest update IDs.
        assert_eq!(conservative([98, 98, 98, 95, 98].into_iter(), 98), None);
        // The 99th merge takes A; B and E get cheaper; the 100th takes B, and C gets cheaper. Then the host is idle: of
        // C, D and E, D has position 2 and distance 5, E position 3 and distance 1.
        assert_eq!(conservative([100, 95, 99].into_iter(), 100), Some(1));
        // Position and distance alike is not enough.
        assert_eq!(conservative([100, 98, 99].into_iter(), 100), None);
        assert_eq!(conservative([98, 95, 99].into_iter(), 100), Some(0));
        assert_eq!(conservative(core::iter::empty(), 100), None);
    }
}
