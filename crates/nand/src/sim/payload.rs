//! The data of pages that have some: tags for hollow pages that carry one, bytes for the rest.
//!
//! Metadata is written over and over, and every old version can still be read until its block is erased: on a large
//! drive many times the table. So of the versions of one page of metadata (equal kind and key in the spare area) only
//! the newest is held whole, and each older one as the words in which it differs from the next newer. The newest takes
//! over the memory of the one before it: writing a version allocates next to nothing.

use crate::{Block, Content, Geometry, Kind, Page, Spare};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashMap;

const NONE: u32 = u32::MAX;

/// A version that differs in more than one word of so many is held whole: a word and its place take six bytes.
const WORTH: usize = 2;

/// A word of four bytes that an older version had, and where; six bytes, so that there can be many.
#[derive(Clone, Copy, Debug)]
struct Word([u16; 3]);

impl Word {
    fn new(at: usize, word: u32) -> Self {
        Self([at as u16, word as u16, (word >> 16) as u16])
    }

    fn at(self) -> usize {
        usize::from(self.0[0])
    }

    fn word(self) -> u32 {
        u32::from(self.0[1]) | u32::from(self.0[2]) << 16
    }
}

#[derive(Clone, Debug)]
enum Held {
    Nothing,
    Whole {
        crc: u32,
        bytes: Arc<[u8]>,
        kind: Kind,
        key: u32,
        /// The version that differs from this one by its words.
        older: u32,
    },
    Older {
        crc: u32,
        /// The version that it differs from.
        newer: u32,
        older: u32,
        words: Box<[Word]>,
    },
}

/// Data by page. Bytes are shared between copies of a chip until one of them erases the block.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    /// Tags by page; empty where every hollow page carries tag 0.
    tags: Vec<u64>,
    /// By block, then by index. Empty until the first page of bytes.
    blocks: Vec<Option<Box<[Held]>>>,
    /// Where versions are held as differences: the newest of each page of metadata.
    newest: Option<HashMap<(Kind, u32), u32, Hasher>>,
    differing: Vec<Word>,
    /// An older version, put together for somebody who reads it.
    rebuilt: Vec<u8>,
    numbers_per_block: u32,
    bytes_now: u64,
    bytes_peak: u64,
}

/// Kind and key are numbers given by the FTL itself: mixing them is enough.
#[derive(Clone, Copy, Default, Debug)]
struct Mix(u64);

impl core::hash::Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

type Hasher = core::hash::BuildHasherDefault<Mix>;

fn words_of(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at * 4], bytes[at * 4 + 1], bytes[at * 4 + 2], bytes[at * 4 + 3]])
}

fn put_word(bytes: &mut [u8], word: Word) {
    let at = word.at() * 4;
    bytes[at..at + 4].copy_from_slice(&word.word().to_le_bytes());
}

/// The words of both lists, ascending as they are; where both have one, that of `own`.
fn merged(own: &[Word], others: &[Word]) -> Box<[Word]> {
    let mut all = Vec::with_capacity(own.len() + others.len());
    let mut others = others.iter().copied().peekable();
    for word in own.iter().copied() {
        while let Some(other) = others.next_if(|other| other.at() < word.at()) {
            all.push(other);
        }
        others.next_if(|other| other.at() == word.at());
        all.push(word);
    }
    all.extend(others);
    all.into()
}

impl Payload {
    /// `differences`: whether older versions of metadata are held as differences.
    pub(crate) fn new(geometry: &Geometry, tagged: bool, differences: bool) -> Self {
        let tags = if tagged { vec![0; geometry.page_numbers()] } else { Vec::new() };
        Self {
            tags,
            blocks: Vec::new(),
            newest: differences.then(HashMap::default),
            differing: Vec::new(),
            rebuilt: Vec::new(),
            numbers_per_block: geometry.page_numbers_per_block() as u32,
            bytes_now: 0,
            bytes_peak: 0,
        }
    }

