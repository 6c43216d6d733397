//! Merging runs: a sort-merge in which newer entries overrule older ones (section 3.1, algorithm 3, appendix A).

use super::buffer::Buffer;
use super::page::{ERASED, FREE, GeckoLayout, GeckoPage, GeckoPageBuilder, RunHeader};
use super::run::{DirectoryEntry, Run, RunDirectory};
use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Kind, Nand};

/// The key of a page that is the last one of its run carries this bit.
pub(super) const LAST: u32 = 1 << 31;

/// One of the sorted inputs, with the page of it that is being read.
struct Input<'a> {
    from: Source<'a>,
    /// The entry that is next, in the buffer or on the page in hand; past its end when all are read.
    at: usize,
    end: usize,
    key: u32,
    /// The first block of each page read so far, for callers that need it.
    first_blocks: Option<Vec<u32>>,
}

enum Source<'a> {
    Buffer(&'a Buffer),
    Run { run: &'a Run, next_page: usize },
}

const DONE: u32 = u32::MAX;

impl Input<'_> {
    /// Goes to the next entry; reads the run's next page into `page` where this one is used up.
    #[inline]
    fn advance<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, layout: GeckoLayout, page: &mut Vec<u8>, lost: &mut bool) {
        self.at += 1;
        self.settle(io, layout, page, lost);
    }

    #[inline]
    fn settle<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, layout: GeckoLayout, page: &mut Vec<u8>, lost: &mut bool) {
        match &mut self.from {
            Source::Buffer(buffer) => {
                let key = if self.at < self.end { buffer.key(self.at) } else { DONE };
                debug_assert!(self.at == 0 || self.key < key, "the buffer's keys do not ascend");
                self.key = key;
            }
            Source::Run { run, next_page } => {
                while self.at >= self.end && *next_page < run.directory.len() {
                    let read = read_page(io, run, *next_page, page);
                    *next_page += 1;
                    self.at = 0;
                    let view = GeckoPage::new(layout, page);
                    *lost |= !read || view.header().damaged;
                    self.end = view.entries();
                    if let Some(first_blocks) = &mut self.first_blocks {
                        let before = first_blocks.last().copied().unwrap_or(0);
                        first_blocks.push(if read { view.first_block() } else { before });
                    }
                }
                self.key = if self.at < self.end { GeckoPage::new(layout, page).key(self.at) } else { DONE };
            }
        }
    }
}

/// Reads page `place` of a run into `page`; a page that cannot be read is empty, and the answer false.
pub(super) fn read_page<N: Nand>(io: &mut MetaIo<'_, N>, run: &Run, place: usize, page: &mut Vec<u8>) -> bool {
    let last = place + 1 == run.directory.len();
    let key = place as u32 | if last { LAST } else { 0 };
    match io.read(run.directory[place].page, Kind::Gecko, key) {
        Some(bytes) => {
            page.clear();
            page.extend_from_slice(bytes);
            true
        }
        None => {
            page.fill(0);
            false
        }
    }
}

/// RAM of a merge: an input buffer a run, and an output buffer.
#[derive(Clone, Preserve)]
pub(super) struct MergeBuffers {
    layout: GeckoLayout,
    page_bytes: usize,
    inputs: Vec<Vec<u8>>,
    output: GeckoPageBuilder,
    words: Vec<u32>,
    barriers: Barriers,
}

impl MergeBuffers {
    pub(super) fn new(layout: GeckoLayout, page_bytes: usize, barriers: Barriers) -> Self {
        Self {
            layout,
            page_bytes,
            inputs: Vec::new(),
            output: GeckoPageBuilder::new(layout, page_bytes),
            words: vec![0; layout.words],
            barriers,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        ((self.inputs.len() + 1) * self.page_bytes + self.words.capacity() * 4) as u64
    }

    /// Merges the buffer, if given, and `runs`, newest first, into a new run. With `oldest` no older run remains: what
    /// an erase made void is nowhere any more, and erase flags and empty entries go. The new run's directory, and
    /// whether some page could not be read, now or before.
    pub(super) fn merge<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        buffer: Option<&Buffer>,
        runs: &[Run],
        header: &RunHeader,
        oldest: bool,
    ) -> Result<(RunDirectory, bool), FtlError> {
        let version = io.next_version();
        let mut output = Output { directory: Vec::new(), header: *header, version, parts: self.layout.parts };
        let page = &mut self.output;
        page.clear();
        let (layout, barriers) = (self.layout, self.barriers);
        let inputs = Inputs { layout, buffer, runs, pages: &mut self.inputs, words: &mut self.words, barriers };
        let combined = inputs.combine(io, self.page_bytes, false, |io, key, words, flags| {
            // Where no older run remains, what an erase made void is nowhere any more.
            let flags = if oldest && flags & FREE == 0 { 0 } else { flags };
            if oldest && flags == 0 && words.iter().all(|word| *word == 0) {
                return Ok(());
            }
            let ascends = page.last_key().is_none_or(|last| last < key);
            // Entries that are read from flash may be in any order, behind checksums that fit.
            debug_assert!(ascends || !runs.is_empty(), "the keys of a run do not ascend");
            output.push(io, page, key, words, flags)
        });
        let lost = match combined {
            Ok((lost, _)) => lost,
            Err(error) => return Err(output.given_up(io, error)),
        };
        // The last page says which pages were lost by then.
        output.header.damaged |= lost && barriers.keeps(Barrier::DamageWritten);
        match output.program(io, &mut self.output, true) {
            Ok(()) => Ok((output.directory, lost)),
            Err(error) => Err(output.given_up(io, error)),
        }
    }

