//! Runs that a scan has found on flash, and what their pages say of them.
//!
//! Most of them were merged away, and their blocks were not erased yet. A header is read when it is asked for, and once:
//! at a mount with a mapping log two choices are made among the same runs.

use super::page::{RunHeader, RunLayout, RunPage};
use super::parity::{FoundPages, assemble};
use super::run::{DirectoryEntry, LAST, LOST_PAGE, Run};
use super::sort::read_page;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::StorePage;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;
use phelsuma_nand::{CLOCK_MAX, Kind, Nand, Page};

/// The runs of which all pages are on flash, or can be made again; newest first.
pub(crate) struct FoundRuns {
    kind: Kind,
    layout: RunLayout,
    /// By run.
    pages: Vec<StorePage>,
    /// Where the pages of each are in these.
    runs: Vec<Range<u32>>,
    /// What was read of some: what they say, and the marks on their last pages.
    headers: BTreeMap<usize, Option<RunHeader>>,
    last_marks: BTreeMap<usize, Option<[u64; 2]>>,
}

impl FoundRuns {
    /// The runs of the pages that a scan found.
    pub(super) fn of(mut pages: Vec<StorePage>, kind: Kind, layout: RunLayout) -> Self {
        // Of two copies of a page either will do; the later one is not about to be erased.
        pages.sort_unstable_by_key(|p| (Reverse(p.version), p.key & !LAST, Reverse(p.seq)));
        pages.dedup_by_key(|p| (p.version, p.key & !LAST));
        let (mut runs, mut from) = (Vec::new(), 0);
        for of_run in pages.chunk_by(|a, b| a.version == b.version) {
            let until = from + of_run.len() as u32;
            runs.extend(assemble_pages(of_run).map(|_| from..until));
            from = until;
        }
        Self { kind, layout, pages, runs, headers: BTreeMap::new(), last_marks: BTreeMap::new() }
    }

    /// Its RAM, with what was read so far: a tree takes half as much again as its entries.
    pub(crate) fn bytes(&self) -> usize {
        let headers = self.headers.len() * size_of::<(usize, Option<RunHeader>)>();
        let last_marks = self.last_marks.len() * size_of::<(usize, Option<[u64; 2]>)>();
        let lists = self.pages.capacity() * size_of::<StorePage>() + self.runs.capacity() * size_of::<Range<u32>>();
        lists + (headers + last_marks) * 3 / 2
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// One of them, without an index.
    pub(super) fn run(&self, at: usize, header: RunHeader) -> Run {
        let Range { start, end } = self.runs[at];
        let (pages, mut parity) = assemble_pages(&self.pages[start as usize..end as usize]).unwrap_or_default();
        // Of pages that were found nowhere, runs that have no parity miss none.
        if self.kind != Kind::MappingLog {
            parity.clear();
        }
        let directory = pages.into_iter().map(|page| DirectoryEntry { first_block: 0, page }).collect();
        Run { header, directory, parity, filter: None }
    }

    /// What it says of itself, if that can be read.
    pub(super) fn header<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, at: usize) -> Option<RunHeader> {
        if let Some(header) = self.headers.get(&at) {
            return *header;
        }
        let header = header_of(io, self.run(at, RunHeader::default()), (self.kind, self.layout));
        self.headers.insert(at, header);
        header
    }

    /// The marks on its last page, where it says that of itself.
    pub(super) fn last_marks<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        (at, header): (usize, RunHeader),
    ) -> Option<[u64; 2]> {
        if let Some(marks) = self.last_marks.get(&at) {
            return *marks;
        }
        let run = self.run(at, header);
        let marks = match run.directory.len() {
            // It is the first one as well.
            1 => Some(header.marks),
            pages => header_at(io, &run, pages - 1, (self.kind, self.layout)).map(|header| header.marks),
        };
        self.last_marks.insert(at, marks);
        marks
    }
}

/// The places of a run's pages, and of its parity pages.
fn assemble_pages(found: &[StorePage]) -> Option<FoundPages> {
    assemble(&found.iter().map(|page| (page.key, page.page)).collect::<Vec<_>>())
}

/// What a page of a run says of it.
fn header_at<N: Nand>(
    io: &mut MetaIo<'_, N>,
    run: &Run,
    place: usize,
    (kind, layout): (Kind, RunLayout),
) -> Option<RunHeader> {
    let mut page = Vec::new();
    let is_read = read_page(io, (kind, layout), run, place, &mut page);
    is_read.then(|| RunPage::new(&layout, &page).header())
}

/// What the first page of a run says of it, where need be made again.
fn header_of<N: Nand>(io: &mut MetaIo<'_, N>, mut run: Run, (kind, layout): (Kind, RunLayout)) -> Option<RunHeader> {
    let mut read = |page: Page, key| {
        let bytes = if page == LOST_PAGE { None } else { io.read(page, kind, key) };
        Some(RunPage::new(&layout, bytes?).header())
    };
    let found =
        (0..run.directory.len()).find_map(|place| Some((place, read(run.directory[place].page, run.key_at(place))?)));
    // The parity of one page is the same page.
    let same = || read(run.parity.first().copied()?, run.parity_key(0)).filter(|_| run.directory.len() == 1);
    run.header = found.map(|(_, header)| header).or_else(same)?;
    // A page that is made again is held against this.
    if found.is_none_or(|(place, _)| place > 0) {
        run.header = header_at(io, &run, 0, (kind, layout))?;
    }
    let RunHeader { flushes: (from, until), frozen, marks, .. } = run.header;
    // Flushes are counted from 1, and each is a program or more, which have numbers of 48 bits. What else has a
    // checksum that fits is no header.
    let has_clocks = until.max(frozen).max(marks[0]) <= CLOCK_MAX;
    ((1..=until).contains(&from) && has_clocks).then_some(run.header)
}
