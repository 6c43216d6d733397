//! A page of a run being filled (`page.rs` has the bytes). It is a list of keys, until that is full and nearly every
//! key is there.

use super::page::{
    BEHIND, DAMAGED, DENSE, DENSE_FLAGS, DENSE_KEYS, FLAG_BITS, FLAGS_AT, HEADER, KEY_MASK, LAST_PAGE, RunHeader,
    RunLayout, RunPage,
};
use phelsuma_nand::state::Preserve;

#[inline]
fn put_bits(bytes: &mut [u8], at: usize, count: u32, value: u32) {
    if at.is_multiple_of(8) && count == 32 {
        bytes[at / 8..at / 8 + 4].copy_from_slice(&value.to_le_bytes());
        return;
    }
    // No more than 32 bits, from within a byte on: they are in eight bytes.
    let (mask, shift) = ((1u64 << count) - 1, at % 8);
    let place = &mut bytes[at / 8..][..(shift + count as usize).div_ceil(8)];
    let mut eight = [0; 8];
    eight[..place.len()].copy_from_slice(place);
    let word = u64::from_le_bytes(eight) & !(mask << shift) | (u64::from(value) & mask) << shift;
    place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
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
    /// The key that was added last, if any was. They ascend.
    last: u32,
    /// What was listed, while a page becomes dense; no bytes where none does.
    listed: alloc::vec::Vec<u8>,
}

impl RunPageBuilder {
    pub(crate) fn new(layout: RunLayout, page_bytes: usize) -> Self {
        let listed = alloc::vec![0; if layout.dense > 0 { page_bytes } else { 0 }];
        Self { layout, bytes: alloc::vec![0; page_bytes], entries: 0, keys: 0, is_dense: false, last: 0, listed }
    }

    pub(crate) fn layout(&self) -> RunLayout {
        self.layout
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.fill(0);
        (self.entries, self.keys, self.is_dense) = (0, 0, false);
    }

    /// What is on the page so far.
    fn view(&self) -> RunPage<'_> {
        RunPage { layout: &self.layout, bytes: &self.bytes, entries: self.keys, is_dense: self.is_dense }
    }

    #[inline]
    pub(crate) fn last_key(&self) -> Option<u32> {
        (self.keys > 0).then_some(self.last)
    }

    /// Whether the page has room for an entry with this key, which is above all others, and for what else its block may have: all entries of a block
    /// stand on one page.
    #[inline]
    pub(crate) fn has_room_for(&self, key: u32) -> bool {
        let parts = self.layout.parts;
        if !self.is_dense && self.layout.entries - self.entries >= parts as usize {
            return true;
        }
        let last = self.last_key();
        let begins_block = last.is_none_or(|last| last / parts != key / parts);
        let needed = if begins_block { parts as usize } else { 1 };
        if !self.is_dense && self.layout.entries - self.entries >= needed {
            return true;
        }
        let end = key - key % parts + (parts - 1);
        last.is_some() && ((end - self.view().key(0)) as usize) < self.layout.dense
    }

    /// Adds an entry, for which there is room.
    #[inline]
    pub(crate) fn push(&mut self, key: u32, words: &[u32], flags: u8) {
        debug_assert!(key <= KEY_MASK, "a key reaches into its flags");
        debug_assert!(words.len() == self.layout.words, "an entry is not as long as a part");
        debug_assert!(self.last_key().is_none_or(|last| last < key), "the keys of a page do not ascend");
        self.last = key;
        if self.is_dense || self.entries == self.layout.entries {
            return self.push_dense(key, words, flags);
        }
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
        self.put_flags(index, flags);
        self.put(index, words);
        (self.entries, self.keys) = (self.entries + 1, index + 1);
    }

    /// Turns the list, whose keys ascend, into a dense page.
    fn become_dense(&mut self) {
        core::mem::swap(&mut self.bytes, &mut self.listed);
        self.bytes.fill(0);
        self.is_dense = true;
        let listed = core::mem::take(&mut self.listed);
        let (layout, entries) = (self.layout, self.entries);
        let list = RunPage { layout: &layout, bytes: &listed, entries, is_dense: false };
        self.bytes[HEADER..HEADER + 4].copy_from_slice(&list.key(0).to_le_bytes());
        for at in 0..entries {
            let index = (list.key(at) - list.key(0)) as usize;
            self.put_flags(index, list.flags(at));
            for n in 0..layout.words {
                self.put_word(index, n, list.word(at, n));
            }
            self.keys = index + 1;
        }
        self.listed = listed;
    }

    fn put_flags(&mut self, index: usize, flags: u8) {
        put_bits(&mut self.bytes, DENSE_FLAGS * 8 + index * FLAG_BITS as usize, FLAG_BITS, flags.into());
    }

    fn put(&mut self, index: usize, words: &[u32]) {
        if let Some(from) = self.layout.whole_words(self.is_dense, index) {
            let (on_page, _) = self.bytes[from..][..words.len() * 4].as_chunks_mut();
            on_page.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
            return;
        }
        words.iter().enumerate().for_each(|(n, word)| self.put_word(index, n, *word));
    }

    fn put_word(&mut self, index: usize, n: usize, word: u32) {
        let (at, count) = self.layout.place_of(self.is_dense, index, n);
        put_bits(&mut self.bytes, at, count, word);
    }

    /// Bytes of RAM.
    pub(super) fn ram(&self) -> u64 {
        (self.bytes.capacity() + self.listed.capacity()) as u64
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
    use crate::gecko_part::GeckoPages;
    use phelsuma_nand::Geometry;
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
            let page = RunPage::new(&layout, &builder.bytes);
            prop_assert_eq!(page.header(), header);
            if pages == GeckoPages::Dense && gap == 1 {
                // Where a dense page holds hardly more than a list, the next block may fit on neither.
                prop_assert!(page.entries() + parts as usize > layout.dense);
                prop_assert_eq!(page.is_dense, page.entries() > layout.entries);
            }
            for (key, words, flags) in &expected {
                let index = page.lower_bound(*key);
                prop_assert_eq!(page.key(index), *key);
                prop_assert_eq!(page.flags(index), *flags);
                for (n, word) in words.iter().enumerate() {
                    prop_assert_eq!(page.word(index, n), *word);
                }
                let mut sum = vec![0; layout.words];
                page.add_to(index, &mut sum);
                prop_assert_eq!(&sum, words);
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
            prop_assert!(!RunPage::new(&layout, &builder.bytes).is_dense && builder.last_key() == Some(5));
        }
    }
}
