//! A buffer: the entries that no run holds yet, sorted by key (GeckoFTL algorithms 1 and 2).

use super::page::{ERASED, FREE, RunLayout};
use crate::barriers::{Barrier, Barriers};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Entries in RAM.
#[derive(Clone, Preserve)]
pub(crate) struct Buffer {
    layout: RunLayout,
    keys: Vec<u32>,
    words: Vec<u32>,
    flags: Vec<u8>,
    barriers: Barriers,
}

impl Buffer {
    pub(crate) fn new(layout: RunLayout, barriers: Barriers) -> Self {
        // An erase may come on top of a full buffer while it is being flushed.
        let room = layout.entries + 8;
        Self {
            layout,
            keys: Vec::with_capacity(room),
            words: Vec::with_capacity(room * layout.words),
            flags: Vec::with_capacity(room),
            barriers,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it has as many entries as fit on one page even if every block's must stand together.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.len() > self.layout.entries - self.layout.parts as usize
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.words.clear();
        self.flags.clear();
    }

    pub(crate) fn key(&self, index: usize) -> u32 {
        self.keys[index]
    }

    /// Adds the entry's part of the bitmap to `words`.
    #[inline]
    pub(crate) fn add_to(&self, index: usize, words: &mut [u32]) {
        let own = &self.words[index * self.layout.words..];
        words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
    }

    /// [`ERASED`] and [`FREE`].
    pub(crate) fn flags(&self, index: usize) -> u8 {
        self.flags[index]
    }

    /// The first entry whose key is not below `key`.
    pub(crate) fn lower_bound(&self, key: u32) -> usize {
        self.keys.partition_point(|k| *k < key)
    }

    #[inline]
    fn entry(&mut self, key: u32) -> usize {
        let at = self.lower_bound(key);
        if self.keys.get(at) != Some(&key) {
            self.keys.insert(at, key);
            self.flags.insert(at, 0);
            let words = self.layout.words;
            if words == 1 {
                self.words.insert(at, 0);
            } else {
                self.words.splice(at * words..at * words, core::iter::repeat_n(0, words));
            }
        }
        at
    }

    /// Algorithm 1: bit `bit` of the entry's part is set.
    #[inline]
    pub(crate) fn set(&mut self, key: u32, bit: u32) {
        debug_assert!(bit < self.layout.part_bits, "a bit is outside of its entry");
        let at = self.entry(key);
        self.words[at * self.layout.words + bit as usize / 32] |= 1 << (bit % 32);
    }

    /// Algorithm 2: older entries of the block are void. The buffer's own entries go, too, which the printed algorithm
    /// is silent about. One entry, for the first part, stands for all parts.
    pub(crate) fn erased(&mut self, block: u32) {
        self.void(block, ERASED);
    }

    /// Older entries of the block are void, because nothing in it is live.
    pub(crate) fn freed(&mut self, block: u32) {
        self.void(block, ERASED | FREE);
    }

    /// Adds an entry that voids all older ones of its key. Keys come in ascending order.
    pub(crate) fn push_word(&mut self, key: u32, word: u32) {
        debug_assert!(self.layout.words == 1 && self.layout.parts == 1, "an entry is no word");
        debug_assert!(self.keys.last().is_none_or(|last| *last < key), "keys do not ascend");
        self.keys.push(key);
        self.words.push(word);
        self.flags.push(ERASED);
    }

    fn void(&mut self, block: u32, flags: u8) {
        let first = block * self.layout.parts;
        let flags = if self.barriers.keeps(Barrier::EraseFlag) { flags } else { flags & !ERASED };
        if !self.barriers.keeps(Barrier::EraseClearsBuffer) {
            let at = self.entry(first);
            self.flags[at] = flags;
            return;
        }
        let from = self.lower_bound(first);
        let to = self.lower_bound(first + self.layout.parts);
        let words = self.layout.words;
        self.keys.drain(from..to);
        self.flags.drain(from..to);
        self.words.drain(from * words..to * words);
        let at = self.entry(first);
        self.flags[at] = flags;
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.keys.capacity() * 4 + self.words.capacity() * 4 + self.flags.capacity()) as u64
    }
}
