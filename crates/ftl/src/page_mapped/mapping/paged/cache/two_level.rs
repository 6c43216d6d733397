//! TPFTL's two levels (EuroSys '15): nodes of translation pages by hotness, and in each its entries by use.
//!
//! An entry needs no more than its place in its translation page beside the page it names: six bytes instead of eight. A
//! *node*, which stands for a translation page with cached entries, has eight bytes besides. The cache holds what fits
//! into its RAM, so how many entries that is depends on how many share a node. Links and hashes are counted apart, as
//! for the other orders.
//!
//! What goes is an entry of the coldest node: its oldest clean one, or its oldest one if none is clean. Its translation
//! page is synchronized then, and what more must go is of that node, which is clean. So an entry that is inserted costs
//! one synchronization at the most.
//!
//! The paper orders nodes by the mean hotness of their entries. Here an entry is as hot as its last use is late, so that
//! is the mean of those moments, in a heap. Public code takes a node for as hot as its entry used last. Then a node whose
//! translation page is not used for a while loses all of its entries, hot ones too.
//!
//! A recovery may find entries of more nodes than there is RAM for. Then the cache takes more than was declared, until
//! inserted entries have let as much go.

mod coldest;
mod dirty;

use super::super::ends::{Ends, Links, NONE};
use super::super::entries::{index_of, part_of};
use super::entry::{DIRTY, Slot, UIP, UNSURE, UPDATED, scattered};
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use core::iter::successors;
use phelsuma_nand::state::Preserve;

/// Packed bytes of an entry, and of a node.
const ENTRY: u32 = 6;
const NODE: u32 = 8;

/// So many more nodes that come than go, or the other way round, say that accesses are random, or sequential.
const TREND: i32 = 3;

/// How many entries a cache can hold at the most whose RAM is `asked` times eight bytes.
pub(super) fn entries_in(asked: u32) -> u32 {
    (u64::from(asked) * 8).saturating_sub(NODE.into()).div_euclid(ENTRY.into()).clamp(1, u64::from(u32::MAX) - 1) as u32
}

#[derive(Clone, Preserve)]
struct Entry {
    value: u32,
    /// Its node; NONE where there is no entry.
    node: u32,
    /// Its place in its translation page.
    offset: u16,
    flags: u8,
    /// When it was used last, in uses of the cache.
    used: u64,
    links: Links,
    /// The next in its bucket, or among the vacant places.
    next: u32,
}

#[derive(Clone, Preserve)]
struct Node {
    translation_page: u32,
    entries: u32,
    /// Sum of the moments when its entries were used last.
    used: u64,
    /// The clean ones in order of use, and the dirty ones.
    orders: [Ends; 2],
    /// Its place in the heap.
    at: u32,
    /// The next in its bucket, or among the vacant places.
    next: u32,
}

const VACANT_ENTRY: Entry =
    Entry { value: 0, node: NONE, offset: 0, flags: 0, used: 0, links: Links::NONE, next: NONE };
const VACANT_NODE: Node = Node { translation_page: 0, entries: 0, used: 0, orders: [Ends::NONE; 2], at: 0, next: NONE };

/// Mapping entries by translation page.
#[derive(Clone, Preserve)]
pub(super) struct TwoLevelCache {
    entries_per_page: u32,
    capacity: u32,
    /// More entries that a recovery may find.
    spare: u32,
    /// Surplus entries follow those that there are places for.
    entries: Vec<Entry>,
    nodes: Vec<Node>,
    /// A heap of nodes, the coldest first.
    heap: Vec<u32>,
    /// Uses so far.
    now: u64,
    vacant_entry: u32,
    vacant_node: u32,
    /// By hash: the first entry, and the first node.
    entry_buckets: Vec<u32>,
    node_buckets: Vec<u32>,
    len: u32,
    dirty_count: u32,
    unsure_count: u32,
    /// Nodes that came since the trend changed last, less those that went.
    trend: i32,
    is_sequential: bool,
}

