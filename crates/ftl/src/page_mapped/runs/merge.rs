//! A merge of runs into a new one (section 3.1, appendix A). It can be left after each page that it programs.
//!
//! Its inputs stay valid, and are what queries search, until its last page is programmed. A recovery finds either all
//! pages of its output, or all but some that parity makes again: it counts then. Otherwise its inputs count.

use super::buffer::Buffer;
use super::builder::RunPageBuilder;
use super::filter::Filter;
use super::page::{FREE, RunHeader, RunLayout, RunPage};
use super::parity::{self, GROUP, Named};
use super::run::{self, DirectoryEntry, LOST_PAGE, Run, RunDirectory};
use super::sort::{DONE, Inputs, Rule, SortMerge};
use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Kind, Nand, Page};

/// A merge is left after so many pages that it reads, even if they fill no page of its output.
const READS_A_SLICE: u64 = 8;

/// What merges of some runs share, besides the pages of all: a part of a bitmap.
#[derive(Clone, Preserve)]
pub(crate) struct MergeBuffers {
    layout: RunLayout,
    kind: Kind,
    words: Vec<u32>,
    barriers: Barriers,
}

impl MergeBuffers {
    pub(crate) fn new(layout: RunLayout, kind: Kind, barriers: Barriers) -> Self {
        Self { layout, kind, words: vec![0; layout.words], barriers }
    }

    /// Bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.capacity() as u64 * 4
    }

    /// Has a merge of the buffer, if given, and `runs` do something with the pages that it has in hand.
    #[inline]
    fn with_inputs<N: Nand, T>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        (buffer, runs): (Option<&Buffer>, &[Run]),
        act: impl FnOnce(&mut MetaIo<'_, N>, &mut Inputs<'_>) -> T,
    ) -> T {
        let Self { layout, kind, ref mut words, barriers } = *self;
        io.merge_pages(|pages, io| act(io, &mut Inputs { layout, kind, buffer, runs, pages, words, barriers }))
    }

    /// A look at `runs`, newest first, from a key on.
    pub(crate) fn begin_at<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, runs: &[Run], key: u32) -> SortMerge {
        self.with_inputs(io, (None, runs), |io, inputs| SortMerge::begin_at(io, inputs, key))
    }

    /// The next key of such a look; the pages in hand are read again where that must be.
    pub(crate) fn key<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, runs: &[Run], sort: &mut SortMerge) -> u32 {
        self.with_inputs(io, (None, runs), |io, inputs| {
            sort.take_up(io, inputs);
            sort.key()
        })
    }

    /// Goes on with such a look: the next key, if it is below `end`, and what its entries come to, in the first word, if
    /// any counts.
    pub(crate) fn take<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        runs: &[Run],
        (sort, end): (&mut SortMerge, u32),
        rule: &mut impl Rule,
    ) -> Option<(u32, Option<u32>)> {
        self.with_inputs(io, (None, runs), |io, inputs| {
            sort.take_up(io, inputs);
            let key = sort.key();
            (key < end).then(|| (key, sort.take(io, inputs, rule).map(|_| inputs.words[0])))
        })
    }

    /// Shows every entry that `runs`, newest first, come to by `rule`, in the order of their keys. The first block of
    /// each page of each run, and whether some page could not be read.
    pub(crate) fn visit<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        runs: &[Run],
        rule: &mut impl Rule,
        mut entry: impl FnMut(u32, &[u32], u8),
    ) -> (Vec<Vec<u32>>, bool) {
        self.with_inputs(io, (None, runs), |io, inputs| {
            let mut sort = SortMerge::begin(io, inputs, true);
            while sort.key() != DONE {
                let key = sort.key();
                // Of keys without an entry dense pages have empty ones, even of parts that no block has pages for.
                if let Some(flags) = sort.take(io, inputs, rule).filter(|flags| says_something(*flags, inputs.words)) {
                    entry(key, inputs.words, flags);
                }
            }
            (sort.first_blocks.unwrap_or_default(), sort.lost)
        })
    }
}

/// Whether an entry is not empty.
#[inline]
fn says_something(flags: u8, words: &[u32]) -> bool {
    flags != 0 || words.iter().any(|word| *word != 0)
}

/// A merge, and the run that it writes.
#[derive(Clone, Preserve)]
pub(crate) struct RunMerge {
    sort: SortMerge,
    directory: RunDirectory,
    parity: Vec<Page>,
    filter: Option<Filter>,
    pub(crate) header: RunHeader,
    version: u64,
    /// No older run remains: what an erase made void is nowhere any more, and erase flags and empty entries go.
    is_of_oldest: bool,
}

impl RunMerge {
    /// Merges the buffer, if given, and `runs`, newest first. Nothing is programmed yet.
    pub(crate) fn begin<N: Nand>(
        io: &mut MetaIo<'_, N>,
        buffers: &mut MergeBuffers,
        (buffer, runs): (Option<&Buffer>, &[Run]),
        header: RunHeader,
        is_of_oldest: bool,
        rule: &impl Rule,
    ) -> Self {
        let version = io.next_version();
        let sort = buffers.with_inputs(io, (buffer, runs), |io, inputs| SortMerge::begin(io, inputs, false));
        let filter = rule.filter_bits().map(|bits| {
            let pages: usize = runs.iter().map(|run| run.pages_that_count(rule)).sum();
            // Pages may be part-filled.
            Filter::new(pages * buffers.layout.entries() + buffer.map_or(0, Buffer::len), bits)
        });
        Self { sort, directory: Vec::new(), parity: Vec::new(), filter, header, version, is_of_oldest }
    }

