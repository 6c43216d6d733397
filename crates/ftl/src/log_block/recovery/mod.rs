//! Recovery of a hybrid FTL: map blocks hold where data blocks are, log blocks the writes since (LAST++ section 4.7).
//!
//! After a clean end there may be a snapshot instead ([`from_snapshot`]).
//!
//! What the map names is sound: a map page is not programmed before the blocks that it names are on flash. The label of
//! its first page identifies a block that no map page names. A log block counts, with every page that is younger than
//! its logical block's merge. The destination of a full merge is an orphan, and free. The scheme determines how a log
//! block is read, and as what it is taken up ([`Scheme::log_reader`], [`Scheme::taken_up`]).
//!
//! The three rules of the page-mapped recovery ([`crate::page_mapped`]) hold here as well:
//!
//! - **Only the last page of a block can be torn**: log blocks and map blocks that were open are not written any
//!   further. So the last page of each is believed only where its CRC fits.
//! - **Suspect pages are written anew** before the host is served: a part of the map from RAM, a user page by merging
//!   its logical block.
//! - **What this makes stale is kept until then**: data blocks that the older version of a part names, and log blocks
//!   whose pages would count again.

mod found;
mod from_snapshot;
mod log_scan;
mod map_parts;
mod map_scan;
mod scan;
mod taking_up;

use super::ground::Ground;
use super::hybrid::Hybrid;
use super::log_index::LogIndex;
use super::merge::Merge;
use super::pool::{Role, Use};
use super::scheme::Scheme;
use super::shape::HybridSizes;
use super::shape::LogConfig;
use super::tally::Tally;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::usable_blocks;
use crate::medium::{FirstPages, Phase, Session, Steps};
use crate::recovery_report::{RecoveryBound, RecoveryReport};
use alloc::vec::Vec;
use log_scan::LogBlockPage;
use map_parts::MapParts;
use phelsuma_nand::{Block, Nand, Page};
use scan::Seen;

pub(super) use found::FoundLogBlock;
pub(super) use log_scan::{LogScan, ReadLogBlock, SpareAreas};
pub(super) use map_scan::{MapScan, Mapped, ReadPart};
pub(super) use scan::SpareScan;

impl<S: Scheme> Hybrid<S> {
    /// Brings up a drive whose description has been found in `anchors`.
    pub(super) fn recover_described<N: Nand>(
        nand: &mut N,
        config: &LogConfig,
        parts: &S::Parts,
        anchors: Vec<Block>,
        mut steps: Steps,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let described = anchors.len() as u32;
        let sizes = HybridSizes::that_fit(&geometry, config, S::layout(&geometry), described, 0)?;
        let mut ftl = Self::empty(&geometry, config, parts, &sizes, anchors);
        ftl.ground.begin_mount();
        let usable = usable_blocks(nand, &ftl.anchors);
        ftl.ground.pool.failures.found_bad(geometry.blocks() - described - usable.len() as u32);
        let mut session = Session { ftl: &mut ftl, nand, steps: &mut steps };
        let mut scan = session.first_pages(&usable);
        if S::SNAPSHOT && session.restore(&usable, &mut scan) {
            session.hand_over()?;
        } else {
            if S::SNAPSHOT {
                session.ftl.start_over(config, parts, &sizes);
            }
            session.scan_and_mend(&usable, scan)?;
        }
        debug_assert!(ftl.ground.held_since.is_none(), "log blocks are held when the drive is mounted");
        let bound = sizes.recovery_bound(&geometry, ftl.scheme.log_reader().pages_at_most(), S::SNAPSHOT);
        Ok(ftl.ready(steps, bound))
    }

    /// A snapshot has turned out to be of no use: nothing of it counts.
    fn start_over(&mut self, config: &LogConfig, parts: &S::Parts, sizes: &HybridSizes) {
        let (geometry, anchors) = (self.ground.geometry, core::mem::take(&mut self.anchors));
        let (bad, wear) = (self.ground.pool.failures.bad(), self.ground.pool.wear.take());
        *self = Self::empty(&geometry, config, parts, sizes, anchors);
        self.ground.begin_mount();
        self.ground.pool.wear = wear;
        self.ground.pool.failures.found_bad(bad);
    }

