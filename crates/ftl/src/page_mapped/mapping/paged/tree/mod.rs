//! Translation pages as the leaves of a B+-tree, of which only the root and a few cached inner nodes are in RAM.
//!
//! This is µ-FTL as GeckoFTL section 5.3 has it.
//!
//! An inner node is a page on flash that names its children, four bytes each. Writing a translation page changes its
//! parent, which is cached for it and dirty from then on. A dirty node is written when it is evicted, and changes its
//! own parent in turn. Where that is not cached, it takes the slot of its child. So one translation page makes at most
//! one node a level be written, however few nodes the cache has room for.
//!
//! A lookup that must not write leaves dirty nodes where they are. Then a node that finds no room is read again each
//! time.
//!
//! The paper leaves all of this open. Decided here: the cache and its size are declared apart from the cache of mapping
//! entries. When a node cannot be read, all of its children are taken for lost, until each is written anew.

mod moves;
mod node_cache;
mod shape;

pub(super) use shape::TreeShape;

use super::{get, put};
use crate::medium::marks::SpareMarks;
use crate::page_mapped::directory::PartRead;
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use node_cache::{NodeCache, NodeSlot};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, Kind, Nand, Page};

/// It was never written.
const NONE: u32 = u32::MAX;
/// It was written, and its place is lost.
const LOST: u32 = u32::MAX - 1;

/// A B+-tree of translation pages.
#[derive(Clone, Preserve)]
pub(crate) struct TranslationTree {
    shape: TreeShape,
    root: Vec<u32>,
    nodes: NodeCache,
    /// A node could not be read.
    damaged: bool,
    /// Where leaves are, while a recovery finds them.
    found: Vec<u32>,
    /// The pages that are moved out of a victim.
    moving: Vec<(u32, Page)>,
    reads: u64,
    programs: u64,
    unreadable: u64,
}

/// Nodes that are cached: as requested, or an eighth of them, at least 8. Never more than there are.
pub(super) fn cached_nodes(shape: &TreeShape, asked: u32) -> u32 {
    let nodes = if asked == 0 { (shape.inner() / 8).max(8) } else { asked };
    nodes.min(shape.inner())
}

/// Nodes that are written for each leaf that is, at the most: one a level, or none where all of them are cached.
pub(super) fn programs_each(shape: &TreeShape, cached: u32) -> u32 {
    if cached < shape.inner() { shape.inner_levels() } else { 0 }
}

/// Whether something may be written to find room in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writes {
    Allowed,
    Not,
}

impl TranslationTree {
    /// A tree of which no page exists yet.
    pub(super) fn new(geometry: &Geometry, leaves: u32, nodes: u32, fanout: u32) -> Self {
        let shape = TreeShape::new(geometry, leaves, fanout);
        let cached = cached_nodes(&shape, nodes);
        Self {
            root: vec![NONE; shape.children(shape.root()).len()],
            nodes: NodeCache::new(shape.leaves(), shape.inner(), cached, geometry.page_bytes()),
            shape,
            damaged: false,
            found: Vec::new(),
            moving: Vec::with_capacity(geometry.pages_per_block() as usize),
            reads: 0,
            programs: 0,
            unreadable: 0,
        }
    }

    pub(super) fn leaves(&self) -> u32 {
        self.shape.leaves()
    }

    /// Nodes that are written for each leaf that is, at the most.
    pub(super) fn programs_each(&self) -> u32 {
        programs_each(&self.shape, self.nodes.capacity())
    }

    pub(super) fn root_number(&self) -> u32 {
        self.shape.root()
    }

