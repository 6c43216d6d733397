//! Finding runs again at a mount (GeckoFTL appendix C.1).
//!
//! The paper takes the newest run of each level. That may be a run that was merged away but whose block is not erased
//! yet. So here the first page of a run names the flushes that the run covers. The runs that count are those that
//! together cover every flush once. A run of which a page is missing was never finished, or is being erased.

use super::SortedRuns;
use super::page::{RunHeader, RunPage};
use super::run::{DirectoryEntry, LAST, Run, level_of};
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::ValidityScan;
use alloc::vec::Vec;
use phelsuma_nand::{CLOCK_MAX, Kind, Nand, Page};

/// A run that was found: its header, and its pages.
pub(crate) type FoundRun = (RunHeader, Vec<Page>);

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

impl SortedRuns {
    /// Takes the runs that are on flash for its own, the newest header if there is one. Of merges those count alone
    /// whose last page has these marks.
    pub(crate) fn restore<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: &ValidityScan,
        is_committed: impl Fn([u64; 2]) -> bool,
    ) -> Option<RunHeader> {
        debug_assert!(self.runs.is_empty(), "runs are found again while there are some");
        let gone_bad = scan.gone_bad;
        let (runs, covered) = self.choose(io, scan.clone(), is_committed);
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
            self.runs.push(Run { header: RunHeader { level, ..header }, directory, filter: None });
        }
        let newest = self.runs.first().map(|run| run.header);
        self.flushes = newest.map_or(0, |header| header.flushes.1);
        newest
    }

    /// The runs that together cover every flush, newest first; and whether they do.
    pub(crate) fn choose<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        is_committed: impl Fn([u64; 2]) -> bool,
    ) -> (Vec<FoundRun>, bool) {
        let mut complete = complete_runs(scan).into_iter();
        let mut runs: Vec<FoundRun> = Vec::new();
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
        let mut older: Vec<FoundRun> = Vec::new();
        // The flush that the next older run must have as its last.
        let mut expected: Option<u64> = None;
        let (mut covered, mut is_missing) = (true, false);
        while expected != Some(0) {
            // Of the runs that end with the same flush the newest, which comes first, covers most.
            let fits = |(header, _): &FoundRun| Some(header.flushes.1) == expected;
            let (header, pages) = if let Some(at) = older.iter().position(fits) {
                older.remove(at)
            } else if let Some(pages) = if is_missing { None } else { complete.next() } {
                let Some(mut header) = self.header_of(io, &pages) else { continue };
                // The last page of a merge of the mapping log says when that was done.
                if self.kind == Kind::MappingLog && header.flushes.0 < header.flushes.1 {
                    let Some(last) = self.last_marks(io, &pages).filter(|marks| is_committed(*marks)) else { continue };
                    header.marks[1] = last[1];
                }
                if expected.map_or(header.behind, |expected| header.flushes.1 != expected) {
                    // A run of one flush was begun then, and all that are yet to come were begun before.
                    is_missing = header.flushes.0 == header.flushes.1 && expected > Some(header.flushes.1);
                    older.push((header, pages));
                    continue;
                }
                (header, pages)
            } else {
                // One is missing: what is older than that is still worth having.
                let Some(newest) = older.iter().map(|(header, _)| header.flushes.1).max() else { break };
                (covered, expected, is_missing) = (false, Some(newest), false);
                continue;
            };
            expected = Some(header.flushes.0 - 1);
            older.retain(|(other, _)| other.flushes.1 < header.flushes.0);
            runs.push((header, pages));
        }
        (runs, covered && expected.is_none_or(|expected| expected == 0))
    }

    fn last_marks<N: Nand>(&self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Option<[u64; 2]> {
        let bytes = io.read(*pages.last()?, self.kind, (pages.len() - 1) as u32 | LAST)?;
        Some(RunPage::new(self.tuning.layout, bytes).header().marks)
    }

    fn header_of<N: Nand>(&self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Option<RunHeader> {
        let key = if pages.len() == 1 { LAST } else { 0 };
        let bytes = io.read(*pages.first()?, self.kind, key)?;
        let header = RunPage::new(self.tuning.layout, bytes).header();
        // Flushes are counted from 1, and each is a program or more, which have numbers of 48 bits. What else has a
        // checksum that fits is no header.
        (1..=CLOCK_MAX).contains(&header.flushes.0).then_some(())?;
        (header.flushes.0..=CLOCK_MAX).contains(&header.flushes.1).then_some(header)
    }

    /// The index of the runs' pages, as a visit to all of them has found it; and whether some could not be read.
    pub(crate) fn index(&mut self, (first_blocks, lost): (Vec<Vec<u32>>, bool)) {
        self.lose(lost);
        for (run, first_blocks) in self.runs.iter_mut().zip(first_blocks) {
            run.set_first_blocks(first_blocks);
        }
    }
}
