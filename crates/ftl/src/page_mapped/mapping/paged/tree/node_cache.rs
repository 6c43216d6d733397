//! Inner nodes of the B+-tree in RAM: as many as its size says, least recently used first out.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

const NONE: u32 = u32::MAX;

/// A cached node, by its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeSlot(usize);

#[derive(Clone, Preserve)]
struct Node {
    number: u32,
    /// As they stand on flash, or are to.
    bytes: Vec<u8>,
    dirty: bool,
    /// When its bytes are in RAM.
    since: Time,
    /// When it was used last.
    used: u64,
}

/// Nodes with the numbers from `first` on.
#[derive(Clone, Preserve)]
pub(super) struct NodeCache {
    nodes: Vec<Node>,
    capacity: u32,
    first: u32,
    /// By node: its slot.
    slots: Vec<u32>,
    page_bytes: usize,
    uses: u64,
}

impl NodeCache {
    /// For `inner` nodes from number `first` on, of which `capacity` fit.
    pub(super) fn new(first: u32, inner: u32, capacity: u32, page_bytes: u32) -> Self {
        Self {
            nodes: Vec::with_capacity(capacity as usize),
            capacity,
            first,
            slots: vec![NONE; inner as usize],
            page_bytes: page_bytes as usize,
            uses: 0,
        }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<NodeSlot> {
        debug_assert!(number >= self.first, "a leaf is looked for among inner nodes");
        let slot = self.slots[(number - self.first) as usize];
        (slot != NONE).then_some(NodeSlot(slot as usize))
    }

    pub(super) fn number(&self, slot: NodeSlot) -> u32 {
        self.nodes[slot.0].number
    }

    pub(super) fn bytes(&self, slot: NodeSlot) -> &[u8] {
        &self.nodes[slot.0].bytes
    }

    pub(super) fn bytes_mut(&mut self, slot: NodeSlot) -> &mut [u8] {
        &mut self.nodes[slot.0].bytes
    }

    /// When the node's bytes are in RAM: its read may have begun for another request.
    pub(super) fn since(&self, slot: NodeSlot) -> Time {
        self.nodes[slot.0].since
    }

    pub(super) fn set_since(&mut self, slot: NodeSlot, since: Time) {
        self.nodes[slot.0].since = since;
    }

    pub(super) fn is_dirty(&self, slot: NodeSlot) -> bool {
        self.nodes[slot.0].dirty
    }

    pub(super) fn set_dirty(&mut self, slot: NodeSlot, dirty: bool) {
        self.nodes[slot.0].dirty = dirty;
    }

    pub(super) fn touch(&mut self, slot: NodeSlot) {
        self.uses += 1;
        self.nodes[slot.0].used = self.uses;
    }

    /// A slot that was never used, if there is one.
    pub(super) fn unused(&mut self) -> Option<NodeSlot> {
        if self.nodes.len() == self.capacity as usize {
            return None;
        }
        self.nodes.push(Node {
            number: NONE,
            bytes: vec![0xff; self.page_bytes],
            dirty: false,
            since: Time::ZERO,
            used: 0,
        });
        Some(NodeSlot(self.nodes.len() - 1))
    }

    /// The node used longest ago, of those that are clean or of all. Each call reads or writes a page anyway, so it may
    /// look at all of them.
    pub(super) fn oldest(&self, clean: bool) -> Option<NodeSlot> {
        let candidates = self.nodes.iter().enumerate().filter(|(_, node)| !clean || !node.dirty);
        candidates.min_by_key(|(_, node)| node.used).map(|(slot, _)| NodeSlot(slot))
    }

    /// The dirty node with the lowest number: none of its children is dirty in here.
    pub(super) fn lowest_dirty(&self) -> Option<NodeSlot> {
        let dirty = self.nodes.iter().enumerate().filter(|(_, node)| node.dirty);
        dirty.min_by_key(|(_, node)| node.number).map(|(slot, _)| NodeSlot(slot))
    }

    /// The slot holds another node from now on, a clean one whose bytes are yet to come.
    pub(super) fn assign(&mut self, slot: NodeSlot, number: u32) {
        debug_assert!(!self.is_dirty(slot), "a dirty node is evicted");
        debug_assert!(self.find(number).is_none(), "node {number} is cached twice");
        let before = core::mem::replace(&mut self.nodes[slot.0].number, number);
        if before != NONE {
            self.slots[(before - self.first) as usize] = NONE;
        }
        self.slots[(number - self.first) as usize] = slot.0 as u32;
        self.nodes[slot.0].dirty = false;
        self.touch(slot);
    }

    pub(super) fn dirty_count(&self) -> u32 {
        self.nodes.iter().filter(|node| node.dirty).count() as u32
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.nodes", u64::from(self.capacity) * self.page_bytes as u64);
        let slots = self.slots.len() * 4 + self.nodes.capacity() * size_of::<Node>();
        ledger.index("index.nodes", slots as u64);
    }
}
