//! A log-block FTL of data blocks and log blocks: a [`Ground`] and a [`Scheme`] (LAST++ sections 2.2 and 3).

use super::ground::Ground;
use super::lane::Lane;
use super::pool::Pool;
use super::scheme::{PartOf, Scheme};
use super::shape::HybridSizes;
use super::shape::LogConfig;
use super::wear::SwapLevelling;
use crate::barriers::Barrier;
use crate::ftl::{Ftl, ReadSink, Shape, Step, WriteRequest};
use crate::medium::host_read;
use crate::medium::{bad_blocks, usable_blocks};
use crate::{BlockLook, Counter, Finding, FtlError, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Purpose, Time};

/// A log-block FTL of data blocks and log blocks.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
pub(super) struct Hybrid<S: Scheme> {
    pub(super) ground: Ground<S::Index>,
    pub(super) scheme: S,
    pub(super) anchors: Vec<Block>,
}

impl<S: Scheme> Hybrid<S> {
    /// Whether a drive of this shape has room for it, with so many blocks for the description and so many bad ones.
    pub(super) fn fits(geometry: &Geometry, config: &LogConfig, described: u32, bad: u32) -> Result<(), FtlError> {
        HybridSizes::that_fit(geometry, config, S::layout(geometry), described, bad).map(drop)
    }

    /// A blank drive on flash that is erased, but for the description in `anchors`.
    pub(super) fn blank<N: Nand>(
        nand: &N,
        config: &LogConfig,
        parts: &S::Parts,
        anchors: Vec<Block>,
    ) -> Result<Self, FtlError> {
        let geometry = *nand.geometry();
        // Erasing may have found more of them.
        let bad = bad_blocks(nand);
        let sizes = HybridSizes::that_fit(&geometry, config, S::layout(&geometry), anchors.len() as u32, bad)?;
        let mut ftl = Self::empty(&geometry, config, parts, &sizes, anchors);
        ftl.ground.pool.failures.found_bad(bad);
        for block in usable_blocks(nand, &ftl.anchors) {
            ftl.ground.pool.release(block);
        }
        Ok(ftl)
    }

    /// A drive with nothing in it and nothing in the pool.
    pub(super) fn empty(
        geometry: &Geometry,
        config: &LogConfig,
        parts: &S::Parts,
        sizes: &HybridSizes,
        anchors: Vec<Block>,
    ) -> Self {
        let barriers = config.barriers();
        let mut ground = Ground::new(geometry, sizes, barriers, S::index(parts, geometry, sizes, barriers));
        ground.pool.wear = config.composition.swap_lag().map(|lag| SwapLevelling::new(geometry.blocks(), lag));
        Self { ground, scheme: S::new(parts, geometry, sizes), anchors }
    }

    /// Its blocks.
    pub(super) fn pool(&self) -> &Pool {
        &self.ground.pool
    }
}

impl<N: Nand, S: Scheme> Ftl<N> for Hybrid<S> {
    fn shape(&self) -> Shape {
        self.ground.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        let page_bytes = self.ground.geometry.page_bytes();
        request.check(&self.ground.shape, page_bytes)?;
        if self.ground.pool.phase.is_read_only() {
            return Err(self.ground.pool.full());
        }
        debug_assert!(self.ground.kept.0.is_empty(), "what a recovery has read is not written anew");
        let mut done = at;
        for index in 0..request.pages {
            let content = request.data.page(index, page_bytes);
            let key = request.first.0 + index;
            let part = PartOf { pages: request.pages, index };
            let at = self.ground.level_wear(nand, at)?;
            done = done.max(self.scheme.write(&mut self.ground, nand, key, part, content, at)?);
        }
        self.scheme.served(done, true);
        Ok(done)
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        let done = host_read::read(&mut self.ground, nand, (first, pages), cause, at, sink)?;
        self.scheme.served(done, false);
        Ok(done)
    }

    fn find_mapped(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
        found: &mut dyn FnMut(LogicalPage, bool),
    ) -> Result<Time, FtlError> {
        let done = host_read::find_mapped(&mut self.ground, nand, (first, pages), at, found)?;
        self.scheme.served(done, false);
        Ok(done)
    }

