//! The older versions of a metadata page, each as the words in which it differs from the next newer one.
//!
//! All of a page's older versions stand in one buffer, oldest first. Each has its page number and its CRC (two numbers
//! of 16 bits each). Then come the words, the last of them marked. A large drive has tens of millions of versions,
//! mostly of a word or two. So there is no allocation for each and no pointer from one to another. Who reads or removes
//! one says at which *place* it stands.
//!
//! A version that is removed in the middle stays as a step between its neighbours, until such steps are a quarter of the
//! buffer. At the old end the part that has gone is cut off when it is half of the buffer.

use super::words::Word;
use crate::state::Preserve;
use alloc::vec::Vec;

/// Numbers in front of a version's words.
const HEAD: usize = 4;

/// Numbers that a buffer grows by at the least: not each version is to move it.
const ROOM: usize = 32;

/// Set in the place of a version's last word.
const LAST: u16 = 1 << 15;

/// In place of a page number: a step, of a version that was removed.
const STEP: u32 = u32::MAX;

/// Of the buffer's numbers, one in so many may be of steps.
const STEPS: usize = 4;

/// Older versions of one page of metadata.
#[derive(Clone, Default, Debug, Preserve)]
pub(super) struct Older {
    held: Vec<u16>,
    /// The place of the buffer's begin. Places go on when a part is cut off, and around when they are used up.
    begin: u32,
    /// Where the oldest begins in the buffer.
    first: u32,
    versions: u32,
    /// Numbers of steps behind the oldest.
    stepping: u32,
}

/// One of them, and the words that make it of the next newer one; later words win.
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
    /// (where the two are equal, any will do), and in the first [`Word::PLACES`] of the page. Its place.
    pub(super) fn push(&mut self, page: u32, crc: u32, words: &[Word]) -> u32 {
        debug_assert!(!words.is_empty());
        let more = HEAD + words.len() * Word::LENGTH;
        if self.held.capacity() - self.held.len() < more {
            self.cut_off();
            // By an eighth, not by as much again: there are many such buffers.
            self.held.reserve_exact(more.max(self.held.len() / 8).max(ROOM));
        }
        let place = self.begin.wrapping_add(self.held.len() as u32);
        self.append(page, crc, words);
        self.versions += 1;
        place
    }

    fn append(&mut self, page: u32, crc: u32, words: &[Word]) {
        self.held.extend_from_slice(&[page as u16, (page >> 16) as u16, crc as u16, (crc >> 16) as u16]);
        self.held.extend(words.iter().flat_map(|word| word.0));
        // The word at the end is its version's last.
        let last = self.held.len() - Word::LENGTH;
        self.held[last] |= LAST;
    }

    /// Reads where the next one will stand behind, so that it is at hand.
    pub(super) fn touch(&self) -> u32 {
        self.held.last().map_or(0, |last| u32::from(*last))
    }

    /// The CRC of the version at this place.
    pub(super) fn crc(&self, place: u32) -> u32 {
        self.crc_at(self.at(place))
    }

    /// Makes the newest version of all, in `bytes`, the one at this place.
    pub(super) fn rebuild(&self, place: u32, bytes: &mut [u8]) {
        let way: Vec<usize> = self.starts(self.at(place)).collect();
        for at in way.into_iter().rev() {
            self.words_at(at).for_each(|word| word.put(bytes));
        }
    }

    /// Takes the newest one out.
    pub(super) fn pop(&mut self) -> Option<Version> {
        let at = self.starts(self.first as usize).filter(|at| self.page_at(*at) != STEP).last()?;
        let way: Vec<usize> = self.starts(at).collect();
        let words = way.iter().rev().flat_map(|at| self.words_at(*at)).collect();
        let version = Version { page: self.page_at(at), crc: self.crc_at(at), words };
        let end = at + self.length_at(at);
        self.stepping -= (self.held.len() - end) as u32;
        self.held.truncate(at);
        self.versions -= 1;
        if self.versions == 0 {
            *self = Self::default();
        }
        Some(version)
    }

    /// Takes the version at this place out. `moved` gets pages, and the new places of their versions.
    pub(super) fn remove(&mut self, place: u32, moved: impl FnMut(u32, u32)) {
        let at = self.at(place);
        self.versions -= 1;
        if self.versions == 0 {
            *self = Self::default();
            return;
        }
        self.held[at] = STEP as u16;
        self.held[at + 1] = (STEP >> 16) as u16;
        self.stepping += self.length_at(at) as u32;
        while self.page_at(self.first as usize) == STEP {
            let length = self.length_at(self.first as usize) as u32;
            self.first += length;
            self.stepping -= length;
        }
        if self.stepping as usize > (self.held.len() - self.first as usize) / STEPS {
            self.join(moved);
        }
        if self.first as usize > self.held.len() / 2 {
            self.cut_off();
            if self.held.capacity() > self.held.len() * 2 + 2 * ROOM {
                self.held.shrink_to(self.held.len() + ROOM);
            }
        }
    }

    /// Every step becomes part of the version before it.
    fn join(&mut self, mut moved: impl FnMut(u32, u32)) {
        let before = core::mem::take(self);
        self.begin = before.begin;
        self.held.reserve_exact(before.held.len() - before.first as usize - before.stepping as usize);
        let mut starts = before.starts(before.first as usize).peekable();
        while let Some(at) = starts.next() {
            let mut words: Vec<Word> = before.words_at(at).collect();
            while let Some(step) = starts.next_if(|next| before.page_at(*next) == STEP) {
                words = merged(words.into_iter(), before.words_at(step));
            }
            let page = before.page_at(at);
            moved(page, self.push(page, before.crc_at(at), &words));
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
        self.begin = self.begin.wrapping_add(self.first);
        self.first = 0;
    }

    /// Where what is at a place begins in the buffer.
    fn at(&self, place: u32) -> usize {
        place.wrapping_sub(self.begin) as usize
    }

    /// Where each begins, from that at `next` on to newer ones.
    fn starts(&self, mut next: usize) -> impl Iterator<Item = usize> {
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
