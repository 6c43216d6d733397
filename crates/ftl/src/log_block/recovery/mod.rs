//! Recovery of a log-block FTL: map blocks tell where data blocks are, spare areas or summaries what stands in log blocks
//! (LAST++ section 4.7). After a clean end LAST++ has a snapshot instead ([`from_snapshot`]).
//!
//! What the map names is sound: a map page is not programmed before what it names is on flash. What no map page names is
//! told by the label of its first page: a log block counts, with every page that is younger than its logical block's
//! merge; the destination of a full merge is an orphan, and free.
//!
//! The three rules of the page-mapped recovery ([`crate::page_mapped`]) hold here as well:
//!
//! - **Only the last page of a block can be torn**: log blocks and map blocks that were open are not written any further.
//!   So the last page of each is believed only where its CRC fits.
//! - **What may have been in flight is written anew** before the host sees anything: a part of the map from RAM, a page of
//!   the host by merging its logical block.
//! - **What it makes stale is kept until then**: data blocks that the older version of a part names, and log blocks whose
//!   pages would count again.

mod from_snapshot;
mod log_scan;
mod map_scan;
pub(super) mod scan;

use super::data_map::Entry;
use super::ground::{Ground, NOBODY};
use super::pool::{Role, Use};
use super::shape::Sizes;
use super::{Config, LogBlock};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::{FirstPages, Steps, anchor};
use crate::recovery_report::RecoveryReport;
use alloc::vec::Vec;
use log_scan::{LogPage, LogScan};
use map_scan::MapScan;
use phelsuma_nand::{Block, Nand, Page, Time};
use scan::{Scan, Seen};

impl LogBlock {
    /// Brings a drive up from what is on flash.
    pub(crate) fn recover<N: Nand>(
        nand: &mut N,
        config: &Config,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let mut steps = Steps::new(at);
        let anchors = anchor::find_as_step(nand, config, &mut steps)?;
        Self::recover_described(nand, config, anchors, steps)
    }

    /// The same of a drive whose description has been found in `anchors`.
    pub(super) fn recover_described<N: Nand>(
        nand: &mut N,
        config: &Config,
        anchors: Vec<Block>,
        mut steps: Steps,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let described = anchors.len() as u32;
        let sizes = Sizes::that_fit(&geometry, config, described, 0)?;
        let mut ftl = Self::empty(&geometry, config, &sizes, anchors);
        ftl.ground.pool.recovering = true;
        let usable = ftl.usable_blocks(nand);
        ftl.ground.pool.bad = geometry.blocks() - described - usable.len() as u32;

        steps.begin("read the first spare area of every block");
        let mut scan = Scan::new(&geometry);
        steps.first = FirstPages::new(geometry.blocks(), ftl.ground.pool.wear.is_some());
        for block in &usable {
            scan.first(nand, &mut steps, *block);
        }
        if let Some(wear) = &mut ftl.ground.pool.wear {
            wear.found(&steps.first);
        }

        if sizes.last.is_some() {
            if ftl.restore(nand, &mut steps, &usable, &mut scan) {
                steps.now = ftl.scheme.recovered(&mut ftl.ground, nand, steps.now)?;
                return Ok(ftl.ready(steps, &sizes));
            }
            let anchors = core::mem::take(&mut ftl.anchors);
            let (bad, wear) = (ftl.ground.pool.bad, ftl.ground.pool.wear.take());
            ftl = Self::empty(&geometry, config, &sizes, anchors);
            (ftl.ground.pool.recovering, ftl.ground.pool.bad, ftl.ground.pool.wear) = (true, bad, wear);
        }

        steps.begin("read map blocks");
        let mut map = MapScan::default();
        for block in &usable {
            if scan.role(*block) == Some(Role::Map) {
                map.block(&mut scan, nand, &mut steps, *block);
            }
        }
        map.load(&mut ftl.ground, &scan, nand, &mut steps);

        steps.begin("scan log blocks");
        let mut log = LogScan::default();
        log.summaries = sizes.summaries;
        let named = ftl.named();
        for block in &usable {
            let begun_in_time = scan.first_seq(*block) >= map.oldest_log;
            if scan.role(*block).is_some_and(Role::is_log) && begun_in_time && named.binary_search(block).is_err() {
                log.block(ftl.ground.barriers, &mut scan, nand, &mut steps, *block);
            }
        }
        log.end(&scan);
        map.settle(&scan);
        let log_bytes = log.bytes(geometry.page_bytes());
        let (counting, suspects, entering_bytes) = ftl.enter_log_pages(&scan, &map, log);
        let held = ftl.settle_blocks(&usable, &scan, &map, &counting);
        ftl.ground.pool.begin_session(scan.version_max, scan.seq_max);
        (steps.report.last_pages, steps.report.last_pages_bad) = (scan.lasts_read, scan.lasts_bad);
        steps.report.scratch_bytes = scan.bytes() + map.bytes() + log_bytes + entering_bytes + steps.first.bytes();

        steps.begin("write anew what may have been in flight");
        let before = ftl.ground.tally;
        match ftl.write_anew(nand, &map, &suspects, held, steps.now) {
            Ok(done) => {
                steps.now = done;
                ftl.ground.kept.0 = Vec::new();
            }
            // Blocks have grown bad faster than merges could make up for: what is there can be read, and what was read and
            // may never be again is read from RAM.
            Err(FtlError::Full { .. }) => ftl.ground.stop_writing(),
            Err(error) => return Err(error),
        }
        ftl.ground.held_since = None;
        steps.now = steps.now.max(ftl.ground.pool.clock.horizon());
        steps.step.reads += ftl.ground.tally.reads - before.reads;
        steps.step.programs += ftl.ground.tally.programs - before.programs;
        Ok(ftl.ready(steps, &sizes))
    }

