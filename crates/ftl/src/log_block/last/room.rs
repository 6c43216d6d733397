//! Room for another log block: the foreground merges that make it.

use super::state::Last;
use super::tables::Tables;
use crate::FtlError;
use crate::log_block::ground::Ground;
use crate::log_block::pool::Role;
use phelsuma_nand::{Nand, Time};

/// The reason for which a log block is needed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// Sequential writes of a logical block.
    Sequential { logical_block: u32 },
    /// A partition's pages on a channel.
    Random { channel: u32, role: Role },
}

impl Last {
    /// Merges until there is room for a log block, or nothing is left to merge: then merges have given back all that
    /// there was. A segment is merged for a sequential one, random log blocks for a random one, and the others where
    /// there is none of these.
    pub(super) fn make_room<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        need: Need,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut at = at;
        // Each round gives up a log block.
        while !self.is_met(ground, need) {
            let mut merged = None;
            if let Need::Random { .. } = need {
                merged = self.merge_victims(ground, nand, need, at)?;
            }
            if merged.is_none() {
                merged = self.merge_oldest_segment(ground, nand, at)?;
            }
            if merged.is_none()
                && let Need::Sequential { .. } = need
            {
                merged = self.merge_victims(ground, nand, need, at)?;
            }
            let Some(done) = merged else { break };
            at = done;
        }
        Ok(at)
    }

    /// Whether a log block can be opened.
    fn is_met(&self, ground: &Ground<Tables>, need: Need) -> bool {
        let has_a_place = match need {
            Need::Sequential { logical_block } => ground.log.index.segments.can_open(logical_block),
            Need::Random { channel, .. } => self.random[channel as usize] < self.quota[channel as usize],
        };
        has_a_place && ground.pool.free() > ground.shape.reserve_blocks
    }

    /// Merges random log blocks, if there are any that may be merged: when that is done.
    fn merge_victims<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        need: Need,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let victims = match need {
            Need::Sequential { .. } => self.cheapest(ground, None).into_iter().collect(),
            Need::Random { channel, role } => self.victims(ground, channel, role),
        };
        if victims.is_empty() {
            return Ok(None);
        }
        self.merge_in_foreground(ground, nand, &victims, at).map(Some)
    }

    /// Merges random log blocks that a write waits for. The merge sequence ID counts those of the cold partition among
    /// them, one by one. So it counts the removals from the sorted merge-cost list, which the list's positions stand
    /// for. (In the paper's figures each merge takes one.)
    fn merge_in_foreground<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        victims: &[u32],
        at: Time,
    ) -> Result<Time, FtlError> {
        let cold = victims.iter().filter(|victim| ground.log.get(**victim).role == Role::Log).count();
        ground.log.index.costs.sequence += cold as u64;
        self.merge_random(ground, nand, victims, at)
    }
}
