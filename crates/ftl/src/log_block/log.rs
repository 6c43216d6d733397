//! Log blocks and the page mapping of what is live in them.
//!
//! Whatever the scheme, a logical page has at most one place among the log blocks, its newest version: a page that is
//! written to a sequential log block leaves the shared ones, and the other way round. Where it is says one hash table, or
//! the tables that LAST++ has for sequential and random log blocks ([`Tables`]).

use super::last::{TableSizes, Tables};
use super::layout::Layout;
use super::pool::Role;
use crate::RamLedger;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashTable;
use phelsuma_nand::{Block, Geometry, Page};

/// No logical block, no logical page, no slot.
pub(super) const NONE: u32 = u32::MAX;

/// A log block.
#[derive(Clone, Debug)]
pub(super) struct LogBlock {
    pub(super) block: Block,
    /// What it was opened for.
    pub(super) role: Role,
    /// No page of it was programmed earlier, in program order.
    pub(super) first_seq: u64,
    /// The logical block that has it to itself; [`NONE`] where all share it.
    pub(super) owner: u32,
    /// The page that is written next.
    pub(super) next: u32,
    /// Pages that the host's writes took.
    pub(super) used: u32,
    /// Those that are the newest of their logical page.
    pub(super) live: u32,
    /// Pages copied in front of, or between, those of the host.
    pub(super) copied: u32,
    /// Nothing more is written to it: it is full, a program failed, or a power cut may have met its last page.
    pub(super) closed: bool,
    /// Every page so far stands at its own offset in its owner.
    pub(super) in_place: bool,
    /// By page: the logical page that the host wrote there.
    pub(super) keys: Vec<u32>,
}

/// The log blocks, by slot: a number that stays the same while the block is one.
#[derive(Clone, Debug)]
pub(super) struct Log {
    geometry: Geometry,
    layout: Layout,
    slots: Vec<Option<LogBlock>>,
    free: Vec<u32>,
    /// When each was begun, with its slot.
    begun: BTreeSet<(u64, u32)>,
    /// By physical block.
    slot_of: Vec<u32>,
    places: Places,
    /// By logical block: its live pages in log blocks.
    of_logical_block: Vec<u16>,
}

/// Where live pages stand.
#[derive(Clone, Debug)]
enum Places {
    /// Logical page, and where it stands.
    Hash(HashTable<(u32, Page)>),
    /// LAST++'s own tables.
    Last(Box<Tables>),
}

/// Logical pages of a row of so many stand beside each other in the table, since they are written, merged and forgotten
/// together: as many as the table looks at in one go, so that nothing is gained by a stride.
const ROW_BITS: u32 = 4;

/// The low bits say where it stands, the topmost seven tell it from others there.
#[inline]
fn hash(key: u32) -> u64 {
    let spread = |n: u32| u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let row = spread(key >> ROW_BITS);
    let place = (row ^ row >> 32) << ROW_BITS | u64::from(key & ((1 << ROW_BITS) - 1));
    place ^ (spread(key) >> 57 << 57)
}

