//! BAST (Kim et al. 2002): a log block belongs to one logical block, and takes its pages in the order in which they
//! come.
//!
//! It is as LAST++ section 3 and µ-FTL section 3 have it. A logical block whose log block is full is merged. Where all
//! log blocks are in use, the one that was written least recently is. A log block whose pages all stand in place
//! becomes the data block (switch), or does so after the rest was copied (partial). Any other is merged in full, with
//! an association degree of 1. Under random writes each log block is merged with few pages in it: log block thrashing.
//!
//! Simplified: a page that was never written goes to a log block like any other. BAST writes it to the data block if it
//! is blank there. Filling a drive in order costs the same, a switch merge a block.

use super::super::ground::Ground;
use super::super::log_index::HashIndex;
use super::super::log_state::NONE;
use super::super::order::Order;
use super::super::shape::HybridSizes;
use super::{PartOf, Scheme};
use crate::barriers::Barriers;
use crate::{FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Nand, Time};

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct Bast {
    /// By logical block: the slot of its log block.
    slot_of: Vec<u32>,
    order: Order,
}

impl Bast {
    fn merge<N: Nand>(
        &mut self,
        ground: &mut Ground<HashIndex>,
        nand: &mut N,
        slot: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        let owner = ground.log.get(slot).owner;
        debug_assert_eq!(self.slot_of[owner as usize], slot, "logical block {owner} has another log block");
        let done = ground.merge_owned(nand, slot, at)?;
        self.slot_of[owner as usize] = NONE;
        self.order.remove(slot);
        Ok(done)
    }
}

impl Scheme for Bast {
    type Parts = ();
    type Index = HashIndex;

    fn new((): &(), _geometry: &Geometry, sizes: &HybridSizes) -> Self {
        Self { slot_of: vec![NONE; sizes.logical_blocks as usize], order: Order::default() }
    }

    fn index((): &(), geometry: &Geometry, sizes: &HybridSizes, _barriers: Barriers) -> HashIndex {
        HashIndex::of_owned(geometry, sizes)
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
        let (logical_block, _) = ground.split(key);
        let mut at = at;
        // Each round that fails retires a block.
        loop {
            let mut slot = self.slot_of[logical_block as usize];
            if slot != NONE {
                let state = ground.log.get(slot);
                if state.closed || state.next == ground.geometry.pages_per_block() {
                    at = self.merge(ground, nand, slot, at)?;
                    slot = NONE;
                }
            }
            if slot == NONE {
                while !ground.has_room_for_log_block()
                    && let Some(oldest) = self.order.oldest()
                {
                    at = self.merge(ground, nand, oldest, at)?;
                }
                (slot, at) = ground.open_log_block(nand, logical_block, at)?;
                self.slot_of[logical_block as usize] = slot;
            }
            self.order.touch(slot);
            let next = ground.log.get(slot).next;
            if let Some(done) = ground.append(nand, slot, next, key, content, at)? {
                return Ok(done);
            }
        }
    }

    /// Each log block is that of the logical block whose pages it holds. Log blocks of which nothing says whose they
    /// are, or that are one too many, are merged.
    fn recovered<N: Nand>(&mut self, ground: &mut Ground<HashIndex>, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut at = at;
        let slots: Vec<u32> = ground.log.slots().collect();
        for slot in slots {
            let owner = ground.log.get(slot).owner;
            if owner == NONE || self.slot_of[owner as usize] != NONE {
                at = ground.merge_shared(nand, slot, at)?;
            } else {
                self.slot_of[owner as usize] = slot;
                self.order.touch(slot);
            }
        }
        Ok(at)
    }

    fn knows(&self, ground: &Ground<HashIndex>) -> bool {
        let known = self.slot_of.iter().filter(|slot| **slot != NONE).count();
        known == ground.log.slots().count()
            && ground.log.slots().all(|slot| self.slot_of.get(ground.log.get(slot).owner as usize) == Some(&slot))
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("index.log_block_of", self.slot_of.capacity() as u64 * 4);
        self.order.ram(ledger);
    }
}
