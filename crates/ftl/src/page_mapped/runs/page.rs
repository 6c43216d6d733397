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

const HEADER: usize = 48;
/// Flags of a page.
const LAST_PAGE: u8 = 1;
const DAMAGED: u8 = 2;
const BEHIND: u8 = 4;
const DENSE: u8 = 8;

/// Flag of an entry: everything older about its block is void, the erase flag of the paper.
pub(crate) const ERASED: u8 = 1;
/// Flag of an entry: since then its block holds nothing live, and was not written anew.
pub(crate) const FREE: u8 = 2;
/// Bits of a key: which part of which block, and two flags.
const KEY_BITS: u32 = 32;
const FLAGS_AT: u32 = 30;
const KEY_MASK: u32 = (1 << FLAGS_AT) - 1;
/// Bits of an entry's flags on a dense page, how many keys it has, and where flags begin.
const FLAG_BITS: u32 = 2;
const DENSE_KEYS: usize = HEADER + 4;
const DENSE_FLAGS: usize = DENSE_KEYS + 2;

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

    /// The bit of the page at which word `word` of an entry's part of the bitmap begins, and its length in bits.
    #[inline]
    fn place_of(&self, is_dense: bool, index: usize, word: usize) -> (usize, u32) {
        let (bits, from) = (self.part_bits, if is_dense { self.dense_bits_at } else { self.bits_at });
        (from * 8 + index * bits as usize + word * 32, (bits - word as u32 * 32).min(32))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
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
    let mut word = 0u64;
    for (n, byte) in bytes[at / 8..].iter().take(5).enumerate() {
        word |= u64::from(*byte) << (n * 8);
    }
    (word >> (at % 8)) as u32 & (((1u64 << count) - 1) as u32)
}

#[inline]
fn put_bits(bytes: &mut [u8], at: usize, count: u32, value: u32) {
    if at.is_multiple_of(8) && count == 32 {
        bytes[at / 8..at / 8 + 4].copy_from_slice(&value.to_le_bytes());
        return;
    }
    for bit in 0..count as usize {
        let (byte, mask) = ((at + bit) / 8, 1 << ((at + bit) % 8));
        bytes[byte] = if value >> bit & 1 == 1 { bytes[byte] | mask } else { bytes[byte] & !mask };
    }
}

/// A Gecko page, read.
#[derive(Clone, Copy)]
pub(crate) struct RunPage<'a> {
    layout: RunLayout,
    bytes: &'a [u8],
    entries: usize,
    is_dense: bool,
}