impl Log {
    /// With room for `most` log blocks.
    pub(super) fn new(
        geometry: &Geometry,
        layout: Layout,
        logical_blocks: u32,
        most: u32,
        last: Option<TableSizes>,
    ) -> Self {
        let pages = most as usize * geometry.pages_per_block() as usize;
        Self {
            geometry: *geometry,
            layout,
            slots: Vec::new(),
            free: Vec::new(),
            begun: BTreeSet::new(),
            slot_of: vec![NONE; geometry.blocks() as usize],
            places: match last {
                None => Places::Hash(HashTable::with_capacity(pages)),
                Some(sizes) => Places::Last(Box::new(Tables::new(geometry, layout, sizes))),
            },
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
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(state);
                slot
            }
            None => {
                self.slots.push(Some(state));
                self.slots.len() as u32 - 1
            }
        };
        self.slot_of[block.index()] = slot;
        self.begun.insert((first_seq, slot));
        if let Places::Last(tables) = &mut self.places {
            match role {
                Role::Sequential => tables.segments.open(owner, slot, block),
                _ => tables.costs.open(slot),
            }
        }
        slot
    }

    /// LAST++'s tables.
    pub(super) fn last(&self) -> Option<&Tables> {
        match &self.places {
            Places::Hash(_) => None,
            Places::Last(tables) => Some(tables),
        }
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Tables> {
        match &mut self.places {
            Places::Hash(_) => None,
            Places::Last(tables) => Some(tables),
        }
    }

    /// No page of any log block has a lower seq; none where there is no log block.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.begun.first().map(|(seq, _)| *seq)
    }

    /// A log block is one no longer: it has been emptied, or has become a data block.
    pub(super) fn close(&mut self, slot: u32) -> Block {
        let Some(state) = self.slots[slot as usize].take() else { unreachable!("slot {slot} is not in use") };
        debug_assert_eq!(state.live, 0, "a log block with live pages is given up");
        self.free.push(slot);
        self.begun.remove(&(state.first_seq, slot));
        self.slot_of[state.block.index()] = NONE;
        if let Places::Last(tables) = &mut self.places {
            match state.role {
                Role::Sequential => tables.segments.close(state.owner),
                _ => tables.costs.close(slot),
            }
        }
        state.block
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &LogBlock {
        match &self.slots[slot as usize] {
            Some(state) => state,
            None => unreachable!("slot {slot} is not in use"),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut LogBlock {
        match &mut self.slots[slot as usize] {
            Some(state) => state,
            None => unreachable!("slot {slot} is not in use"),
        }
    }

    /// Slots in use, in the order of their numbers.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.slots).filter(|(_, state)| state.is_some()).map(|(slot, _)| slot)
    }

    /// How many log blocks there are.
    pub(super) fn len(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    pub(super) fn is_log_block(&self, block: Block) -> bool {
        self.slot_of(block).is_some()
    }

    /// Whether a logical block has a sequential log block of LAST++.
    pub(super) fn has_sequential(&self, logical_block: u32) -> bool {
        self.last().is_some_and(|tables| tables.segments.slot(logical_block).is_some())
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
        match &self.places {
            Places::Hash(places) => places.find(hash(key), |(other, _)| *other == key).map(|(_, page)| *page),
            Places::Last(tables) => tables.place(key),
        }
    }

    /// What stands there is the newest of its logical page no longer.
    #[inline]
    fn left(&mut self, page: Page, logical_block: usize) {
        let slot = self.slot_of[self.geometry.block_of(page).index()];
        debug_assert_ne!(slot, NONE, "{page} is in no log block");
        let Some(state) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        state.live -= 1;
        if let (Places::Last(tables), Role::Log | Role::Hot) = (&mut self.places, state.role) {
            tables.left(slot, state.role == Role::Hot, logical_block as u32);
        }
    }

    /// The newest version of a logical page stands at `page` of a log block.
    pub(super) fn set(&mut self, key: u32, page: Page) {
        let (slot, index) = (self.slot_of[self.geometry.block_of(page).index()], self.geometry.index_of(page));
        let logical_block = self.logical_block_of(key);
        let role = self.get(slot).role;
        let old = match &mut self.places {
            Places::Hash(places) => match places.find_mut(hash(key), |(other, _)| *other == key) {
                Some((_, place)) => Some(core::mem::replace(place, page)),
                None => {
                    places.insert_unique(hash(key), (key, page), |(key, _)| hash(*key));
                    None
                }
            },
            Places::Last(tables) => tables.set(key, page, role == Role::Sequential),
        };
        match old {
            Some(old) => self.left(old, logical_block),
            None => self.of_logical_block[logical_block] += 1,
        }
        if let (Places::Last(tables), Role::Log | Role::Hot) = (&mut self.places, role) {
            tables.entered(slot, role == Role::Hot, logical_block as u32);
        }
        let state = self.get_mut(slot);
        state.live += 1;
        state.keys[index as usize] = key;
    }

    /// A logical page has no version in log blocks that counts any more.
    pub(super) fn remove(&mut self, key: u32) -> Option<Page> {
        let logical_block = self.logical_block_of(key);
        if self.of_logical_block[logical_block] == 0 {
            return None;
        }
        let page = match &mut self.places {
            Places::Hash(places) => {
                let entry = places.find_entry(hash(key), |(other, _)| *other == key).ok()?;
                let ((_, page), _) = entry.remove();
                page
            }
            Places::Last(tables) => tables.remove(key)?,
        };
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
        if let (Places::Last(tables), Role::Sequential) = (&self.places, state.role) {
            return tables.first_live(state.owner, from);
        }
        (from..state.next).find_map(|index| {
            let key = state.keys[index as usize];
            let page = self.geometry.page(state.block, index);
            (key != NONE && self.place(key) == Some(page)).then_some((index, key))
        })
    }

    /// By page of a log block: the logical page that is live there, [`NONE`] where none is.
    pub(super) fn live_pages(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let state = self.get(slot);
        (0..).zip(&state.keys).map(move |(index, key)| {
            let page = self.geometry.page(state.block, index);
            if *key != NONE && self.place(*key) == Some(page) { *key } else { NONE }
        })
    }

    /// Everything that is live, in no order.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        let (hash, last) = match &self.places {
            Places::Hash(places) => (Some(places.iter().copied()), None),
            Places::Last(tables) => (None, Some(tables.places())),
        };
        hash.into_iter().flatten().chain(last.into_iter().flatten())
    }

    /// As the papers count it: a physical page for each page of the log blocks (LAST++ section 4.6.2, without the update
    /// counter), and the hash besides.
    pub(super) fn ram(&self, most: u32, ledger: &mut RamLedger) {
        let pages = u64::from(most) * u64::from(self.geometry.pages_per_block());
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let logical_pages = self.of_logical_block.len() as u64 * u64::from(self.geometry.pages_per_block());
        match &self.places {
            Places::Hash(places) => {
                ledger.structure("log.page_map", (pages * bits(logical_pages)).div_ceil(8));
                // A slot of the table and its byte of control.
                ledger.index("index.log_hash", (places.capacity() * 8 / 7 * (size_of::<(u32, Page)>() + 1)) as u64);
            }
            Places::Last(tables) => tables.ram(&self.geometry, self.of_logical_block.len() as u32, ledger),
        }
        ledger.structure("log.blocks", (u64::from(most) * (bits(u64::from(self.geometry.blocks())) + 16)).div_ceil(8));
        let keys: usize = self.slots.iter().flatten().map(|state| state.keys.capacity() * 4).sum();
        let slots = self.slots.capacity() * size_of::<Option<LogBlock>>() + self.free.capacity() * 4;
        let begun = self.begun.len() * size_of::<(u64, u32)>();
        ledger.index("index.log_blocks", (keys + slots + begun + self.slot_of.capacity() * 4) as u64);
        ledger.index("index.log_pages_of_logical_blocks", self.of_logical_block.capacity() as u64 * 2);
    }
}
