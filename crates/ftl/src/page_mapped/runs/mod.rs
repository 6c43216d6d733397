//! Sorted runs on flash, merged as in an LSM-tree (GeckoFTL section 3): what Logarithmic Gecko and the mapping log are
//! made of.
//!
//! Entries gather in a [`Buffer`] of whoever keeps the runs. A full buffer becomes a *run* on flash, or is merged with
//! runs that are there. Newer entries overrule older ones, or are combined with them ([`Rule`]).
//!
//! Faithful: runs, levels, collisions, run directories, two-way and multi-way merging (appendix A). Ours, where the
//! paper is silent:
//! - A merge that includes the oldest run drops erase flags and entries without a bit.
//! - Multi-way merging lets a run take part where what is merged so far may be large enough for its level. With T = 2
//!   that is the paper's policy. With larger T that one would merge large runs with small ones over and over.
//! - A merge of more than a few pages is done in slices while the buffer fills (`slices.rs`).

mod buffer;
mod builder;
mod filter;
mod found;
mod losers;
mod merge;
mod merge_pages;
mod needs;
mod page;
mod parity;
mod restore;
mod run;
mod slices;
mod sort;
mod tuning;

pub(crate) use buffer::Buffer;
pub(crate) use filter::Filter;
pub(crate) use merge::{MergeBuffers, RunMerge};
pub(crate) use merge_pages::MergePages;
pub(crate) use page::{ERASED, FREE, RunHeader, RunLayout, RunPage};
pub(crate) use parity::with_parity;
pub(crate) use run::{LOST_PAGE, Run, level_of};
#[cfg(test)]
pub(crate) use slices::Pace;
pub(crate) use sort::{Combined, Rule, SortMerge, read_in_place, read_page};
pub(crate) use tuning::Tuning;

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::gecko_part::GeckoMerge;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
use builder::RunPageBuilder;
use core::ops::Range;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Kind, Nand, Page, PageRead};
use slices::{MERGED_AT_ONCE, Slices, inputs_of};

/// The runs of a buffer, and the merges under way.
#[derive(Clone, Preserve)]
pub(crate) struct SortedRuns {
    pub(crate) tuning: Tuning,
    /// What its pages are on flash.
    pub(crate) kind: Kind,
    pub(crate) barriers: Barriers,
    /// Newest first.
    pub(crate) runs: Vec<Run>,
    pub(crate) merging: MergeBuffers,
    /// The page that a merge at once fills.
    output: RunPageBuilder,
    pub(crate) slices: Slices,
    /// The page being copied, or read.
    pub(crate) page: Vec<u8>,
    /// Flushes so far.
    pub(crate) flushes: u64,
    /// A page of a run could not be read. Erase flags went with it, so older runs may speak of what is gone.
    pub(crate) damaged: bool,
    /// No run on flash says so yet.
    pub(crate) damage_untold: bool,
    pub(crate) merges: u64,
}

impl SortedRuns {
    /// No run.
    pub(crate) fn new(geometry: &Geometry, tuning: Tuning, kind: Kind, barriers: Barriers) -> Self {
        let page_bytes = geometry.page_bytes() as usize;
        Self {
            tuning,
            kind,
            barriers,
            runs: Vec::new(),
            merging: MergeBuffers::new(tuning.layout, kind, barriers),
            output: RunPageBuilder::new(tuning.layout, page_bytes),
            slices: Slices::new(RunPageBuilder::new(tuning.layout, page_bytes)),
            page: vec![0; page_bytes],
            flushes: 0,
            damaged: false,
            damage_untold: false,
            merges: 0,
        }
    }

    /// The RAM of the pages that merges fill, of one at once and of those that are done in slices, in bytes.
    pub(crate) fn outputs_bytes(&self) -> u64 {
        self.output.ram() + self.slices.page.ram()
    }