    /// Goes on until a page is programmed, or some were read, and says whether that was the end. `page` is this merge's
    /// until it is programmed.
    pub(crate) fn go_on<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        buffers: &mut MergeBuffers,
        page: &mut RunPageBuilder,
        runs: (Option<&Buffer>, &[Run]),
        rule: &mut impl Rule,
    ) -> Result<bool, FtlError> {
        buffers.with_inputs(io, runs, |io, inputs| self.go_on_with(io, inputs, page, rule))
    }

    fn go_on_with<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        inputs: &mut Inputs<'_>,
        page: &mut RunPageBuilder,
        rule: &mut impl Rule,
    ) -> Result<bool, FtlError> {
        self.sort.take_up(io, inputs);
        let until = self.sort.pages_read + READS_A_SLICE;
        while self.sort.pages_read < until {
            let key = self.sort.key();
            if key == DONE {
                // The last page says which pages were lost by then.
                self.header.damaged |= self.sort.lost && inputs.barriers.keeps(Barrier::DamageWritten);
                self.program(io, (inputs.kind, rule), page, true)?;
                return Ok(true);
            }
            if !page.has_room_for(key) {
                self.program(io, (inputs.kind, rule), page, false)?;
                return Ok(false);
            }
            let Some(flags) = self.sort.take(io, inputs, rule) else { continue };
            let flags = if self.is_of_oldest && flags & FREE == 0 { 0 } else { flags };
            if (self.is_of_oldest || inputs.layout.dense > 0) && !says_something(flags, inputs.words) {
                continue;
            }
            page.push(key, inputs.words, flags);
            if let Some(filter) = &mut self.filter {
                filter.insert(key);
            }
        }
        Ok(false)
    }

    /// Programs the page in hand. An empty run is one page without entries: its header still says which flushes it
    /// covers.
    fn program<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        (kind, rule): (Kind, &impl Rule),
        page: &mut RunPageBuilder,
        last: bool,
    ) -> Result<(), FtlError> {
        let place = self.directory.len();
        rule.sealed(&mut self.header, io.seq() + 1);
        page.seal(&self.header, place as u32, last);
        let first_block = RunPage::new(&page.layout(), &page.bytes).first_block();
        let to = io.append(kind, Named::Data { place, is_last: last }.key(), self.version, &page.bytes)?;
        self.directory.push(DirectoryEntry { first_block, page: to });
        if rule.has_parity() && (last || self.directory.len().is_multiple_of(GROUP)) {
            let parity = self.program_parity(io, kind, page, last)?;
            self.parity.push(parity);
        }
        page.clear();
        Ok(())
    }

    /// Programs the parity page of the last group, where the page in hand is its last one.
    fn program_parity<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        kind: Kind,
        page: &mut RunPageBuilder,
        is_last: bool,
    ) -> Result<Page, FtlError> {
        if !parity::complete(io, kind, &self.directory, &mut page.bytes) {
            return Ok(LOST_PAGE);
        }
        let last = self.directory.len() - 1;
        let (group, count) = (last / GROUP, last % GROUP + 1);
        parity::program(io, kind, Named::Parity { group, count, is_last }.key(), self.version, &page.bytes)
    }

    /// Whether it has passed this key, at which an entry of its input `older` gave way to the one right before it, which
    /// is of `by`.
    #[inline]
    pub(crate) fn has_overruled(&self, key: u32, older: &RunHeader, by: Option<&RunHeader>) -> bool {
        self.is_of(older) && by.is_some_and(|by| self.is_of(by)) && key < self.sort.key()
    }

    /// Whether a run is one of its inputs.
    pub(crate) fn is_of(&self, run: &RunHeader) -> bool {
        let ((first, last), (from, until)) = (self.header.flushes, run.flushes);
        first <= from && until <= last
    }

    /// Entries that gave way.
    pub(crate) fn overruled(&self) -> u64 {
        self.sort.overruled
    }

    /// Whether some page of its inputs could not be read, now or before.
    pub(crate) fn has_lost(&self) -> bool {
        self.sort.lost
    }

    /// Bytes of RAM, without the directory.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.sort.places_bytes()) as u64 + self.filter.as_ref().map_or(0, Filter::bytes)
    }

    /// The index of the pages that are programmed.
    pub(crate) fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// The parity pages of groups that are whole.
    pub(crate) fn parity(&self) -> &Vec<Page> {
        &self.parity
    }

    /// The pages that are programmed, and are somewhere.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        run::all_pages(&self.directory, &self.parity)
    }

    /// The index of these, and those of parity, to be moved.
    pub(crate) fn pages_mut(&mut self) -> (&mut RunDirectory, &mut [Page]) {
        (&mut self.directory, &mut self.parity)
    }

    /// The pages that are programmed become a run of this level.
    pub(crate) fn into_run(self, level: impl FnOnce(usize) -> u8) -> Run {
        let Self { directory, parity, filter, header, .. } = self;
        Run { header: RunHeader { level: level(directory.len()), ..header }, directory, parity, filter }
    }
}
