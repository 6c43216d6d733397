//! A page of a run on flash: entries sorted by key, as columns (GeckoFTL sections 3 and 3.3, figures 3 and 6).
//!
//! Little-endian. First comes a header of 48 bytes:
//!
//! | bytes | what |
//! | --- | --- |
//! | 2 | entries on the page (u16) |
//! | 1 | the run's level (u8) |
//! | 1 | flags (u8): 1 on a run's last page, 2 where pages of runs could not be read so far, 4 on a run that was begun behind others, 8 on a dense page |
//! | 4 | the page's place in the run (u32) |
//! | 8 + 8 | the first and the last flush that the run covers (u64 each) |
//! | 8 | when the last flush froze the buffer, in program order (u64) |
//! | 8 + 8 | two marks of whoever keeps the runs (u64 each) |
//!
//! Then come V keys of four bytes, each with the entry's flags in its two highest bits. Behind them are V parts of a
//! block's bitmap, packed bit by bit.
//!
//! A *dense* page (`gecko.pages=dense`) has the first key alone, four bytes, then two with the number of keys from there
//! to its last one. Each has two bits of flags, and behind all of these its part of a bitmap. Keys without an entry have
//! an empty one. The paper has no such pages. A page becomes dense when a list is full, and takes nearly twice as many
//! entries where hardly a key is missing, as in the largest run.

use crate::gecko_part::GeckoPages;
use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

pub(super) const HEADER: usize = 48;
/// Flags of a page.
pub(super) const LAST_PAGE: u8 = 1;
pub(super) const DAMAGED: u8 = 2;
pub(super) const BEHIND: u8 = 4;
pub(super) const DENSE: u8 = 8;

/// Flag of an entry: everything older about its block is void, the erase flag of the paper.
pub(crate) const ERASED: u8 = 1;
/// Flag of an entry: since then its block holds nothing live, and was not written anew.
pub(crate) const FREE: u8 = 2;
/// Bits of a key: which part of which block, and two flags.
const KEY_BITS: u32 = 32;
pub(super) const FLAGS_AT: u32 = 30;
pub(super) const KEY_MASK: u32 = (1 << FLAGS_AT) - 1;
/// Bits of an entry's flags on a dense page, how many keys it has, and where flags begin.
pub(super) const FLAG_BITS: u32 = 2;
pub(super) const DENSE_KEYS: usize = HEADER + 4;
pub(super) const DENSE_FLAGS: usize = DENSE_KEYS + 2;

/// How entries are laid out on a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) struct RunLayout {
    /// S, the parts of a block's bitmap: each is an entry of its own.
    pub(crate) parts: u32,
    /// Bits of a part.
    pub(crate) part_bits: u32,
    /// The same in words of a bitmap in RAM.
    pub(crate) words: usize,
    /// V, the entries of a page with a list of keys, and of the buffer.
    pub(crate) entries: usize,
    bits_at: usize,
    /// The entries of a dense page; none where there are no such pages.
    pub(crate) dense: usize,
    dense_bits_at: usize,
}

/// A page's statement of its run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Preserve)]
pub(crate) struct RunHeader {
    pub(crate) level: u8,
    /// The flushes that the run covers, the first and the last.
    pub(crate) flushes: (u64, u64),
    /// Program order when the last of them froze the buffer.
    pub(crate) frozen: u64,
    /// What whoever keeps the runs says of it.
    pub(crate) marks: [u64; 2],
    /// Some page of a run could not be read when it was written, or before: stale pages may be taken for live, from
    /// then on for good.
    pub(crate) damaged: bool,
    /// There were runs of newer flushes when its merge began. Of all others, the one with the highest version has the
    /// newest flush.
    pub(crate) behind: bool,
}

impl RunLayout {
    /// The highest key that an entry can have.
    pub(crate) const KEYS_MAX: u32 = KEY_MASK;

    /// The layout for blocks whose bitmap is cut into `parts`; none where a page does not hold the
    /// entries of two blocks: all entries of a block stand on one page, so that a query reads one page a run.
    pub(crate) fn new(geometry: &Geometry, parts: u32, pages: GeckoPages) -> Option<Self> {
        let part_bits = geometry.pages_per_block().div_ceil(parts);
        let room = geometry.page_bytes() as usize - HEADER;
        let entries = room * 8 / (KEY_BITS + part_bits) as usize;
        let bits_at = HEADER + entries * 4;
        let keys = u64::from(geometry.blocks()) * u64::from(parts);
        let words = part_bits.div_ceil(32) as usize;
        let dense = match pages {
            GeckoPages::Listed => 0,
            GeckoPages::Dense => {
                let bits = (geometry.page_bytes() as usize - DENSE_FLAGS - 1) * 8;
                (bits / (FLAG_BITS + part_bits) as usize).min(u16::MAX.into())
            }
        };
        (entries >= 2 * parts as usize && keys <= u64::from(KEY_MASK)).then_some(Self {
            parts,
            part_bits,
            words,
            entries,
            bits_at,
            dense,
            dense_bits_at: DENSE_FLAGS + (dense * FLAG_BITS as usize).div_ceil(8),
        })
    }

    /// The layout of entries that are a key and a word of 32 bits.
    pub(crate) fn of_words(geometry: &Geometry) -> Self {
        let entries = (geometry.page_bytes() as usize - HEADER) / 8;
        let bits_at = HEADER + entries * 4;
        Self { parts: 1, part_bits: 32, words: 1, entries, bits_at, dense: 0, dense_bits_at: 0 }
    }