    /// It is up.
    fn ready(mut self, mut steps: Steps, bound: RecoveryBound) -> (Self, RecoveryReport) {
        steps.step.spare_reads += self.ground.pool.untold_spare_reads;
        steps.end();
        self.ground.pool.phase = self.ground.pool.phase.mounted();
        steps.report.scratch_bytes += self.ground.end_mount();
        self.ground.tally = Tally::default();
        let report = RecoveryReport { bound, done: steps.now, ..steps.report };
        (self, report)
    }
}

impl<S: Scheme, N: Nand> Session<'_, Hybrid<S>, N> {
    /// The first spare area of every block.
    fn first_pages(&mut self, usable: &[Block]) -> SpareScan {
        self.steps.begin("read the first spare area of every block");
        let pool = &mut self.ftl.ground.pool;
        self.steps.first = FirstPages::new(self.nand.geometry().blocks(), pool.wear.is_some());
        let mut scan = SpareScan::new(self.nand.geometry());
        for block in usable {
            scan.first(self, *block);
        }
        if let Some(wear) = &mut self.ftl.ground.pool.wear {
            wear.found(&self.steps.first);
        }
        scan
    }

    /// Leaves the log blocks to the scheme.
    fn hand_over(&mut self) -> Result<(), FtlError> {
        self.steps.now = self.ftl.scheme.recovered(&mut self.ftl.ground, self.nand, self.steps.now)?;
        Ok(())
    }

    /// Reads map blocks and log blocks, and writes suspect pages anew.
    fn scan_and_mend(&mut self, usable: &[Block], mut scan: SpareScan) -> Result<(), FtlError> {
        self.steps.begin("read map blocks");
        let mut ground = self.of(|ftl| &mut ftl.ground);
        let mut map_blocks = MapScan::default();
        for block in usable {
            if scan.role(*block) == Some(Role::Map) {
                map_blocks.block(&mut ground, &mut scan, *block);
            }
        }
        let mut map = MapParts::load(map_blocks, &mut ground, &scan);

        self.steps.begin("scan log blocks");
        let log = self.scan_log_blocks(usable, &mut scan, map.oldest_log);
        map.settle(&scan);
        let log_bytes = log.bytes(self.nand.geometry().page_bytes());
        let (counting, suspects, entering_bytes) = self.ftl.enter_log_pages(&scan, &map, log);
        let held = self.ftl.ground.settle_blocks(usable, &scan, &map, &counting);
        self.ftl.ground.pool.begin_session(scan.version_max, scan.seq_max);
        let report = &mut self.steps.report;
        (report.last_pages, report.last_pages_bad) = (scan.lasts_read, scan.lasts_bad);
        report.scratch_bytes = scan.bytes() + map.bytes() + log_bytes + entering_bytes + self.steps.first.bytes();

        self.steps.begin("write anew what may have been in flight");
        let before = self.ftl.ground.tally;
        match self.write_anew(&map, &suspects, held) {
            Ok(()) => self.ftl.ground.kept.0 = Vec::new(),
            // Blocks have grown bad faster than merges could make up for. What is there can be read. Pages that may
            // never be readable again are read from RAM.
            Err(FtlError::Full { .. }) => self.ftl.ground.stop_writing(),
            Err(error) => return Err(error),
        }
        let ground = &mut self.ftl.ground;
        ground.held_since = None;
        self.steps.now = self.steps.now.max(ground.pool.clock.horizon());
        self.steps.step.reads += ground.tally.reads - before.reads;
        self.steps.step.programs += ground.tally.programs - before.programs;
        Ok(())
    }

    /// Reads the log blocks that may count: those that no map page names, and that are not older than any that counts.
    fn scan_log_blocks(&mut self, usable: &[Block], scan: &mut SpareScan, oldest: u64) -> LogScan {
        let reader = self.ftl.scheme.log_reader();
        let named = self.ftl.ground.named();
        let mut ground = Session { ftl: &mut self.ftl.ground, nand: self.nand, steps: self.steps };
        let mut log = LogScan::default();
        for block in usable {
            let begun_in_time = scan.first_seq(*block) >= oldest;
            if scan.role(*block).is_some_and(Role::is_log) && begun_in_time && named.binary_search(block).is_err() {
                log.block(&mut ground, scan, &reader, *block);
            }
        }
        log.end(scan);
        log
    }

    /// Writes suspect pages anew, gives back what was `held` for them, and leaves the log blocks to the scheme.
    ///
    /// # Errors
    /// No block is left. Then nothing may be written any more.
    fn write_anew(&mut self, map: &MapParts, suspects: &[u32], held: Vec<Block>) -> Result<(), FtlError> {
        let (ground, mut now) = (&mut self.ftl.ground, self.steps.now);
        ground.held_since = ground.barriers.keeps(Barrier::HeldLogBlocksScanned).then_some(map.oldest_log);
        if ground.barriers.keeps(Barrier::SuspectsCopied) {
            now = ground.write_parts(self.nand, map.suspects(), now)?;
            let merges: Vec<Merge> = suspects.iter().map(|logical_block| Merge::full(*logical_block)).collect();
            let channels = ground.geometry.channels();
            now = ground.merge_together(self.nand, &merges, channels, now)?;
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
            now = ground.release_log_block(self.nand, slot, now)?;
        }
        debug_assert!(
            ground.log.slots().all(|slot| ground.log.get(slot).closed),
            "a log block is open after a recovery"
        );
        self.steps.now = now;
        self.hand_over()
    }
}