    /// Whether something that it knew cannot be read.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Where a node or leaf is.
    #[inline]
    pub(super) fn entry<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, number: u32, writes: Writes) -> u32 {
        let (parent, index) = self.shape.parent(number);
        if parent == self.shape.root() {
            return self.root[index as usize];
        }
        match self.fetch(io, parent, writes) {
            Ok(Some(slot)) => get(self.nodes.bytes(slot), index),
            // A drive that cannot be written any more can still be read.
            Ok(None) | Err(_) => self.read_entry(io, parent, index),
        }
    }

    /// Where a leaf is, if the root or a cached node says so.
    pub(super) fn place_in_ram(&self, leaf: u32) -> Option<Page> {
        let (parent, index) = self.shape.parent(leaf);
        let entry = if parent == self.shape.root() {
            self.root[index as usize]
        } else {
            get(self.nodes.bytes(self.nodes.find(parent)?), index)
        };
        (entry < LOST).then_some(Page(entry))
    }

    /// An entry of a node, without a change to the cache.
    fn read_entry<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, node: u32, index: u32) -> u32 {
        if node == self.shape.root() {
            return self.root[index as usize];
        }
        if let Some(slot) = self.nodes.find(node) {
            io.wait_until(self.nodes.since(slot));
            return get(self.nodes.bytes(slot), index);
        }
        let (parent, place) = self.shape.parent(node);
        match self.read_entry(io, parent, place) {
            NONE => NONE,
            LOST => LOST,
            page => {
                self.reads += 1;
                match io.read(Page(page), Kind::Translation, node) {
                    Some(bytes) => get(bytes, index),
                    None => {
                        self.missed();
                        LOST
                    }
                }
            }
        }
    }

    #[cold]
    fn missed(&mut self) {
        self.damaged = true;
        self.unreadable += 1;
    }

    /// Caches an inner node, and those above it if that writes nothing. Nothing where there is no room but in place of
    /// dirty nodes, and those must not be written.
    fn fetch<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        node: u32,
        writes: Writes,
    ) -> Result<Option<NodeSlot>, FtlError> {
        if let Some(slot) = self.nodes.find(node) {
            io.wait_until(self.nodes.since(slot));
            self.nodes.touch(slot);
            return Ok(Some(slot));
        }
        let (parent, _) = self.shape.parent(node);
        if parent != self.shape.root() {
            // Nothing is written for those above: one row of nodes to the root is what an update may cost.
            self.fetch(io, parent, Writes::Not)?;
        }
        let slot = match self.nodes.unused() {
            Some(slot) => slot,
            None => match self.nodes.oldest(writes == Writes::Not) {
                Some(slot) => self.evict(io, slot, node)?,
                None => return Ok(None),
            },
        };
        if self.nodes.number(slot) != node {
            self.load(io, slot, node);
        }
        // Nodes go after their children.
        if parent != self.shape.root()
            && let Some(above) = self.nodes.find(parent)
        {
            self.nodes.touch(above);
        }
        Ok(Some(slot))
    }

    /// Makes a slot's node one that need not be kept, for `wanted`; it may be `wanted` itself that takes the place.
    fn evict<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, slot: NodeSlot, wanted: u32) -> Result<NodeSlot, FtlError> {
        while self.nodes.is_dirty(slot) && self.nodes.number(slot) != wanted {
            self.write_node(io, slot)?;
        }
        Ok(slot)
    }

    /// Writes a dirty node. Where its parent is not cached, that one takes its slot, dirty.
    fn write_node<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, slot: NodeSlot) -> Result<(), FtlError> {
        let node = self.nodes.number(slot);
        let to = self.append_node(io, slot)?;
        let (parent, _) = self.shape.parent(node);
        if parent != self.shape.root() && self.nodes.find(parent).is_none() {
            self.load(io, slot, parent);
        }
        self.set(io, node, to.0);
        Ok(())
    }

    fn append_node<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, slot: NodeSlot) -> Result<Page, FtlError> {
        let version = io.seq() + 1;
        let to = io.append(Kind::Translation, self.nodes.number(slot), version, self.nodes.bytes(slot))?;
        self.programs += 1;
        self.nodes.set_dirty(slot, false);
        Ok(to)
    }

    /// Reads a node into a slot.
    fn load<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, slot: NodeSlot, node: u32) {
        let (parent, index) = self.shape.parent(node);
        let place = self.read_entry(io, parent, index);
        self.nodes.assign(slot, node);
        let children = self.shape.children(node).len() as u32;
        let geometry = *io.geometry();
        let into = self.nodes.bytes_mut(slot);
        into.fill(0xff);
        let lost = match place {
            NONE => false,
            LOST => true,
            page => {
                self.reads += 1;
                match io.read(Page(page), Kind::Translation, node) {
                    Some(bytes) => {
                        into.copy_from_slice(bytes);
                        false
                    }
                    None => true,
                }
            }
        };
        self.nodes.set_since(slot, io.read_done());
        let into = self.nodes.bytes_mut(slot);
        for index in 0..children {
            let entry = get(into, index);
            if lost || entry < LOST && !geometry.contains(Page(entry)) {
                put(into, index, LOST);
            }
        }
        if lost {
            self.missed();
        }
    }

    /// A child is there from now on. Its parent is cached, or the root.
    fn set<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, number: u32, to: u32) {
        let (parent, index) = self.shape.parent(number);
        let before = if parent == self.shape.root() {
            core::mem::replace(&mut self.root[index as usize], to)
        } else if let Some(slot) = self.nodes.find(parent) {
            let bytes = self.nodes.bytes_mut(slot);
            let before = get(bytes, index);
            put(bytes, index, to);
            self.nodes.set_dirty(slot, true);
            before
        } else {
            debug_assert!(false, "node {number} has no parent in RAM");
            LOST
        };
        if before < LOST {
            io.drop_page(Page(before));
        }
    }

    /// Caches the parent of a node that is going to be written.
    fn prepare<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, number: u32) -> Result<(), FtlError> {
        let (parent, _) = self.shape.parent(number);
        if parent != self.shape.root() {
            self.fetch(io, parent, Writes::Allowed)?;
        }
        Ok(())
    }

    /// A leaf's bytes.
    #[inline]
    pub(super) fn read<'n, N: Nand>(&mut self, io: &'n mut MetaIo<'_, N>, leaf: u32, writes: Writes) -> PartRead<'n> {
        match self.entry(io, leaf, writes) {
            NONE => PartRead::Nowhere,
            LOST => PartRead::Unreadable,
            page => match io.read_version(Page(page), Kind::Translation, leaf) {
                Some((bytes, version)) => PartRead::Bytes(bytes, version),
                None => PartRead::Unreadable,
            },
        }
    }

    /// Writes a leaf anew, with these marks in the spare area.
    #[inline]
    pub(super) fn write<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        marks: SpareMarks,
        leaf: u32,
        version: u64,
        bytes: &[u8],
    ) -> Result<Page, FtlError> {
        self.prepare(io, leaf)?;
        let to = io.append_with(marks, Kind::Translation, leaf, version, bytes)?;
        self.set(io, leaf, to.0);
        Ok(to)
    }

    /// Writes every dirty node, each once: from then on flash and the root hold everything.
    pub(super) fn write_dirty_nodes<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        while let Some(slot) = self.nodes.lowest_dirty() {
            self.write_node(io, slot)?;
        }
        Ok(())
    }

    /// Where leaves and inner nodes are.
    pub(super) fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let numbers = 0..self.shape.root();
        let entries = numbers.map(|number| self.entry(io, number, Writes::Not));
        entries.filter(|entry| *entry < LOST).map(Page).collect()
    }

    /// A recovery has found a leaf, or that it is lost: known when [`TranslationTree::build`] is done.
    pub(super) fn enter(&mut self, leaf: u32, page: Option<Page>) {
        if self.found.is_empty() {
            self.found = vec![NONE; self.shape.leaves() as usize];
        }
        self.found[leaf as usize] = page.map_or(LOST, |page| page.0);
    }

    /// Writes all inner nodes anew above the leaves that a recovery has found. How many.
    pub(super) fn build<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<u64, FtlError> {
        if self.found.is_empty() {
            return Ok(0);
        }
        let mut places = self.found.clone();
        let mut bytes = vec![0; io.geometry().page_bytes() as usize];
        for node in self.shape.leaves()..self.shape.root() {
            bytes.fill(0xff);
            let children = self.shape.children(node);
            let mut exists = false;
            for (index, child) in children.enumerate() {
                let place = places[child as usize];
                put(&mut bytes, index as u32, place);
                exists |= place != NONE;
            }
            if !exists {
                places.push(NONE);
                continue;
            }
            let version = io.seq() + 1;
            match io.append(Kind::Translation, node, version, &bytes) {
                Ok(to) => places.push(to.0),
                Err(error) => {
                    let written = places[self.shape.leaves() as usize..].iter();
                    written.filter(|place| **place < LOST).for_each(|place| io.drop_page(Page(*place)));
                    return Err(error);
                }
            }
            self.programs += 1;
        }
        let root = self.shape.children(self.shape.root());
        self.root.copy_from_slice(&places[root.start as usize..root.end as usize]);
        self.found = Vec::new();
        Ok(places[self.shape.leaves() as usize..].iter().filter(|place| **place < LOST).count() as u64)
    }

    /// The first leaf from `from` on whose loss is recorded in the tree alone.
    pub(super) fn next_lost<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, from: u32) -> Option<u32> {
        (from..self.shape.leaves()).find(|leaf| self.entry(io, *leaf, Writes::Not) == LOST)
    }

    /// What stands in the root.
    pub(super) fn root(&self) -> &[u32] {
        &self.root
    }

    pub(super) fn root_mut(&mut self) -> &mut [u32] {
        &mut self.root
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.root", self.root.len() as u64 * 4);
        self.nodes.ram(ledger);
        let moving = self.moving.capacity() * size_of::<(u32, Page)>();
        ledger.index("buffer.moving_nodes", moving as u64);
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::level("inner_nodes", u64::from(self.shape.inner())),
            Counter::level("dirty_nodes", u64::from(self.nodes.dirty_count())),
            Counter::sum("node_reads", self.reads),
            Counter::sum("node_programs", self.programs),
            Counter::sum("nodes_unreadable", self.unreadable),
        ]);
    }
}

#[cfg(test)]
mod tests;
