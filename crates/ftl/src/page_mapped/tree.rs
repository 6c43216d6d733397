//! A drive with a µ-Tree: the tree is the composition's, since mapping and validity may share it, and blocks are given
//! back at once.

use super::mapping::Mapping;
use super::meta_io::MetaIo;
use super::parts::{PageConfig, PageMapped, mapping_io};
use super::shape::{layout_of_tree, tree_may_outgrow};
use super::shared_tree::SharedTree;
use crate::blocks::BlockUse;
use crate::config::MappingPart;
use crate::mu_tree::MuTree;
use crate::page_mapped::validity::Validity;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Nand, Page, Time};

/// The tree that its parts need, if they do; empty.
pub(super) fn tree_of(geometry: &Geometry, config: &PageConfig) -> Result<Option<SharedTree>, FtlError> {
    match config.composition.mapping {
        MappingPart::MuTree { read_pages, write_pages, .. } => {
            let layout = layout_of_tree(geometry, config)?;
            let tree = MuTree::on(layout, read_pages as usize, write_pages as usize);
            Ok(Some(SharedTree::new(tree, tree_may_outgrow(config))))
        }
        _ => Ok(None),
    }
}

impl PageMapped {
    /// Gives back the blocks that waited for pending trims, if they are written.
    pub(super) fn give_back_died(&mut self) {
        if self.mapping.has_pending_trims() {
            return;
        }
        while let Some(block) = self.tree.as_mut().and_then(|shared| shared.died.pop()) {
            // It may have been collected meanwhile.
            if self.is_dead(block) {
                self.give_back(block);
            }
        }
    }

    /// Whether a page of it could not be read: the drive has to be mounted anew.
    #[inline]
    pub(super) fn is_tree_unreadable(&self) -> bool {
        self.mapping.is_unreadable() || self.validity.is_unreadable()
    }

    /// The drive is going to be mounted anew: saves of pending trims what can be saved.
    pub(super) fn save_trims<N: Nand>(&mut self, nand: &mut N, at: Time) {
        if self.mapping.has_pending_trims() {
            let _ = self.mapping.write_pending_trims(mapping_io!(self, nand, at), &mut self.before);
        }
    }

    /// Where the drive may have to mount anew, a trim is on flash when it is done. When that is. On a drive that has no
    /// block left for it, it stays pending.
    pub(super) fn write_trims_through<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.tree.is_none() || !self.mapping.has_pending_trims() {
            return Ok(at);
        }
        let io = mapping_io!(self, nand, at);
        let written = self.mapping.write_pending_trims(io, &mut self.before);
        let done = io.done();
        self.settle(nand, at)?;
        self.give_back_died();
        match written {
            Ok(_) | Err(FtlError::Full { .. }) => Ok(done),
            Err(error) => Err(error),
        }
    }

    pub(super) fn ram_of_tree(&self, ledger: &mut RamLedger) {
        if let Some(SharedTree { tree, .. }) = &self.tree {
            let (reads, writes) = tree.cache_bytes();
            ledger.structure("mu_tree.read_cache", reads);
            ledger.structure("mu_tree.write_cache", writes);
            ledger.index("index.mu_tree", tree.index_bytes());
        }
    }

    /// Full blocks of user pages some of which are stale, and not all.
    fn partly_stale_blocks(&self) -> u64 {
        let geometry = self.blocks.geometry();
        let is_partly_stale = |block: &Block| {
            let is_closed = self.blocks.use_of(*block) == BlockUse::Closed;
            let live = u32::from(self.blocks.counters.live(*block));
            let is_partly = (1..geometry.pages_per_block()).contains(&live);
            is_closed && !self.blocks.is_metadata(self.blocks.stream_of(*block)) && is_partly
        };
        (0..geometry.blocks()).map(Block).filter(is_partly_stale).count() as u64
    }

    pub(super) fn counters_of_tree(&self, out: &mut Vec<Counter>) {
        if let Some(SharedTree { tree, .. }) = &self.tree {
            let counts = tree.counts();
            out.extend([
                Counter::sum("mu_tree_updates", counts.updates),
                Counter::sum("mu_tree_programs", counts.programs),
                Counter::sum("mu_tree_reads", counts.reads),
                Counter::sum("mu_tree_read_hits", counts.hits),
                Counter::sum("mu_tree_splits", counts.splits),
                Counter::sum("mu_tree_merges", counts.merges),
                Counter::sum("mu_tree_flushes", counts.flushes),
                Counter::level("mu_tree_height", tree.height() as u64),
                Counter::level("partly_stale_blocks", self.partly_stale_blocks()),
            ]);
        }
    }
}

impl<M: Mapping, V: Validity> PageMapped<M, V> {
    /// A page of this block became stale. If no other is live, and a bitmap cache is there, the block is given back at
    /// once (µ-FTL's switch merge, sections 4.3.3 and 5.4). A pending trim could bring back what was in it. Then the
    /// block is given back when that trim is written.
    #[inline]
    pub(super) fn give_back_if_dead(&mut self, page: Page) {
        let block = self.blocks.geometry().block_of(page);
        if !self.validity.gives_back_at_once() || !self.is_dead(block) {
            return;
        }
        match &mut self.tree {
            Some(shared) if self.mapping.has_pending_trims() => shared.died.push(block),
            _ => self.give_back(block),
        }
    }

    fn is_dead(&self, block: Block) -> bool {
        self.blocks.use_of(block) == BlockUse::Closed && self.blocks.counters.live(block) == 0
    }

    fn give_back(&mut self, block: Block) {
        self.validity.given_back(block);
        self.blocks.begin_collection(block);
        self.victim.taken(&self.blocks.counters, block);
        self.durability.release(&mut self.blocks, block);
    }
}
