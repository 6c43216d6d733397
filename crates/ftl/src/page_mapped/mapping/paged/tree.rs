//! Translation pages as the leaves of a B+-tree: only the root is in RAM, and a few inner nodes are cached (µ-FTL as
//! GeckoFTL section 5.3 takes it).
//!
//! An inner node is a page on flash that names its children, four bytes each. Writing a translation page changes its
//! parent, which is cached for it and dirty from then on. A dirty node is written when it is evicted, and changes its
//! own parent in turn: where that is not cached, it takes the slot of its child. So one translation page makes at most
//! one node a level be written, however few nodes the cache has room for.
//!
//! Finding out where a page is leaves dirty nodes where they are if it must not write; then a node that finds no room
//! is read again each time.
//!
//! Not said by the paper, which leaves all of this open: the cache and its size are declared apart from the cache of
//! mapping entries; all of a node's children are taken for lost when it cannot be read, until each is written anew.

use super::node_cache::{NodeCache, NodeSlot};
use super::tree_shape::TreeShape;
use super::{get, put};
use crate::medium::marks::SpareMarks;
use crate::page_mapped::directory::PartRead;
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Page, PageRead, SpareRead};

/// It was never written.
const NONE: u32 = u32::MAX;
/// It was written, and nobody knows where it is.
const LOST: u32 = u32::MAX - 1;

/// A B+-tree of translation pages.
#[derive(Clone)]
pub(crate) struct TranslationTree {
    shape: TreeShape,
    root: Vec<u32>,
    nodes: NodeCache,
    /// A node could not be read.
    damaged: bool,
    /// Where leaves are, while a recovery finds them.
    found: Vec<u32>,
    /// What is moved out of a victim.
    moving: Vec<(u32, Page)>,
    reads: u64,
    programs: u64,
    unreadable: u64,
}

/// Nodes that are cached: as asked for, or an eighth of them, at least 8. Never more than there are.
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

    /// Caches an inner node, and those above it if that writes nothing. Nothing where there is no room but in place of dirty nodes, and those
    /// must not be written.
    fn fetch<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        node: u32,
        writes: Writes,
    ) -> Result<Option<NodeSlot>, FtlError> {
        if let Some(slot) = self.nodes.find(node) {
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

    /// Moves what stands in `victim` to fresh pages. How many were written.
    ///
    /// A leaf that was never found again must be written as `lost` before its last copy is erased, and so must one that
    /// cannot be read: no older copy may stand in for it. What then still counts as live in the victim is not.
    pub(super) fn relocate<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        victim: Block,
        buffer: &mut Vec<u8>,
        lost: &mut Vec<u32>,
    ) -> Result<u64, FtlError> {
        let geometry = *io.geometry();
        let mut moving = core::mem::take(&mut self.moving);
        moving.clear();
        for index in 0..geometry.pages_per_block() {
            let from = geometry.page(victim, index);
            let number = match io.read_spare(from) {
                SpareRead::Erased => None,
                SpareRead::Written(spare) if spare.kind == Kind::Translation && spare.key < self.shape.root() => {
                    Some(spare.key)
                }
                SpareRead::Written(_) => None,
                // The page cannot say which node it is; the tree can.
                SpareRead::Unreadable => {
                    (0..self.shape.root()).find(|number| self.entry(io, *number, Writes::Not) == from.0)
                }
            };
            if let Some(number) = number {
                let entry = self.entry(io, number, Writes::Not);
                if self.is_wanted(number, entry, from) {
                    moving.push((number, from));
                }
            }
        }
        // Those of one parent one after the other: it is written once.
        moving.sort_unstable();
        let mut written: Result<u64, FtlError> = Ok(0);
        for (number, from) in &moving {
            written = written.and_then(|so_far| Ok(so_far + self.relocate_page(io, (*number, *from), buffer, lost)?));
        }
        self.moving = moving;
        written
    }

    /// Whether a copy at `from` must be moved: it is the newest, or nobody knows which is.
    fn is_wanted(&self, number: u32, entry: u32, from: Page) -> bool {
        entry == from.0 || entry == LOST && number < self.shape.leaves()
    }

    fn relocate_page<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        (number, from): (u32, Page),
        buffer: &mut Vec<u8>,
        lost: &mut Vec<u32>,
    ) -> Result<u64, FtlError> {
        let is_leaf = number < self.shape.leaves();
        self.prepare(io, number)?;
        // It may have been written meanwhile: a lost leaf that has two copies here, or a node, to make room.
        let entry = self.entry(io, number, Writes::Not);
        if !self.is_wanted(number, entry, from) {
            return Ok(0);
        }
        if !is_leaf && let Some(slot) = self.nodes.find(number) {
            // The cache knows it, and perhaps better.
            let to = self.append_node(io, slot)?;
            self.set(io, number, to.0);
            return Ok(1);
        }
        let read = if entry == LOST { PageRead::Unreadable } else { io.read_any(from) };
        let to = match read {
            PageRead::Written { content: Content::Bytes(bytes), spare, .. } => {
                buffer.clear();
                buffer.extend_from_slice(bytes);
                io.append_copy(&spare, buffer)?.0
            }
            _ if is_leaf => {
                // There may be two copies of it.
                if lost.last() != Some(&number) {
                    lost.push(number);
                }
                return Ok(0);
            }
            _ => {
                self.missed();
                LOST
            }
        };
        self.set(io, number, to);
        Ok(u64::from(to != LOST))
    }

    /// Copies the leaves and nodes that stand at `pages` to fresh pages. How many were copied.
    ///
    /// A leaf that cannot be read stays where it is.
    pub(super) fn copy_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
        buffer: &mut Vec<u8>,
    ) -> Result<u64, FtlError> {
        let (mut copied, mut lost) = (0, Vec::new());
        for from in pages {
            if let Some(number) = (0..self.shape.root()).find(|n| self.entry(io, *n, Writes::Not) == from.0) {
                copied += self.relocate_page(io, (number, *from), buffer, &mut lost)?;
            }
        }
        Ok(copied)
    }

    /// Writes every dirty node, each once: from then on flash and the root are all there is to know.
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

    /// The first leaf from `from` on of which only the tree knows that it is lost.
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
mod tests {
    use super::*;
    use crate::blocks::Blocks;
    use crate::medium::Clock;
    use crate::page_mapped::durability::{Durability, Scheme};
    use crate::{Config, PRESETS};
    use alloc::collections::BTreeMap;
    use phelsuma_nand::sim::{Decay, SimConfig};
    use phelsuma_nand::{Purpose, SimNand, Time, Timing};