    /// It is up.
    fn ready(mut self, mut steps: Steps, sizes: &Sizes) -> (Self, RecoveryReport) {
        steps.step.spare_reads += self.ground.pool.untold_spare_reads;
        steps.end();
        self.ground.pool.recovering = false;
        self.ground.tally = super::tally::Tally::default();
        let mut report = steps.report;
        report.bound = sizes.recovery_bound(&self.ground.geometry);
        report.done = steps.now;
        (self, report)
    }

    /// Writes anew what may have been in flight, gives back what was `held` for it, and leaves the log blocks to the scheme.
    /// When that is done.
    ///
    /// # Errors
    /// No block is left. Then nothing may be written any more.
    fn write_anew<N: Nand>(
        &mut self,
        nand: &mut N,
        map: &MapScan,
        suspects: &[u32],
        held: Vec<Block>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let (ground, mut now) = (&mut self.ground, at);
        ground.held_since = (ground.barriers.keeps(Barrier::HeldLogBlocksScanned)).then_some(map.oldest_log);
        if ground.barriers.keeps(Barrier::SuspectsCopied) {
            now = ground.write_parts(nand, map.suspects(), now)?;
            for logical_block in suspects {
                now = ground.full_merge(nand, *logical_block, now)?;
            }
        }
        now = now.max(ground.pool.clock.horizon());
        ground.kept.0.clear();
        ground.held_since = None;
        for block in held {
            ground.pool.release(block);
        }
        // Log blocks of which nothing is left.
        let dead: Vec<u32> = ground.log.slots().filter(|slot| ground.log.get(*slot).live == 0).collect();
        for slot in dead {
            now = ground.release_log_block(nand, slot, now)?;
        }
        self.scheme.recovered(ground, nand, now)
    }

    /// The data blocks that the map names, in order.
    fn named(&self) -> Vec<Block> {
        let data = &self.ground.data;
        let mut named: Vec<Block> = (0..data.logical_blocks()).filter_map(|lb| data.block(lb)).collect();
        named.sort_unstable();
        named
    }

