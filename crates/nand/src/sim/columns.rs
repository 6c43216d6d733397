//! Spare areas of a whole drive as columns: nine to fifteen bytes a page instead of thirty-two.
//!
//! | field | stored |
//! | --- | --- |
//! | key | four bytes a page |
//! | version | four bytes a page, against a base per block |
//! | | a fifth byte a page once some block's versions were further apart |
//! | stream | once a block |
//! | kind | once a block; a byte a page in blocks that have several |
//! | program order | nothing where a block's pages were programmed one after the other |
//! | | a byte a page once some block's were not: the gap to the page before |
//! | | four bytes a page in blocks that stayed open for long |
//! | the FTL's own word | once a block where only its first page has one; otherwise four bytes a page of the drive |
//! | passed over by an ascending program | a bit a page |
//!
//! A page that does not fit these columns is *odd* and held whole, elsewhere; so are all that follow it in its block.

use crate::state::Preserve;
use crate::{Block, Geometry, Kind, Page, Spare};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

/// Some pages of the block are held as odd pages.
pub(crate) const ODD: u8 = 1;
/// Not every page of the block was programmed next after the one before it.
const GAPS: u8 = 2;
/// Some gap did not fit a byte: the block's order is held in `wide`.
const WIDE: u8 = 4;
/// The block is bad.
pub(crate) const BAD: u8 = 8;
/// An erase was torn: the block must be erased again before it can be programmed.
pub(crate) const DIRTY: u8 = 16;
/// The next program fails: the block has grown bad.
pub(crate) const FAILS_PROGRAM: u8 = 32;
/// The next erase fails: the block has grown bad.
pub(crate) const FAILS_ERASE: u8 = 64;
/// Some page behind the first has `aux`.
const AUX: u8 = 128;

/// Not all pages are of the first one's kind: `kinds` says of which each is.
const KINDS: u8 = 1;
/// Not all versions fit four bytes: `version_high` has the rest of each.
const VERSION_HIGH: u8 = 2;

#[derive(Clone, Debug, Preserve)]
pub(crate) struct BlockState {
    seq_base: u64,
    /// The version base in units of 2^16 pages.
    version_base: u32,
    last_seq_offset: u32,
    pub(crate) erases: u32,
    /// `aux` of the block's first page.
    aux: u32,
    /// The next page that can be programmed.
    pub(crate) next: u16,
    kind: u8,
    stream: u8,
    pub(crate) flags: u8,
    /// Some pages were passed over: `left_out` says which.
    pub(crate) has_left_out: bool,
    /// What of a page stands beside the columns that all have: [`KINDS`] and [`VERSION_HIGH`].
    beside: u8,
}

#[derive(Clone, Debug, Preserve)]
pub(crate) struct Columns {
    key: Vec<u32>,
    version: Vec<u32>,
    /// What of a version lies above its four bytes, either way; empty until it is needed.
    version_high: Vec<i8>,
    /// Gap in program order to the page before; empty until it is needed.
    gap: Vec<u8>,
    wide: BTreeMap<u32, Box<[u32]>>,
    /// Kinds of the pages of blocks that have several.
    kinds: BTreeMap<u32, Box<[u8]>>,
    /// `aux` of pages behind the first of a block; empty until it is needed.
    aux: Vec<u32>,
    /// A bit for each page that was passed over; empty until it is needed.
    left_out: Vec<u64>,
    /// Of a few blocks, the page whose gaps were summed up last, and their sum: reads from front to back add each gap
    /// once.
    summed: [Cell<(u32, u32)>; SUMS],
    pub(crate) blocks: Vec<BlockState>,
}

const NOTHING_SUMMED: (u32, u32) = (u32::MAX, 0);
/// A power of two.
const SUMS: usize = 16;

#[inline]
fn kind_of(byte: u8) -> Kind {
    // Only kinds were put into the columns.
    Kind::from_byte(byte).unwrap_or(Kind::User)
}

