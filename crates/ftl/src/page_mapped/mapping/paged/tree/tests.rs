//! A tree alone on its flash.

use super::*;
use crate::blocks::Blocks;
use crate::medium::Clock;
use crate::page_mapped::durability::{Durability, Integrity, Survival};
use crate::{Config, PRESETS};
use alloc::collections::BTreeMap;
use phelsuma_nand::sim::{Decay, SimConfig};
use phelsuma_nand::{Block, Purpose, SimNand, Time, Timing};

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
        let parts = PRESETS[0].composition.page_mapped().unwrap();
        let mut blocks = Blocks::new(geometry, 1, 0, true, Clock::new(1, 0, 0), barriers);
        (0..BLOCKS).for_each(|block| blocks.release(Block(block)));
        let tree = TranslationTree::new(&geometry, leaves, nodes, fanout);
        Self {
            nand,
            blocks,
            durability: Durability::new(Survival::Nothing, Integrity::of(&parts)),
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
            // The root holds everything once the nodes are on flash.
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
