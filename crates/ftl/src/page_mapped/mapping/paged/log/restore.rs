//! The log at a mount: which runs count, and what of them.
//!
//! The newest runs count, and all folds that they show. A merge, or a fold, may have reported pages to Gecko's buffer,
//! which is lost with the power. The runs that the last flush of Gecko covers are still there: their blocks are held
//! until the next flush. In these is looked up again
//! - what was overruled in runs that were merged since, which are all that the newest runs lack,
//! - and what was overruled in any run for translation pages that were folded since.

use super::{FILTER_BITS, Look, MappingLog, Overruled, Sealed, Tally};
use crate::barriers::Barrier;
use crate::page_mapped::mapping::{Place, place_of};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Filter, LOST_PAGE, Rule, Run, RunPage, SortedRuns, read_in_place};
use crate::page_mapped::validity::ValidityScan;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;
use phelsuma_nand::{LogicalPage, Nand, Page};

/// The findings of a mount in the log.
#[derive(Default)]
pub(crate) struct RestoredLog {
    /// The entries that merges and folds have overruled since Gecko's last flush: perhaps their pages are unreported.
    pub(crate) overruled: Vec<Overruled>,
    /// The pages of the runs as that flush covers them, which the next recovery needs unless Gecko is flushed.
    pub(crate) covered: Vec<Page>,
    /// The logical pages, ascending, that runs trim of which a page is suspect: should it turn bad, they are mapped.
    pub(crate) trimmed_by_suspects: Vec<LogicalPage>,
    /// RAM that it took to find the runs, in bytes.
    found: usize,
}

impl RestoredLog {
    /// The RAM that it takes and took, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let pages = self.covered.capacity() * size_of::<Page>();
        let trimmed = self.trimmed_by_suspects.capacity() * size_of::<LogicalPage>();
        self.overruled.capacity() * size_of::<Overruled>() + pages + trimmed + self.found
    }
}

/// Whether a merge whose last page has these marks is covered by a flush of Gecko that covers everything up to `covered`.
fn is_covered(covered: u64) -> impl Fn([u64; 2]) -> bool {
    move |[_, sealed]| Sealed::decode(sealed).at <= covered
}

