//! Which of several slots was used least recently.
//!
//! In this order BAST merges log blocks, SUPERBLOCK takes update blocks away and forgets maps, and LAST++ writes to
//! channels.

use super::log_state::NONE;
use crate::RamLedger;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Slots in the order in which they were written last: a list through an array.
#[derive(Clone, Debug, Preserve)]
pub(super) struct Order {
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
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    pub(super) fn touch(&mut self, slot: u32) {
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
        debug_assert_ne!(self.oldest, NONE, "{slot} is the newest, and none is the oldest");
    }

    pub(super) fn remove(&mut self, slot: u32) {
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

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("scheme.order", self.links.len() as u64 * 4);
        ledger.index("index.order", self.links.capacity() as u64 * 4);
    }

    /// The slots, the one that was used least recently first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let behind =
            |slot: &u32| self.links.get(*slot as usize).map(|(_, behind)| *behind).filter(|slot| *slot != NONE);
        core::iter::successors(self.oldest(), behind)
    }

    /// What its array takes.
    pub(super) fn bytes(&self) -> u64 {
        (self.links.capacity() * size_of::<(u32, u32)>()) as u64
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