    /// Enters the newest pages of log blocks that are younger than their logical block's merge and not trimmed. The blocks
    /// whose pages would count if what may have been in flight turned bad, in order; and the logical blocks of pages that
    /// may have been in flight and count; and the RAM that this takes besides, in bytes.
    fn enter_log_pages(&mut self, scan: &Scan, map: &MapScan, mut log: LogScan) -> (Vec<Block>, Vec<u32>, u64) {
        let ground = &mut self.ground;
        let geometry = ground.geometry;
        let logical_pages = ground.shape.logical_pages;
        log.pages.retain(|page| page.key < logical_pages);
        // The newest of each logical page comes first.
        if ground.barriers.keeps(Barrier::VersionOrder) {
            log.pages.sort_by_key(|page| (page.key, core::cmp::Reverse((page.version, page.seq))));
        } else {
            log.pages.sort_by_key(|page| (page.key, core::cmp::Reverse(page.seq)));
        }
        let compares = ground.barriers.keeps(Barrier::MergeVersionCompared);
        let (mut counting, mut suspects) = (Vec::new(), Vec::new());
        let mut entered: Vec<LogPage> = Vec::new();
        for pages in log.pages.chunk_by(|a, b| a.key == b.key) {
            let Some(key) = pages.first().map(|page| page.key) else { continue };
            let (logical_block, offset) = ground.split(key);
            // As the newest parts of the map have it.
            let merged = ground.data.version(logical_block);
            let trimmed = ground.trims.entry(logical_block).filter(|trim| trim.has(offset)).map(|trim| trim.version);
            let counts = |page: &&LogPage| {
                (page.version > merged || !compares) && trimmed.is_none_or(|trimmed| page.version > trimmed)
            };
            if let Some(newest) = pages.iter().find(counts) {
                entered.push(*newest);
                if newest.suspect {
                    suspects.push(logical_block);
                }
            }
            // As it is where everything that may have been in flight turns bad.
            let merged = map.certain_version(logical_block).unwrap_or(merged);
            let trimmed = if map.trims_are_suspect() { None } else { trimmed };
            let would = |page: &&LogPage| {
                !page.suspect && page.version > merged && trimmed.is_none_or(|trimmed| page.version > trimmed)
            };
            counting.extend(pages.iter().find(would).map(|page| geometry.block_of(page.page)));
        }
        counting.sort_unstable();
        counting.dedup();
        suspects.sort_unstable();
        suspects.dedup();
        let standing: Vec<(u32, Page)> = entered.iter().map(|page| (page.key, page.page)).collect();
        let taking_up = ground.take_up_log_blocks(scan, &standing, |block| log.begun(block));
        let bytes = (entered.capacity() * size_of::<LogPage>()) as u64 + taking_up;
        for page in &entered {
            // One that may turn bad does not undo the trim before it: the table may be written before the page is safe.
            // The merge that makes it so carries out the rest of the entry.
            if !page.suspect || !ground.barriers.keeps(Barrier::TrimsOutliveSuspects) {
                let (logical_block, offset) = ground.split(page.key);
                ground.trims.clear(logical_block, offset);
            }
        }
        ground.kept.0 = log.recent.into_iter().map(|recent| (recent.page, recent.spare, recent.data)).collect();
        (counting, suspects, bytes)
    }

    /// Says of each block what it is; those that hold nothing that counts go into the pool, in the order of their first
    /// pages. Those that must be kept until what may have been in flight is safe are given back.
    fn settle_blocks(&mut self, usable: &[Block], scan: &Scan, map: &MapScan, counting: &[Block]) -> Vec<Block> {
        let named = self.named();
        let ground = &mut self.ground;
        let holds = ground.barriers.keeps(Barrier::FallbacksHeld);
        ground.map.drop_dead();
        let mut map_blocks: Vec<Block> = ground.map.blocks().collect();
        map_blocks.sort_unstable();
        let mut order: Vec<Block> = usable.to_vec();
        order.sort_by_key(|block| scan.first_seq(*block));
        let mut held = Vec::new();
        for block in order {
            if named.binary_search(&block).is_ok() {
                ground.pool.take(block, Use::Data);
            } else if map_blocks.binary_search(&block).is_ok() {
                ground.pool.take(block, Use::Map);
            } else if ground.log.is_log_block(block) {
                // Taken already.
            } else if holds && (map.falls_back_on(block) || counting.binary_search(&block).is_ok()) {
                held.push(block);
            } else if !ground.barriers.keeps(Barrier::OrphansErased) && scan.seen(block) == Seen::Role(Role::Data) {
                // Nobody will ever erase it.
            } else {
                ground.pool.release(block);
            }
        }
        held
    }
}

