//! Recovery of a SUPERBLOCK FTL: from map pages, and the spare areas of the pages written since.
//!
//! A map page says which blocks a superblock had when its map was made and where its pages were. What it names is
//! sound: it is not programmed before that is on flash, and nothing that it names is given back before the next one is.
//! Younger pages are identified by blocks. A block that was begun after the map was made belongs to the superblock
//! whose pages it holds. So do the pages behind those that are in the map. Such a page counts if its version is higher
//! than the map page's. Of copies of one version the one that was programmed first counts. So what a collection had
//! moved when the power failed does not count, and the block that it went to is an orphan.
//!
//! The three rules of the page-mapped recovery ([`crate::page_mapped`]), superblock by superblock:
//!
//! - **Only the last page of a block can be torn**: blocks that were open are not written any further. So the last page
//!   of each block that has younger pages is believed only where its CRC fits. Of a torn map page the version before
//!   counts.
//! - **Suspect pages are written anew** before the host is served: a user page to a block of its own, from the reading
//!   that was good; then the map page.
//! - **Whatever this makes stale is kept until then**:
//!   - the blocks of the older version of a map page, and the map block that this stands in;
//!   - younger pages that the newest version trimmed;
//!   - the newest two blocks of the superblock in which nothing counts unless a suspect page turns bad.
//!
//!   No map block is emptied before all such map pages are written.

mod maps;
mod young;

use super::super::pool::{Role, Use};
use super::super::recovery::{MapScan, SpareScan};
use super::super::shape::LogConfig;
use super::super::tally::Tally;
use super::layout::SuperblockSizes;
use super::page_map::NOWHERE;
use super::state::Member;
use super::superblocks::{SuperblockCounts, Superblocks};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::config::SuperblockParts;
use crate::medium::usable_blocks;
use crate::medium::{Phase, Session, Steps};
use crate::recovery_report::RecoveryReport;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use maps::Maps;
use phelsuma_nand::{Block, Nand, Page};
use young::YoungPages;

/// The pages of a superblock that have to be written anew before anything else.
struct Unsure {
    superblock: u32,
    /// Suspect pages that count.
    pages: Vec<Page>,
    /// Blocks that hold what counts if anything of that turns bad.
    held: Vec<Block>,
}

impl Superblocks {
    /// Brings up a drive whose description has been found in `anchors`.
    pub(in super::super) fn recover_described<N: Nand>(
        nand: &mut N,
        config: &LogConfig,
        parts: SuperblockParts,
        anchors: Vec<Block>,
        mut steps: Steps,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let described = anchors.len() as u32;
        let sizes = SuperblockSizes::that_fit(&geometry, config, parts, described, 0)?;
        let mut ftl = Self::empty(&geometry, config, parts, &sizes, anchors);
        ftl.pool.phase = Phase::Mounting;
        let usable = usable_blocks(nand, &ftl.anchors);
        ftl.pool.failures.found_bad(geometry.blocks() - described - usable.len() as u32);
        Session { ftl: &mut ftl, nand, steps: &mut steps }.scan_and_mend(&usable)?;
        steps.end();
        ftl.pool.phase = ftl.pool.phase.mounted();
        ftl.tally = Tally::default();
        ftl.counts = SuperblockCounts::default();
        let bound = sizes.recovery_bound(&geometry);
        Ok((ftl, RecoveryReport { bound, done: steps.now, ..steps.report }))
    }
}