impl<'a> RunPage<'a> {
    /// The page in `bytes`; more entries than fit are none.
    #[inline]
    pub(crate) fn new(layout: RunLayout, bytes: &'a [u8]) -> Self {
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

/// A page of a run being filled.
#[derive(Clone, Preserve)]
pub(crate) struct RunPageBuilder {
    layout: RunLayout,
    pub(crate) bytes: alloc::vec::Vec<u8>,
    entries: usize,
    /// As many as there are entries; on a dense page, from its first key to its last one.
    keys: usize,
    is_dense: bool,
    /// Whether the keys ascend.
    ascends: bool,
}

impl RunPageBuilder {
    pub(crate) fn new(layout: RunLayout, page_bytes: usize) -> Self {
        Self { layout, bytes: alloc::vec![0; page_bytes], entries: 0, keys: 0, is_dense: false, ascends: true }
    }

    pub(crate) fn layout(&self) -> RunLayout {
        self.layout
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.fill(0);
        (self.entries, self.keys, self.is_dense, self.ascends) = (0, 0, false, true);
    }

    /// What is on the page so far.
    fn view(&self) -> RunPage<'_> {
        RunPage { layout: self.layout, bytes: &self.bytes, entries: self.keys, is_dense: self.is_dense }
    }

    pub(crate) fn last_key(&self) -> Option<u32> {
        self.keys.checked_sub(1).map(|last| self.view().key(last))
    }

    /// Whether the page has room for an entry with this key, and for what else its block may have: all entries of a block
    /// stand on one page.
    pub(crate) fn has_room_for(&self, key: u32) -> bool {
        let (parts, last) = (self.layout.parts, self.last_key());
        let begins_block = last.is_none_or(|last| last / parts != key / parts);
        let needed = if begins_block { parts as usize } else { 1 };
        if !self.is_dense && self.layout.entries - self.entries >= needed {
            return true;
        }
        let end = key - key % parts + (parts - 1);
        let spans = |last: u32| last < key && ((end - self.view().key(0)) as usize) < self.layout.dense;
        self.ascends && last.is_some_and(spans)
    }

    /// Adds an entry, for which there is room.
    #[inline]
    pub(crate) fn push(&mut self, key: u32, words: &[u32], flags: u8) {
        debug_assert!(key <= KEY_MASK, "a key reaches into its flags");
        debug_assert!(words.len() == self.layout.words, "an entry is not as long as a part");
        if self.is_dense || self.entries == self.layout.entries {
            return self.push_dense(key, words, flags);
        }
        // Those that are read from flash may be in any order, behind checksums that fit.
        self.ascends &= self.last_key().is_none_or(|last| last < key);
        let at = HEADER + self.entries * 4;
        self.bytes[at..at + 4].copy_from_slice(&(key | u32::from(flags) << FLAGS_AT).to_le_bytes());
        self.put(self.entries, words);
        (self.entries, self.keys) = (self.entries + 1, self.keys + 1);
    }

    #[inline(never)]
    fn push_dense(&mut self, key: u32, words: &[u32], flags: u8) {
        if !self.is_dense {
            self.become_dense();
        }
        let index = (key - self.view().key(0)) as usize;
        debug_assert!(index < self.layout.dense, "a page has more entries than fit");
        put_bits(&mut self.bytes, DENSE_FLAGS * 8 + index * FLAG_BITS as usize, FLAG_BITS, flags.into());
        self.put(index, words);
        (self.entries, self.keys) = (self.entries + 1, index + 1);
    }

    fn become_dense(&mut self) {
        let (layout, listed) = (self.layout, self.bytes.clone());
        let listed = RunPage { layout, bytes: &listed, entries: self.entries, is_dense: false };
        self.clear();
        self.is_dense = true;
        self.bytes[HEADER..HEADER + 4].copy_from_slice(&listed.key(0).to_le_bytes());
        let mut part = alloc::vec![0; layout.words];
        for index in 0..listed.entries {
            part.iter_mut().enumerate().for_each(|(word, to)| *to = listed.word(index, word));
            self.push_dense(listed.key(index), &part, listed.flags(index));
        }
    }

    fn put(&mut self, index: usize, words: &[u32]) {
        for (word, value) in words.iter().enumerate() {
            let (at, count) = self.layout.place_of(self.is_dense, index, word);
            put_bits(&mut self.bytes, at, count, *value);
        }
    }

    /// Writes the header; the page is ready to be programmed.
    pub(crate) fn seal(&mut self, header: &RunHeader, place: u32, last: bool) {
        self.bytes[0..2].copy_from_slice(&(self.entries as u16).to_le_bytes());
        self.bytes[2] = header.level;
        self.bytes[3] =
            (u8::from(last) * LAST_PAGE) | (u8::from(header.damaged) * DAMAGED) | (u8::from(header.behind) * BEHIND);
        if self.is_dense {
            self.bytes[3] |= DENSE;
            self.bytes[DENSE_KEYS..DENSE_FLAGS].copy_from_slice(&(self.keys as u16).to_le_bytes());
        }
        self.bytes[4..8].copy_from_slice(&place.to_le_bytes());
        self.bytes[8..16].copy_from_slice(&header.flushes.0.to_le_bytes());
        self.bytes[16..24].copy_from_slice(&header.flushes.1.to_le_bytes());
        self.bytes[24..32].copy_from_slice(&header.frozen.to_le_bytes());
        self.bytes[32..40].copy_from_slice(&header.marks[0].to_le_bytes());
        self.bytes[40..48].copy_from_slice(&header.marks[1].to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_papers_page_holds_five_hundred_entries() {
        // The paper's 504, less the header, and more because flags stand in the keys.
        let geometry = Geometry::new(4096, 128, 1024, 1, 1).unwrap();
        assert_eq!(listed(&geometry, 4).entries, 506);
        assert_eq!(listed(&geometry, 1).entries, 202);
        let large = Geometry::new(4096, 1024, 128, 1, 1).unwrap();
        assert_eq!(listed(&large, 32).entries, 506);
    }

    fn listed(geometry: &Geometry, parts: u32) -> RunLayout {
        RunLayout::new(geometry, parts, GeckoPages::Listed).unwrap()
    }

    #[test]
    fn a_dense_page_holds_nearly_twice_as_many() {
        let geometry = Geometry::new(4096, 128, 1024, 1, 1).unwrap();
        let layout = RunLayout::new(&geometry, 4, GeckoPages::Dense).unwrap();
        assert_eq!((layout.entries, layout.dense), (506, 950));
    }

    /// Entries that are read from flash may be in any order, behind checksums that fit.
    #[test]
    fn keys_in_no_order_are_on_no_dense_page() {
        let geometry = Geometry::new(4096, 128, 1024, 1, 1).unwrap();
        let layout = RunLayout::new(&geometry, 4, GeckoPages::Dense).unwrap();
        for first in [[10, 2_000_000, 11], [10, 5, 11], [10, 11, 11], [10, 11, 12]] {
            let mut builder = RunPageBuilder::new(layout, 4096);
            for key in first.into_iter().chain(13..).take(layout.entries) {
                builder.push(key, &[1], 0);
            }
            let next = builder.last_key().unwrap() + 1;
            let ascends = first == [10, 11, 12];
            assert_eq!(builder.has_room_for(next), ascends, "{first:?}");
            if ascends {
                builder.push(next, &[1], 0);
                assert_eq!([next - 1, next, 3].map(|key| builder.has_room_for(key)), [false; 3]);
                assert!(builder.has_room_for(next + 1) && builder.is_dense);
            }
        }
    }

    proptest! {
        /// Keys are `gap` apart at the most, so with 1 none is missing. A page that was full of a list becomes dense.
        #[test]
        fn what_is_pushed_is_read_back(
            page_bytes in prop::sample::select(alloc::vec![4096u32, 512, 65_536]),
            pages_per_block in 4u32..1025,
            parts in 1u32..257,
            pages in prop::sample::select(alloc::vec![GeckoPages::Listed, GeckoPages::Dense]),
            gap in 1u32..4,
            seed in any::<u64>(),
        ) {
            let parts = parts.min(pages_per_block);
            let geometry = Geometry::new(page_bytes, pages_per_block, 64, 1, 1).unwrap();
            let Some(layout) = RunLayout::new(&geometry, parts, pages) else { return Ok(()) };
            let mut builder = RunPageBuilder::new(layout, page_bytes as usize);
            let mut state = seed | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u32
            };
            let last_bits = layout.part_bits - (layout.words as u32 - 1) * 32;
            let mask = if last_bits == 32 { u32::MAX } else { (1 << last_bits) - 1 };
            let mut expected = Vec::new();
            let mut key = next() % (1 << 20);
            while builder.has_room_for(key) {
                let mut words: Vec<u32> = (0..layout.words).map(|_| next()).collect();
                *words.last_mut().unwrap() &= mask;
                let entry = (key, words, (next() % 4) as u8);
                builder.push(entry.0, &entry.1, entry.2);
                prop_assert_eq!(builder.last_key(), Some(key));
                expected.push(entry);
                key += 1 + next() % gap;
            }
            // All entries of a block stand on one page: the last block is whole, unless it has one more part.
            prop_assert!(expected.len() + parts as usize > layout.entries);
            let damaged = seed % 2 == 1;
            let behind = seed % 3 == 1;
            let header = RunHeader { level: 3, flushes: (1, 2), frozen: 9, marks: [1 << 40, 7], damaged, behind };
            builder.seal(&header, 7, true);
            let page = RunPage::new(layout, &builder.bytes);
            prop_assert_eq!(page.header(), header);
            if pages == GeckoPages::Dense && gap == 1 {
                prop_assert!(page.is_dense && page.entries() + parts as usize > layout.dense);
            }
            for (key, words, flags) in &expected {
                let index = page.lower_bound(*key);
                prop_assert_eq!(page.key(index), *key);
                prop_assert_eq!(page.flags(index), *flags);
                for (n, word) in words.iter().enumerate() {
                    prop_assert_eq!(page.word(index, n), *word);
                }
            }
            let is_one = |index: &usize| expected.binary_search_by_key(&page.key(*index), |entry| entry.0).is_ok();
            let (ours, others): (Vec<usize>, Vec<usize>) = (0..page.entries()).partition(is_one);
            prop_assert_eq!(ours.len(), expected.len());
            let is_empty = |at: usize| page.flags(at) == 0 && (0..layout.words).all(|n| page.word(at, n) == 0);
            prop_assert!(others.is_empty() || page.is_dense && others.into_iter().all(is_empty));
            // The next page begins as a list.
            builder.clear();
            builder.push(5, &vec![1; layout.words], 0);
            builder.seal(&header, 8, false);
            prop_assert!(!RunPage::new(layout, &builder.bytes).is_dense && builder.last_key() == Some(5));
        }
    }
}
