//! Recovery of a SUPERBLOCK FTL: map pages tell which blocks a superblock had when its map was made and where its pages
//! were, spare areas what was written since.
//!
//! What a map page names is sound: it is not programmed before that is on flash, and nothing that it names is given
//! back before the next one is. What is younger is told by blocks: a block that was begun after the map was made
//! belongs to the superblock whose pages it holds, and so do the pages behind those that the map knows of. Such a page
//! counts if its version is higher than the map page's, and of copies of one version the one that was programmed first.
//! So what a collection had moved when the power failed does not count, and the block that it went to is an orphan.
//!
//! The three rules of the page-mapped recovery ([`crate::page_mapped`]), superblock by superblock:
//!
//! - **Only the last page of a block can be torn**: blocks that were open are not written any further. So the last page
//!   of each block that has younger pages is believed only where its CRC fits, and of a torn map page the version
//!   before counts.
//! - **What may have been in flight is written anew** before the host sees anything: a page of the host to a block of
//!   its own, from the reading that was good; then the map page.
//! - **What it makes stale is kept until then**: blocks of the older version of a map page, the map block that this
//!   stands in, and what is younger and was trimmed by the newest; the newest two blocks of the superblock in which
//!   nothing counts but if what may have been in flight turns bad. No map block is emptied before all such map pages
//!   are written.

mod map_scan;
mod young;

use super::super::pool::{Role, Use};
use super::super::recovery::scan::Scan;
use super::layout::Sizes;
use super::state::Member;
use super::{Config, SuperblockParts, Superblocks};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::{Steps, anchor};
use crate::recovery_report::RecoveryReport;
use alloc::vec;
use alloc::vec::Vec;
use map_scan::MapScan;
use phelsuma_nand::{Block, Nand, Page, Time};
use young::Young;

/// What has to be written anew of a superblock before anything else.
struct Unsure {
    superblock: u32,
    /// Pages that may have been in flight, and count.
    pages: Vec<Page>,
    /// Blocks that hold what counts if anything of that turns bad.
    held: Vec<Block>,
}

impl Superblocks {
    /// Brings a drive up from what is on flash.
    pub(crate) fn recover<N: Nand>(
        nand: &mut N,
        config: &Config,
        parts: SuperblockParts,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let mut steps = Steps::new(at);
        let anchors = anchor::find_as_step(nand, config, &mut steps)?;
        Self::recover_described(nand, config, parts, anchors, steps)
    }