impl<N: Nand> Session<'_, Superblocks, N> {
    /// Reads where pages are, and writes suspect pages anew.
    fn scan_and_mend(&mut self, usable: &[Block]) -> Result<(), FtlError> {
        let (mut scan, owners) = self.first_pages(usable);

        self.steps.begin("read map blocks");
        let mut map_blocks = MapScan::default();
        for block in usable {
            if scan.role(*block) == Some(Role::Map) {
                map_blocks.block(self, &mut scan, *block);
            }
        }
        let mut maps = Maps::load(map_blocks, self, &scan, &owners);

        self.steps.begin("scan what is younger");
        let young = YoungPages::find(self, &maps, &mut scan, &owners, usable);
        maps.settle(self, &scan, &owners, usable);
        let scratch = scan.bytes() + maps.bytes() + owners.len() as u64 * 8 + young.bytes();
        let before = self.counted();
        let (unsure, not_needed) = self.find_unsure(&scan, &maps, &young);
        let unsure = self.ftl.settle_blocks(&scan, &maps, usable, unsure, &not_needed);
        self.count_since(before);
        self.ftl.pool.begin_session(scan.version_max, scan.seq_max);
        let report = &mut self.steps.report;
        (report.last_pages, report.last_pages_bad) = (scan.lasts_read, scan.lasts_bad);
        report.scratch_bytes = scratch;

        self.steps.begin("write anew what may have been in flight");
        let before = self.counted();
        match self.write_unsure(unsure) {
            Ok(()) => {
                self.ftl.kept.0 = Vec::new();
                self.ftl.kept_maps = Vec::new();
            }
            // Blocks have grown bad faster than collections could make up for. What is there can be read. Pages that
            // could not be written anew are read from RAM.
            Err(FtlError::Full { .. }) => self.ftl.pool.phase = Phase::ReadOnly,
            Err(error) => return Err(error),
        }
        self.steps.now = self.steps.now.max(self.ftl.pool.clock.horizon());
        self.count_since(before);
        self.steps.step.spare_reads += self.ftl.pool.untold_spare_reads;
        Ok(())
    }

    /// The first spare area of every block; and of each block whose pages it holds.
    fn first_pages(&mut self, usable: &[Block]) -> (SpareScan, Vec<Option<u32>>) {
        self.steps.begin("read the first spare area of every block");
        let mut scan = SpareScan::new(self.nand.geometry());
        let mut owners = vec![None; self.nand.geometry().blocks() as usize];
        for block in usable {
            let spare = scan.first(self, *block);
            if let Some(spare) = spare
                && scan.role(*block) == Some(Role::Log)
                && spare.key < self.ftl.shape.logical_pages
            {
                owners[block.index()] = Some(self.ftl.layout.split(spare.key).0);
            }
        }
        (scan, owners)
    }

    /// Reads, spare reads and programs that the FTL has counted.
    fn counted(&self) -> [u64; 3] {
        [self.ftl.tally.reads, self.ftl.counts.spare_reads, self.ftl.tally.programs]
    }

    /// Those since then are this step's.
    fn count_since(&mut self, before: [u64; 3]) {
        let now = self.counted();
        let step = &mut self.steps.step;
        step.reads += now[0] - before[0];
        step.spare_reads += now[1] - before[1];
        step.programs += now[2] - before[2];
    }

    /// The pages that have to be written anew, superblock by superblock, and blocks in which nothing counts whatever
    /// turns bad. Pages younger than a map are counted. Blocks in which nothing counts are none of the superblock's.
    fn find_unsure(&mut self, scan: &SpareScan, maps: &Maps, young: &YoungPages) -> (Vec<Unsure>, Vec<Block>) {
        let mut superblocks: Vec<u32> = maps.suspects().chain(young.superblocks()).collect();
        superblocks.sort_unstable();
        superblocks.dedup();
        let (mut unsure, mut not_needed) = (Vec::new(), Vec::new());
        let at = self.steps.now;
        for superblock in superblocks {
            let (held, ready) = self.ftl.load(self.nand, superblock, at);
            self.steps.now = self.steps.now.max(ready);
            let mut orphans = self.ftl.drop_orphans(superblock, young);
            // Each recovery that is cut leaves one with its copies of suspect pages. Of these the last may have been
            // suspect itself. What others hold, their original or the last but one holds as well.
            orphans.sort_by_key(|block| Reverse(scan.first_seq(*block)));
            not_needed.extend(orphans.drain(orphans.len().min(2)..));
            self.ftl.renumber(superblock, held);
            let pages: Vec<Page> =
                young.recent(superblock).filter(|page| self.ftl.counts(superblock, held, *page)).collect();
            if !pages.is_empty() || maps.suspects().any(|suspect| suspect == superblock) {
                unsure.push(Unsure { superblock, pages, held: orphans });
            }
        }
        (unsure, not_needed)
    }

    /// Writes suspect pages anew, and gives back what was held for them.
    ///
    /// # Errors
    /// No block is left. Then nothing may be written any more.
    fn write_unsure(&mut self, unsure: Vec<Unsure>) -> Result<(), FtlError> {
        let (ftl, mut now) = (&mut *self.ftl, self.steps.now);
        if ftl.superblocks.iter().any(|superblock| superblock.members.len() > ftl.layout.slots() as usize) {
            return Err(ftl.pool.full());
        }
        let mut held = Vec::new();
        for mut unsure in unsure {
            if ftl.barriers.keeps(Barrier::SuspectsCopied) {
                now = ftl.write_anew(self.nand, unsure.superblock, &unsure.pages, now)?;
            }
            held.append(&mut unsure.held);
        }
        now = now.max(ftl.pool.clock.horizon());
        for block in held {
            ftl.pool.release(block);
        }
        self.steps.now = ftl.empty_map_blocks(self.nand, now)?;
        Ok(())
    }
}

