//! Finding Gecko's runs again at a mount, and what they say of every block (GeckoFTL appendix C.1 and step 5 of
//! GeckoRec).
//!
//! The paper takes the newest run of each level. That may be a run that was merged away but whose block is not erased
//! yet. So here the first page of a run names the flushes that the run covers. The runs that count are those that
//! together cover every flush once. A run of which a page is missing was never finished, or is being erased.

use super::page::{FREE, GeckoPage, RunHeader};
use super::run::{DirectoryEntry, LAST, Run, level_of};
use super::{LOST_PAGE, LogarithmicGecko};
use crate::barriers::Barrier;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::{BlockValidity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, CLOCK_MAX, Geometry, Kind, Nand, Page};

/// The runs that are complete, newest first: the pages of each.
fn complete_runs(mut scan: ValidityScan) -> Vec<Vec<Page>> {
    // Of two copies of a page either will do; the later one is not about to be erased.
    scan.pages.sort_unstable_by_key(|p| (core::cmp::Reverse(p.version), p.key & !LAST, core::cmp::Reverse(p.seq)));
    scan.pages.dedup_by_key(|p| (p.version, p.key & !LAST));
    let mut runs = Vec::new();
    for run in scan.pages.chunk_by(|a, b| a.version == b.version) {
        let in_order = run.iter().zip(0..).all(|(p, place)| p.key & !LAST == place);
        let ends = run.last().is_some_and(|p| p.key & LAST != 0);
        if in_order && ends {
            runs.push(run.iter().map(|p| p.page).collect());
        }
    }
    runs
}

