//! Words of four bytes in which one page differs from another: six bytes each, so that there can be many.

use crate::state::Preserve;
use alloc::vec::Vec;

/// A word, and its place among the page's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) struct Word(pub(super) [u16; Word::LENGTH]);

impl Word {
    /// In numbers of two bytes.
    pub(super) const LENGTH: usize = 3;
    /// Words of the largest page: a place leaves a bit for others.
    pub(super) const PLACES: usize = 1 << 15;

    pub(super) fn new(at: usize, word: u32) -> Self {
        Self([at as u16, word as u16, (word >> 16) as u16])
    }

    pub(super) fn at(self) -> usize {
        usize::from(self.0[0])
    }

    /// Puts it where it belongs.
    pub(super) fn put(self, page: &mut [u8]) {
        let at = self.at() * 4;
        page[at..at + 2].copy_from_slice(&self.0[1].to_le_bytes());
        page[at + 2..at + 4].copy_from_slice(&self.0[2].to_le_bytes());
    }
}

/// Word `at` of a page.
#[inline]
pub(super) fn word_of(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([page[at * 4], page[at * 4 + 1], page[at * 4 + 2], page[at * 4 + 3]])
}

/// Collects the words of `old` in which it differs from `new`, ascending, and where there is none its first. False
/// where they are more than `most`, or where the pages cannot be compared by words.
pub(super) fn differences(old: &[u8], new: &[u8], most: usize, out: &mut Vec<Word>) -> bool {
    out.clear();
    if old.len() != new.len() || !old.len().is_multiple_of(64) || old.len() / 4 > Word::PLACES {
        return false;
    }
    for (line, (a, b)) in old.chunks_exact(64).zip(new.chunks_exact(64)).enumerate() {
        if a != b {
            for at in (0..16).filter(|at| word_of(a, *at) != word_of(b, *at)) {
                out.push(Word::new(line * 16 + at, word_of(a, at)));
            }
            if out.len() > most {
                return false;
            }
        }
    }
    if out.is_empty() {
        out.extend(old.first_chunk().map(|word| Word::new(0, u32::from_le_bytes(*word))));
    }
    !out.is_empty()
}
