//! What a drive with a µ-Tree does besides: blocks that are given back at once, and coming up anew when a page of the tree
//! cannot be read.
//!
//! All that the tree says is in spare areas and tombstone pages as well. So where a page of it goes bad nothing is lost: what
//! was begun is given up, the drive comes up from flash as after a power cut, with a new tree, and what was begun is done
//! once more. A trim is written through for this: what is on flash alone counts then.

use super::mapping::{Mapping, TREE_UNREADABLE};
use super::meta_io::MetaIo;
use super::placement::partition_pages;
use super::shape::layout_of_tree;
use super::{Config, PageMapped, mapping_io};
use crate::blocks::BlockUse;
use crate::config::{MappingPart, PlacementPart};
use crate::mu_tree::MuTree;
use crate::page_mapped::validity::Validity;
use crate::{Counter, Ftl, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Nand, Page, Time};

/// Logical pages of a partition; all where there are none.
pub(super) fn partition_of(config: &Config) -> u32 {
    match config.composition.placement {
        PlacementPart::Partitions { pages } => partition_pages(config.logical_pages, pages),
        _ => u32::MAX,
    }
}

impl PageMapped {
    /// The tree that its parts need, if they do; empty.
    pub(super) fn tree_of(geometry: &Geometry, config: &Config) -> Result<Option<MuTree>, FtlError> {
        match config.composition.mapping {
            MappingPart::MuTree { read_pages, write_pages, .. } => {
                let layout = layout_of_tree(geometry, config)?;
                Ok(Some(MuTree::on(layout, read_pages as usize, write_pages as usize)))
            }
            _ => Ok(None),
        }
    }

    /// A page of this block became stale. If no other is live, and a bitmap cache is there, the block is given back at once
    /// (µ-FTL's switch merge, sections 4.3.3 and 5.4); where a trim is pending, which could bring back what was in it, when
    /// that is written.
    #[inline]
    pub(super) fn give_back_if_dead(&mut self, page: Page) {
        let block = self.blocks.geometry().block_of(page);
        if !self.validity.gives_back_at_once() || !self.is_dead(block) {
            return;
        }
        if self.mapping.has_pending_trims() { self.died.push(block) } else { self.give_back(block) }
    }

    /// Gives back the blocks that waited for pending trims, if they are written.
    pub(super) fn give_back_died(&mut self) {
        if self.mapping.has_pending_trims() {
            return;
        }
        while let Some(block) = self.died.pop() {
            // It may have been collected meanwhile.
            if self.is_dead(block) {
                self.give_back(block);
            }
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

    /// The tree learns of what a request has written.
    #[inline]
    pub(super) fn put_what_was_written<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.tree.is_some() {
            self.mapping.request_written(mapping_io!(self, nand, at))?;
            self.settle(nand, at)?;
        }
        Ok(())
    }

    /// Where the drive may have to come up anew, a trim is on flash when it is done. When that is. On a drive that has no block
    /// left for it, it stays pending.
    pub(super) fn write_trims_through<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.tree.is_none() || !self.mapping.has_pending_trims() {
            return Ok(at);
        }
        let io = mapping_io!(self, nand, at);
        let written = self.mapping.write_pending_trims(io);
        let done = io.done();
        self.settle(nand, at)?;
        self.give_back_died();
        match written {
            Ok(_) | Err(FtlError::Full { .. }) => Ok(done),
            Err(error) => Err(error),
        }
    }

    /// Does something, and does it once more if it met a page of the tree that cannot be read.
    #[inline]
    pub(super) fn mending<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Time,
        act: impl Fn(&mut Self, &mut N, Time) -> Result<Time, FtlError>,
    ) -> Result<Time, FtlError> {
        match act(self, nand, at) {
            Err(TREE_UNREADABLE) => {
                let at = self.mend(nand, at)?;
                act(self, nand, at)
            }
            Ok(done) if self.mapping.is_unreadable() || self.validity.is_unreadable() => {
                Ok(self.mend(nand, at)?.max(done))
            }
            done => done,
        }
    }

    /// Comes up anew.
    #[cold]
    pub(super) fn mend<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let Some(config) = self.mended_with.take() else { return Err(TREE_UNREADABLE) };
        // What can be saved of them.
        if self.mapping.has_pending_trims() {
            let io = mapping_io!(self, nand, at);
            let _ = self.mapping.write_pending_trims(io);
        }
        let at = at.max(self.blocks.clock.horizon());
        let recovered = Self::recover(nand, &config, at);
        self.mended_with = Some(config);
        let (mut ftl, report) = recovered?;
        let before = Ftl::<N>::counters(self);
        ftl.tally = self.tally;
        ftl.tally.trees_written_anew += 1;
        ftl.tally.mending_bytes = self.tally.mending_bytes.max(report.scratch_bytes);
        *self = ftl;
        let after = Ftl::<N>::counters(self);
        for before in before.iter().filter(|counter| !counter.is_level) {
            let now = after.iter().find(|counter| counter.name == before.name).map_or(0, |counter| counter.value);
            if now < before.value {
                self.carried.push(Counter::sum(before.name, before.value - now));
            }
        }
        Ok(report.done)
    }

    pub(super) fn ram_of_tree(&self, ledger: &mut RamLedger) {
        if let Some(tree) = &self.tree {
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
        if let Some(tree) = &self.tree {
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
                Counter::sum("mu_trees_written_anew", self.tally.trees_written_anew),
                Counter::level("mu_tree_mending_bytes", self.tally.mending_bytes),
                Counter::level("partly_stale_blocks", self.partly_stale_blocks()),
            ]);
        }
    }
}
