//! The sort-merge of runs: newer entries overrule older ones (section 3.1, algorithm 3, appendix A).

use super::buffer::Buffer;
use super::losers::Losers;
use super::merge_pages::MergePages;
use super::page::{ERASED, RunHeader, RunLayout, RunPage};
use super::run::{LOST_PAGE, Run};
use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Kind, Nand};

pub(crate) use super::losers::DONE;

/// What becomes of entries that meet.
pub(crate) trait Rule {
    /// Whether runs may join the buffer in a flush.
    fn flushes_join(&self) -> bool {
        true
    }

    /// Whether an entry of a run counts still. One that does not is passed by.
    #[inline]
    fn counts(&self, _key: u32, _run: &RunHeader) -> bool {
        true
    }

    /// The first word of an entry of `run` gives way to `newer`. The entry right before it is of the run `by`, or of the
    /// buffer.
    #[inline]
    fn overruled(&mut self, _key: u32, (_word, _run): (u32, &RunHeader), _newer: u32, _by: Option<&RunHeader>) {}

    /// The marks of a merge of which the newest run has these.
    fn marks_of_merge(&self, newest: [u64; 2]) -> [u64; 2] {
        newest
    }

    /// Whether runs have parity pages.
    fn has_parity(&self) -> bool {
        false
    }

    /// Bits that a filter of a run has for each entry, where runs have filters.
    fn filter_bits(&self) -> Option<u32> {
        None
    }

    /// A merge was given up in which so many entries gave way.
    fn given_up(&mut self, _overruled: u64) {}

    /// A page is about to be programmed, at this moment.
    fn sealed(&self, _header: &mut RunHeader, _seq: u64) {}
}

/// Entries of a key are combined, up to one that voids what is older: Logarithmic Gecko's rule.
pub(crate) struct Combined;

impl Rule for Combined {}

/// What is merged, newest first: the buffer, where given, and runs, with a page buffer for each.
pub(crate) struct Inputs<'a> {
    pub(crate) layout: RunLayout,
    pub(crate) kind: Kind,
    pub(crate) buffer: Option<&'a Buffer>,
    pub(crate) runs: &'a [Run],
    pub(crate) pages: &'a mut MergePages,
    /// The combined part of a bitmap.
    pub(crate) words: &'a mut [u32],
    pub(crate) barriers: Barriers,
}

/// Behind the keys of all blocks, by more than a block has.
const NO_BLOCK: u32 = 1 << 31;

/// Where a merge stands in one of its inputs.
#[derive(Clone, Copy, Default, Preserve)]
struct Place {
    /// The page of the run that is read next.
    next_page: u32,
    /// The entry that is next, in the buffer or on the page in hand; at the end when all are taken.
    at: u32,
    end: u32,
    is_dense: bool,
}

impl Place {
    /// The page in hand.
    #[inline]
    fn view<'a>(&self, layout: &'a RunLayout, bytes: &'a [u8]) -> RunPage<'a> {
        RunPage { layout, bytes, entries: self.end as usize, is_dense: self.is_dense }
    }
}

/// A sort-merge that can be left between any two keys, and gone on with while its inputs stand where they are.
#[derive(Clone, Preserve)]
pub(crate) struct SortMerge {
    /// By rank: the newest input first.
    places: Vec<Place>,
    heads: Losers,
    /// Whose pages those of [`MergePages`] may be.
    turn: u64,
    /// The least key that can come next. Those that are read from flash may be in any order, behind checksums that fit:
    /// what is below this is passed by.
    floor: u32,
    /// The first key of the block whose entries are void in inputs older than the one that erased it.
    erased: (u32, usize),
    /// Some page could not be read, now or before.
    pub(crate) lost: bool,
    /// Pages of runs that were read.
    pub(crate) pages_read: u64,
    /// Entries that gave way.
    pub(crate) overruled: u64,
    /// The first block of each page of each run, for callers that need it.
    pub(crate) first_blocks: Option<Vec<Vec<u32>>>,
}

impl SortMerge {
    /// At the first key.
    pub(crate) fn begin<N: Nand>(io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>, tell_first_blocks: bool) -> Self {
        let start = Place::default();
        let buffer = inputs.buffer.map(|buffer| Place { end: buffer.len() as u32, ..start });
        let places: Vec<Place> = buffer.into_iter().chain(inputs.runs.iter().map(|_| start)).collect();
        let first_blocks = tell_first_blocks.then(|| vec![Vec::new(); inputs.runs.len()]);
        let mut sort = Self::new(io, inputs, places, first_blocks);
        sort.play_all(io, inputs);
        sort
    }

