//! Finding runs again at a mount (GeckoFTL appendix C.1).
//!
//! The paper takes the newest run of each level. That may be a run that was merged away but whose block is not erased
//! yet. So here the first page of a run names the flushes that the run covers. The runs that count are those that
//! together cover every flush once. A run of which a page is missing was never finished, or is being erased, unless that
//! page can be made again (`parity.rs`).

use super::SortedRuns;
use super::found::FoundRuns;
use super::page::RunHeader;
use super::run::{Run, level_of};
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::ValidityScan;
use alloc::vec::Vec;
use phelsuma_nand::{Kind, Nand, Page};

impl SortedRuns {
    /// The runs of pages that a scan found.
    pub(crate) fn found_in(&self, scan: ValidityScan) -> FoundRuns {
        FoundRuns::of(scan.pages, self.kind, self.tuning.layout)
    }

    /// Takes the runs that are on flash for its own, the newest header if there is one.
    pub(crate) fn restore<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: &ValidityScan,
        found: &mut FoundRuns,
    ) -> Option<RunHeader> {
        debug_assert!(self.runs.is_empty(), "runs are found again while there are some");
        let gone_bad = scan.gone_bad;
        let (runs, covered) = self.choose(io, found, |_| true);
        let found_at = |page: Page| scan.pages.iter().find(|found| found.page == page);
        let first = runs.first().and_then(|run| run.pages().find_map(found_at));
        // A page of a mapping log's run that has gone bad may have been programmed again by a mount, and none is missing.
        let has_copies = self.kind == Kind::MappingLog;
        let of_run = |version| scan.pages.iter().filter(move |found| has_copies && found.version == version);
        let newest = first.map(|first| of_run(first.version).map(|found| found.seq).fold(first.seq, u64::max));
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
        found: &mut FoundRuns,
        is_committed: impl Fn([u64; 2]) -> bool,
    ) -> (Vec<Run>, bool) {
        if !self.barriers.keeps(Barrier::RunsCoverOnce) {
            return (self.newest_of_each_level(io, found), true);
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut places = (0..found.len()).peekable();
        // Runs that may be one of the next: a merge of older runs may begin, and get its version, after newer runs.
        let mut older: Vec<(usize, RunHeader)> = Vec::new();
        // The flush that the next older run must have as its last.
        let mut expected: Option<u64> = None;
        let (mut covered, mut is_missing) = (true, false);
        while expected != Some(0) {
            // Of the runs that end with the same flush the newest, which comes first, covers most.
            let fits = |(_, header): &(usize, RunHeader)| Some(header.flushes.1) == expected;
            let (at, mut header) = if let Some(next) = older.iter().position(fits) {
                older.remove(next)
            } else if let Some(at) = places.next_if(|_| !is_missing) {
                let Some(header) = found.header(io, at) else { continue };
                let flushes = header.flushes;
                if expected.map_or(header.behind, |expected| flushes.1 != expected) {
                    // A run of one flush was begun then, and all that are yet to come were begun before.
                    is_missing = flushes.0 == flushes.1 && expected > Some(flushes.1);
                    older.push((at, header));
                    continue;
                }
                (at, header)
            } else {
                // One is missing: what is older than that is still worth having.
                let Some(newest) = older.iter().map(|(_, header)| header.flushes.1).max() else { break };
                (covered, expected, is_missing) = (false, Some(newest), false);
                continue;
            };
            // The last page of a merge of the mapping log says when that was done.
            if self.kind == Kind::MappingLog && header.flushes.0 < header.flushes.1 {
                let last = found.last_marks(io, (at, header));
                let Some(last) = last.filter(|marks| is_committed(*marks)) else { continue };
                header.marks[1] = last[1];
            }
            expected = Some(header.flushes.0 - 1);
            older.retain(|(_, other)| other.flushes.1 < header.flushes.0);
            runs.push(found.run(at, header));
        }
        (runs, covered && expected.is_none_or(|expected| expected == 0))
    }

    fn newest_of_each_level<N: Nand>(&self, io: &mut MetaIo<'_, N>, found: &mut FoundRuns) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let level = |run: &Run| level_of(run.directory.len(), self.tuning.size_ratio);
        for at in 0..found.len() {
            let Some(header) = found.header(io, at) else { continue };
            let run = found.run(at, header);
            if runs.iter().all(|other| level(other) != level(&run)) {
                runs.push(run);
            }
        }
        runs
    }

    /// The index of the runs' pages, as a visit to all of them has found it; and whether some could not be read.
    pub(crate) fn index(&mut self, (first_blocks, lost): (Vec<Vec<u32>>, bool)) {
        self.lose(lost);
        for (run, first_blocks) in self.runs.iter_mut().zip(first_blocks) {
            run.set_first_blocks(first_blocks);
        }
    }
}