    /// The same of a drive whose description has been found in `anchors`.
    pub(crate) fn recover_described<N: Nand>(
        nand: &mut N,
        config: &Config,
        parts: SuperblockParts,
        anchors: Vec<Block>,
        mut steps: Steps,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let described = anchors.len() as u32;
        let sizes = Sizes::that_fit(&geometry, config, parts, described, 0)?;
        let mut ftl = Self::empty(&geometry, config, parts, &sizes, anchors);
        ftl.pool.recovering = true;
        ftl.map_is_unsure = true;
        let usable = ftl.usable_blocks(nand);
        ftl.pool.bad = geometry.blocks() - described - usable.len() as u32;

        steps.begin("read the first spare area of every block");
        let mut scan = Scan::new(&geometry);
        let mut owners = vec![None; geometry.blocks() as usize];
        for block in &usable {
            let spare = scan.first(nand, &mut steps, *block);
            if let Some(spare) = spare
                && scan.role(*block) == Some(Role::Log)
                && spare.key < config.logical_pages
            {
                owners[block.index()] = Some(ftl.layout.split(spare.key).0);
            }
        }

        steps.begin("read map blocks");
        let mut map = MapScan::default();
        for block in &usable {
            if scan.role(*block) == Some(Role::Map) {
                map.block(&mut scan, nand, &mut steps, *block);
            }
        }
        map.load(&mut ftl, &scan, &owners, nand, &mut steps);

        steps.begin("scan what is younger");
        let young = Young::find(&mut ftl, &map, &mut scan, &owners, &usable, nand, &mut steps);
        map.settle(&mut ftl, &scan, &owners, &usable, nand, &mut steps);
        let scratch = scan.bytes() + map.bytes() + owners.len() as u64 * 8 + young.bytes();
        let now = steps.now;
        let counted = ftl.counts.spare_reads;
        let reads = ftl.tally.reads;
        let (unsure, done) = ftl.settle(&scan, &map, young, &usable, nand, now);
        steps.now = steps.now.max(done);
        steps.step.spare_reads += ftl.counts.spare_reads - counted;
        steps.step.reads += ftl.tally.reads - reads;
        ftl.pool.begin_session(scan.version_max, scan.seq_max);
        (steps.report.last_pages, steps.report.last_pages_bad) = (scan.lasts_read, scan.lasts_bad);
        steps.report.scratch_bytes = scratch;

        steps.begin("write anew what may have been in flight");
        let (before, counted) = (ftl.tally, ftl.counts.spare_reads);
        match ftl.write_unsure(nand, unsure, steps.now) {
            Ok(done) => steps.now = done,
            // Blocks have grown bad faster than collections could make up for: what is there can be read, and what could
            // not be written anew from where it was read to.
            Err(FtlError::Full { .. }) => ftl.pool.stopped = true,
            Err(error) => return Err(error),
        }
        if !ftl.pool.stopped {
            ftl.kept.0 = Vec::new();
            ftl.kept_maps = Vec::new();
        }
        ftl.map_is_unsure = false;
        steps.now = steps.now.max(ftl.pool.clock.horizon());
        steps.step.reads += ftl.tally.reads - before.reads;
        steps.step.programs += ftl.tally.programs - before.programs;
        steps.step.spare_reads += ftl.counts.spare_reads - counted + ftl.pool.untold_spare_reads;
        steps.end();
        ftl.pool.recovering = false;
        ftl.tally = super::Tally::default();
        ftl.counts = super::Counts::default();
        let mut report = steps.report;
        report.bound = sizes.recovery_bound(&geometry);
        report.done = steps.now;
        Ok((ftl, report))
    }

    /// Takes over the blocks in which something counts, and gives the others back, in the order of their first pages,
    /// but for those that must be kept until what may have been in flight is safe: what has to be written anew.
    #[allow(clippy::too_many_arguments)]
    fn settle<N: Nand>(
        &mut self,
        scan: &Scan,
        map: &MapScan,
        young: Young,
        usable: &[Block],
        nand: &mut N,
        at: Time,
    ) -> (Vec<Unsure>, Time) {
        let mut done = at;
        let holds = self.barriers.keeps(Barrier::FallbacksHeld);
        let mut unsure: Vec<Unsure> = Vec::new();
        let mut not_needed: Vec<Block> = Vec::new();
        let suspects: Vec<u32> = map.suspects().chain(young.superblocks()).collect();
        let mut suspects = suspects;
        suspects.sort_unstable();
        suspects.dedup();
        for superblock in suspects {
            // What is younger than the map is counted, and blocks in which nothing counts are none of the superblock's.
            let (held, ready) = self.load(nand, superblock, at);
            done = done.max(ready);
            let mut orphans = self.drop_orphans(superblock, &young);
            // Each recovery that is cut leaves one with its copies of what may have been in flight. Of these the last may
            // have been so itself; what others hold, the page that they are copies of or the last but one holds as well.
            orphans.sort_by_key(|block| core::cmp::Reverse(scan.first_seq(*block)));
            not_needed.extend(orphans.drain(orphans.len().min(2)..));
            self.renumber(superblock, held);
            let counts = |page: &Page| {
                let spare = self.kept.0.iter().find(|(kept, ..)| kept == page).map(|(_, spare, _)| spare);
                spare.is_some_and(|spare| {
                    let (of, offset) = self.layout.split(spare.key);
                    let entry = self.cache.get(held).get(offset as usize).copied();
                    of == superblock
                        && entry
                            .is_some_and(|entry| entry != super::NOWHERE && self.page_of(superblock, entry) == *page)
                })
            };
            let pages: Vec<Page> = young.recent(superblock).filter(counts).collect();
            if !pages.is_empty() || map.suspects().any(|suspect| suspect == superblock) {
                unsure.push(Unsure { superblock, pages, held: orphans });
            }
        }
        self.map.drop_dead();
        let mut taken: Vec<(Block, Use)> = self.map.blocks().map(|block| (block, Use::Map)).collect();
        for superblock in &self.superblocks {
            taken.extend(superblock.members().map(|(_, member)| (member.block, Use::Log)));
        }
        taken.sort_unstable_by_key(|(block, _)| *block);
        let mut order: Vec<Block> = usable.to_vec();
        order.sort_by_key(|block| scan.first_seq(*block));
        let mut falls_back = Vec::new();
        for block in order {
            if let Ok(at) = taken.binary_search_by_key(&block, |(block, _)| *block) {
                self.pool.take(block, taken[at].1);
            } else if !holds {
                self.pool.release(block);
            } else if unsure.iter().any(|unsure| unsure.held.contains(&block)) {
                // Held already.
            } else if not_needed.contains(&block) {
                self.pool.release(block);
            } else if map.falls_back_on(block) {
                falls_back.push(block);
            } else {
                self.pool.release(block);
            }
        }
        if !holds {
            unsure.iter_mut().for_each(|unsure| unsure.held.clear());
        }
        // Where a map page may turn bad, so may what the map block of its older version is needed for.
        if let Some(last) = unsure.last_mut() {
            last.held.append(&mut falls_back);
        }
        debug_assert!(falls_back.is_empty());
        for superblock in 0..self.superblocks.len() as u32 {
            self.recount(superblock, 0);
        }
        (unsure, done)
    }

