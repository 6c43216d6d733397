//! Log blocks, and which of their pages are live.
//!
//! Whatever the scheme, a logical page has at most one place among the log blocks, its newest version: a page that is
//! written to one log block leaves the one in which it stood. Where it is says the index ([`LogIndex`]).

use super::layout::LogicalLayout;
use super::log_index::LogIndex;
use super::log_state::{LogBlock, NONE};
use super::pool::Role;
use crate::RamLedger;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Page};

/// The log blocks, by slot: a number that stays the same while the block is one.
#[derive(Clone, Debug, Preserve)]
#[preserve(in_place)]
pub(super) struct Log<I> {
    geometry: Geometry,
    layout: LogicalLayout,
    /// Where live pages stand.
    pub(super) index: I,
    /// Those that are in use, and those that were.
    slots: Vec<LogBlock>,
    free: Vec<u32>,
    /// When each was begun, with its slot.
    begun: BTreeSet<(u64, u32)>,
    /// By physical block.
    slot_of: Vec<u32>,
    /// By logical block: its live pages in log blocks.
    of_logical_block: Vec<u16>,
}

impl<I: LogIndex> Log<I> {
    /// Without any.
    pub(super) fn new(geometry: &Geometry, layout: LogicalLayout, logical_blocks: u32, index: I) -> Self {
        Self {
            geometry: *geometry,
            layout,
            index,
            slots: Vec::new(),
            free: Vec::new(),
            begun: BTreeSet::new(),
            slot_of: vec![NONE; geometry.blocks() as usize],
            of_logical_block: vec![0; logical_blocks as usize],
        }
    }

    /// A new log block; its slot. No page of it has a lower seq than `first_seq`.
    pub(super) fn open(&mut self, block: Block, owner: u32, role: Role, first_seq: u64) -> u32 {
        let state = LogBlock {
            block,
            role,
            first_seq,
            owner,
            next: 0,
            used: 0,
            live: 0,
            copied: 0,
            closed: false,
            in_place: true,
            keys: vec![NONE; self.geometry.pages_per_block() as usize],
        };
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        self.index.opened(slot, &state);
        match self.slots.get_mut(slot as usize) {
            Some(place) => *place = state,
            None => self.slots.push(state),
        }
        debug_assert_eq!(self.slot_of[block.index()], NONE, "{block} is a log block already");
        self.slot_of[block.index()] = slot;
        let is_new = self.begun.insert((first_seq, slot));
        debug_assert!(is_new, "slot {slot} is in use already");
        slot
    }

