//! FAST (Lee et al. 2007): all logical blocks share the log blocks, but for one that takes sequential writes.
//!
//! It is as LAST++ sections 3 and 5.2 have it.
//!
//! - A page at the beginning of its logical block begins the *sequential log block* anew. The one there is gets merged,
//!   by a switch or partial merge where its pages are the newest. The page that follows the last one in it goes there,
//!   too.
//! - Every other page goes to the newest of the *random log blocks*, whatever its logical block. When all are full the
//!   oldest is merged (round robin). Each logical block with live pages in it is merged in full, one after the other.
//!   How many that are is the association degree.
//!
//! A page of the sequential log block's logical block may come that is not the next one. FAST as published merges that
//! log block at once (`fast.sequential=published`). By default the page goes to the random ones, and the sequential log
//! block stays: fewer merges, so a stronger baseline. A merge takes the newest version of each page wherever it stands,
//! so both are safe.

use super::super::ground::Ground;
use super::super::log_index::HashIndex;
use super::super::log_state::NOBODY;
use super::super::shape::HybridSizes;
use super::{PartOf, Scheme};
use crate::barriers::Barriers;
use crate::config::{FastParts, FastSequential};
use crate::{FtlError, RamLedger};
use alloc::collections::VecDeque;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Nand, Time};

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct Fast {
    /// The slot of the sequential log block.
    sequential: Option<u32>,
    /// Those of the random log blocks, the oldest first.
    random: VecDeque<u32>,
    parts: FastParts,
}

impl Fast {
    fn begin_sequential<N: Nand>(
        &mut self,
        ground: &mut Ground<HashIndex>,
        nand: &mut N,
        owner: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut at = at;
        if let Some(slot) = self.sequential {
            at = ground.merge_owned(nand, slot, at)?;
            self.sequential = None;
        }
        at = self.make_room(ground, nand, ground.log_blocks_most, at)?;
        let (slot, ready) = ground.open_log_block(nand, owner, at)?;
        debug_assert!(!self.random.contains(&slot), "slot {slot} is sequential and random");
        self.sequential = Some(slot);
        Ok(ready)
    }

    /// Merges random log blocks, the oldest first, until there are fewer than `most` and there is room for another log
    /// block: one is always left to the sequential log block.
    fn make_room<N: Nand>(
        &mut self,
        ground: &mut Ground<HashIndex>,
        nand: &mut N,
        most: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut at = at;
        while self.random.len() >= most as usize || !ground.has_room_for_log_block() {
            let Some(oldest) = self.random.front().copied() else {
                // Where blocks have grown bad, the sequential log block may be the last one.
                let Some(slot) = self.sequential else { break };
                at = ground.merge_owned(nand, slot, at)?;
                self.sequential = None;
                continue;
            };
            at = ground.merge_shared(nand, oldest, at)?;
            self.random.pop_front();
            // A full merge takes the newest pages from the sequential log block as well.
            if let Some(slot) = self.sequential
                && ground.log.get(slot).live == 0
            {
                at = ground.merge_owned(nand, slot, at)?;
                self.sequential = None;
            }
        }
        Ok(at)
    }
}

impl Scheme for Fast {
    type Parts = FastParts;
    type Index = HashIndex;

    fn new(parts: &FastParts, _geometry: &Geometry, _sizes: &HybridSizes) -> Self {
        Self { sequential: None, random: VecDeque::new(), parts: *parts }
    }

    fn index(_: &FastParts, geometry: &Geometry, sizes: &HybridSizes, _barriers: Barriers) -> HashIndex {
        HashIndex::of(geometry, sizes)
    }

    fn write<N: Nand>(
        &mut self,
        ground: &mut Ground<HashIndex>,
        nand: &mut N,
        key: u32,
        _part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let (logical_block, offset) = ground.split(key);
        let mut at = at;
        if offset == 0 {
            at = self.begin_sequential(ground, nand, logical_block, at)?;
        }
        if let Some(slot) = self.sequential {
            let state = ground.log.get(slot);
            if state.owner == logical_block
                && state.next == offset
                && !state.closed
                && let Some(done) = ground.append(nand, slot, offset, key, content, at)?
            {
                return Ok(done);
            }
            if ground.log.get(slot).owner == logical_block && self.parts.sequential == FastSequential::Published {
                at = ground.merge_owned(nand, slot, at)?;
                self.sequential = None;
            }
        }
        // Each round that fails retires a block.
        loop {
            let newest = self.random.back().copied().filter(|slot| {
                let state = ground.log.get(*slot);
                !state.closed && state.next < ground.geometry.pages_per_block()
            });
            let slot = match newest {
                Some(slot) => slot,
                None => {
                    at = self.make_room(ground, nand, ground.log_blocks_most - 1, at)?;
                    let (slot, ready) = ground.open_log_block(nand, NOBODY, at)?;
                    at = ready;
                    self.random.push_back(slot);
                    slot
                }
            };
            let next = ground.log.get(slot).next;
            if let Some(done) = ground.append(nand, slot, next, key, content, at)? {
                return Ok(done);
            }
        }
    }

    /// The former sequential log block is one like any other from now on.
    fn recovered<N: Nand>(
        &mut self,
        ground: &mut Ground<HashIndex>,
        _nand: &mut N,
        at: Time,
    ) -> Result<Time, FtlError> {
        self.random = ground.log.slots().collect();
        Ok(at)
    }

    fn knows(&self, ground: &Ground<HashIndex>) -> bool {
        let known = |slot: u32| self.sequential == Some(slot) || self.random.contains(&slot);
        ground.log.slots().all(known) && ground.log.len() as usize == self.random.len() + self.sequential.iter().count()
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("scheme.order", self.random.len() as u64 * 4);
        ledger.index("index.order", self.random.capacity() as u64 * 4);
    }
}