impl MappingLog {
    /// Takes the runs that are on flash for its own, where the last flush of Gecko covers everything up to `covered`, and
    /// translation pages were folded since that have the logical pages of `folded`.
    pub(in super::super) fn restore<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: &ValidityScan,
        (covered, folded): (u64, &[Range<u32>]),
        is_suspect: impl Fn(Page) -> bool,
    ) -> RestoredLog {
        let mut found = self.sorted.found_in(scan.clone());
        let (before, are_whole) = self.sorted.choose(io, &mut found, is_covered(covered));
        self.sorted.lose(!are_whole);
        let newest = self.sorted.restore(io, scan, &mut found);
        let found = found.bytes();
        self.frozen = newest.map_or(0, |header| header.frozen);
        self.rule.folds = self.folds_on_flash();
        self.is_sure = false;
        self.tally = Tally::default();
        let SortedRuns { runs, page, kind, tuning, .. } = &mut self.sorted;
        let (mut waiting, mut lost) = (0, false);
        let (mut trimmed_by_suspects, mut made_again, mut bad_parity) = (Vec::new(), Vec::new(), Vec::new());
        for (number, run) in runs.iter_mut().enumerate() {
            let run_is_suspect = run.pages().any(&is_suspect);
            let entries = run.directory.len() * tuning.layout.entries();
            let mut filter = Filter::new(entries, FILTER_BITS);
            let (mut behind, mut is_whole) = (0, true);
            for place in 0..run.directory.len() {
                let is_in_place = read_in_place(io, *kind, run, place, page);
                let is_read = is_in_place || run.make_again(io, (*kind, tuning.layout), place, page);
                made_again.extend((is_read && !is_in_place).then_some((number, place)));
                is_whole &= is_read;
                let view = RunPage::new(&tuning.layout, page);
                // A page that cannot be read has keys behind those of its neighbour.
                run.directory[place].first_block = if is_read { view.first_block() } else { behind };
                behind = behind.max(view.block_behind());
                for at in 0..view.entries() {
                    filter.insert(view.key(at));
                    waiting += u64::from(self.rule.counts(view.key(at), &run.header));
                    if run_is_suspect && !matches!(place_of(view.word(at, 0)), Place::At(_)) {
                        trimmed_by_suspects.push(LogicalPage(view.key(at)));
                    }
                }
            }
            bad_parity.extend(run.bad_parity(io, *kind).into_iter().map(|group| (number, group)));
            // It has no key of a page that was not read.
            run.filter = is_whole.then_some(filter);
            lost |= !is_whole;
        }
        self.waiting = waiting;
        self.sorted.lose(lost);
        trimmed_by_suspects.sort_unstable();
        let covered = before.iter().flat_map(Run::pages).collect();
        let overruled = self.overruled_since(io, before, folded);
        // Another page of its group may go bad next: it is programmed once more. Not before: runs are compared by their pages.
        for (number, place) in made_again {
            self.sorted.runs[number].directory[place].page = LOST_PAGE;
        }
        for (number, group) in bad_parity {
            self.sorted.runs[number].parity[group] = LOST_PAGE;
        }
        RestoredLog { overruled, covered, trimmed_by_suspects, found }
    }

    /// The folds that a mount finds. Those since the last spill are done again, but for those by which a merge has left out
    /// entries.
    pub(super) fn folds_on_flash(&self) -> u64 {
        let stays = u64::from(self.rule.barriers.keeps(Barrier::LeftOutStaysFolded));
        let folds = |run: &Run| run.header.marks[0] + stays * Sealed::decode(run.header.marks[1]).folds;
        self.sorted.runs.iter().map(folds).max().unwrap_or(0)
    }

    /// The entries that others overrule in those runs of `before` that were merged since, and for the logical pages of
    /// `folded` in all of them.
    fn overruled_since<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        before: Vec<Run>,
        folded: &[Range<u32>],
    ) -> Vec<Overruled> {
        let SortedRuns { merging, runs, .. } = &mut self.sorted;
        let (mut merged, mut all) = (Vec::new(), Vec::new());
        for run in before {
            // One that is there still was read for its directory.
            match runs.iter().find(|other| other.pages().eq(run.pages())) {
                Some(other) => all.push(Run { directory: other.directory.clone(), ..run }),
                None => merged.push(run),
            }
        }
        let barriers = self.rule.barriers;
        let mut overruled = Vec::new();
        let mut rule = Look { newest: None, merges: &[], overruled: |entry| overruled.push(entry) };
        let (first_blocks, mut is_lost) = merging.visit(io, &merged, &mut rule, |_, _, _| {});
        for (run, first_blocks) in merged.iter_mut().zip(first_blocks) {
            run.set_first_blocks(first_blocks);
        }
        if !barriers.keeps(Barrier::MergedReportedAgain) {
            overruled.clear();
        }
        all.append(&mut merged);
        all.sort_unstable_by_key(|run| Reverse(run.header.flushes.1));
        // What lies between two of them is read on the way, and looked at as well: no page is read twice.
        let mut rule = Look { newest: None, merges: &[], overruled: |entry| overruled.push(entry) };
        let mut to = None;
        for keys in folded.iter().filter(|_| barriers.keeps(Barrier::FoldedReportedAgain)) {
            is_lost |= super::look((merging, &all), io, (keys.clone(), &mut to), &mut rule, |_, _| {});
        }
        self.sorted.lose(is_lost);
        super::one_a_page(&mut overruled);
        overruled
    }

    /// The pages of the runs that would be found in `scan`.
    pub(in super::super) fn pages_in_use<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        covered: u64,
    ) -> Vec<Page> {
        let (runs, _) = self.sorted.choose(io, &mut self.sorted.found_in(scan), is_covered(covered));
        runs.iter().flat_map(Run::pages).collect()
    }

    /// The pages that the runs which would be found in `scan` name for these logical pages, ascending.
    pub(in super::super) fn named_by<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        scan: ValidityScan,
        (covered, keys): (u64, &[LogicalPage]),
    ) -> Vec<Page> {
        let (runs, _) = self.sorted.choose(io, &mut self.sorted.found_in(scan), is_covered(covered));
        let mut named = Vec::new();
        let mut name = |key: u32, word: u32| match place_of(word) {
            Place::At(page) if keys.binary_search(&LogicalPage(key)).is_ok() => named.push(page),
            _ => {}
        };
        // Folded entries among them are held for nothing.
        for run in &runs {
            let mut rule = Look { newest: None, merges: &[], overruled: |_| {} };
            self.sorted.merging.visit(io, core::slice::from_ref(run), &mut rule, |key, words, _| name(key, words[0]));
        }
        named
    }

    /// Copies the pages that are to go.
    pub(in super::super) fn relocate<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        goes: impl Fn(Page) -> bool,
    ) -> Result<u64, crate::FtlError> {
        self.sorted.relocate_pages(io, goes)
    }

    /// Programs pages that have gone bad, and parity pages that are bad.
    pub(in super::super) fn program_missing_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
    ) -> Result<(), crate::FtlError> {
        self.sorted.program_missing_pages(io)
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