    /// Shows every entry that `runs`, newest first, come to, in the order of their keys. The first block of each page
    /// of each run, and whether some page could not be read.
    pub(super) fn visit<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        runs: &[Run],
        mut entry: impl FnMut(u32, &[u32], u8),
    ) -> (Vec<Vec<u32>>, bool) {
        let inputs = Inputs {
            layout: self.layout,
            buffer: None,
            runs,
            pages: &mut self.inputs,
            words: &mut self.words,
            barriers: self.barriers,
        };
        let combined = inputs.combine(io, self.page_bytes, true, |_, key, words, flags| {
            entry(key, words, flags);
            Ok(())
        });
        combined.map_or((Vec::new(), true), |(lost, first_blocks)| (first_blocks, lost))
    }
}

/// The inputs of a merge: the buffer and runs, newest first, with a page buffer for each run.
struct Inputs<'a> {
    layout: GeckoLayout,
    buffer: Option<&'a Buffer>,
    runs: &'a [Run],
    pages: &'a mut Vec<Vec<u8>>,
    words: &'a mut [u32],
    barriers: Barriers,
}

impl Inputs<'_> {
    /// The sort-merge: newer entries overrule older ones. Whether some page could not be read, now or before. On
    /// request it also gives the first block of each page of each run.
    fn combine<N: Nand>(
        self,
        io: &mut MetaIo<'_, N>,
        page_bytes: usize,
        tell_first_blocks: bool,
        mut emit: impl FnMut(&mut MetaIo<'_, N>, u32, &[u32], u8) -> Result<(), FtlError>,
    ) -> Result<(bool, Vec<Vec<u32>>), FtlError> {
        let layout = self.layout;
        let mut lost = false;
        let mut inputs: Vec<Input<'_>> = Vec::with_capacity(self.runs.len() + 1);
        let input = |from, end| {
            let first_blocks = tell_first_blocks.then(Vec::new);
            Input { from, at: 0, end, key: 0, first_blocks }
        };
        inputs.extend(self.buffer.map(|b| input(Source::Buffer(b), b.len())));
        let of_run = |run| input(Source::Run { run, next_page: 0 }, 0);
        inputs.extend(self.runs.iter().map(of_run));
        while self.pages.len() < inputs.len() {
            self.pages.push(vec![0; page_bytes]);
        }
        for (input, page) in inputs.iter_mut().zip(self.pages.iter_mut()) {
            input.settle(io, layout, page, &mut lost);
        }
        // The block whose entries are void in inputs older than the one that erased it.
        let mut erased = (u32::MAX, 0);
        loop {
            let key = inputs.iter().map(|input| input.key).min().unwrap_or(DONE);
            if key == DONE {
                return Ok((lost, inputs.into_iter().filter_map(|input| input.first_blocks).collect()));
            }
            let block = key / layout.parts;
            self.words.fill(0);
            let mut flags = 0;
            for (rank, (input, page)) in inputs.iter_mut().zip(self.pages.iter_mut()).enumerate() {
                if input.key != key {
                    continue;
                }
                if erased.0 != block || rank <= erased.1 {
                    let own = match input.from {
                        Source::Buffer(buffer) => {
                            let (is_first, own) = (key.is_multiple_of(layout.parts), buffer.flags(input.at));
                            debug_assert!(is_first || own == 0, "an erase does not stand in its block's first part");
                            for (n, word) in self.words.iter_mut().enumerate() {
                                *word |= buffer.word(input.at, n);
                            }
                            own
                        }
                        Source::Run { .. } => {
                            let view = GeckoPage::new(layout, page);
                            for (n, word) in self.words.iter_mut().enumerate() {
                                *word |= view.word(input.at, n);
                            }
                            view.flags(input.at)
                        }
                    };
                    let overrules = self.barriers.keeps(Barrier::EraseOverrulesInMerges);
                    if own & ERASED != 0 && erased.0 != block && overrules {
                        erased = (block, rank);
                    }
                    flags |= own;
                }
                input.advance(io, layout, page, &mut lost);
            }
            emit(io, key, self.words, flags)?;
        }
    }
}

/// The run being written.
struct Output {
    directory: RunDirectory,
    header: RunHeader,
    version: u64,
    parts: u32,
}

impl Output {
    fn push<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        page: &mut GeckoPageBuilder,
        key: u32,
        words: &[u32],
        flags: u8,
    ) -> Result<(), FtlError> {
        // All entries of a block stand on one page.
        let begins_block = page.last_key().is_none_or(|last| last / self.parts != key / self.parts);
        if page.room() == 0 || begins_block && page.room() < self.parts as usize {
            self.program(io, page, false)?;
        }
        page.push(key, words, flags);
        Ok(())
    }

    /// The run will not be: its pages are stale.
    fn given_up<N: Nand>(&self, io: &mut MetaIo<'_, N>, error: FtlError) -> FtlError {
        for entry in &self.directory {
            io.drop_page(entry.page);
        }
        error
    }

    /// Programs the page in hand. An empty run is one page without entries: its header still says which flushes it
    /// covers.
    fn program<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        page: &mut GeckoPageBuilder,
        last: bool,
    ) -> Result<(), FtlError> {
        let place = self.directory.len() as u32;
        page.seal(&self.header, place, last);
        let first_block = GeckoPage::new(page.layout(), &page.bytes).first_block();
        let to = io.append(Kind::Gecko, place | if last { LAST } else { 0 }, self.version, &page.bytes)?;
        self.directory.push(DirectoryEntry { first_block, page: to });
        page.clear();
        Ok(())
    }
}