    /// Whether a hollow page with this tag can be held without its bytes.
    #[inline]
    pub(crate) fn holds_hollow(&self, tag: u64) -> bool {
        tag == 0 || !self.tags.is_empty()
    }

    #[inline]
    pub(crate) fn store_hollow(&mut self, page: Page, tag: u64) {
        if let Some(slot) = self.tags.get_mut(page.index()) {
            *slot = tag;
        }
    }

    #[inline]
    fn slot(&mut self, page: u32) -> Option<&mut Held> {
        let (block, index) = (page / self.numbers_per_block, page % self.numbers_per_block);
        self.blocks.get_mut(block as usize)?.as_mut()?.get_mut(index as usize)
    }

    #[inline]
    fn held(&self, page: u32) -> Option<&Held> {
        let (block, index) = (page / self.numbers_per_block, page % self.numbers_per_block);
        self.blocks.get(block as usize)?.as_ref()?.get(index as usize)
    }

    pub(crate) fn store_bytes(&mut self, geometry: &Geometry, page: Page, spare: &Spare, bytes: &[u8]) {
        if self.blocks.is_empty() {
            self.blocks.resize_with(geometry.blocks() as usize, || None);
        }
        let pages = geometry.pages_per_block() as usize;
        self.blocks[geometry.block_of(page).index()].get_or_insert_with(|| vec![Held::Nothing; pages].into());
        let (kind, key, crc) = (spare.kind, spare.key, spare.data_crc);
        let before = match &mut self.newest {
            Some(newest) if kind != Kind::User => newest.insert((kind, key), page.0),
            _ => None,
        };
        let taken_over = before.and_then(|before| self.take_over(before, page.0, bytes));
        let (bytes, older) = match (taken_over, before) {
            (Some(bytes), Some(before)) => (bytes, before),
            _ => {
                self.bytes_now += bytes.len() as u64;
                (Arc::from(bytes), NONE)
            }
        };
        self.bytes_peak = self.bytes_peak.max(self.bytes_now);
        if let Some(slot) = self.slot(page.0) {
            *slot = Held::Whole { crc, bytes, kind, key, older };
        }
    }

    /// Turns the version at `before` into a difference from the one that `page` is to hold, and gives its memory with
    /// that one's bytes; none where they differ too much, or a copy of the chip holds the version as well.
    fn take_over(&mut self, before: u32, page: u32, bytes: &[u8]) -> Option<Arc<[u8]>> {
        let mut differing = core::mem::take(&mut self.differing);
        differing.clear();
        let mut taken = None;
        if let Some(slot) = self.slot(before)
            && let Held::Whole { crc, bytes: old, older, .. } = slot
            && let Some(unshared) = Arc::get_mut(old)
            && differences(unshared, bytes, &mut differing)
        {
            for word in &differing {
                put_word(unshared, Word::new(word.at(), words_of(bytes, word.at())));
            }
            let whole = Held::Older { crc: *crc, newer: page, older: *older, words: differing.as_slice().into() };
            if let Held::Whole { bytes, .. } = core::mem::replace(slot, whole) {
                self.bytes_now += size_of_val(differing.as_slice()) as u64;
                taken = Some(bytes);
            }
        }
        self.differing = differing;
        taken
    }

    /// Data and their CRC as stored with them.
    #[inline]
    pub(crate) fn read(&mut self, page: Page) -> (Content<'_>, u32) {
        if matches!(self.held(page.0), Some(Held::Older { .. })) {
            return self.rebuild(page.0);
        }
        self.get(page)
    }

    /// As [`Payload::read`], where no version is held as a difference.
    #[inline]
    pub(crate) fn get(&self, page: Page) -> (Content<'_>, u32) {
        if let Some(Held::Whole { crc, bytes, .. }) = self.held(page.0) {
            return (Content::Bytes(bytes), *crc);
        }
        let content = Content::Hollow(self.tags.get(page.index()).copied().unwrap_or(0));
        (content, content.crc())
    }

