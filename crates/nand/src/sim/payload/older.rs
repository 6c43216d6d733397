//! The older versions of a metadata page, each as the words in which it differs from the next newer one.
//!
//! All of a page's older versions stand in one buffer, oldest first. Each has its page number and its CRC (two numbers
//! of 16 bits each). Then come the words, the last of them marked. A large drive has tens of millions of versions,
//! mostly of a word or two. So there is no allocation for each and no pointer from one to another; they are found by
//! looking through. They go at the old end, in nearly every case. The part that has gone there is cut off when it is
//! half of the buffer.

use super::words::Word;
use alloc::vec::Vec;

/// Numbers in front of a version's words.
const HEAD: usize = 4;

/// Numbers that a buffer grows by at the least: not each version is to move it.
const ROOM: usize = 32;

/// Set in the place of a version's last word.
const LAST: u16 = 1 << 15;

/// Older versions of one page of metadata.
#[derive(Clone, Default, Debug)]
pub(super) struct Older {
    held: Vec<u16>,
    /// Where the oldest begins.
    first: u32,
    versions: u32,
}

/// One of them.
pub(super) struct Version {
    pub(super) page: u32,
    pub(super) crc: u32,
    pub(super) words: Vec<Word>,
}

impl Older {
    pub(super) fn versions(&self) -> u32 {
        self.versions
    }

    /// Adds one, which is newer than all others, by the words in which it differs from the next newer: at least one
    /// (where the two are equal, any will do), and in the first [`Word::PLACES`] of the page.
    pub(super) fn push(&mut self, page: u32, crc: u32, words: &[Word]) {
        debug_assert!(!words.is_empty());
        let more = HEAD + words.len() * Word::LENGTH;
        if self.held.capacity() - self.held.len() < more {
            self.cut_off();
            // By an eighth, not by as much again: there are many such buffers.
            self.held.reserve_exact(more.max(self.held.len() / 8).max(ROOM));
        }
        self.held.extend_from_slice(&[page as u16, (page >> 16) as u16, crc as u16, (crc >> 16) as u16]);
        self.held.extend(words.iter().flat_map(|word| word.0));
        self.mark_last();
        self.versions += 1;
    }

    /// Reads where the next one will stand behind, so that it is at hand.
    pub(super) fn touch(&self) -> u32 {
        self.held.last().map_or(0, |last| u32::from(*last))
    }

    /// The CRC of the version at `page`.
    pub(super) fn crc(&self, page: u32) -> Option<u32> {
        self.starts().find(|at| self.page_at(*at) == page).map(|at| self.crc_at(at))
    }

    /// Makes the newest version of all, in `bytes`, the one at `page`.
    pub(super) fn rebuild(&self, page: u32, bytes: &mut [u8]) {
        let way: Vec<usize> = self.starts().skip_while(|at| self.page_at(*at) != page).collect();
        for at in way.into_iter().rev() {
            self.words_at(at).for_each(|word| word.put(bytes));
        }
    }

    /// Takes the newest one out.
    pub(super) fn pop(&mut self) -> Option<Version> {
        let at = self.starts().last()?;
        let version = Version { page: self.page_at(at), crc: self.crc_at(at), words: self.words_at(at).collect() };
        self.held.truncate(at);
        self.versions -= 1;
        if self.versions == 0 {
            *self = Self::default();
        }
        Some(version)
    }

    /// Takes the version at `page` out; the one before it comes to differ from the one after it.
    pub(super) fn remove(&mut self, page: u32) {
        let mut before = None;
        let Some(at) = self.starts().find(|at| {
            let found = self.page_at(*at) == page;
            before = if found { before } else { Some(*at) };
            found
        }) else {
            return;
        };
        let end = at + self.length_at(at);
        self.versions -= 1;
        if self.versions == 0 {
            *self = Self::default();
        } else if let Some(before) = before {
            let words = merged(self.words_at(before), self.words_at(at));
            let newer = self.held.split_off(end);
            self.held.truncate(before + HEAD);
            self.held.extend(words.iter().flat_map(|word| word.0));
            self.mark_last();
            self.held.extend(newer);
        } else {
            self.first = end as u32;
            if end > self.held.len() / 2 {
                self.cut_off();
                if self.held.capacity() > self.held.len() * 2 + 2 * ROOM {
                    self.held.shrink_to(self.held.len() + ROOM);
                }
            }
        }
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> u64 {
        ((self.held.len() - self.first as usize) * size_of::<u16>()) as u64
    }

    /// Bytes of memory held for them.
    pub(super) fn heap_bytes(&self) -> u64 {
        (self.held.capacity() * size_of::<u16>()) as u64
    }

    fn cut_off(&mut self) {
        self.held.drain(..self.first as usize);
        self.first = 0;
    }

    /// Where each begins, oldest first.
    fn starts(&self) -> impl Iterator<Item = usize> {
        let mut next = self.first as usize;
        core::iter::from_fn(move || {
            let at = next;
            (at < self.held.len()).then(|| {
                next += self.length_at(at);
                at
            })
        })
    }

    fn length_at(&self, at: usize) -> usize {
        HEAD + self.words_at(at).count() * Word::LENGTH
    }

    /// The word at the end is its version's last.
    fn mark_last(&mut self) {
        let last = self.held.len() - Word::LENGTH;
        self.held[last] |= LAST;
    }

    fn page_at(&self, at: usize) -> u32 {
        u32::from(self.held[at]) | u32::from(self.held[at + 1]) << 16
    }

    fn crc_at(&self, at: usize) -> u32 {
        u32::from(self.held[at + 2]) | u32::from(self.held[at + 3]) << 16
    }

    fn words_at(&self, at: usize) -> impl Iterator<Item = Word> {
        let mut before_last = true;
        let words = self.held[at + HEAD..].chunks_exact(Word::LENGTH).take_while(move |word| {
            let goes_on = before_last;
            before_last = word[0] & LAST == 0;
            goes_on
        });
        words.map(|word| Word([word[0] & !LAST, word[1], word[2]]))
    }
}

/// The words of both, ascending as they are; where both have one, that of `own`.
fn merged(own: impl Iterator<Item = Word>, others: impl Iterator<Item = Word>) -> Vec<Word> {
    let mut all = Vec::new();
    let mut others = others.peekable();
    for word in own {
        while let Some(other) = others.next_if(|other| other.at() < word.at()) {
            all.push(other);
        }
        others.next_if(|other| other.at() == word.at());
        all.push(word);
    }
    all.extend(others);
    all
}