impl TwoLevelCache {
    /// Of `capacity` entries at the most, if one node has them all, and of `spare` more that a recovery may find.
    pub(super) fn new(capacity: u32, spare: u32, translation_pages: u32, entries_per_page: u32) -> Self {
        debug_assert!(entries_per_page <= 1 << 16, "two bytes do not say where an entry stands");
        let mut entries = vec![VACANT_ENTRY; capacity as usize];
        (1..).zip(&mut entries).for_each(|(next, entry)| entry.next = if next < capacity { next } else { NONE });
        let nodes = Self::room_of(capacity).div_ceil(u64::from(ENTRY + NODE)).min(translation_pages.into()).max(1);
        Self {
            entries_per_page,
            capacity,
            spare,
            entries,
            nodes: Vec::with_capacity(nodes as usize),
            heap: Vec::with_capacity(nodes as usize),
            now: 0,
            vacant_entry: 0,
            vacant_node: NONE,
            entry_buckets: vec![NONE; capacity as usize],
            node_buckets: vec![NONE; nodes as usize],
            len: 0,
            dirty_count: 0,
            unsure_count: 0,
            trend: 0,
            is_sequential: false,
        }
    }

    /// Packed bytes of RAM.
    fn room_of(capacity: u32) -> u64 {
        u64::from(capacity) * u64::from(ENTRY) + u64::from(NODE)
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many there are now.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn slots(&self) -> usize {
        self.capacity as usize
    }

    pub(super) fn dirty_count(&self) -> u32 {
        self.dirty_count
    }

    pub(super) fn has_unsure(&self) -> bool {
        self.unsure_count > 0
    }

    pub(super) fn has_no_room(&self) -> bool {
        self.len >= self.capacity.saturating_add(self.spare)
    }

    pub(super) fn has_place(&self) -> bool {
        self.vacant_entry != NONE
    }

    #[inline]
    fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[slot.index()]
    }

    #[inline]
    fn entry_mut(&mut self, slot: Slot) -> &mut Entry {
        &mut self.entries[slot.index()]
    }

    #[inline]
    fn key_of(&self, entry: &Entry) -> u32 {
        self.nodes[entry.node as usize].translation_page * self.entries_per_page + u32::from(entry.offset)
    }

    pub(super) fn translation_page_of(&self, slot: Slot) -> u32 {
        self.nodes[self.entry(slot).node as usize].translation_page
    }

    #[inline]
    pub(super) fn key(&self, slot: Slot) -> u32 {
        self.key_of(self.entry(slot))
    }

    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u32 {
        self.entry(slot).value
    }

    /// Whether one of these flags is set.
    #[inline]
    pub(super) fn has(&self, slot: Slot, flags: u8) -> bool {
        self.entry(slot).flags & flags != 0
    }

    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<Slot> {
        let first = self.entry_buckets[scattered(key, self.entry_buckets.len())];
        self.chain(first).find(|slot| self.key(*slot) == key)
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = Slot> + '_ {
        let slot = |at: u32| (at != NONE).then_some(Slot(at));
        successors(slot(first), move |at| slot(self.entry(*at).next))
    }