    /// V.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The entries that a page has at the most.
    pub(crate) fn entries_max(&self) -> usize {
        self.entries.max(self.dense)
    }

    /// The byte of the page at which an entry's part of the bitmap begins, where it is whole words.
    #[inline]
    pub(super) fn whole_words(&self, is_dense: bool, index: usize) -> Option<usize> {
        let from = if is_dense { self.dense_bits_at } else { self.bits_at };
        self.part_bits.is_multiple_of(32).then(|| from + index * self.part_bits as usize / 8)
    }

    /// The bit of the page at which word `word` of an entry's part of the bitmap begins, and its length in bits.
    #[inline]
    pub(super) fn place_of(&self, is_dense: bool, index: usize, word: usize) -> (usize, u32) {
        let (bits, from) = (self.part_bits, if is_dense { self.dense_bits_at } else { self.bits_at });
        (from * 8 + index * bits as usize + word * 32, (bits - word as u32 * 32).min(32))
    }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Up to 32 bits from bit `at` on.
#[inline]
fn bits_at(bytes: &[u8], at: usize, count: u32) -> u32 {
    if at.is_multiple_of(8) && count == 32 {
        return u32_at(bytes, at / 8);
    }
    let mut eight = [0; 8];
    let rest = &bytes[at / 8..];
    match rest.first_chunk() {
        Some(whole) => eight = *whole,
        None => eight[..rest.len()].copy_from_slice(rest),
    }
    let word = u64::from_le_bytes(eight);
    (word >> (at % 8)) as u32 & (((1u64 << count) - 1) as u32)
}

/// A Gecko page, read.
#[derive(Clone, Copy)]
pub(crate) struct RunPage<'a> {
    pub(super) layout: &'a RunLayout,
    pub(super) bytes: &'a [u8],
    pub(super) entries: usize,
    pub(super) is_dense: bool,
}

impl<'a> RunPage<'a> {
    /// The page in `bytes`; more entries than fit are none.
    #[inline]
    pub(crate) fn new(layout: &'a RunLayout, bytes: &'a [u8]) -> Self {
        let is_dense = bytes[3] & DENSE != 0;
        let (at, most) = if is_dense { (DENSE_KEYS, layout.dense) } else { (0, layout.entries) };
        let entries = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])).min(most);
        Self { layout, bytes, entries, is_dense }
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    #[inline]
    pub(crate) fn key(&self, index: usize) -> u32 {
        match self.is_dense {
            false => u32_at(self.bytes, HEADER + index * 4) & KEY_MASK,
            // Behind a checksum that fits the first key may be any.
            true => u32_at(self.bytes, HEADER).wrapping_add(index as u32) & KEY_MASK,
        }
    }

    /// Word `word` of the entry's part of the bitmap.
    #[inline]
    pub(crate) fn word(&self, index: usize, word: usize) -> u32 {
        let (at, count) = self.layout.place_of(self.is_dense, index, word);
        bits_at(self.bytes, at, count)
    }

    /// Adds the entry's part of the bitmap to `words`.
    #[inline]
    pub(crate) fn add_to(&self, index: usize, words: &mut [u32]) {
        if let Some(from) = self.layout.whole_words(self.is_dense, index).filter(|_| words.len() > 1) {
            let (in_page, _) = self.bytes[from..][..words.len() * 4].as_chunks();
            words.iter_mut().zip(in_page).for_each(|(word, bytes)| *word |= u32::from_le_bytes(*bytes));
            return;
        }
        words.iter_mut().enumerate().for_each(|(n, word)| *word |= self.word(index, n));
    }

    /// [`ERASED`] and [`FREE`].
    #[inline]
    pub(crate) fn flags(&self, index: usize) -> u8 {
        match self.is_dense {
            false => (u32_at(self.bytes, HEADER + index * 4) >> FLAGS_AT) as u8,
            true => bits_at(self.bytes, DENSE_FLAGS * 8 + index * FLAG_BITS as usize, FLAG_BITS) as u8,
        }
    }

    /// The page's statement of its run.
    pub(crate) fn header(&self) -> RunHeader {
        RunHeader {
            level: self.bytes[2],
            flushes: (u64_at(self.bytes, 8), u64_at(self.bytes, 16)),
            frozen: u64_at(self.bytes, 24),
            marks: [u64_at(self.bytes, 32), u64_at(self.bytes, 40)],
            damaged: self.bytes[3] & DAMAGED != 0,
            behind: self.bytes[3] & BEHIND != 0,
        }
    }

    /// The page's place in its run.
    pub(crate) fn place(&self) -> u32 {
        u32_at(self.bytes, 4)
    }

    /// The first block that the page has an entry of; behind all blocks where it has none, which a run's last page may
    /// be.
    pub(crate) fn first_block(&self) -> u32 {
        if self.entries > 0 { self.key(0) / self.layout.parts } else { u32::MAX }
    }

    /// The first block behind those that the page has entries of; 0 where it has none.
    pub(crate) fn block_behind(&self) -> u32 {
        if self.entries > 0 { self.key(self.entries - 1) / self.layout.parts + 1 } else { 0 }
    }

    /// The first entry whose key is not below `key`.
    pub(crate) fn lower_bound(&self, key: u32) -> usize {
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