    /// At the first key that is not below `key`.
    pub(crate) fn begin_at<N: Nand>(io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>, key: u32) -> Self {
        debug_assert!(inputs.buffer.is_none() && inputs.layout.parts == 1, "there is no place for this key");
        // From the first key on no directory is needed, which a recovery may not have yet.
        let first = |run: &Run| if key == 0 { 0 } else { run.place_for(key).unwrap_or(0) };
        let place = |run: &Run| Place { next_page: first(run) as u32, ..Place::default() };
        let places = inputs.runs.iter().map(place).collect();
        let mut sort = Self::new(io, inputs, places, None);
        for rank in 0..sort.places.len() {
            sort.next_page(io, inputs, rank);
            let place = &mut sort.places[rank];
            let from = RunPage::new(&inputs.layout, inputs.pages.page(rank)).lower_bound(key) as u32;
            place.at = place.at.max(from).min(place.end);
        }
        sort.floor = key;
        sort.play_all(io, inputs);
        sort
    }

    fn new<N: Nand>(
        io: &MetaIo<'_, N>,
        inputs: &mut Inputs<'_>,
        places: Vec<Place>,
        first_blocks: Option<Vec<Vec<u32>>>,
    ) -> Self {
        let turn = inputs.pages.begin(places.len(), io.geometry().page_bytes());
        let heads = Losers::of(places.len());
        let erased = (NO_BLOCK, 0);
        Self { places, heads, turn, floor: 0, erased, lost: false, pages_read: 0, overruled: 0, first_blocks }
    }