    /// The CRC stored with a page's data.
    #[inline]
    pub(crate) fn crc(&self, page: Page) -> u32 {
        match self.held(page.0) {
            Some(Held::Whole { crc, .. } | Held::Older { crc, .. }) => *crc,
            _ => self.get(page).1,
        }
    }

    #[inline(never)]
    fn rebuild(&mut self, page: u32) -> (Content<'_>, u32) {
        let mut rebuilt = core::mem::take(&mut self.rebuilt);
        rebuilt.clear();
        // From this version to the newest, and back.
        let mut way = vec![page];
        let mut crc_of = None;
        while let Some(at) = way.last() {
            match self.held(*at) {
                Some(Held::Older { crc, newer, .. }) => {
                    crc_of.get_or_insert(*crc);
                    way.push(*newer);
                }
                Some(Held::Whole { bytes, .. }) => {
                    rebuilt.extend_from_slice(bytes);
                    break;
                }
                _ => break,
            }
        }
        for at in way.iter().rev() {
            if let Some(Held::Older { words, .. }) = self.held(*at) {
                words.iter().for_each(|word| put_word(&mut rebuilt, *word));
            }
        }
        self.rebuilt = rebuilt;
        (Content::Bytes(&self.rebuilt), crc_of.unwrap_or(0))
    }

    #[inline]
    pub(crate) fn erase(&mut self, block: Block) {
        if self.blocks.get(block.index()).is_some_and(Option::is_some) {
            self.erase_bytes(block);
        }
    }

    fn erase_bytes(&mut self, block: Block) {
        let first = block.0 * self.numbers_per_block;
        let pages = self.blocks[block.index()].as_ref().map_or(0, |pages| pages.len() as u32);
        for page in first..first + pages {
            self.forget(page);
        }
        self.blocks[block.index()] = None;
    }

    /// Takes a page out; the version that differs from it comes to differ from the next newer one, or is whole.
    fn forget(&mut self, page: u32) {
        let Some(slot) = self.slot(page) else { return };
        match core::mem::replace(slot, Held::Nothing) {
            Held::Nothing => {}
            Held::Older { newer, older, words, .. } => {
                self.bytes_now -= size_of_val(&*words) as u64;
                if let Some(Held::Whole { older: link, .. } | Held::Older { older: link, .. }) = self.slot(newer) {
                    *link = older;
                }
                if older != NONE
                    && let Some(Held::Older { newer: link, words: own, .. }) = self.slot(older)
                {
                    *link = newer;
                    let before = size_of_val(&**own) as u64;
                    // Its own words overrule those of the version that goes.
                    *own = merged(own, &words);
                    let after = size_of_val(&**own) as u64;
                    self.bytes_now += after - before;
                }
            }
            Held::Whole { mut bytes, kind, key, older, .. } => {
                if let Some(newest) = &mut self.newest
                    && newest.get(&(kind, key)) == Some(&page)
                {
                    newest.remove(&(kind, key));
                }
                let mut gone = bytes.len() as u64;
                if older != NONE
                    && let Some(slot) = self.slot(older)
                    && let Held::Older { crc, older: next, words, .. } = slot
                {
                    // Copies of the chip may hold the newer version still.
                    let own: Arc<[u8]> = match Arc::get_mut(&mut bytes) {
                        Some(unshared) => {
                            words.iter().for_each(|word| put_word(unshared, *word));
                            bytes
                        }
                        None => {
                            let mut own = bytes.to_vec();
                            words.iter().for_each(|word| put_word(&mut own, *word));
                            own.into()
                        }
                    };
                    gone = size_of_val(&**words) as u64;
                    *slot = Held::Whole { crc: *crc, bytes: own, kind, key, older: *next };
                    if let Some(newest) = &mut self.newest {
                        newest.entry((kind, key)).or_insert(older);
                    }
                }
                self.bytes_now -= gone;
            }
        }
    }

    /// Bytes of page data held, at the most.
    pub(crate) fn bytes_peak(&self) -> u64 {
        self.bytes_peak
    }

