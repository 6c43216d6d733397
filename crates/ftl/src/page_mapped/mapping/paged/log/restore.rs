//! The log at a mount: which runs count, and what of them.
//!
//! A merge or a fold counts as done if the last flush of Gecko covers it: its reports are on flash then. Of others the
//! inputs count, and the entries that were folded wait again. That changes nothing of what the table says. What they
//! reported is reported again, so that a flush of the next session covers them as well.

use super::{FILTER_BITS, MappingLog, Overruled, Tally};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Filter, Rule, RunPage, SortedRuns, read_page};
use crate::page_mapped::validity::ValidityScan;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Page};

impl MappingLog {
    /// Takes the runs that are on flash for its own, where the last flush of Gecko covers everything up to `covered`. The
    /// entries that others overrule: perhaps they were reported.
    pub(in super::super) fn restore<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: &ValidityScan,
        covered: u64,
    ) -> Vec<Overruled> {
        let newest = self.sorted.restore(io, scan, |[_, completed]| completed <= covered);
        self.frozen = newest.map_or(0, |header| header.frozen);
        // Folds that followed a spill are covered if the spill is older than the flush.
        let headers = || self.sorted.runs.iter().map(|run| run.header);
        let after = headers().filter(|header| header.frozen >= covered).map(|header| header.marks[0]).min();
        let folds = after.or_else(|| headers().map(|header| header.marks[0]).max()).unwrap_or(0);
        self.rule.folds = folds;
        if super::dbg_page() != u32::MAX { for run in &self.sorted.runs { std::eprintln!("DBG run {:?} pages {:?}", run.header, run.directory.iter().map(|d| d.page).collect::<Vec<_>>()); } std::eprintln!("DBG folds {folds} frozen {}", self.frozen); }
        self.is_sure = false;
        self.tally = Tally::default();
        let SortedRuns { runs, page, kind, tuning, .. } = &mut self.sorted;
        let (mut waiting, mut lost) = (0, false);
        for run in runs {
            run.header.marks[0] = run.header.marks[0].min(folds);
            let entries = run.directory.len() * tuning.layout.entries();
            let mut filter = Filter::new(entries, FILTER_BITS);
            let mut first = 0;
            for place in 0..run.directory.len() {
                let is_read = read_page(io, *kind, run, place, page);
                lost |= !is_read;
                let view = RunPage::new(tuning.layout, page);
                if view.entries() > 0 {
                    first = view.key(0);
                }
                run.directory[place].first_block = first;
                for at in 0..view.entries() {
                    filter.insert(view.key(at));
                    waiting += u64::from(self.rule.counts(view.key(at), &run.header));
                }
            }
            run.filter = Some(filter);
        }
        self.waiting = waiting;
        self.sorted.lose(lost);
        self.mentions(io, 0..u32::MAX, |_, _| {})
    }

    /// The pages of the runs that would be found in `scan`.
    pub(in super::super) fn pages_in_use<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        covered: u64,
    ) -> Vec<Page> {
        let found = self.sorted.choose(io, scan, |[_, completed]| completed <= covered);
        found.0.into_iter().flat_map(|(_, pages)| pages).collect()
    }

    /// Copies the pages that are to go.
    pub(in super::super) fn relocate<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        goes: impl Fn(Page) -> bool,
    ) -> Result<u64, crate::FtlError> {
        self.sorted.relocate_pages(io, goes)
    }

    pub(in super::super) fn is_damaged(&self) -> bool {
        self.sorted.damaged
    }

    /// Of these pages, in order, those that entries name which were spilled after a moment.
    pub(in super::super) fn named_since<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        since: u64,
        pages: &[Page],
    ) -> Vec<Page> {
        let SortedRuns { runs, page, kind, tuning, .. } = &mut self.sorted;
        let mut named = Vec::new();
        for run in runs.iter().filter(|run| run.header.frozen > since) {
            for place in 0..run.directory.len() {
                if !read_page(io, *kind, run, place, page) {
                    continue;
                }
                let view = RunPage::new(tuning.layout, page);
                let places = (0..view.entries()).map(|at| Page(view.word(at, 0)));
                named.extend(places.filter(|place| pages.binary_search(place).is_ok()));
            }
        }
        named
    }
}