impl Ground {
    /// Takes up the log blocks that hold these pages, each of which is the newest of its logical page: in the order in
    /// which they were begun, and none is written any further. The RAM that this takes, in bytes, with what was given.
    fn take_up_log_blocks(&mut self, scan: &Scan, newest: &[(u32, Page)], begun: impl Fn(Block) -> u64) -> u64 {
        let geometry = self.geometry;
        let block_of = |page: Page| geometry.block_of(page);
        let mut blocks: Vec<(u64, Block)> =
            newest.iter().map(|(_, page)| (begun(block_of(*page)), block_of(*page))).collect();
        blocks.sort_unstable();
        blocks.dedup();
        if let Some(tables) = self.log.last_mut() {
            tables.reserve(blocks.len());
        }
        // Of each page that counts its block, its logical page and where it stands.
        let mut standing: Vec<(Block, u32, u32)> = Vec::new();
        if self.log.last().is_some() {
            let place = |(key, page): &(u32, Page)| (block_of(*page), *key, geometry.index_of(*page));
            standing.extend(newest.iter().map(place));
            standing.sort_unstable();
        }
        let bytes = size_of_val(newest)
            + blocks.capacity() * size_of::<(u64, Block)>()
            + standing.capacity() * size_of::<(Block, u32, u32)>();
        for (first_seq, block) in blocks {
            let (role, owner) = self.taken_up(&standing, block, scan.role(block));
            let slot = self.log.open(block, owner, role, first_seq);
            let state = self.log.get_mut(slot);
            (state.closed, state.in_place, state.next) = (true, false, geometry.pages_per_block());
            self.pool.take(block, Use::Log);
        }
        for (key, page) in newest {
            self.log.set(*key, *page);
        }
        let slots: Vec<u32> = self.log.slots().collect();
        for slot in slots {
            let mut owners = self.log.get(slot).keys.iter().filter(|key| **key != super::log::NONE);
            let owner = owners.next().map(|key| self.split(*key).0);
            let alone = owner.filter(|owner| owners.all(|key| self.split(*key).0 == *owner));
            let state = self.log.get_mut(slot);
            state.used = state.live;
            state.owner = alone.unwrap_or(NOBODY);
            let (role, owner, live) = (state.role, state.owner, state.live);
            // A sequential log block that is complete may still become a data block.
            self.log.get_mut(slot).in_place = role == Role::Sequential && live == self.pages_in(owner);
        }
        bytes as u64
    }

    /// As what a log block of LAST++ is taken up, and whose it is: the pages that count in it are `standing` there. A
    /// sequential one for which the table of segments has no room, or no room any more, is a random one of the cold
    /// partition.
    fn taken_up(&self, standing: &[(Block, u32, u32)], block: Block, role: Option<Role>) -> (Role, u32) {
        let Some(tables) = self.log.last() else { return (Role::Log, NOBODY) };
        if role == Some(Role::Hot) {
            return (Role::Hot, NOBODY);
        }
        let from = standing.partition_point(|(other, ..)| *other < block);
        let pages = || standing.iter().skip(from).take_while(|(other, ..)| *other == block);
        let owner = pages().next().map(|(_, key, _)| self.split(*key).0);
        match owner {
            Some(owner)
                if role == Some(Role::Sequential)
                    && pages().all(|(_, key, index)| self.split(*key) == (owner, *index))
                    && tables.segments.can_open(owner) =>
            {
                (Role::Sequential, owner)
            }
            _ => (Role::Log, NOBODY),
        }
    }
}

/// An entry of the map as it is where what may have been in flight turns bad.
type Certain = (u32, Entry);
