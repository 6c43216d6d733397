//! Finding runs again at a mount (GeckoFTL appendix C.1).
//!
//! The paper takes the newest run of each level. That may be a run that was merged away but whose block is not erased
//! yet. So here the first page of a run names the flushes that the run covers. The runs that count are those that
//! together cover every flush once. A run of which a page is missing was never finished, or is being erased, unless that
//! page can be made again (`parity.rs`).

use super::SortedRuns;
use super::page::{RunHeader, RunPage};
use super::parity::{FoundPages, assemble};
use super::run::{DirectoryEntry, LAST, LOST_PAGE, Run, level_of};
use super::sort::read_page;
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::{StorePage, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{CLOCK_MAX, Kind, Nand, Page};

/// The runs that are complete, newest first: the pages of each.
fn complete_runs(mut scan: ValidityScan) -> Vec<FoundPages> {
    // Of two copies of a page either will do; the later one is not about to be erased.
    scan.pages.sort_unstable_by_key(|p| (core::cmp::Reverse(p.version), p.key & !LAST, core::cmp::Reverse(p.seq)));
    scan.pages.dedup_by_key(|p| (p.version, p.key & !LAST));
    let found = |run: &[StorePage]| assemble(&run.iter().map(|p| (p.key, p.page)).collect::<Vec<_>>());
    scan.pages.chunk_by(|a, b| a.version == b.version).filter_map(found).collect()
}

/// A run without a header yet, and without an index. Of pages that were found nowhere, runs that have no parity miss none.
fn run_of((pages, mut parity): FoundPages, has_parity: bool) -> Run {
    if !has_parity {
        parity.clear();
    }
    let directory = pages.into_iter().map(|page| DirectoryEntry { first_block: 0, page }).collect();
    Run { header: RunHeader::default(), directory, parity, filter: None }
}

impl SortedRuns {
    /// Takes the runs that are on flash for its own, the newest header if there is one.
    pub(crate) fn restore<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, scan: &ValidityScan) -> Option<RunHeader> {
        debug_assert!(self.runs.is_empty(), "runs are found again while there are some");
        let gone_bad = scan.gone_bad;
        let (runs, covered) = self.choose(io, scan.clone(), |_| true);
        let seq_of = |page: &Page| scan.pages.iter().find(|found| found.page == *page).map(|found| found.seq);
        let newest = runs.first().and_then(|run| run.pages().find_map(|page| seq_of(&page)));
        // There may have been a newer one: then the reports to it are gone.
        let newer_lost = gone_bad.is_some_and(|before| newest.is_none_or(|newest| newest < before));
        // The page that has gone bad may be the one that the newest run misses.
        let misses = |run: &Run| run.pages().count() < run.directory.len() + run.parity.len();
        let newer_lost = newer_lost && !runs.first().is_some_and(misses);
        let newer_lost = newer_lost && self.barriers.keeps(Barrier::LostVersionsLookedFor);
        let told = runs.iter().any(|run| run.header.damaged);
        let lost = newer_lost || !covered;
        self.damaged |= lost || told;
        self.damage_untold |= lost && !told;
        self.runs = runs;
        for run in &mut self.runs {
            run.header.level = level_of(run.directory.len(), self.tuning.size_ratio);
        }
        let newest = self.runs.first().map(|run| run.header);
        self.flushes = newest.map_or(0, |header| header.flushes.1);
        newest
    }

    /// The runs that together cover every flush, newest first; and whether they do. Of merges of the mapping log those
    /// count alone whose last page has such marks.
    pub(crate) fn choose<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        is_committed: impl Fn([u64; 2]) -> bool,
    ) -> (Vec<Run>, bool) {
        let has_parity = self.kind == Kind::MappingLog;
        let mut complete = complete_runs(scan).into_iter().map(|found| run_of(found, has_parity));
        let mut runs: Vec<Run> = Vec::new();
        if !self.barriers.keeps(Barrier::RunsCoverOnce) {
            for run in complete {
                let Some(run) = self.with_header(io, run) else { continue };
                let level = |run: &Run| level_of(run.directory.len(), self.tuning.size_ratio);
                if runs.iter().all(|other| level(other) != level(&run)) {
                    runs.push(run);
                }
            }
            return (runs, true);
        }
        // Runs that may be one of the next: a merge of older runs may begin, and get its version, after newer runs.
        let mut older: Vec<Run> = Vec::new();
        // The flush that the next older run must have as its last.
        let mut expected: Option<u64> = None;
        let (mut covered, mut is_missing) = (true, false);
        while expected != Some(0) {
            // Of the runs that end with the same flush the newest, which comes first, covers most.
            let fits = |run: &Run| Some(run.header.flushes.1) == expected;
            let run = if let Some(at) = older.iter().position(fits) {
                older.remove(at)
            } else if let Some(run) = if is_missing { None } else { complete.next() } {
                let Some(mut run) = self.with_header(io, run) else { continue };
                let flushes = run.header.flushes;
                // The last page of a merge of the mapping log says when that was done.
                if self.kind == Kind::MappingLog && flushes.0 < flushes.1 {
                    let last = self.header_at(io, &run, run.directory.len() - 1).map(|header| header.marks);
                    let Some(last) = last.filter(|marks| is_committed(*marks)) else { continue };
                    run.header.marks[1] = last[1];
                }
                if expected.map_or(run.header.behind, |expected| flushes.1 != expected) {
                    // A run of one flush was begun then, and all that are yet to come were begun before.
                    is_missing = flushes.0 == flushes.1 && expected > Some(flushes.1);
                    older.push(run);
                    continue;
                }
                run
            } else {
                // One is missing: what is older than that is still worth having.
                let Some(newest) = older.iter().map(|run| run.header.flushes.1).max() else { break };
                (covered, expected, is_missing) = (false, Some(newest), false);
                continue;
            };
            expected = Some(run.header.flushes.0 - 1);
            older.retain(|other| other.header.flushes.1 < run.header.flushes.0);
            runs.push(run);
        }
        (runs, covered && expected.is_none_or(|expected| expected == 0))
    }

    /// What a page of a run says of it.
    fn header_at<N: Nand>(&self, io: &mut MetaIo<'_, N>, run: &Run, place: usize) -> Option<RunHeader> {
        let mut page = Vec::new();
        let is_read = read_page(io, (self.kind, self.tuning.layout), run, place, &mut page);
        is_read.then(|| RunPage::new(self.tuning.layout, &page).header())
    }

    /// A run with what its pages say of it.
    fn with_header<N: Nand>(&self, io: &mut MetaIo<'_, N>, mut run: Run) -> Option<Run> {
        let layout = self.tuning.layout;
        let mut read = |page: Page, key| {
            let bytes = if page == LOST_PAGE { None } else { io.read(page, self.kind, key) };
            Some(RunPage::new(layout, bytes?).header())
        };
        let found = (0..run.directory.len())
            .find_map(|place| Some((place, read(run.directory[place].page, run.key_at(place))?)));
        // The parity of one page is the same page.
        let same = || read(run.parity.first().copied()?, run.parity_key(0)).filter(|_| run.directory.len() == 1);
        run.header = found.map(|(_, header)| header).or_else(same)?;
        // A page that is made again is held against this.
        if found.is_none_or(|(place, _)| place > 0) {
            run.header = self.header_at(io, &run, 0)?;
        }
        let RunHeader { flushes: (from, until), frozen, marks, .. } = run.header;
        // Flushes are counted from 1, and each is a program or more, which have numbers of 48 bits. What else has a
        // checksum that fits is no header.
        let has_clocks = until.max(frozen).max(marks[0]) <= CLOCK_MAX;
        ((1..=until).contains(&from) && has_clocks).then_some(run)
    }

    /// The index of the runs' pages, as a visit to all of them has found it; and whether some could not be read.
    pub(crate) fn index(&mut self, (first_blocks, lost): (Vec<Vec<u32>>, bool)) {
        self.lose(lost);
        for (run, first_blocks) in self.runs.iter_mut().zip(first_blocks) {
            run.set_first_blocks(first_blocks);
        }
    }
}
