//! The log at a mount: which runs count, and what of them.
//!
//! The newest runs count, and all folds that they show. A merge, or a fold, may have reported pages to Gecko's buffer,
//! which is lost with the power. So all is reported again that was overruled in the runs which the last flush of Gecko
//! covers. The runs that it does not cover were merged from those, which are still there: their blocks are held until
//! the next flush.

use super::{FILTER_BITS, Look, MappingLog, Overruled, Sealed, Tally};
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{DirectoryEntry, Filter, Rule, Run, RunHeader, RunPage, SortedRuns, read_page};
use crate::page_mapped::validity::ValidityScan;
use alloc::vec::Vec;
use phelsuma_nand::{LogicalPage, Nand, Page};

/// Whether a merge whose last page has these marks is covered by a flush of Gecko that covers everything up to `covered`.
fn is_covered(covered: u64) -> impl Fn([u64; 2]) -> bool {
    move |[_, sealed]| Sealed::decode(sealed).at <= covered
}

impl MappingLog {
    /// Takes the runs that are on flash for its own, where the last flush of Gecko covers everything up to `covered`. The
    /// entries that others overruled by then, or have overruled since: perhaps their pages are unreported. And the pages
    /// that this was read from, which the next recovery needs unless Gecko is flushed.
    pub(in super::super) fn restore<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: &ValidityScan,
        covered: u64,
    ) -> (Vec<Overruled>, Vec<Page>) {
        let overruled = self.overruled_since(io, scan.clone(), covered);
        let newest = self.sorted.restore(io, scan, |_| true);
        self.frozen = newest.map_or(0, |header| header.frozen);
        // Folds since the last spill are done again, but for those by which a merge has left out entries.
        let stays = u64::from(self.rule.barriers.keeps(Barrier::LeftOutStaysFolded));
        let folds = |run: &Run| run.header.marks[0] + stays * Sealed::decode(run.header.marks[1]).folds;
        self.rule.folds = self.sorted.runs.iter().map(folds).max().unwrap_or(0);
        self.is_sure = false;
        self.tally = Tally::default();
        let SortedRuns { runs, page, kind, tuning, .. } = &mut self.sorted;
        let (mut waiting, mut lost) = (0, false);
        for run in runs {
            let entries = run.directory.len() * tuning.layout.entries();
            let mut filter = Filter::new(entries, FILTER_BITS);
            let mut first = 0;
            for place in 0..run.directory.len() {
                let is_read = read_page(io, *kind, run, place, page);
                lost |= !is_read;
                let view = RunPage::new(tuning.layout, page);
                // A page that cannot be read is looked into where it may have a key.
                first = if is_read { view.first_block() } else { first };
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
        overruled
    }

    /// The entries that others overrule in the runs before the merges that no flush of Gecko covers, and the pages of
    /// these.
    fn overruled_since<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        covered: u64,
    ) -> (Vec<Overruled>, Vec<Page>) {
        if !self.rule.barriers.keeps(Barrier::UncoveredReportedAgain) {
            return (Vec::new(), Vec::new());
        }
        let (found, are_whole) = self.sorted.choose(io, scan, is_covered(covered));
        self.sorted.lose(!are_whole);
        let entry = |page: &Page| DirectoryEntry { first_block: 0, page: *page };
        let run = |(header, pages): (RunHeader, Vec<Page>)| Run {
            header,
            directory: pages.iter().map(entry).collect(),
            filter: None,
        };
        let runs: Vec<Run> = found.into_iter().map(run).collect();
        let mut overruled = Vec::new();
        let mut rule = Look { newest: None, merges: &[], overruled: |entry| overruled.push(entry) };
        let lost = super::look((&mut self.sorted.merging, &runs), io, (0..u32::MAX, &mut None), &mut rule, |_, _| {});
        self.sorted.lose(lost);
        let pages = runs.iter().flat_map(|run| &run.directory).map(|entry| entry.page);
        (overruled, pages.collect())
    }

    /// The pages of the runs that would be found in `scan`.
    pub(in super::super) fn pages_in_use<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        covered: u64,
    ) -> Vec<Page> {
        let found = self.sorted.choose(io, scan, is_covered(covered));
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

    /// Of these pages, in order, those that the newest entries of runs name, with the logical pages.
    pub(in super::super) fn named_among<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
    ) -> Vec<(LogicalPage, Page)> {
        let mut named = Vec::new();
        self.entries(io, (0..u32::MAX, &mut None), |key, word| {
            if pages.binary_search(&Page(word)).is_ok() {
                named.push((LogicalPage(key), Page(word)));
            }
        });
        named
    }
}