    /// Whole logical blocks are unmapped, and that is on flash when this returns; of others the table of trims takes
    /// note.
    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.ground.shape.check_range(first, pages)?;
        let ground = &mut self.ground;
        if ground.pool.phase.is_read_only() {
            return Err(ground.pool.full());
        }
        let (mut done, end) = (at, first.0 + pages);
        let mut parts = Vec::new();
        if pages == 0 {
            return Ok(done);
        }
        let layout = ground.layout;
        let segment_of = |key| layout.split(key).0 / layout.channels();
        let blocks = segment_of(first.0) * layout.channels()..(segment_of(end - 1) + 1) * layout.channels();
        let parts_of = |ground: &Ground<S::Index>, logical_block| {
            let in_it = ground.pages_in(logical_block);
            let from = layout.pages_below(logical_block, first.0);
            let until = layout.pages_below(logical_block, end).min(in_it);
            (from..until, from == 0 && until == in_it)
        };
        // Those in part first: they may take a merge, which may fail, and nothing else has changed then.
        for logical_block in blocks.clone() {
            let (offsets, is_whole) = parts_of(ground, logical_block);
            if !is_whole && !offsets.is_empty() {
                // Side by side: what one takes another one does not wait for.
                done = done.max(ground.trim_pages(nand, logical_block, offsets, at)?);
            }
        }
        for logical_block in blocks {
            let (offsets, is_whole) = parts_of(ground, logical_block);
            if !is_whole || offsets.is_empty() {
                continue;
            }
            if ground.data.block(logical_block).is_some() || ground.log.live_of(logical_block) > 0 {
                let part = ground.unmap(logical_block);
                if parts.last() != Some(&part) {
                    parts.push(part);
                }
            }
        }
        done = ground.write_parts(nand, parts, done)?;
        self.scheme.served(done, true);
        Ok(done)
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        // Where nothing is written any more nothing has been taken that a flush would have to write.
        if !self.ground.pool.phase.is_read_only() && self.ground.barriers.keeps(Barrier::TrimsAtFlush) {
            self.ground.write_trims(nand, at)?;
        }
        Ok(at.max(self.ground.pool.clock.horizon()))
    }

    /// Of a scheme without snapshots the next start is as after a cut.
    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let done = Ftl::<N>::flush(self, nand, at)?;
        let (ground, scheme) = (&mut self.ground, &mut self.scheme);
        if ground.pool.phase.is_read_only() || !S::SNAPSHOT {
            return Ok(done);
        }
        if ground.barriers.keeps(Barrier::SnapshotClosesBlocks) {
            scheme.close(ground);
            ground.map.close();
        }
        ground.write_snapshot(nand, done)
    }

    fn due(&self) -> Option<Time> {
        // Where nothing is written any more nothing is merged.
        if self.ground.pool.phase.is_read_only() { None } else { self.scheme.due() }
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        if self.ground.pool.phase.is_read_only() {
            return Ok(Step::Nothing);
        }
        self.scheme.background_step(&mut self.ground, nand, at)
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn phelsuma_nand::state::Preserve + '_>, phelsuma_nand::state::StateError> {
        Ok(Box::new(self))
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        self.ground.ram(&mut ledger);
        self.scheme.ram(&mut ledger);
        ledger.index("index.anchors", self.anchors.capacity() as u64 * 4);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = Vec::new();
        self.ground.tally.counters(&mut counters);
        self.scheme.counters(&self.ground, &mut counters);
        if let Some(wear) = &self.ground.pool.wear {
            wear.counters(&mut counters);
        }
        counters.push(Counter::level("log_blocks", u64::from(self.ground.log.len())));
        counters.push(Counter::level("free_blocks", u64::from(self.ground.pool.free())));
        counters.push(Counter::level("bad_blocks", u64::from(self.ground.pool.failures.bad())));
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        self.blocks_seen(first, out);
        true
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        // Asking counts: that is left to the copy.
        self.clone().findings(nand, &Lane::whole(&self.ground.geometry))
    }
}