impl LogarithmicGecko {
    /// Takes the runs that are on flash for its own, the buffer being empty. It returns the moment that the last flush
    /// had frozen, and from where on to scan. Where there was none that is the beginning of time.
    pub(crate) fn restore<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, scan: &ValidityScan) -> (u64, ScanFrom) {
        debug_assert!(self.buffer.len() == 0 && self.runs.is_empty(), "runs are found again while there are some");
        let gone_bad = scan.gone_bad;
        let (runs, covered) = self.choose(io, scan.clone());
        let seq_of = |page: &Page| scan.pages.iter().find(|found| found.page == *page).map(|found| found.seq);
        let newest = runs.first().and_then(|(_, pages)| seq_of(pages.first()?));
        // There may have been a newer one: then the reports to it are gone.
        let newer_lost = gone_bad.is_some_and(|before| newest.is_none_or(|newest| newest < before));
        let newer_lost = newer_lost && self.barriers.keeps(Barrier::LostVersionsLookedFor);
        let told = runs.iter().any(|(header, _)| header.damaged);
        let lost = newer_lost || !covered;
        self.damaged |= lost || told;
        self.damage_untold |= lost && !told;
        for (header, pages) in runs {
            let level = level_of(pages.len(), self.tuning.size_ratio);
            let directory = pages.iter().map(|page| DirectoryEntry { first_block: 0, page: *page }).collect();
            self.runs.push(Run { header: RunHeader { level, ..header }, directory });
        }
        let newest = self.runs.first().map(|run| run.header);
        self.flushes = newest.map_or(0, |header| header.flushes.1);
        newest.map_or((0, ScanFrom::default()), |header| (header.frozen, header.scan_from))
    }

    /// The pages of the runs that would be found in `scan`.
    pub(crate) fn pages_in_use<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> Vec<Page> {
        self.choose(io, scan).0.into_iter().flat_map(|(_, pages)| pages).collect()
    }

    /// The runs that together cover every flush, newest first; and whether they do.
    fn choose<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> (Vec<(RunHeader, Vec<Page>)>, bool) {
        let mut complete = complete_runs(scan).into_iter();
        let mut runs: Vec<(RunHeader, Vec<Page>)> = Vec::new();
        if !self.barriers.keeps(Barrier::RunsCoverOnce) {
            for pages in complete {
                let Some(header) = self.header_of(io, &pages) else { continue };
                let level = level_of(pages.len(), self.tuning.size_ratio);
                if runs.iter().all(|(_, other)| level_of(other.len(), self.tuning.size_ratio) != level) {
                    runs.push((header, pages));
                }
            }
            return (runs, true);
        }
        // Runs that may be one of the next: a merge of older runs may begin, and get its version, after newer runs.
        let mut older: Vec<(RunHeader, Vec<Page>)> = Vec::new();
        // The flush that the next older run must have as its last.
        let mut expected: Option<u64> = None;
        let mut covered = true;
        while expected != Some(0) {
            // Of the runs that end with the same flush the newest, which comes first, covers most.
            let fits = |(header, _): &(RunHeader, Vec<Page>)| Some(header.flushes.1) == expected;
            let (header, pages) = if let Some(at) = older.iter().position(fits) {
                older.remove(at)
            } else if let Some(pages) = complete.next() {
                let Some(header) = self.header_of(io, &pages) else { continue };
                if expected.map_or(header.behind, |expected| header.flushes.1 != expected) {
                    older.push((header, pages));
                    continue;
                }
                (header, pages)
            } else {
                // One is missing: what is older than that is still worth having.
                let Some(newest) = older.iter().map(|(header, _)| header.flushes.1).max() else { break };
                (covered, expected) = (false, Some(newest));
                continue;
            };
            expected = Some(header.flushes.0 - 1);
            older.retain(|(other, _)| other.flushes.1 < header.flushes.0);
            runs.push((header, pages));
        }
        (runs, covered && expected.is_none_or(|expected| expected == 0))
    }

    /// Whether a page of a run could not be read, which no run says that was not damaged before.
    fn lose(&mut self, lost: bool) {
        self.damage_untold |= lost && !self.damaged;
        self.damaged |= lost;
    }

    fn header_of<N: Nand>(&self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Option<RunHeader> {
        let key = if pages.len() == 1 { LAST } else { 0 };
        let bytes = io.read(*pages.first()?, Kind::Gecko, key)?;
        let header = GeckoPage::new(self.tuning.layout, bytes).header();
        // Flushes are counted from 1, and each is a program or more, which have numbers of 48 bits. What else has a
        // checksum that fits is no header.
        (1..=CLOCK_MAX).contains(&header.flushes.0).then_some(())?;
        (header.flushes.0..=CLOCK_MAX).contains(&header.flushes.1).then_some(header)
    }

    /// Reads all runs once: what they have of each block, but for those in `erased`, and the index of their pages.
    /// Which of `pages`, sorted, are stale in them.
    pub(crate) fn block_states<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        erased: impl Fn(Block) -> bool,
        pages: &[Page],
        mut found: impl FnMut(Block, BlockValidity),
    ) -> Vec<bool> {
        debug_assert!(pages.is_sorted(), "the pages that are asked for are not sorted");
        let (geometry, layout): (Geometry, _) = (*io.geometry(), self.tuning.layout);
        let mut known = alloc::vec![false; pages.len()];
        let mut current: Option<(Block, BlockValidity)> = None;
        let (first_blocks, lost) = self.merging.visit(io, &self.runs, |key, words, flags| {
            let (block, part) = (Block(key / layout.parts), key % layout.parts);
            if erased(block) || block.0 >= geometry.blocks() {
                return;
            }
            if current.is_some_and(|(other, _)| other != block)
                && let Some((block, state)) = current.take()
            {
                found(block, state);
            }
            let (_, state) = current.get_or_insert((block, BlockValidity { stale: 0, free: false }));
            let stale = words.iter().map(|word| word.count_ones() as u16).sum();
            // A part that is there twice, behind a checksum that fits, is no reason to overflow.
            state.stale = state.stale.saturating_add(stale);
            state.free |= flags & FREE != 0;
            let first = geometry.page(block, part * layout.part_bits);
            let from = pages.partition_point(|page| *page < first);
            for (page, known) in pages[from..].iter().zip(&mut known[from..]) {
                let bit = page.0 - first.0;
                if bit >= layout.part_bits {
                    break;
                }
                *known = words[bit as usize / 32] >> (bit % 32) & 1 == 1;
            }
        });
        if let Some((block, state)) = current {
            found(block, state);
        }
        self.lose(lost);
        for (run, first_blocks) in self.runs.iter_mut().zip(first_blocks) {
            for (entry, first_block) in run.directory.iter_mut().zip(first_blocks) {
                entry.first_block = first_block;
            }
        }
        known
    }

    /// Reads all runs once: the pages that are stale in them, but for those of blocks in `erased`.
    pub(crate) fn stale_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        erased: impl Fn(Block) -> bool,
        mut stale: impl FnMut(Page),
    ) {
        let (geometry, layout): (Geometry, _) = (*io.geometry(), self.tuning.layout);
        let (_, lost) = self.merging.visit(io, &self.runs, |key, words, flags| {
            let (block, part) = (Block(key / layout.parts), key % layout.parts);
            if erased(block) || block.0 >= geometry.blocks() {
                return;
            }
            if flags & FREE != 0 {
                (0..geometry.pages_per_block()).for_each(|index| stale(geometry.page(block, index)));
                return;
            }
            let of_part = (0..layout.part_bits).filter(|bit| words[*bit as usize / 32] >> (bit % 32) & 1 == 1);
            of_part.for_each(|bit| stale(geometry.page(block, part * layout.part_bits + bit)));
        });
        self.lose(lost);
    }

    /// Copies suspect pages of its runs.
    pub(crate) fn copy_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
    ) -> Result<u64, crate::FtlError> {
        let geometry = *io.geometry();
        self.relocate_pages(io, |page| page != LOST_PAGE && geometry.contains(page) && pages.contains(&page))
    }
}