    /// How many runs from one on are to be one, where so many pages are in front of them that join.
    fn joining(&self, from: usize, mut pages: usize) -> usize {
        let free = self.runs[from..].iter().take_while(|run| !self.slices.has(run));
        match self.tuning.merge {
            GeckoMerge::MultiWay => free
                .take_while(|run| {
                    let joins = pages == 0 || level_of(pages, self.tuning.size_ratio) >= run.header.level;
                    pages += run.directory.len();
                    joins
                })
                .count(),
            GeckoMerge::TwoWay => {
                let mut levels = free.map(|run| run.header.level);
                let (first, second) = (levels.next(), levels.next());
                if first.is_some() && first == second { 2 } else { 0 }
            }
        }
    }

    /// The newest runs that are to be one, and are not being merged.
    fn to_merge(&self) -> Option<Range<usize>> {
        let mut all = (0..self.runs.len()).map(|from| from..from + self.joining(from, 0));
        all.find(|runs| runs.len() > 1)
    }

    fn pages_of(&self, runs: Range<usize>) -> usize {
        self.runs[runs].iter().map(|run| run.directory.len()).sum()
    }

    /// Turns the buffer into a run, which small runs join at once where `rule` lets them. The buffer is not needed any
    /// more then. What the run says of itself was frozen at `frozen`.
    pub(crate) fn flush<N: Nand, R: Rule>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        buffer: &Buffer,
        rule: &mut R,
        frozen: (u64, [u64; 2]),
    ) -> Result<(), FtlError> {
        self.flushes += 1;
        let may_join = rule.flushes_join() && self.tuning.merge == GeckoMerge::MultiWay;
        let joining = if may_join { self.joining(0, 1) } else { 0 };
        let at_once = self.pages_of(0..joining) < MERGED_AT_ONCE;
        let done = self.merge_at_once(io, Some(buffer), 0..if at_once { joining } else { 0 }, rule, frozen);
        // The next run covers it, or a recovery would miss one.
        self.flushes -= u64::from(done.is_err());
        done
    }

    /// After a flush: slices of merges that are due by now, and the merges that follow from it.
    pub(crate) fn flushed<N: Nand, R: Rule>(&mut self, io: &mut MetaIo<'_, N>, rule: &mut R) -> Result<(), FtlError> {
        while self.slices.are_due_at_flush() {
            self.go_on(io, rule)?;
        }
        self.slices.flushed();
        self.begin_merges(io, rule)?;
        while self.pages_committed() > self.tuning.live_pages() && !self.slices.under_way().is_empty() {
            self.go_on(io, rule)?;
            self.begin_merges(io, rule)?;
        }
        Ok(())
    }

    /// With how many entries in the buffer a slice of a merge is due, or the flush, where it has so many now.
    pub(crate) fn due_after(&self, entries: usize) -> usize {
        self.slices.due_after(entries).min(self.tuning.buffer_entries())
    }

    fn begin_merges<N: Nand, R: Rule>(&mut self, io: &mut MetaIo<'_, N>, rule: &mut R) -> Result<(), FtlError> {
        while let Some(runs) = self.to_merge() {
            let newest = self.runs[runs.start].header;
            let frozen = (newest.frozen, rule.marks_of_merge(newest.marks));
            if self.pages_of(runs.clone()) <= MERGED_AT_ONCE {
                self.merge_at_once(io, None, runs, rule, frozen)?;
                continue;
            }
            let header = self.header_of_merge(false, runs.clone(), frozen);
            let is_of_oldest = self.is_of_oldest(&runs);
            let merge = RunMerge::begin(io, &mut self.merging, (None, &self.runs[runs]), header, is_of_oldest, rule);
            self.slices.put(merge);
        }
        Ok(())
    }

    /// The pages that runs take, and will take before any merge that is under way is done; and as many as the longest
    /// run has besides, for one that is done at once.
    fn pages_committed(&self) -> u64 {
        let longest = u64::from(self.tuning.longest_run());
        let output =
            |merge: &RunMerge| longest.min(self.tuning.packed(self.pages_of(inputs_of(merge, &self.runs)) as u64));
        self.pages_of(0..self.runs.len()) as u64 + self.slices.under_way().iter().map(output).sum::<u64>() + longest
    }

    fn is_of_oldest(&self, runs: &Range<usize>) -> bool {
        runs.end == self.runs.len() || !self.barriers.keeps(Barrier::FlagsKept)
    }

    /// The header of a run that is made of these, after the buffer where `with_buffer` says so.
    fn header_of_merge(&self, with_buffer: bool, runs: Range<usize>, (frozen, marks): (u64, [u64; 2])) -> RunHeader {
        let is_behind = runs.start > 0;
        let merged = &self.runs[runs.clone()];
        let (first, last) =
            (merged.last().map(|run| run.header.flushes.0), merged.first().map(|run| run.header.flushes.1));
        let last = if with_buffer { self.flushes } else { last.unwrap_or(self.flushes) };
        let header = RunHeader {
            level: level_of(self.pages_of(runs) + usize::from(with_buffer), self.tuning.size_ratio),
            flushes: (first.unwrap_or(self.flushes), last),
            frozen,
            marks,
            damaged: self.damaged && self.barriers.keeps(Barrier::DamageWritten),
            behind: is_behind,
        };
        debug_assert!(header.flushes.0 <= header.flushes.1, "a run covers no flush");
        let covers_on = |newest: &Run| newest.header.flushes.1 < self.flushes;
        debug_assert!(!with_buffer || self.runs.first().is_none_or(covers_on), "a flush is covered twice");
        header
    }

    /// Merges runs, after the buffer if there is one, into one.
    fn merge_at_once<N: Nand, R: Rule>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        buffer: Option<&Buffer>,
        runs: Range<usize>,
        rule: &mut R,
        frozen: (u64, [u64; 2]),
    ) -> Result<(), FtlError> {
        let header = self.header_of_merge(buffer.is_some(), runs.clone(), frozen);
        let is_of_oldest = self.is_of_oldest(&runs);
        let inputs = (buffer, &self.runs[runs.clone()]);
        self.output.clear();
        let mut merge = RunMerge::begin(io, &mut self.merging, inputs, header, is_of_oldest, rule);
        loop {
            match merge.go_on(io, &mut self.merging, &mut self.output, inputs, rule) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => return Err(given_up(io, &merge, rule, error)),
            }
        }
        self.merged(io, merge, runs);
        Ok(())
    }

    /// Does a slice of a merge that is under way.
    pub(crate) fn go_on<N: Nand, R: Rule>(&mut self, io: &mut MetaIo<'_, N>, rule: &mut R) -> Result<(), FtlError> {
        let Some(mut merge) = self.slices.take_next() else { return Ok(()) };
        let runs = inputs_of(&merge, &self.runs);
        merge.header.damaged |= self.damaged && self.barriers.keeps(Barrier::DamageWritten);
        let inputs = (None, &self.runs[runs.clone()]);
        match merge.go_on(io, &mut self.merging, &mut self.slices.page, inputs, rule) {
            Ok(true) => self.merged(io, merge, runs),
            Ok(false) => self.slices.put(merge),
            Err(error) => {
                self.slices.give_up_page();
                return Err(given_up(io, &merge, rule, error));
            }
        }
        Ok(())
    }

    /// The last page of a merge is programmed: its output takes the place of its inputs.
    fn merged<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, merge: RunMerge, runs: Range<usize>) {
        let (header, lost) = (merge.header, merge.has_lost());
        self.merges += u64::from(!runs.is_empty());
        self.damage_untold &= !header.damaged;
        self.damaged |= lost;
        let run = merge.into_run(|pages| level_of(pages, self.tuning.size_ratio));
        for old in self.runs.splice(runs.clone(), [run]) {
            old.pages().for_each(|page| io.drop_page(page));
        }
        let follows = |pair: &[Run]| pair[1].header.flushes.1 < pair[0].header.flushes.0;
        let beside = runs.start.saturating_sub(1)..(runs.start + 2).min(self.runs.len());
        let one_by_one = self.runs[beside].windows(2).all(follows);
        debug_assert!(one_by_one || !self.barriers.keeps(Barrier::RunsCoverOnce), "runs overlap, or are not in order");
    }

    /// Whether a page of a run could not be read, which no run says that was not damaged before.
    pub(crate) fn lose(&mut self, lost: bool) {
        self.damage_untold |= lost && !self.damaged;
        self.damaged |= lost;
    }

    /// Where its pages are, those of unfinished merges included.
    pub(crate) fn pages(&self) -> Vec<Page> {
        let unfinished = self.slices.under_way().iter().flat_map(RunMerge::pages);
        self.runs.iter().flat_map(Run::pages).chain(unfinished).collect()
    }

    /// Programs pages that have gone bad and can be made again, and parity pages that are bad.
    ///
    /// # Errors
    /// The flash is gone.
    pub(crate) fn program_missing_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        let (of, page) = ((self.kind, self.tuning.layout), &mut self.page);
        for run in &mut self.runs {
            run.program_made_again(io, of, page)?;
            run.program_missing_parity(io, of.0, page)?;
        }
        Ok(())
    }

    /// Copies the pages that are to go.
    pub(crate) fn relocate_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        goes: impl Fn(Page) -> bool,
    ) -> Result<u64, FtlError> {
        let mut copied = 0;
        let layout = self.tuning.layout;
        let moves = |page: Page| page != LOST_PAGE && goes(page);
        for run in &mut self.runs {
            for place in 0..run.directory.len() {
                let from = run.directory[place].page;
                if !moves(from) {
                    continue;
                }
                let to = match run.sound_page(io, (self.kind, layout), place, &mut self.page) {
                    Some(version) => Some(io.append(self.kind, run.key_at(place), version, &self.page)?),
                    None => copy(io, from, &mut self.page)?,
                };
                (run.directory[place].page, copied) = (to.unwrap_or(LOST_PAGE), copied + u64::from(to.is_some()));
                if to.is_none() {
                    (self.damaged, self.damage_untold) = (true, true);
                }
                io.drop_page(from);
            }
            for page in run.parity.iter_mut().filter(|page| moves(**page)) {
                copied += move_page(io, page, &mut self.page)?;
            }
        }
        for merge in self.slices.under_way_mut() {
            let (directory, parity) = merge.pages_mut();
            for page in directory.iter_mut().map(|entry| &mut entry.page).filter(|page| moves(**page)) {
                copied += move_page(io, page, &mut self.page)?;
                if *page == LOST_PAGE {
                    (self.damaged, self.damage_untold) = (true, true);
                }
            }
            for page in parity.iter_mut().filter(|page| moves(**page)) {
                copied += move_page(io, page, &mut self.page)?;
            }
        }
        Ok(copied)
    }
}

/// Moves a page as it is; nowhere if it cannot be read. How many copies that makes.
fn move_page<N: Nand>(io: &mut MetaIo<'_, N>, page: &mut Page, buffer: &mut Vec<u8>) -> Result<u64, FtlError> {
    let to = copy(io, *page, buffer)?;
    io.drop_page(core::mem::replace(page, to.unwrap_or(LOST_PAGE)));
    Ok(u64::from(to.is_some()))
}

/// Copies a page as it is; none if it cannot be read.
fn copy<N: Nand>(io: &mut MetaIo<'_, N>, from: Page, page: &mut Vec<u8>) -> Result<Option<Page>, FtlError> {
    let spare = match io.read_any(from) {
        PageRead::Written { content: Content::Bytes(bytes), spare, .. } => {
            page.clear();
            page.extend_from_slice(bytes);
            spare
        }
        _ => return Ok(None),
    };
    io.append_copy(&spare, page).map(Some)
}

/// The run will not be: its pages are stale.
fn given_up<N: Nand>(io: &mut MetaIo<'_, N>, merge: &RunMerge, rule: &mut impl Rule, error: FtlError) -> FtlError {
    rule.given_up(merge.overruled());
    merge.pages().for_each(|page| io.drop_page(page));
    error
}