impl<S: Scheme> Hybrid<S> {
    /// Enters the newest pages of log blocks that are younger than their logical block's merge and not trimmed. It
    /// returns three things:
    /// - the blocks whose pages would count if suspect pages turned bad, in order;
    /// - the logical blocks of suspect pages that count;
    /// - the RAM that this takes besides, in bytes.
    fn enter_log_pages(&mut self, scan: &SpareScan, map: &MapParts, mut log: LogScan) -> (Vec<Block>, Vec<u32>, u64) {
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
        let mut entered: Vec<LogBlockPage> = Vec::new();
        for pages in log.pages.chunk_by(|a, b| a.key == b.key) {
            let Some(key) = pages.first().map(|page| page.key) else { continue };
            let (logical_block, offset) = ground.split(key);
            // As the newest parts of the map have it.
            let merged = ground.merge_version(logical_block);
            let trimmed = ground.trims.entry(logical_block).filter(|trim| trim.has(offset)).map(|trim| trim.version);
            let counts = |page: &&LogBlockPage| {
                (page.version > merged || !compares) && trimmed.is_none_or(|trimmed| page.version > trimmed)
            };
            if let Some(newest) = pages.iter().find(counts) {
                entered.push(*newest);
                if newest.suspect {
                    suspects.push(logical_block);
                }
            }
            // As it is where suspect pages turn bad. Of several the one before the newest may be acknowledged.
            let merged = map.certain_version(logical_block).unwrap_or(merged);
            let trimmed = if map.trims_are_suspect() { None } else { trimmed };
            let would =
                |page: &&LogBlockPage| page.version > merged && trimmed.is_none_or(|trimmed| page.version > trimmed);
            for page in pages.iter().filter(would) {
                counting.push(geometry.block_of(page.page));
                if !page.suspect {
                    break;
                }
            }
        }
        counting.sort_unstable();
        counting.dedup();
        suspects.sort_unstable();
        suspects.dedup();
        debug_assert!(entered.windows(2).all(|pair| pair[0].key < pair[1].key), "a page is entered twice");
        let standing: Vec<(u32, Page)> = entered.iter().map(|page| (page.key, page.page)).collect();
        let taking_up = ground.take_up_log_blocks::<S>(scan, &standing, |block| log.begun(block));
        let bytes = (entered.capacity() * size_of::<LogBlockPage>()) as u64 + taking_up;
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
}

impl<I: LogIndex> Ground<I> {
    fn begin_mount(&mut self) {
        self.pool.phase = Phase::Mounting;
        self.data.begin_mount();
    }

    /// The data blocks that the map names, in order.
    fn named(&self) -> Vec<Block> {
        let mut named: Vec<Block> = (0..self.data.logical_blocks()).filter_map(|lb| self.data.block(lb)).collect();
        named.sort_unstable();
        named
    }

    /// Notes the use of each block. Blocks that hold nothing that counts go into the pool, in the order of their first
    /// pages. Those that must be kept until the suspect pages are safe are given back.
    fn settle_blocks(&mut self, usable: &[Block], scan: &SpareScan, map: &MapParts, counting: &[Block]) -> Vec<Block> {
        let (named, ground) = (self.named(), self);
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
                // It will never be erased.
            } else {
                ground.pool.release(block);
            }
        }
        debug_assert!(
            held.iter().all(|block| ground.pool.use_of(*block) == Use::Fixed),
            "a block is held and used for something else"
        );
        held
    }
}