    /// Host memory besides the data themselves, in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let held: usize = self.blocks.iter().flatten().map(|pages| pages.len() * size_of::<Held>()).sum();
        let newest = self.newest.as_ref().map_or(0, HashMap::allocation_size);
        (self.tags.capacity() * 8 + self.blocks.capacity() * size_of::<Option<Box<[Held]>>>() + held + newest) as u64
    }
}

/// Collects the words of `old` in which it differs from `new`; false where they are too many.
fn differences(old: &[u8], new: &[u8], out: &mut Vec<Word>) -> bool {
    if old.len() != new.len() || !old.len().is_multiple_of(64) {
        return false;
    }
    let most = old.len() / 4 / WORTH;
    for (line, (a, b)) in old.chunks_exact(64).zip(new.chunks_exact(64)).enumerate() {
        if a != b {
            for at in (0..16).filter(|at| words_of(a, *at) != words_of(b, *at)) {
                out.push(Word::new(line * 16 + at, words_of(a, at)));
            }
            if out.len() > most {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const PAGES: u32 = 4;
    const BLOCKS: u32 = 6;

    #[derive(Clone, Debug)]
    enum Step {
        /// A version of a key with some words changed (or all).
        Write {
            key: u32,
            words: Vec<(u16, u32)>,
            all: bool,
        },
        Erase(u32),
        /// From here on a copy of the chip lives beside.
        Copy,
    }

    fn step() -> impl Strategy<Value = Step> {
        let words = prop::collection::vec((0u16..128, 0u32..4), 0..6);
        prop_oneof![
            12 => (0u32..3, words, prop::bool::weighted(0.1))
                .prop_map(|(key, words, all)| Step::Write { key, words, all }),
            3 => (0..BLOCKS).prop_map(Step::Erase),
            1 => Just(Step::Copy),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

        #[test]
        fn every_version_reads_as_it_was_written_until_its_block_is_erased(
            steps in prop::collection::vec(step(), 1..120),
        ) {
            let geometry = Geometry::new(512, PAGES, u64::from(BLOCKS), 1, 1).unwrap();
            let mut payload = Payload::new(&geometry, false, true);
            let mut expected: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            let mut copy: Option<(Payload, BTreeMap<u32, Vec<u8>>)> = None;
            let mut newest: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            let (mut block, mut index) = (0, 0);
            for step in steps {
                match step {
                    Step::Write { key, words, all } => {
                        if index == PAGES {
                            // Over the block after: what is left there goes.
                            block = (block + 1) % BLOCKS;
                            index = 0;
                            payload.erase(Block(block));
                            expected.retain(|page, _| page / PAGES != block);
                        }
                        let page = geometry.page(Block(block), index);
                        index += 1;
                        let bytes = newest.entry(key).or_insert_with(|| vec![0; 512]);
                        words.iter().for_each(|(at, word)| put_word(bytes, Word::new(usize::from(*at), *word)));
                        if all {
                            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
                        }
                        let crc = page.0 * 7;
                        let spare = Spare {
                            kind: Kind::Translation, stream: 0, key, version: 0, seq: 0, data_crc: crc, aux: 0,
                        };
                        payload.store_bytes(&geometry, page, &spare, bytes);
                        expected.insert(page.0, bytes.clone());
                    }
                    Step::Erase(at) => {
                        payload.erase(Block(at));
                        expected.retain(|page, _| page / PAGES != at);
                        if at == block {
                            index = 0;
                        }
                    }
                    Step::Copy => copy = Some((payload.clone(), expected.clone())),
                }
                for (payload, expected) in [(&mut payload, &expected)].into_iter().chain(copy.as_mut().map(|(p, e)| (p, &*e))) {
                    for (page, bytes) in expected {
                        prop_assert_eq!(payload.crc(Page(*page)), page * 7);
                        prop_assert_eq!(payload.read(Page(*page)), (Content::Bytes(bytes), page * 7));
                    }
                }
            }
            for block in 0..BLOCKS {
                payload.erase(Block(block));
            }
            prop_assert_eq!(payload.bytes_now, 0);
            prop_assert!(payload.newest.unwrap().is_empty());
        }
    }
}