    /// Reads the pages in hand again where another merge has had their buffers since.
    #[inline]
    pub(crate) fn take_up<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>) {
        if !inputs.pages.take_up(self.turn, (self.places.len(), io.geometry().page_bytes())) {
            self.read_again(io, inputs);
        }
    }

    fn read_again<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>) {
        for rank in 0..self.places.len() {
            let place = &mut self.places[rank];
            let at = place.at;
            let Some(in_hand) = place.next_page.checked_sub(1).filter(|_| at < place.end) else { continue };
            *place = Place { next_page: in_hand, ..Place::default() };
            self.read_next(io, inputs, rank);
            // What could not be read is an empty page.
            self.places[rank].at = at;
        }
        self.play_all(io, inputs);
    }

    fn play_all<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>) {
        self.heads.clear();
        for rank in 0..self.places.len() {
            let key = self.next_key(io, inputs, rank);
            self.heads.play(rank, key);
        }
    }

    /// The next key; [`DONE`] where there is none.
    #[inline]
    pub(crate) fn key(&self) -> u32 {
        self.heads.key()
    }

    pub(crate) fn places_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.heads.bytes()
    }

    /// Takes the next key: what its inputs come to is in [`Inputs::words`]. Its flags; none if no entry counts.
    #[inline]
    pub(crate) fn take<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        inputs: &mut Inputs<'_>,
        rule: &mut impl Rule,
    ) -> Option<u8> {
        let key = self.key();
        if key == DONE {
            return None;
        }
        match &mut *inputs.words {
            [word] => *word = 0,
            words => words.fill(0),
        }
        let (mut flags, mut by) = (None, None);
        self.floor = key + 1;
        while self.key() == key {
            let (layout, rank) = (&inputs.layout, self.heads.rank());
            let place = self.places[rank];
            let at = place.at as usize;
            let run = rank.checked_sub(usize::from(inputs.buffer.is_some())).map(|of_run| &inputs.runs[of_run].header);
            let is_erased = key.wrapping_sub(self.erased.0) < layout.parts;
            if run.is_some_and(|run| !rule.counts(key, run)) {
                // It is passed by.
            } else if !is_erased || rank <= self.erased.1 {
                let own = match inputs.buffer.filter(|_| rank == 0) {
                    Some(buffer) => {
                        let own = buffer.flags(at);
                        debug_assert!(
                            own == 0 || key.is_multiple_of(layout.parts),
                            "an erase does not stand in its block's first part"
                        );
                        buffer.add_to(at, inputs.words);
                        own
                    }
                    None => {
                        let view = place.view(layout, inputs.pages.page(rank));
                        view.add_to(at, inputs.words);
                        view.flags(at)
                    }
                };
                if own & ERASED != 0 && !is_erased && inputs.barriers.keeps(Barrier::EraseOverrulesInMerges) {
                    self.erased = (key - key % layout.parts, rank);
                }
                (flags, by) = (Some(flags.unwrap_or(0) | own), run);
            } else if let Some(run) = run {
                let older = place.view(layout, inputs.pages.page(rank)).word(at, 0);
                rule.overruled(key, (older, run), inputs.words[0], by);
                self.overruled += 1;
                (flags, by) = (Some(flags.unwrap_or(0)), Some(run));
            }
            self.places[rank].at += 1;
            let next = self.next_key(io, inputs, rank);
            self.heads.play(rank, next);
        }
        flags
    }

    /// The key of an input's next entry, [`DONE`] where there is none. It goes on to the run's next page where this one
    /// is used up.
    #[inline]
    fn next_key<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>, rank: usize) -> u32 {
        let place = &self.places[rank];
        if let Some(buffer) = inputs.buffer.filter(|_| rank == 0) {
            let key = if place.at < place.end { buffer.key(place.at as usize) } else { DONE };
            debug_assert!(key >= self.floor, "the buffer's keys do not ascend");
            return key;
        }
        loop {
            if self.places[rank].at >= self.places[rank].end {
                self.next_page(io, inputs, rank);
            }
            let place = &mut self.places[rank];
            if place.at >= place.end {
                return DONE;
            }
            let key = place.view(&inputs.layout, inputs.pages.page(rank)).key(place.at as usize);
            if key >= self.floor {
                return key;
            }
            place.at += 1;
            self.lost = true;
        }
    }

    /// Reads pages of a run until one has an entry.
    #[cold]
    fn next_page<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>, rank: usize) {
        let pages = inputs.runs[rank - usize::from(inputs.buffer.is_some())].directory.len();
        while self.places[rank].at >= self.places[rank].end && (self.places[rank].next_page as usize) < pages {
            self.read_next(io, inputs, rank);
        }
    }

    fn read_next<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, inputs: &mut Inputs<'_>, rank: usize) {
        let of_run = rank - usize::from(inputs.buffer.is_some());
        let (place, page) = (&mut self.places[rank], inputs.pages.page_mut(rank));
        // The page before is in hand still.
        let behind = if place.next_page == 0 { 0 } else { RunPage::new(&inputs.layout, page).block_behind() };
        let next = place.next_page as usize;
        let read = read_page(io, (inputs.kind, inputs.layout), &inputs.runs[of_run], next, page);
        let view = RunPage::new(&inputs.layout, page);
        self.lost |= !read || view.header().damaged;
        self.pages_read += 1;
        if let Some(first_blocks) = &mut self.first_blocks {
            let first_blocks = &mut first_blocks[of_run];
            // A page that cannot be read has entries behind those of its neighbour.
            let before = first_blocks.last().copied().unwrap_or(0);
            first_blocks.push(if read { view.first_block() } else { behind.max(before) });
        }
        *place = Place { next_page: place.next_page + 1, at: 0, end: view.entries() as u32, is_dense: view.is_dense };
    }
}

/// Reads page `place` of a run into `page`, or makes it again. A page of which neither can be is empty, and the answer
/// false.
pub(crate) fn read_page<N: Nand>(
    io: &mut MetaIo<'_, N>,
    (kind, layout): (Kind, RunLayout),
    run: &Run,
    place: usize,
    page: &mut Vec<u8>,
) -> bool {
    read_in_place(io, kind, run, place, page) || run.make_again(io, (kind, layout), place, page)
}

/// The same, but the page is not made again. Otherwise `page` has the size of one.
pub(crate) fn read_in_place<N: Nand>(
    io: &mut MetaIo<'_, N>,
    kind: Kind,
    run: &Run,
    place: usize,
    page: &mut Vec<u8>,
) -> bool {
    let at = run.directory[place].page;
    if at != LOST_PAGE
        && let Some(bytes) = io.read(at, kind, run.key_at(place))
    {
        page.clear();
        page.extend_from_slice(bytes);
        return true;
    }
    page.resize(io.geometry().page_bytes() as usize, 0);
    false
}