    /// A tree alone on its flash, with blocks that are given back when they are empty.
    struct Alone {
        nand: SimNand,
        blocks: Blocks,
        durability: Durability,
        tree: TranslationTree,
        leaves: u32,
        model: BTreeMap<u32, u32>,
        random: u64,
    }

    const BLOCKS: u32 = 200;

    impl Alone {
        fn new(leaves: u32, nodes: u32, fanout: u32) -> Self {
            let geometry = Geometry::new(512, 16, BLOCKS.into(), 1, 1).unwrap();
            let nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
            let barriers = Config::new("any", PRESETS[0].composition, 1, 1).barriers();
            let mut blocks = Blocks::new(geometry, 1, 0, true, Clock::new(1, 0, 0), barriers);
            (0..BLOCKS).for_each(|block| blocks.release(Block(block)));
            let tree = TranslationTree::new(&geometry, leaves, nodes, fanout);
            Self {
                nand,
                blocks,
                durability: Durability::new(Scheme::Nothing),
                tree,
                leaves,
                model: BTreeMap::new(),
                random: 5,
            }
        }

        fn below(&mut self, n: u32) -> u32 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.random >> 33) as u32 % n
        }

        fn io<T>(&mut self, body: impl FnOnce(&mut TranslationTree, &mut MetaIo<'_, SimNand>) -> T) -> T {
            let io = &mut MetaIo::new(
                &mut self.nand,
                (&mut self.blocks, &mut self.durability),
                0,
                Purpose::Translation,
                Time::ZERO,
            );
            body(&mut self.tree, io)
        }

        fn programs(&self) -> u64 {
            self.nand.stats().of(Purpose::Translation).programs
        }

        fn reads(&self) -> u64 {
            self.nand.stats().of(Purpose::Translation).reads
        }

        fn write(&mut self, leaf: u32, what: u32) {
            let bytes = [what.to_le_bytes(); 128].concat();
            let before = self.programs();
            self.io(|tree, io| tree.write(io, SpareMarks::NONE, leaf, io.seq() + 1, &bytes)).unwrap();
            self.model.insert(leaf, what);
            // One for the leaf, and at the most one a level.
            assert!(self.programs() - before <= 1 + u64::from(self.tree.programs_each()));
        }

        fn read(&mut self, leaf: u32, writes: Writes) -> Option<u32> {
            self.io(|tree, io| match tree.read(io, leaf, writes) {
                PartRead::Nowhere => None,
                PartRead::Bytes(bytes, _) => Some(get(bytes, 100)),
                PartRead::Unreadable => panic!("leaf {leaf} is unreadable"),
            })
        }

        /// Empties the emptiest block while few are free.
        fn collect(&mut self) {
            while self.blocks.free() < 30 {
                self.blocks.news.heard();
                let victim = self.blocks.counters.least_by_scan().unwrap();
                let live = u64::from(self.blocks.counters.live(victim));
                self.blocks.begin_collection(victim);
                let before = self.programs();
                let mut lost = Vec::new();
                self.io(|tree, io| tree.relocate(io, victim, &mut vec![0; 512], &mut lost)).unwrap();
                assert!(lost.is_empty(), "{lost:?}");
                assert!(self.programs() - before <= live * (1 + u64::from(self.tree.programs_each())));
                self.blocks.release(victim);
            }
        }

        fn compare(&mut self) {
            for leaf in 0..self.leaves {
                let expected = self.model.get(&leaf).copied();
                assert_eq!(self.read(leaf, Writes::Not), expected, "leaf {leaf}");
            }
            let pages = self.io(|tree, io| tree.metadata_pages(io));
            let mut live = vec![0; BLOCKS as usize];
            for page in &pages {
                live[self.blocks.geometry().block_of(*page).index()] += 1;
            }
            for block in (0..BLOCKS).map(Block) {
                assert_eq!(self.blocks.counters.live(block), live[block.index()], "{block}");
            }
            assert!(!self.tree.is_damaged());
        }
    }

    #[test]
    fn a_tree_is_a_map_whatever_the_size_of_its_cache() {
        for (leaves, fanout) in [(1, 0), (100, 0), (300, 0), (300, 16), (200, 4), (150, 2)] {
            for nodes in [1, 2, 3, 8, 1000] {
                let mut alone = Alone::new(leaves, nodes, fanout);
                for n in 0..4_000 {
                    let leaf = alone.below(leaves);
                    if alone.below(3) == 0 {
                        let writes = if alone.below(2) == 0 { Writes::Allowed } else { Writes::Not };
                        let expected = alone.model.get(&leaf).copied();
                        assert_eq!(alone.read(leaf, writes), expected);
                    } else {
                        alone.write(leaf, n);
                    }
                    alone.collect();
                    if n % 500 == 0 {
                        alone.compare();
                    }
                }
                alone.compare();
                // What the root says is all there is to know once the nodes are on flash.
                alone.io(|tree, io| tree.write_dirty_nodes(io)).unwrap();
                let root = alone.tree.root().to_vec();
                alone.tree = TranslationTree::new(alone.blocks.geometry(), leaves, nodes, fanout);
                alone.tree.root_mut().copy_from_slice(&root);
                alone.compare();
            }
        }
    }

    #[test]
    fn what_is_not_cached_costs_a_read_a_level_and_what_is_costs_none() {
        // 64 leaves, 16 nodes, 4 nodes, and the root.
        let mut alone = Alone::new(64, 2, 4);
        (0..64).for_each(|leaf| alone.write(leaf, leaf));
        alone.io(|tree, io| tree.write_dirty_nodes(io)).unwrap();
        let mut cost = |leaf| {
            let before = alone.reads();
            assert_eq!(alone.read(leaf, Writes::Allowed), Some(leaf));
            alone.reads() - before
        };
        cost(0);
        // The leaf alone; a neighbour of the same node; one of the next node with the same parent; one far away.
        assert_eq!([cost(1), cost(3), cost(4), cost(63)], [1, 1, 2, 3]);
        let counters = &mut Vec::new();
        alone.tree.counters(counters);
        let reads = counters.iter().find(|counter| counter.name == "node_reads").unwrap().value;
        assert!(reads > 0 && reads < alone.reads());
    }

    #[test]
    fn leaves_under_a_node_that_cannot_be_read_are_lost_until_written_and_no_older_copy_counts() {
        let mut alone = Alone::new(64, 1, 4);
        (0..64).for_each(|leaf| alone.write(leaf, leaf));
        (0..64).for_each(|leaf| alone.write(leaf, 1_000 + leaf));
        alone.io(|tree, io| tree.write_dirty_nodes(io)).unwrap();
        let node = alone.tree.shape.parent(8).0;
        let page = alone.io(|tree, io| tree.entry(io, node, Writes::Not));
        alone.nand.decay(Page(page), Decay::Data(9));
        alone.read(60, Writes::Allowed);
        for leaf in 8..12 {
            assert!(alone.io(|tree, io| matches!(tree.read(io, leaf, Writes::Allowed), PartRead::Unreadable)));
        }
        assert!(alone.tree.is_damaged());
        alone.write(9, 5);
        assert_eq!(alone.read(9, Writes::Allowed), Some(5));
        assert_eq!(alone.read(13, Writes::Allowed), Some(1_013));
        // Wherever a copy of a lost leaf is moved from, it is to be written as lost.
        let copies: Vec<u32> = (0..BLOCKS).filter(|block| alone.blocks.counters.is_candidate(Block(*block))).collect();
        for block in copies {
            let mut lost = Vec::new();
            alone.blocks.begin_collection(Block(block));
            alone.io(|tree, io| tree.relocate(io, Block(block), &mut vec![0; 512], &mut lost)).unwrap();
            lost.iter().for_each(|leaf| alone.write(*leaf, LOST));
            alone.io(|_, io| io.drop_rest(Block(block)));
            alone.blocks.release(Block(block));
        }
        for leaf in [8, 10, 11] {
            assert_eq!(alone.read(leaf, Writes::Allowed), Some(LOST), "leaf {leaf}");
        }
        assert_eq!((alone.read(9, Writes::Allowed), alone.read(40, Writes::Allowed)), (Some(5), Some(1_040)));
    }
}