    /// Blocks in which nothing counts and that no map page names are none of a superblock's: which they were.
    fn drop_orphans(&mut self, superblock: u32, young: &Young) -> Vec<Block> {
        let mut orphans = Vec::new();
        for member in &mut self.superblocks[superblock as usize].members {
            if let Some(Member { block, live: 0, .. }) = *member
                && young.is_unnamed(block)
            {
                orphans.push(block);
                *member = None;
            }
        }
        orphans
    }

    /// Blocks behind the last slot that a map page has move to free ones.
    fn renumber(&mut self, superblock: u32, held: u32) {
        let (slots, pages) = (self.layout.slots() as usize, self.layout.pages_per_block);
        let members = &mut self.superblocks[superblock as usize].members;
        for from in slots..members.len() {
            let Some(to) = members.iter().take(slots).position(Option::is_none) else { break };
            let Some(member) = members[from].take() else { continue };
            members[to] = Some(member);
            for entry in self.cache.get_mut(held) {
                if *entry != super::NOWHERE && (u32::from(*entry) / pages) as usize == from {
                    *entry = (to as u32 * pages + u32::from(*entry) % pages) as u16;
                }
            }
        }
        while members.len() > slots && members.last().is_some_and(Option::is_none) {
            members.pop();
        }
    }

    /// Writes anew what may have been in flight, and gives back what was held for it. When that is done.
    ///
    /// # Errors
    /// No block is left. Then nothing may be written any more.
    fn write_unsure<N: Nand>(&mut self, nand: &mut N, unsure: Vec<Unsure>, at: Time) -> Result<Time, FtlError> {
        let mut now = at;
        if self.superblocks.iter().any(|superblock| superblock.members.len() > self.layout.slots() as usize) {
            return Err(self.pool.full());
        }
        let mut held = Vec::new();
        for mut unsure in unsure {
            if self.barriers.keeps(Barrier::SuspectsCopied) {
                now = self.write_anew(nand, unsure.superblock, &unsure.pages, now)?;
            }
            held.append(&mut unsure.held);
        }
        now = now.max(self.pool.clock.horizon());
        for block in held {
            self.pool.release(block);
        }
        self.map_is_unsure = false;
        self.empty_map_blocks(nand, now)
    }
}
