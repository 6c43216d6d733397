//! Merging runs: a sort-merge in which newer entries overrule older ones (section 3.1, algorithm 3, appendix A).

use super::buffer::Buffer;
use super::page::{GeckoPage, GeckoPageBuilder, Layout, RunHeader};
use super::run::{DirectoryEntry, Run, RunDirectory};
use crate::FtlError;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
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
}

enum Source<'a> {
    Buffer(&'a Buffer),
    Run { run: &'a Run, next_page: usize },
}

const DONE: u32 = u32::MAX;

impl Input<'_> {
    /// Goes to the next entry; reads the run's next page into `page` where this one is used up.
    #[inline]
    fn advance<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, layout: Layout, page: &mut Vec<u8>, lost: &mut bool) {
        self.at += 1;
        self.settle(io, layout, page, lost);
    }

    #[inline]
    fn settle<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, layout: Layout, page: &mut Vec<u8>, lost: &mut bool) {
        match &mut self.from {
            Source::Buffer(buffer) => {
                self.key = if self.at < self.end { buffer.key(self.at) } else { DONE };
            }
            Source::Run { run, next_page } => {
                while self.at >= self.end && *next_page < run.directory.len() {
                    *lost |= !read_page(io, run, *next_page, page);
                    *next_page += 1;
                    self.at = 0;
                    self.end = GeckoPage::new(layout, page).entries();
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

/// What a merge needs of RAM: an input buffer a run, and an output buffer.
#[derive(Clone)]
pub(super) struct MergeBuffers {
    layout: Layout,
    page_bytes: usize,
    inputs: Vec<Vec<u8>>,
    output: GeckoPageBuilder,
    words: Vec<u32>,
}

impl MergeBuffers {
    pub(super) fn new(layout: Layout, page_bytes: usize) -> Self {
        Self {
            layout,
            page_bytes,
            inputs: Vec::new(),
            output: GeckoPageBuilder::new(layout, page_bytes),
            words: vec![0; layout.words],
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        ((self.inputs.len() + 1) * self.page_bytes + self.words.capacity() * 4) as u64
    }

    /// Merges the buffer, if given, and `runs`, newest first, into a new run. With `oldest` no older run remains: what
    /// an erase made void is nowhere any more, and erase flags and empty entries go. The new run's directory, and
    /// whether some page could not be read.
    pub(super) fn merge<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        buffer: Option<&Buffer>,
        runs: &[Run],
        header: &RunHeader,
        oldest: bool,
    ) -> Result<(RunDirectory, bool), FtlError> {
        let layout = self.layout;
        let mut lost = false;
        let mut inputs: Vec<Input<'_>> = Vec::with_capacity(runs.len() + 1);
        inputs.extend(buffer.map(|b| Input { from: Source::Buffer(b), at: 0, end: b.len(), key: 0 }));
        inputs.extend(runs.iter().map(|run| Input { from: Source::Run { run, next_page: 0 }, at: 0, end: 0, key: 0 }));
        while self.inputs.len() < inputs.len() {
            self.inputs.push(vec![0; self.page_bytes]);
        }
        for (input, page) in inputs.iter_mut().zip(&mut self.inputs) {
            input.settle(io, layout, page, &mut lost);
        }
        let version = io.next_version();
        let mut output = Output { directory: Vec::new(), header: *header, version, parts: layout.parts };
        self.output.clear();
        // The block whose entries are void in inputs older than the one that erased it.
        let mut erased = (u32::MAX, 0);
        loop {
            let key = inputs.iter().map(|input| input.key).min().unwrap_or(DONE);
            if key == DONE {
                break;
            }
            let block = key / layout.parts;
            self.words.fill(0);
            let mut erase = false;
            for (rank, (input, page)) in inputs.iter_mut().zip(&mut self.inputs).enumerate() {
                if input.key != key {
                    continue;
                }
                if erased.0 != block || rank <= erased.1 {
                    let flag = match input.from {
                        Source::Buffer(buffer) => {
                            for (n, word) in self.words.iter_mut().enumerate() {
                                *word |= buffer.word(input.at, n);
                            }
                            buffer.erase(input.at)
                        }
                        Source::Run { .. } => {
                            let view = GeckoPage::new(layout, page);
                            for (n, word) in self.words.iter_mut().enumerate() {
                                *word |= view.word(input.at, n);
                            }
                            view.erase(input.at)
                        }
                    };
                    if flag && erased.0 != block {
                        erased = (block, rank);
                    }
                    erase |= flag;
                }
                input.advance(io, layout, page, &mut lost);
            }
            if oldest {
                erase = false;
                if self.words.iter().all(|word| *word == 0) {
                    continue;
                }
            }
            if let Err(error) = output.push(io, &mut self.output, key, &self.words, erase) {
                return Err(output.given_up(io, error));
            }
        }
        match output.program(io, &mut self.output, true) {
            Ok(()) => Ok((output.directory, lost)),
            Err(error) => Err(output.given_up(io, error)),
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
        erase: bool,
    ) -> Result<(), FtlError> {
        // All entries of a block stand on one page.
        let begins_block = page.last_key().is_none_or(|last| last / self.parts != key / self.parts);
        if page.room() == 0 || begins_block && page.room() < self.parts as usize {
            self.program(io, page, false)?;
        }
        page.push(key, words, erase);
        Ok(())
    }

    /// The run will not be: its pages are stale.
    fn given_up<N: Nand>(&self, io: &mut MetaIo<'_, N>, error: FtlError) -> FtlError {
        for entry in &self.directory {
            io.drop_page(entry.page);
        }
        error
    }

    /// Programs the page in hand. An empty run is one page without entries: its header still says what it covers.
    fn program<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        page: &mut GeckoPageBuilder,
        last: bool,
    ) -> Result<(), FtlError> {
        let place = self.directory.len() as u32;
        page.seal(&self.header, place, last);
        let first_block = page.first_key().map_or(0, |key| key / self.parts);
        let to = io.append(Kind::Gecko, place | if last { LAST } else { 0 }, self.version, &page.bytes)?;
        self.directory.push(DirectoryEntry { first_block, page: to });
        page.clear();
        Ok(())
    }
}
