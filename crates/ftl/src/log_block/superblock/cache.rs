//! The page maps that RAM holds: of the superblocks that were used last.

use super::super::log_state::NONE;
use super::super::order::Order;
use super::layout::SuperblockLayout;
use super::page_map::NOWHERE;
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

#[derive(Clone, Debug, Preserve)]
pub(super) struct MapCache {
    most: u32,
    pages: u32,
    /// By superblock: where its map is held.
    held_at: Vec<u32>,
    /// Whose map is held there.
    superblocks: Vec<u32>,
    /// When each map is there: its reads may have begun for another request.
    since: Vec<Time>,
    /// The maps, one behind the other.
    entries: Vec<u16>,
    order: Order,
}

impl MapCache {
    pub(super) fn new(layout: &SuperblockLayout, most: u32) -> Self {
        Self {
            most,
            pages: layout.pages(),
            held_at: vec![NONE; layout.superblocks() as usize],
            superblocks: Vec::new(),
            since: Vec::new(),
            entries: Vec::new(),
            order: Order::default(),
        }
    }

    /// A superblock's map, if it is held, and when it is there; it is the one used last then.
    #[inline]
    pub(super) fn find(&mut self, superblock: u32) -> Option<(u32, Time)> {
        let at = self.held_at[superblock as usize];
        if at == NONE {
            return None;
        }
        debug_assert_eq!(self.superblocks[at as usize], superblock, "another map is held there");
        self.order.touch(at);
        Some((at, self.since[at as usize]))
    }

    /// A map that is held is there from then on.
    pub(super) fn set_since(&mut self, at: u32, since: Time) {
        self.since[at as usize] = since;
    }

    /// Holds a superblock's map, in which nothing stands anywhere yet. The one used least recently goes where there is
    /// no room: all that it says stands on flash.
    pub(super) fn hold(&mut self, superblock: u32) -> u32 {
        let at = match self.order.oldest().filter(|_| self.superblocks.len() as u32 >= self.most) {
            Some(oldest) => {
                let gone = self.superblocks[oldest as usize] as usize;
                debug_assert_eq!(self.held_at[gone], oldest, "the map of superblock {gone} is held elsewhere");
                self.held_at[gone] = NONE;
                self.superblocks[oldest as usize] = superblock;
                oldest
            }
            None => {
                self.superblocks.push(superblock);
                self.since.push(Time::ZERO);
                self.entries.extend((0..self.pages).map(|_| NOWHERE));
                self.superblocks.len() as u32 - 1
            }
        };
        debug_assert_eq!(self.held_at[superblock as usize], NONE, "the map of superblock {superblock} is held twice");
        debug_assert!(self.superblocks.len() as u32 <= self.most, "more maps are held than there is room for");
        self.held_at[superblock as usize] = at;
        self.order.touch(at);
        self.get_mut(at).fill(NOWHERE);
        at
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> &[u16] {
        let (first, pages) = (at as usize * self.pages as usize, self.pages as usize);
        &self.entries[first..first + pages]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: u32) -> &mut [u16] {
        let (first, pages) = (at as usize * self.pages as usize, self.pages as usize);
        &mut self.entries[first..first + pages]
    }

    /// An entry is large enough to name one of the pages that a superblock may have.
    pub(super) fn ram(&self, layout: &SuperblockLayout, ledger: &mut RamLedger) {
        let places = layout.slots() * layout.pages_per_block;
        let bits = u64::from((places + 1).next_power_of_two().trailing_zeros());
        let packed = (self.entries.len() as u64 * bits).div_ceil(8);
        ledger.structure("superblock.map_cache", packed);
        let held = (self.held_at.capacity() + self.superblocks.capacity() + 2 * self.since.capacity()) as u64 * 4;
        ledger.index("index.map_cache", self.entries.capacity() as u64 * 2 - packed + held + self.order.bytes());
    }
}
