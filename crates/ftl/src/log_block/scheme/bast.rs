//! BAST (Kim et al. 2002, as LAST++ section 3 and µ-FTL section 3 have it): a log block belongs to one logical block, and
//! takes its pages in the order in which they come.
//!
//! A logical block whose log block is full is merged. Where all log blocks are in use, the one that was written least
//! recently is. A log block whose pages all stand in place becomes the data block (switch), or does so after the rest was
//! copied (partial); any other is merged in full, with an association degree of 1. Under random writes each log block is
//! merged with few pages in it: log block thrashing.
//!
//! Simplified: a page that was never written goes to a log block like any other, while BAST writes it to the data block
//! if it is blank there. Filling a drive in order costs the same, a switch merge a block.

use super::super::ground::Ground;
use super::super::log::NONE;
use crate::{FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Content, Nand, Time};

#[derive(Clone, Debug)]
pub(in super::super) struct Bast {
    /// By logical block: the slot of its log block.
    slot_of: Vec<u32>,
    order: Order,
}

impl Bast {
    pub(super) fn new(logical_blocks: u32) -> Self {
        Self { slot_of: vec![NONE; logical_blocks as usize], order: Order::default() }
    }

    pub(super) fn write<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        key: u32,
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

    fn merge<N: Nand>(&mut self, ground: &mut Ground, nand: &mut N, slot: u32, at: Time) -> Result<Time, FtlError> {
        let owner = ground.log.get(slot).owner;
        let done = ground.merge_owned(nand, slot, at)?;
        self.slot_of[owner as usize] = NONE;
        self.order.remove(slot);
        Ok(done)
    }

    /// Each log block is that of the logical block whose pages it holds. Log blocks of which nothing says whose they are,
    /// or that are one too many, are merged.
    pub(super) fn recovered<N: Nand>(&mut self, ground: &mut Ground, nand: &mut N, at: Time) -> Result<Time, FtlError> {
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

    pub(super) fn knows(&self, ground: &Ground) -> bool {
        let known = self.slot_of.iter().filter(|slot| **slot != NONE).count();
        known == ground.log.slots().count()
            && ground.log.slots().all(|slot| self.slot_of.get(ground.log.get(slot).owner as usize) == Some(&slot))
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("index.log_block_of", self.slot_of.capacity() as u64 * 4);
        ledger.structure("scheme.order", self.order.links.len() as u64 * 4);
        ledger.index("index.order", self.order.links.capacity() as u64 * 4);
    }
}

/// Slots in the order in which they were written last: a list through an array.
#[derive(Clone, Debug)]
struct Order {
    /// By slot: the one before and the one behind; itself where it is in no list.
    links: Vec<(u32, u32)>,
    oldest: u32,
    newest: u32,
}

impl Default for Order {
    fn default() -> Self {
        Self { links: Vec::new(), oldest: NONE, newest: NONE }
    }
}

impl Order {
    fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    fn touch(&mut self, slot: u32) {
        if self.newest == slot {
            return;
        }
        while self.links.len() <= slot as usize {
            let alone = self.links.len() as u32;
            self.links.push((alone, alone));
        }
        self.remove(slot);
        self.links[slot as usize] = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].1 = slot,
        }
        self.newest = slot;
    }

    fn remove(&mut self, slot: u32) {
        let (before, behind) = self.links[slot as usize];
        if before == slot {
            return;
        }
        match before {
            NONE => self.oldest = behind,
            before => self.links[before as usize].1 = behind,
        }
        match behind {
            NONE => self.newest = before,
            behind => self.links[behind as usize].0 = before,
        }
        self.links[slot as usize] = (slot, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_last_touches() {
        let mut order = Order::default();
        let mut model: Vec<u32> = Vec::new();
        let mut random = 1u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slot = (random >> 40) as u32 % 9;
            if random >> 60 < 10 {
                order.touch(slot);
                model.retain(|other| *other != slot);
                model.push(slot);
            } else if model.contains(&slot) {
                order.remove(slot);
                model.retain(|other| *other != slot);
            }
            assert_eq!(order.oldest(), model.first().copied());
        }
        for slot in model {
            assert_eq!(order.oldest(), Some(slot));
            order.remove(slot);
        }
        assert_eq!(order.oldest(), None);
    }
}