    /// No page of any log block has a lower seq; none where there is no log block.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.begun.first().map(|(seq, _)| *seq)
    }

    /// A log block is one no longer: it has been emptied, or has become a data block.
    pub(super) fn close(&mut self, slot: u32) -> Block {
        debug_assert!(self.is_in_use(slot), "slot {slot} is given up twice");
        let state = &mut self.slots[slot as usize];
        debug_assert_eq!(state.live, 0, "a log block with live pages is given up");
        state.keys = Vec::new();
        self.free.push(slot);
        self.begun.remove(&(state.first_seq, slot));
        self.slot_of[state.block.index()] = NONE;
        self.index.closed(slot, state);
        state.block
    }

    fn is_in_use(&self, slot: u32) -> bool {
        self.slot_of(self.slots[slot as usize].block) == Some(slot)
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &LogBlock {
        debug_assert!(self.is_in_use(slot), "slot {slot} is not in use");
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut LogBlock {
        debug_assert!(self.is_in_use(slot), "slot {slot} is not in use");
        &mut self.slots[slot as usize]
    }

    /// Slots in use, in the order of their numbers.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.slots.len() as u32).filter(|slot| self.is_in_use(*slot))
    }

    /// How many log blocks there are.
    pub(super) fn len(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    pub(super) fn is_log_block(&self, block: Block) -> bool {
        self.slot_of(block).is_some()
    }

    /// The slot of a block, if it is a log block.
    pub(super) fn slot_of(&self, block: Block) -> Option<u32> {
        Some(self.slot_of[block.index()]).filter(|slot| *slot != NONE)
    }

    /// Live pages of a logical block in log blocks.
    #[inline]
    pub(super) fn live_of(&self, logical_block: u32) -> u32 {
        u32::from(self.of_logical_block[logical_block as usize])
    }

    #[inline]
    fn logical_block_of(&self, key: u32) -> usize {
        self.layout.split(key).0 as usize
    }

    /// Where the newest version of a logical page is, if it is in a log block.
    #[inline]
    pub(super) fn place(&self, key: u32) -> Option<Page> {
        if self.of_logical_block[self.logical_block_of(key)] == 0 {
            return None;
        }
        self.index.place(key)
    }

    /// What stands there is the newest of its logical page no longer.
    #[inline]
    fn left(&mut self, page: Page, logical_block: usize) {
        let slot = self.slot_of[self.geometry.block_of(page).index()];
        debug_assert_ne!(slot, NONE, "{page} is in no log block");
        let Some(state) = self.slots.get_mut(slot as usize) else { return };
        state.live -= 1;
        self.index.left(slot, state.role, logical_block as u32);
    }

    /// The newest version of a logical page stands at `page` of a log block.
    pub(super) fn set(&mut self, key: u32, page: Page) {
        let (slot, index) = (self.slot_of[self.geometry.block_of(page).index()], self.geometry.index_of(page));
        let logical_block = self.logical_block_of(key);
        let role = self.get(slot).role;
        let old = self.index.set(key, page, role);
        match old {
            Some(old) => self.left(old, logical_block),
            None => self.of_logical_block[logical_block] += 1,
        }
        self.index.entered(slot, role, logical_block as u32);
        let state = self.get_mut(slot);
        state.live += 1;
        debug_assert_eq!(state.keys[index as usize], NONE, "{page} is written twice");
        state.keys[index as usize] = key;
    }

    /// A logical page has no version in log blocks that counts any more.
    pub(super) fn remove(&mut self, key: u32) -> Option<Page> {
        let logical_block = self.logical_block_of(key);
        if self.of_logical_block[logical_block] == 0 {
            return None;
        }
        let page = self.index.remove(key)?;
        self.of_logical_block[logical_block] -= 1;
        self.left(page, logical_block);
        Some(page)
    }

    /// The first live page of a log block from page `from` on: where it stands, and which logical page it is.
    pub(super) fn live_in(&self, slot: u32, from: u32) -> Option<(u32, u32)> {
        let state = self.get(slot);
        if state.live == 0 {
            return None;
        }
        self.index.live_in(state, from, |index| self.live_at(state, index))
    }

    /// The logical page that is live at a page of a log block.
    #[inline]
    fn live_at(&self, state: &LogBlock, index: u32) -> Option<u32> {
        let (key, page) = (state.keys[index as usize], self.geometry.page(state.block, index));
        (key != NONE && self.place(key) == Some(page)).then_some(key)
    }

    /// By page of a log block: the logical page that is live there, [`NONE`] where none is.
    pub(super) fn live_pages(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let state = self.get(slot);
        (0..state.keys.len() as u32).map(|index| self.live_at(state, index).unwrap_or(NONE))
    }

    /// Everything that is live, in no order.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        self.index.places()
    }

    /// As the papers count it: a physical page for each page of the log blocks (LAST++ section 4.6.2, without the
    /// update counter), and the hash besides.
    pub(super) fn ram(&self, most: u32, ledger: &mut RamLedger) {
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        self.index.ram(&self.geometry, most, self.of_logical_block.len() as u32, ledger);
        ledger.structure("log.blocks", (u64::from(most) * (bits(u64::from(self.geometry.blocks())) + 16)).div_ceil(8));
        let keys: usize = self.slots.iter().map(|state| state.keys.capacity() * 4).sum();
        let slots = self.slots.capacity() * size_of::<LogBlock>() + self.free.capacity() * 4;
        let begun = self.begun.len() * size_of::<(u64, u32)>();
        ledger.index("index.log_blocks", (keys + slots + begun + self.slot_of.capacity() * 4) as u64);
        ledger.index("index.log_pages_of_logical_blocks", self.of_logical_block.capacity() as u64 * 2);
    }
}