    fn find_node(&self, translation_page: u32) -> Option<u32> {
        let node = |at: u32| (at != NONE).then_some(at);
        let first = self.node_buckets[scattered(translation_page, self.node_buckets.len())];
        let mut chain = successors(node(first), |at| node(self.nodes[*at as usize].next));
        chain.find(|at| self.nodes[*at as usize].translation_page == translation_page)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..self.entries.len() as u32).map(Slot).filter(|slot| self.entry(*slot).node != NONE)
    }

    /// The list of its node that an entry is in.
    #[inline]
    fn order_of(&self, slot: Slot) -> usize {
        usize::from(self.has(slot, DIRTY))
    }

    /// The entry that must leave for that of `key`, if one must: of the node that was cleaned for it, as long as that has
    /// any.
    pub(super) fn must_go(&self, key: u32, cleaned: Option<u32>) -> Option<Slot> {
        if self.has_place() && self.taken() + self.needed(key) <= Self::room_of(self.capacity) {
            return None;
        }
        let coldest = self.heap.first().copied();
        let node = cleaned.and_then(|translation_page| self.find_node(translation_page)).or(coldest)?;
        let oldest = self.nodes[node as usize].orders.iter().map(|order| order.oldest).find(|oldest| *oldest != NONE);
        oldest.map(Slot)
    }

    /// Packed bytes that are taken.
    fn taken(&self) -> u64 {
        u64::from(self.len) * u64::from(ENTRY) + self.heap.len() as u64 * u64::from(NODE)
    }

    /// Packed bytes that an entry needs.
    fn needed(&self, key: u32) -> u64 {
        let has_node = self.find_node(part_of(key, self.entries_per_page)).is_some();
        u64::from(ENTRY) + if has_node { 0 } else { u64::from(NODE) }
    }

    pub(super) fn touch(&mut self, slot: Slot) {
        let (node, used) = (self.entry(slot).node, self.entry(slot).used);
        self.now += 1;
        self.entry_mut(slot).used = self.now;
        let order = self.order_of(slot);
        let of = &mut self.nodes[node as usize];
        of.used += self.now - used;
        of.orders[order].take(slot.0, &mut self.entries, |entry| &mut entry.links);
        of.orders[order].put_newest(slot.0, &mut self.entries, |entry| &mut entry.links);
        let at = of.at as usize;
        self.sink(at);
    }

    /// The node of a translation page; a new one is not in the heap before it has an entry.
    fn node_for(&mut self, translation_page: u32) -> u32 {
        if let Some(node) = self.find_node(translation_page) {
            return node;
        }
        let node = match self.vacant_node {
            NONE => {
                self.nodes.push(VACANT_NODE);
                self.nodes.len() as u32 - 1
            }
            vacant => {
                self.vacant_node = self.nodes[vacant as usize].next;
                vacant
            }
        };
        let buckets = self.node_buckets.len();
        let bucket = &mut self.node_buckets[scattered(translation_page, buckets)];
        self.nodes[node as usize] = Node { translation_page, next: *bucket, ..VACANT_NODE };
        *bucket = node;
        self.follow_trend(1);
        node
    }

    fn follow_trend(&mut self, by: i32) {
        self.trend += by;
        if self.trend.abs() == TREND {
            self.is_sequential = self.trend < 0;
            self.trend = 0;
        }
    }

    /// A new entry at a place, the first of its node to go, and as hot as one that is used now.
    fn enter(&mut self, slot: Slot, key: u32, value: u32) {
        debug_assert!(self.find(key).is_none(), "an entry is cached twice");
        let node = self.node_for(part_of(key, self.entries_per_page));
        let buckets = self.entry_buckets.len();
        let bucket = &mut self.entry_buckets[scattered(key, buckets)];
        let offset = index_of(key, self.entries_per_page) as u16;
        let of = &mut self.nodes[node as usize];
        let used = self.now;
        self.entries[slot.index()] = Entry { value, node, offset, used, next: *bucket, ..VACANT_ENTRY };
        *bucket = slot.0;
        of.entries += 1;
        of.used += used;
        of.orders[0].put_oldest(slot.0, &mut self.entries, |entry| &mut entry.links);
        if of.entries == 1 {
            of.at = self.heap.len() as u32;
            self.heap.push(node);
        }
        let at = of.at as usize;
        self.reorder(at);
        self.len += 1;
    }

    fn take_vacant(&mut self) -> Option<Slot> {
        let vacant = (self.vacant_entry != NONE).then_some(Slot(self.vacant_entry))?;
        self.vacant_entry = self.entry(vacant).next;
        Some(vacant)
    }

    /// A new entry, clean, just used.
    pub(super) fn insert(&mut self, key: u32, value: u32) -> Slot {
        let slot = self.insert_oldest(key, value);
        self.touch(slot);
        slot
    }

    fn insert_oldest(&mut self, key: u32, value: u32) -> Slot {
        let vacant = self.take_vacant();
        debug_assert!(vacant.is_some(), "no entry has left for another");
        let slot = vacant.unwrap_or_else(|| self.more_place());
        self.enter(slot, key, value);
        slot
    }

    /// A place beyond those of the cache.
    fn more_place(&mut self) -> Slot {
        self.entries.push(VACANT_ENTRY);
        Slot(self.entries.len() as u32 - 1)
    }

    /// A new entry, the oldest of its node.
    pub(super) fn insert_prefetched(&mut self, key: u32, value: u32) {
        self.insert_oldest(key, value);
    }

    /// How many of the entries right before `key` are cached, while nodes leave without others coming.
    pub(super) fn run_before(&self, key: u32) -> u32 {
        if !self.is_sequential {
            return 0;
        }
        let first = part_of(key, self.entries_per_page) * self.entries_per_page;
        (first..key).rev().take_while(|key| self.find(*key).is_some()).count() as u32
    }

    pub(super) fn insert_found(&mut self, key: u32, value: u32) -> Slot {
        let slot = self.take_vacant().unwrap_or_else(|| self.more_place());
        self.enter(slot, key, value);
        self.set_dirty(slot, value);
        let entry = self.entry_mut(slot);
        entry.flags = DIRTY | UNSURE | UIP;
        self.unsure_count += 1;
        slot
    }

    /// The surplus entry that must go next.
    pub(super) fn last_surplus(&self) -> Option<Slot> {
        (self.entries.len() > self.slots()).then(|| Slot(self.entries.len() as u32 - 1))
    }

    pub(super) fn remove_surplus(&mut self) {
        let Some(slot) = self.last_surplus() else { return };
        self.take_out(slot);
        self.entries.truncate(slot.index());
        if self.last_surplus().is_none() {
            self.entries.shrink_to_fit();
        }
    }

    /// An entry that is clean leaves.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.take_out(slot);
        self.entries[slot.index()].next = core::mem::replace(&mut self.vacant_entry, slot.0);
    }

    fn take_out(&mut self, slot: Slot) {
        debug_assert!(!self.has(slot, DIRTY | UIP), "a dirty entry is evicted");
        let key = self.key(slot);
        let (node, next) = (self.entry(slot).node, self.entry(slot).next);
        let bucket = scattered(key, self.entry_buckets.len());
        let before = self.chain(self.entry_buckets[bucket]).find(|before| self.entry(*before).next == slot.0);
        match before {
            Some(before) => self.entry_mut(before).next = next,
            None => self.entry_buckets[bucket] = next,
        }
        let of = &mut self.nodes[node as usize];
        of.orders[0].take(slot.0, &mut self.entries, |entry| &mut entry.links);
        of.entries -= 1;
        of.used -= self.entries[slot.index()].used;
        let (at, is_empty) = (of.at as usize, of.entries == 0);
        self.entries[slot.index()] = VACANT_ENTRY;
        self.len -= 1;
        if is_empty {
            self.remove_node(node);
        } else {
            self.reorder(at);
        }
    }

    fn remove_node(&mut self, node: u32) {
        let Node { translation_page, at, next, .. } = self.nodes[node as usize];
        let at = at as usize;
        self.heap.swap_remove(at);
        if let Some(moved) = self.heap.get(at) {
            self.nodes[*moved as usize].at = at as u32;
            self.reorder(at);
        }
        let bucket = scattered(translation_page, self.node_buckets.len());
        let mut at = self.node_buckets[bucket];
        if at == node {
            self.node_buckets[bucket] = next;
        } else {
            while self.nodes[at as usize].next != node {
                at = self.nodes[at as usize].next;
            }
            self.nodes[at as usize].next = next;
        }
        self.nodes[node as usize] = Node { next: self.vacant_node, ..VACANT_NODE };
        self.vacant_node = node;
        self.follow_trend(-1);
    }

    pub(super) fn made_sure(&mut self, slot: Slot) {
        self.unsure_count -= u32::from(self.has(slot, UNSURE));
        self.entry_mut(slot).flags &= !(UNSURE | UIP);
    }

    #[inline]
    pub(super) fn set_uip(&mut self, slot: Slot, uip: bool) {
        let entry = self.entry_mut(slot);
        entry.flags = if uip { entry.flags | UIP } else { entry.flags & !UIP };
    }

    #[inline]
    pub(super) fn visited(&mut self, slot: Slot) -> bool {
        let entry = self.entry_mut(slot);
        let is_old = entry.flags & (DIRTY | UPDATED) == DIRTY;
        entry.flags &= !UPDATED;
        is_old
    }

    #[inline]
    pub(super) fn after(&self, slot: Slot) -> Slot {
        if slot.0 + 1 < self.capacity { Slot(slot.0 + 1) } else { Slot::FIRST }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let packed = Self::room_of(self.capacity);
        ledger.structure("mapping.cache", packed);
        let of_entries = self.entries.capacity() * size_of::<Entry>() + self.nodes.capacity() * size_of::<Node>();
        let buckets = (self.entry_buckets.capacity() + self.node_buckets.capacity() + self.heap.capacity()) * 4;
        ledger.index("index.cache_links", ((of_entries + buckets) as u64).saturating_sub(packed));
    }
}

#[cfg(test)]
impl TwoLevelCache {
    /// Whether each node of the heap is as cold as those below it, sums are right, and no more RAM is taken than there is.
    pub(super) fn is_sound(&self) -> bool {
        let heap = (1..self.heap.len()).all(|at| !self.is_colder(self.heap[at], self.heap[(at - 1) / 2]));
        let used = |node: u32| -> u64 {
            let of_node = self.entries.iter().filter(|entry| entry.node == node);
            of_node.map(|entry| entry.used).sum()
        };
        heap && self.heap.iter().all(|node| self.nodes[*node as usize].used == used(*node))
            && self.taken() <= Self::room_of(self.capacity)
    }
}
