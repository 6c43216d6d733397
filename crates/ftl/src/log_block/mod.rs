//! Log-block (hybrid) FTLs: logical blocks are mapped to data blocks, what is written goes to a few log blocks that are
//! mapped page by page, and merges bring the two together (LAST++ sections 2.2 and 3; µ-FTL section 3).
//!
//! [`Ground`] is what BAST, FAST and plain block mapping stand on: blocks, the maps, merges, recovery. A [`Scheme`] says to
//! which log block a page goes and which one is merged. ARCHITECTURE.md has the rules that power cuts are survived by.
//! [`superblock`] stands on the pool and the map blocks alone.

mod check;
mod data_map;
mod ftl_mm;
mod ground;
mod lane;
mod last;
mod layout;
mod log;
mod look;
mod map_blocks;
mod merge;
mod order;
mod pool;
mod recovery;
mod scheme;
mod shape;
mod snapshot;
mod superblock;
mod tally;
mod trims;
mod wear;

use crate::barriers::Barrier;
use crate::config::LogParts;
use crate::ftl::{Ftl, HostPage, ReadSink, Shape, Step, WriteRequest};
use crate::medium::anchor;
use crate::{ANCHOR_BLOCKS, BlockLook, Counter, Finding, FtlError, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ground::{Ground, is_hole};
use lane::Lane;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Op, PageRead, Purpose, Spare, Time};
use scheme::{PartOf, Scheme};
use shape::Sizes;
use wear::Wear;

pub(crate) use ftl_mm::FtlMm;
pub(crate) use superblock::Superblocks;

/// An FTL of this family.
type Config = crate::Config<LogParts>;

/// A log-block FTL.
#[derive(Clone)]
pub(crate) struct LogBlock {
    ground: Ground,
    scheme: Scheme,
    anchors: Vec<Block>,
}

impl LogBlock {
    /// Makes a blank drive.
    pub(crate) fn format<N: Nand>(nand: &mut N, config: &Config, at: Time) -> Result<(Self, Time), FtlError> {
        let geometry = *nand.geometry();
        Self::fits(&geometry, config, ANCHOR_BLOCKS, bad_blocks(nand))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        Ok((Self::blank(nand, config, anchors)?, done))
    }

    /// Whether a drive of this shape has room for it, with so many blocks for the description and so many bad ones.
    fn fits(geometry: &Geometry, config: &Config, described: u32, bad: u32) -> Result<(), FtlError> {
        Sizes::that_fit(geometry, config, described, bad).map(drop)
    }

    /// A blank drive on flash that is erased, but for the description in `anchors`.
    fn blank<N: Nand>(nand: &N, config: &Config, anchors: Vec<Block>) -> Result<Self, FtlError> {
        let geometry = *nand.geometry();
        // Erasing may have found more of them.
        let bad = bad_blocks(nand);
        let sizes = Sizes::that_fit(&geometry, config, anchors.len() as u32, bad)?;
        let mut ftl = Self::empty(&geometry, config, &sizes, anchors);
        ftl.ground.pool.bad = bad;
        for block in ftl.usable_blocks(nand) {
            ftl.ground.pool.release(block);
        }
        Ok(ftl)
    }

    /// A drive with nothing in it and nothing in the pool.
    fn empty(geometry: &Geometry, config: &Config, sizes: &Sizes, anchors: Vec<Block>) -> Self {
        let mut ground = Ground::new(geometry, sizes, config.barriers());
        ground.pool.wear = config.composition.swap_lag().map(|lag| Wear::new(geometry.blocks(), lag));
        Self { ground, scheme: Scheme::new(config.composition.scheme, geometry, sizes), anchors }
    }

    /// Every block that is neither bad nor the description's.
    fn usable_blocks<N: Nand>(&self, nand: &N) -> Vec<Block> {
        (0..nand.geometry().blocks()).map(Block).filter(|b| !nand.is_bad(*b) && !self.anchors.contains(b)).collect()
    }
}

fn bad_blocks<N: Nand>(nand: &N) -> u32 {
    (0..nand.geometry().blocks()).filter(|block| nand.is_bad(Block(*block))).count() as u32
}

impl<N: Nand> Ftl<N> for LogBlock {
    fn shape(&self) -> Shape {
        self.ground.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        let page_bytes = self.ground.geometry.page_bytes();
        request.check(&self.ground.shape, page_bytes)?;
        if self.ground.pool.stopped {
            return Err(self.ground.pool.full());
        }
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
        self.ground.shape.check_range(first, pages)?;
        let mut done = at;
        for index in 0..pages {
            let key = LogicalPage(first.0 + index);
            let Some((page, may_be_hole)) = self.ground.find(key.0) else {
                sink.page(key, HostPage::Zeros);
                continue;
            };
            // One that a recovery could read, and could not write elsewhere.
            if let Some((_, _, data)) = self.ground.kept.0.iter().find(|(kept, ..)| *kept == page) {
                sink.page(key, HostPage::Data(data.content()));
                continue;
            }
            let (read, ready) = nand.read(page, Op::new(at, cause));
            done = done.max(ready);
            if read == PageRead::Erased && may_be_hole {
                sink.page(key, HostPage::Zeros);
                continue;
            }
            let read = match read {
                PageRead::Written { content, spare, .. } if !self.ground.barriers.keeps(Barrier::HostDataVerified) => {
                    Some((content, spare))
                }
                read => read.verified(),
            };
            let is_sought = |spare: &Spare| spare.kind == Kind::User && spare.key == key.0;
            match read {
                Some((_, spare)) if may_be_hole && is_hole(&spare, key.0) => sink.page(key, HostPage::Zeros),
                Some((content, spare)) if is_sought(&spare) || !self.ground.barriers.keeps(Barrier::OwnerChecked) => {
                    sink.page(key, HostPage::Data(content));
                }
                _ => {
                    self.ground.tally.unreadable_reads += 1;
                    sink.page(key, HostPage::Unreadable);
                }
            }
        }
        self.scheme.served(done, false);
        Ok(done)
    }

    /// Whole logical blocks are unmapped, and that is on flash when this returns; of others the table of trims takes note.
    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.ground.shape.check_range(first, pages)?;
        let ground = &mut self.ground;
        if ground.pool.stopped {
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
        let parts_of = |ground: &Ground, logical_block| {
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
        if !self.ground.pool.stopped && self.ground.barriers.keeps(Barrier::TrimsAtFlush) {
            self.ground.write_trims(nand, at)?;
        }
        Ok(at.max(self.ground.pool.clock.horizon()))
    }

    /// LAST++ writes a snapshot; of others the next start is as after a cut.
    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let done = Ftl::<N>::flush(self, nand, at)?;
        let (ground, scheme) = (&mut self.ground, &mut self.scheme);
        if ground.pool.stopped || !scheme.has_snapshots() {
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
        if self.ground.pool.stopped { None } else { self.scheme.due() }
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        if self.ground.pool.stopped {
            return Ok(Step::Nothing);
        }
        self.scheme.background_step(&mut self.ground, nand, at)
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
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
        counters.push(Counter::level("bad_blocks", u64::from(self.ground.pool.bad)));
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