impl Columns {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let fresh = BlockState {
            seq_base: 0,
            version_base: 0,
            last_seq_offset: 0,
            erases: 0,
            aux: 0,
            next: 0,
            kind: 0,
            stream: 0,
            flags: 0,
            has_left_out: false,
            beside: 0,
        };
        Self {
            key: vec![0; geometry.page_numbers()],
            version: vec![0; geometry.page_numbers()],
            version_high: Vec::new(),
            gap: Vec::new(),
            wide: BTreeMap::new(),
            kinds: BTreeMap::new(),
            aux: Vec::new(),
            left_out: Vec::new(),
            summed: [const { Cell::new(NOTHING_SUMMED) }; SUMS],
            blocks: vec![fresh; geometry.blocks() as usize],
        }
    }

    /// Reads what makes up a page's spare area, so that it is at hand.
    #[inline]
    pub(crate) fn touch(&self, geometry: &Geometry, page: Page) -> u32 {
        let state = &self.blocks[geometry.block_of(page).index()];
        let gap = self.gap.get(page.index()).copied().unwrap_or(0);
        u32::from(state.kind ^ gap) ^ self.key[page.index()] ^ self.version[page.index()]
    }

    /// The spare area of a page that is programmed and not odd; `data_crc` is the caller's.
    #[inline]
    pub(crate) fn spare(&self, geometry: &Geometry, page: Page, data_crc: u32) -> Spare {
        let block = geometry.block_of(page);
        let index = geometry.index_of(page);
        let state = &self.blocks[block.index()];
        let seq = if state.flags & (GAPS | WIDE) == 0 {
            state.seq_base + u64::from(index)
        } else {
            self.seq_with_gaps(page, block, index)
        };
        let (kind, high) = if state.beside == 0 { (state.kind, 0) } else { self.beside(page, block, index) };
        let version = (u64::from(state.version_base) << 16) + u64::from(self.version[page.index()]);
        Spare {
            kind: kind_of(kind),
            stream: state.stream,
            key: self.key[page.index()],
            version: version.wrapping_add_signed(i64::from(high) << 32),
            seq,
            data_crc,
            aux: match index {
                0 => state.aux,
                _ if state.flags & AUX != 0 => self.aux[page.index()],
                _ => 0,
            },
        }
    }

    /// The kind of a page, and what of its version lies above four bytes, where not all of its block are alike in both.
    #[inline(never)]
    fn beside(&self, page: Page, block: Block, index: u32) -> (u8, i8) {
        let state = &self.blocks[block.index()];
        let kinds = if state.beside & KINDS != 0 { self.kinds.get(&block.0) } else { None };
        let kind = kinds.map_or(state.kind, |kinds| kinds[index as usize]);
        (kind, if state.beside & VERSION_HIGH != 0 { self.version_high[page.index()] } else { 0 })
    }

    #[inline(never)]
    fn seq_with_gaps(&self, page: Page, block: Block, index: u32) -> u64 {
        let state = &self.blocks[block.index()];
        if state.flags & WIDE != 0 {
            return state.seq_base + self.wide.get(&block.0).map_or(0, |w| u64::from(w[index as usize]));
        }
        let (before, sum) = self.summed[block.index() % SUMS].get();
        let (first, page_index) = (page.index() - index as usize, page.index());
        // A sum of the block's own, of pages up to this one, is gone on from.
        let (sum, from) =
            if (first..=page_index).contains(&(before as usize)) { (sum, before as usize + 1) } else { (0, first) };
        let offset = sum + self.gap[from..=page_index].iter().map(|g| u32::from(*g)).sum::<u32>();
        self.summed[block.index() % SUMS].set((page.0, offset));
        state.seq_base + u64::from(offset)
    }

    /// Writes a spare area into the columns; false where it does not fit and the page must be held as odd.
    #[inline]
    pub(crate) fn store(&mut self, geometry: &Geometry, page: Page, spare: &Spare) -> bool {
        let block = geometry.block_of(page);
        let index = geometry.index_of(page);
        let state = &mut self.blocks[block.index()];
        if state.next == 0 {
            // The first program since the erase makes the bases.
            if spare.seq < u64::from(index) {
                return false;
            }
            state.seq_base = spare.seq - u64::from(index);
            state.last_seq_offset = index;
            state.version_base = ((spare.version >> 16) as u32).saturating_sub(1 << 15);
            state.kind = spare.kind as u8;
            state.stream = spare.stream;
            state.aux = if index == 0 { spare.aux } else { 0 };
        } else {
            if state.stream != spare.stream {
                return false;
            }
            let Some(offset) = spare.seq.checked_sub(state.seq_base).and_then(|o| u32::try_from(o).ok()) else {
                return false;
            };
            if offset <= state.last_seq_offset {
                return false;
            }
            if offset != index || state.flags & (GAPS | WIDE) != 0 {
                self.store_gap(geometry, page, block, index, offset);
            }
            self.blocks[block.index()].last_seq_offset = offset;
        }
        let base = u64::from(self.blocks[block.index()].version_base) << 16;
        // Versions may lie below the base as well as above.
        let delta = spare.version.wrapping_sub(base).cast_signed();
        let Ok(high) = i8::try_from(delta >> 32) else { return false };
        let state = &self.blocks[block.index()];
        if high != 0 || state.kind != spare.kind as u8 || state.beside != 0 {
            self.store_beside(geometry, page, spare.kind, high);
        }
        self.key[page.index()] = spare.key;
        self.version[page.index()] = delta as u32;
        if index > 0 && (spare.aux != 0 || self.blocks[block.index()].flags & AUX != 0) {
            self.store_aux(geometry, page, block, index, spare.aux);
        }
        true
    }

    /// The page is passed over: it stays blank until its block is erased.
    #[inline(never)]
    pub(crate) fn leave_out(&mut self, geometry: &Geometry, page: Page) {
        if self.left_out.is_empty() {
            self.left_out = vec![0; geometry.page_numbers().div_ceil(64)];
        }
        let block = geometry.block_of(page);
        if !self.blocks[block.index()].has_left_out {
            self.blocks[block.index()].has_left_out = true;
            let first = page.index() - geometry.index_of(page) as usize;
            for page in first..first + geometry.pages_per_block() as usize {
                self.left_out[page / 64] &= !(1 << (page % 64));
            }
        }
        self.left_out[page.index() / 64] |= 1 << (page.index() % 64);
    }

    /// Whether the page of this block was passed over.
    #[inline]
    pub(crate) fn is_left_out(&self, block: Block, page: Page) -> bool {
        self.blocks[block.index()].has_left_out && self.left_out[page.index() / 64] >> (page.index() % 64) & 1 == 1
    }

    #[inline(never)]
    fn store_beside(&mut self, geometry: &Geometry, page: Page, kind: Kind, high: i8) {
        let block = geometry.block_of(page);
        let index = geometry.index_of(page) as usize;
        let state = &mut self.blocks[block.index()];
        // Pages of the first one's kind stand there from the start.
        if state.kind != kind as u8 {
            state.beside |= KINDS;
            let all = || vec![state.kind; geometry.pages_per_block() as usize].into_boxed_slice();
            self.kinds.entry(block.0).or_insert_with(all)[index] = kind as u8;
        }
        if high != 0 || state.beside & VERSION_HIGH != 0 {
            if self.version_high.is_empty() {
                self.version_high = vec![0; geometry.page_numbers()];
            }
            if state.beside & VERSION_HIGH == 0 {
                state.beside |= VERSION_HIGH;
                self.version_high[page.index() - index..page.index()].fill(0);
            }
            self.version_high[page.index()] = high;
        }
    }

    #[inline(never)]
    fn store_aux(&mut self, geometry: &Geometry, page: Page, block: Block, index: u32, aux: u32) {
        if self.aux.is_empty() {
            self.aux = vec![0; geometry.page_numbers()];
        }
        let state = &mut self.blocks[block.index()];
        if state.flags & AUX == 0 {
            state.flags |= AUX;
            let first = page.index() - index as usize;
            self.aux[first..page.index()].fill(0);
        }
        self.aux[page.index()] = aux;
    }

    #[inline(never)]
    fn store_gap(&mut self, geometry: &Geometry, page: Page, block: Block, index: u32, offset: u32) {
        self.summed[block.index() % SUMS].set(NOTHING_SUMMED);
        let state = &mut self.blocks[block.index()];
        let first = page.index() - index as usize;
        let gap = offset - state.last_seq_offset;
        let next = usize::from(state.next);
        if state.flags & (GAPS | WIDE) == 0 {
            state.flags |= GAPS;
            if self.gap.is_empty() {
                self.gap = vec![0; geometry.page_numbers()];
            }
            self.gap[first] = 0;
            self.gap[first + 1..first + index as usize].fill(1);
        }
        if state.flags & WIDE == 0 {
            // Those passed over have no place in the order.
            self.gap[first + next..first + index as usize].fill(0);
            if let Ok(gap) = u8::try_from(gap) {
                self.gap[first + index as usize] = gap;
                return;
            }
            state.flags |= WIDE;
            let mut sum = 0;
            let mut wide = vec![0u32; geometry.pages_per_block() as usize].into_boxed_slice();
            for (w, g) in wide.iter_mut().zip(&self.gap[first..first + index as usize]) {
                sum += u32::from(*g);
                *w = sum;
            }
            self.wide.insert(block.0, wide);
        }
        if let Some(wide) = self.wide.get_mut(&block.0) {
            wide[index as usize] = offset;
        }
    }

    /// The block is blank again.
    #[inline]
    pub(crate) fn erase(&mut self, block: Block) {
        let state = &mut self.blocks[block.index()];
        if state.flags & WIDE != 0 {
            self.wide.remove(&block.0);
        }
        if state.beside & KINDS != 0 {
            self.kinds.remove(&block.0);
        }
        state.flags &= BAD | FAILS_PROGRAM | FAILS_ERASE;
        (state.has_left_out, state.beside) = (false, 0);
        state.next = 0;
        state.erases += 1;
    }

    /// Host memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let wide: usize = self.wide.values().map(|w| w.len() * 4 + 64).sum();
        let kinds: usize = self.kinds.values().map(|kinds| kinds.len() + 64).sum();
        (self.key.capacity() * 4
            + self.version.capacity() * 4
            + self.version_high.capacity()
            + self.gap.capacity()
            + self.aux.capacity() * 4
            + self.left_out.capacity() * 8
            + wide
            + kinds
            + self.blocks.capacity() * size_of::<BlockState>()) as u64
    }
}