impl Superblocks {
    /// Whether a page that was read is the one that a superblock's map has for its logical page.
    fn counts(&self, superblock: u32, held: u32, page: Page) -> bool {
        let read = self.kept.get(page);
        read.is_some_and(|(_, spare, _)| {
            let (of, offset) = self.layout.split(spare.key);
            let entry = self.cache.get(held).get(offset as usize).copied();
            of == superblock && entry.is_some_and(|entry| entry != NOWHERE && self.page_of(superblock, entry) == page)
        })
    }

    /// Takes over the blocks in which something counts, and gives the others back, in the order of their first pages.
    /// Blocks that must be kept until the suspect pages are safe are not given back. It returns these, with the pages
    /// that have to be written anew.
    fn settle_blocks(
        &mut self,
        scan: &SpareScan,
        maps: &Maps,
        usable: &[Block],
        mut unsure: Vec<Unsure>,
        not_needed: &[Block],
    ) -> Vec<Unsure> {
        let forget = !self.barriers.keeps(Barrier::FallbacksHeld);
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
            } else if !forget && unsure.iter().any(|unsure| unsure.held.contains(&block)) {
                // Held already.
            } else if !forget && !not_needed.contains(&block) && maps.falls_back_on(block) {
                falls_back.push(block);
            } else {
                self.pool.release(block);
            }
        }
        if forget {
            unsure.iter_mut().for_each(|unsure| unsure.held.clear());
        }
        // Where a map page may turn bad, so may the reason to keep the map block of its older version.
        if let Some(last) = unsure.last_mut() {
            last.held.append(&mut falls_back);
        }
        debug_assert!(falls_back.is_empty(), "nothing is unsure, and {falls_back:?} are held for it");
        for superblock in 0..self.superblocks.len() as u32 {
            self.recount(superblock, 0);
        }
        unsure
    }

    /// Blocks in which nothing counts and that no map page names are none of a superblock's: which they were.
    fn drop_orphans(&mut self, superblock: u32, young: &YoungPages) -> Vec<Block> {
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
                if *entry != NOWHERE && (u32::from(*entry) / pages) as usize == from {
                    *entry = (to as u32 * pages + u32::from(*entry) % pages) as u16;
                }
            }
        }
        while members.len() > slots && members.last().is_some_and(Option::is_none) {
            members.pop();
        }
    }
}
