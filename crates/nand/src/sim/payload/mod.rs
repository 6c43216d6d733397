//! The data of pages that have some: tags for hollow pages that carry one, bytes for the rest.
//!
//! Metadata is written over and over, and every old version can still be read until its block is erased. On a large
//! drive that is many times the table. So of the versions of one metadata page (equal kind and key in the spare area)
//! only the newest is held whole. Each older one is held as the words in which it differs from the next newer. The
//! newest takes over the memory of the one before it: writing a version allocates next to nothing. Where two versions
//! have little in common (pages of different runs), the older one is packed.
//!
//! A version that is held whole or packed is a *lineage*, with those before it that differ from it by words.

mod live;
mod mix;
mod older;
mod pack;
mod unpacked;
mod words;

use crate::state::Preserve;
use crate::{Block, Content, Geometry, Kind, Page, Spare};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashMap;
use live::Live;
use mix::Hasher;
use older::Older;
use pack::{pack, unpack};
use unpacked::Unpacked;
use words::{Word, differences, word_of};

const NONE: u32 = u32::MAX;

/// In place of a lineage's number: the page's data were let go.
const GONE: u32 = u32::MAX - 1;

/// From here up to [`GONE`], in place of a lineage's number: the page's place among those held whole.
const LIVE: u32 = 1 << 31;

/// A version that differs in more than one word of so many is packed: a word and its place take six bytes.
const ALIKE: usize = 2;

/// Up to one word of so many, it is not even tried whether packing would take less.
const MUCH_ALIKE: usize = 16;

/// Pages that are fetched together.
const WARM: usize = 16;

/// Bytes of a line of the host's cache.
const LINE: usize = 64;

/// Older versions of a lineage: those behind one are gone through to read it.
const VERSIONS_MAX: u32 = 1024;

#[derive(Clone, Debug, Preserve)]
struct Lineage {
    /// The newest version's page.
    page: u32,
    crc: u32,
    kind: Kind,
    key: u32,
    /// Its data. While the lineage is the newest of its kind and key, they are not packed.
    bytes: Arc<[u8]>,
    packed: bool,
    older: Older,
}

impl Lineage {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64 + self.older.bytes()
    }
}

/// Data by page. Bytes are shared between copies of a chip until one of them erases the block.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Payload {
    /// Tags by page; empty where every hollow page carries tag 0.
    tags: Vec<u64>,
    /// By block, which part of `lineage_of` is its own; NONE where no page has bytes. Empty until the first that has.
    tables: Vec<u32>,
    tables_free: Vec<u32>,
    /// By table, then by the page's number in its block: the lineage it belongs to, or NONE.
    lineage_of: Vec<u32>,
    /// As `lineage_of`: of a version that is older than another, where it stands in its lineage.
    place_of: Vec<u32>,
    lineages: Vec<Option<Lineage>>,
    lineages_free: Vec<u32>,
    /// Where versions are held as differences: the newest lineage of each page of metadata.
    newest: Option<HashMap<(Kind, u32), u32, Hasher>>,
    /// Where metadata are let go that are stale: those that are not.
    live: Option<Live>,
    #[preserve(fixed)]
    unpacked: Unpacked,
    #[preserve(fixed)]
    differing: Vec<Word>,
    #[preserve(fixed)]
    packing: Vec<u8>,
    page_bytes: usize,
    /// Of a page's number: its number in its block.
    index_bits: u32,
    bytes_now: u64,
    bytes_peak: u64,
}

impl Payload {
    /// `differences`: whether older versions of metadata are held as differences, or packed.
    pub(crate) fn new(geometry: &Geometry, tagged: bool, differences: bool) -> Self {
        let tags = if tagged { vec![0; geometry.page_numbers()] } else { Vec::new() };
        Self {
            tags,
            tables: Vec::new(),
            tables_free: Vec::new(),
            lineage_of: Vec::new(),
            place_of: Vec::new(),
            lineages: Vec::new(),
            lineages_free: Vec::new(),
            newest: differences.then(HashMap::default),
            live: None,
            unpacked: Unpacked::new(geometry.pages()),
            differing: Vec::new(),
            packing: Vec::new(),
            page_bytes: geometry.page_bytes() as usize,
            index_bits: geometry.page_numbers_per_block().trailing_zeros(),
            bytes_now: 0,
            bytes_peak: 0,
        }
    }

    /// Only what an FTL in service reads is held, from now on.
    pub(super) fn hold_live_alone(&mut self) {
        self.live.get_or_insert_default();
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

    /// The number of the lineage that the page belongs to, or NONE.
    #[inline]
    fn number_of(&self, page: u32) -> u32 {
        slot_of(&self.tables, self.index_bits, page).map_or(NONE, |slot| self.lineage_of[slot])
    }

    /// Where the page's version stands in its lineage, if it is not the newest.
    fn place_of(&self, page: u32) -> u32 {
        slot_of(&self.tables, self.index_bits, page).map_or(0, |slot| self.place_of[slot])
    }

    fn put_place(&mut self, page: u32, place: u32) {
        if let Some(slot) = slot_of(&self.tables, self.index_bits, page) {
            self.place_of[slot] = place;
        }
    }

    #[inline]
    fn lineage(&self, page: u32) -> Option<&Lineage> {
        self.lineages.get(self.number_of(page) as usize)?.as_ref()
    }

    #[inline]
    fn slot(&self, table: u32, index: u32) -> usize {
        ((table as usize) << self.index_bits) + index as usize
    }

    pub(crate) fn store_bytes(&mut self, geometry: &Geometry, page: Page, spare: &Spare, bytes: &[u8]) {
        if self.tables.is_empty() {
            self.tables.resize(geometry.blocks() as usize, NONE);
        }
        let block = geometry.block_of(page).index();
        if self.tables[block] == NONE {
            self.tables[block] = self.new_table();
        }
        let slot = self.slot(self.tables[block], geometry.index_of(page));
        if let Some(live) = &mut self.live {
            self.lineage_of[slot] = LIVE + live.hold(bytes, spare.data_crc);
            self.bytes_now += bytes.len() as u64;
            self.bytes_peak = self.bytes_peak.max(self.bytes_now);
            return;
        }
        let before = match &self.newest {
            Some(newest) if spare.kind != Kind::User => newest.get(&(spare.kind, spare.key)).copied(),
            _ => None,
        };
        let lineage = match before {
            Some(before) => self.succeed(before, page, spare, bytes),
            None => self.begin(page, spare, Arc::from(bytes)),
        };
        self.lineage_of[slot] = lineage;
        self.bytes_peak = self.bytes_peak.max(self.bytes_now);
    }

    /// The page's data are not read again where only an FTL in service reads.
    #[inline]
    pub(crate) fn stale(&mut self, page: Page) {
        if self.live.is_some()
            && let Some(slot) = slot_of(&self.tables, self.index_bits, page.0)
        {
            let held = core::mem::replace(&mut self.lineage_of[slot], GONE);
            self.let_go(page.0, held);
        }
    }

    /// A page is held no longer.
    fn let_go(&mut self, page: u32, held: u32) {
        match held {
            NONE | GONE => {}
            place @ LIVE.. => {
                if let Some(live) = &mut self.live {
                    live.let_go(place - LIVE);
                    self.bytes_now -= self.page_bytes as u64;
                }
            }
            lineage => self.forget(page, lineage),
        }
    }

    fn new_table(&mut self) -> u32 {
        self.tables_free.pop().unwrap_or_else(|| {
            let tables = self.lineage_of.len() >> self.index_bits;
            self.lineage_of.resize(self.slot(tables as u32 + 1, 0), NONE);
            self.place_of.resize(self.lineage_of.len(), 0);
            tables as u32
        })
    }

    /// Begins a lineage with a version.
    fn begin(&mut self, page: Page, spare: &Spare, bytes: Arc<[u8]>) -> u32 {
        self.bytes_now += bytes.len() as u64;
        let (kind, key, crc) = (spare.kind, spare.key, spare.data_crc);
        let lineage = Lineage { page: page.0, crc, kind, key, bytes, packed: false, older: Older::default() };
        let number = self.lineages_free.pop().unwrap_or_else(|| {
            self.lineages.push(None);
            self.lineages.len() as u32 - 1
        });
        self.lineages[number as usize] = Some(lineage);
        if kind != Kind::User
            && let Some(newest) = &mut self.newest
        {
            newest.insert((kind, key), number);
        }
        number
    }

    /// Adds a version to the lineage of the one before it where they are alike; otherwise packs the one before, and
    /// begins a lineage. Either way it takes over the memory, except where a copy of the chip shares it, or packing
    /// brings nothing.
    fn succeed(&mut self, number: u32, page: Page, spare: &Spare, bytes: &[u8]) -> u32 {
        if let Some(Some(before)) = self.lineages.get_mut(number as usize)
            && let Some(memory) = Arc::get_mut(&mut before.bytes)
            && memory.len() == bytes.len()
        {
            let words = bytes.len() / 4;
            let alike = before.older.versions() < VERSIONS_MAX
                && differences(memory, bytes, words / ALIKE, &mut self.differing);
            let much_alike = alike && self.differing.len() <= words / MUCH_ALIKE;
            let packs = !much_alike && pack(memory, &mut self.packing);
            if alike && !(packs && self.packing.len() < size_of_val(self.differing.as_slice())) {
                self.bytes_now -= before.older.bytes();
                for old in &self.differing {
                    Word::new(old.at(), word_of(bytes, old.at())).put(memory);
                }
                let older = before.page;
                let place = before.older.push(older, before.crc, &self.differing);
                self.bytes_now += before.older.bytes();
                before.page = page.0;
                before.crc = spare.data_crc;
                self.put_place(older, place);
                return number;
            }
            if packs {
                memory.copy_from_slice(bytes);
                let memory = core::mem::replace(&mut before.bytes, Arc::from(self.packing.as_slice()));
                before.packed = true;
                self.bytes_now = self.bytes_now - memory.len() as u64 + before.bytes.len() as u64;
                return self.begin(page, spare, memory);
            }
        }
        self.begin(page, spare, Arc::from(bytes))
    }

    /// Reads the newest versions among these pages, so that they are at hand. It takes one step for all of them, then
    /// the next, so that the memory that they wait for is fetched together.
    pub(crate) fn warm(&self, pages: &[Page]) {
        for pages in pages.chunks(WARM) {
            let mut numbers = [NONE; WARM];
            let numbers = &mut numbers[..pages.len()];
            for (number, page) in numbers.iter_mut().zip(pages) {
                *number = self.tables.get((page.0 >> self.index_bits) as usize).copied().unwrap_or(NONE);
            }
            for (number, page) in numbers.iter_mut().zip(pages).filter(|(table, _)| **table != NONE) {
                *number = self.lineage_of[self.slot(*number, page.0 & ((1 << self.index_bits) - 1))];
            }
            if let Some(live) = &self.live {
                let held = numbers.iter().filter(|number| (LIVE..GONE).contains(*number));
                let lines = held.flat_map(|place| live.get(place - LIVE, self.page_bytes).0.iter().step_by(LINE));
                core::hint::black_box(lines.fold(0, |sum: u32, byte| sum.wrapping_add(u32::from(*byte))));
            }
            let lineages = || numbers.iter().filter_map(|number| self.lineages.get(*number as usize)?.as_ref());
            let newest = |l: &Lineage| self.newest.as_ref().and_then(|newest| newest.get(&(l.kind, l.key)).copied());
            let first = lineages().map(|l| newest(l).unwrap_or(0) ^ l.older.touch()).fold(0, u32::wrapping_add);
            let lines = lineages().flat_map(|lineage| lineage.bytes.iter().step_by(LINE));
            core::hint::black_box(lines.fold(first, |sum, byte| sum.wrapping_add(u32::from(*byte))));
        }
    }

    /// Data and their CRC as stored with them; None where they were let go.
    #[inline]
    pub(crate) fn read(&mut self, page: Page) -> Option<(Content<'_>, u32)> {
        let held = self.number_of(page.0);
        if held < LIVE {
            if self.lineage(page.0).is_some_and(|lineage| lineage.packed || lineage.page != page.0) {
                return Some(self.put_together(page.0));
            }
        } else if held < GONE {
            let (bytes, crc) = self.live.as_ref()?.get(held - LIVE, self.page_bytes);
            return Some((Content::Bytes(bytes), crc));
        } else if held == GONE {
            return None;
        }
        Some(self.get(page))
    }

    /// As [`Payload::read`], where no version is held as a difference or let go.
    #[inline]
    pub(crate) fn get(&self, page: Page) -> (Content<'_>, u32) {
        if let Some(lineage) = self.lineage(page.0) {
            return (Content::Bytes(&lineage.bytes), lineage.crc);
        }
        let content = Content::Hollow(self.tags.get(page.index()).copied().unwrap_or(0));
        (content, content.crc())
    }

    /// The CRC stored with a page's data; none where they were let go.
    #[inline]
    pub(crate) fn crc(&self, page: Page) -> u32 {
        let held = self.number_of(page.0);
        match (self.lineage(page.0), &self.live) {
            (Some(lineage), _) if lineage.page == page.0 => lineage.crc,
            (Some(lineage), _) => lineage.older.crc(self.place_of(page.0)),
            (None, Some(live)) if (LIVE..GONE).contains(&held) => live.get(held - LIVE, self.page_bytes).1,
            (None, _) => self.get(page).1,
        }
    }

    /// Whether the page has bytes.
    pub(crate) fn has_bytes(&self, page: Page) -> bool {
        self.number_of(page.0) != NONE
    }

    #[inline(never)]
    fn put_together(&mut self, page: u32) -> (Content<'_>, u32) {
        let crc = self.crc(Page(page));
        let (number, place) = (self.number_of(page), self.place_of(page));
        if let Some(Some(lineage)) = self.lineages.get(number as usize) {
            self.unpacked.fill(page, self.page_bytes, |bytes| {
                if lineage.packed {
                    unpack(&lineage.bytes, bytes);
                } else {
                    bytes.copy_from_slice(&lineage.bytes);
                }
                if lineage.page != page {
                    lineage.older.rebuild(place, bytes);
                }
            });
        }
        (Content::Bytes(self.unpacked.bytes(page)), crc)
    }

    #[inline]
    pub(crate) fn erase(&mut self, block: Block) {
        if let Some(table) = self.tables.get(block.index())
            && *table != NONE
        {
            self.erase_bytes(block, *table);
        }
    }

    fn erase_bytes(&mut self, block: Block, table: u32) {
        let first = block.0 << self.index_bits;
        for index in 0..1 << self.index_bits {
            let slot = self.slot(table, index);
            let held = core::mem::replace(&mut self.lineage_of[slot], NONE);
            self.let_go(first + index, held);
        }
        self.tables[block.index()] = NONE;
        self.tables_free.push(table);
    }

    /// Takes a page out; the version that differs from it comes to differ from the next newer one, or is whole.
    fn forget(&mut self, page: u32, number: u32) {
        self.unpacked.forget(page);
        let place = self.place_of(page);
        let Some(lineage) = &mut self.lineages[number as usize] else { return };
        self.bytes_now -= lineage.bytes();
        if lineage.page != page {
            lineage.older.remove(place, |page, place| {
                if let Some(slot) = slot_of(&self.tables, self.index_bits, page) {
                    self.place_of[slot] = place;
                }
            });
            self.bytes_now += lineage.bytes();
            return;
        }
        let Some(version) = lineage.older.pop() else {
            let of = (lineage.kind, lineage.key);
            if let Some(newest) = &mut self.newest
                && newest.get(&of) == Some(&number)
            {
                newest.remove(&of);
            }
            self.lineages[number as usize] = None;
            self.lineages_free.push(number);
            return;
        };
        // Copies of the chip may hold the newer version still.
        if lineage.packed || Arc::get_mut(&mut lineage.bytes).is_none() {
            let mut own = vec![0; self.page_bytes];
            if lineage.packed {
                unpack(&lineage.bytes, &mut own);
            } else {
                own.copy_from_slice(&lineage.bytes);
            }
            lineage.bytes = own.into();
        }
        if let Some(own) = Arc::get_mut(&mut lineage.bytes) {
            version.words.iter().for_each(|word| word.put(own));
        }
        lineage.packed = lineage.packed && pack(&lineage.bytes, &mut self.packing);
        if lineage.packed {
            lineage.bytes = Arc::from(self.packing.as_slice());
        }
        lineage.page = version.page;
        lineage.crc = version.crc;
        self.bytes_now += lineage.bytes();
    }

    /// Bytes of page data held, at the most.
    pub(crate) fn bytes_peak(&self) -> u64 {
        self.bytes_peak
    }

    /// Host memory besides the data themselves, in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let numbers = self.tables.capacity()
            + self.place_of.capacity()
            + self.tables_free.capacity()
            + self.lineage_of.capacity()
            + self.lineages_free.capacity();
        let unused: u64 = self.lineages.iter().flatten().map(|l| l.older.heap_bytes() - l.older.bytes()).sum();
        let newest = self.newest.as_ref().map_or(0, HashMap::allocation_size);
        let own = self.tags.capacity() * 8 + numbers * 4 + self.lineages.capacity() * size_of::<Option<Lineage>>();
        let live = self.live.as_ref().map_or(0, Live::heap_bytes);
        (own + newest) as u64 + unused + self.unpacked.heap_bytes() + live
    }
}

/// Where a page of a block that has a table stands in all tables.
#[inline]
fn slot_of(tables: &[u32], index_bits: u32, page: u32) -> Option<usize> {
    let table = *tables.get((page >> index_bits) as usize).filter(|table| **table != NONE)?;
    Some(((table as usize) << index_bits) + (page & ((1 << index_bits) - 1)) as usize)
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
        /// A version of a key.
        Write(u32, Change),
        /// A page of the host's, with bytes.
        User,
        Erase(u32),
        /// Beside the chip there is a copy from here on, in place of an earlier one.
        Copy,
        /// From here on the steps are done to the other one.
        Turn,
    }

    #[derive(Clone, Debug)]
    enum Change {
        /// Of some words.
        Words(Vec<(u16, u32)>),
        /// Of so many words from one on, in a way that packs.
        Many(u16, u16),
        /// Of all, in a way that packs.
        All(u8),
        /// Of all, in a way that does not.
        Garbled(u64),
    }

    impl Change {
        fn make(&self, bytes: &mut [u8]) {
            match self {
                Self::Words(words) => words.iter().for_each(|(at, word)| put(bytes, *at, *word)),
                Self::Many(first, words) => {
                    let all = (*first..128).take(usize::from(*words));
                    all.for_each(|at| put(bytes, at, word_of(bytes, usize::from(at)).wrapping_add(1)));
                }
                Self::All(by) => (0..128).for_each(|at| put(bytes, at, u32::from(at) * u32::from(*by))),
                Self::Garbled(seed) => {
                    let mut word = *seed | 1;
                    for at in 0..128 {
                        word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
                        put(bytes, at, word as u32);
                    }
                }
            }
        }
    }

    fn put(bytes: &mut [u8], at: u16, word: u32) {
        Word::new(usize::from(at), word).put(bytes);
    }

    fn step() -> impl Strategy<Value = Step> {
        let change = prop_oneof![
            8 => prop::collection::vec((0u16..128, 0u32..4), 0..6).prop_map(Change::Words),
            3 => (0u16..128, 9u16..70).prop_map(|(first, words)| Change::Many(first, words)),
            2 => any::<u8>().prop_map(Change::All),
            1 => any::<u64>().prop_map(Change::Garbled),
        ];
        prop_oneof![
            24 => (0u32..3, change).prop_map(|(key, change)| Step::Write(key, change)),
            1 => Just(Step::User),
            6 => (0..BLOCKS).prop_map(Step::Erase),
            1 => Just(Step::Copy),
            1 => Just(Step::Turn),
        ]
    }

    /// A chip, and what should be on it.
    #[derive(Clone)]
    struct Chip {
        geometry: Geometry,
        payload: Payload,
        expected: BTreeMap<u32, Vec<u8>>,
        newest: BTreeMap<u32, Vec<u8>>,
        block: u32,
        index: u32,
    }

    impl Chip {
        fn new() -> Self {
            let geometry = Geometry::new(512, PAGES, u64::from(BLOCKS), 1, 1).unwrap();
            let payload = Payload::new(&geometry, false, true);
            Self { geometry, payload, expected: BTreeMap::new(), newest: BTreeMap::new(), block: 0, index: 0 }
        }

        fn write(&mut self, kind: Kind, key: u32, bytes: &[u8]) {
            if self.index == PAGES {
                // Over the block after: the rest there goes.
                self.erase((self.block + 1) % BLOCKS);
                self.block = (self.block + 1) % BLOCKS;
                self.index = 0;
            }
            let page = self.geometry.page(Block(self.block), self.index);
            self.index += 1;
            let spare = Spare { kind, stream: 0, key, version: 0, seq: 0, data_crc: page.0 * 7, aux: 0 };
            self.payload.store_bytes(&self.geometry, page, &spare, bytes);
            self.expected.insert(page.0, bytes.to_vec());
        }

        fn erase(&mut self, block: u32) {
            self.payload.erase(Block(block));
            self.expected.retain(|page, _| page / PAGES != block);
            if block == self.block {
                self.index = 0;
            }
        }

        fn check(&mut self) -> Result<(), TestCaseError> {
            // Also of pages that are not there.
            let pages: Vec<Page> = (0..BLOCKS * PAGES + 40).map(Page).collect();
            self.payload.warm(&pages);
            for page in 0..BLOCKS * PAGES {
                match self.expected.get(&page) {
                    Some(bytes) => {
                        prop_assert_eq!(self.payload.crc(Page(page)), page * 7);
                        prop_assert_eq!(self.payload.read(Page(page)), Some((Content::Bytes(bytes), page * 7)));
                    }
                    None => prop_assert_eq!(self.payload.read(Page(page)).map(|read| read.0), Some(Content::Hollow(0))),
                }
            }
            let lineages = || self.payload.lineages.iter().flatten();
            prop_assert_eq!(self.payload.bytes_now, lineages().map(Lineage::bytes).sum::<u64>());
            let versions: u32 = lineages().map(|lineage| 1 + lineage.older.versions()).sum();
            prop_assert_eq!(versions as usize, self.expected.len());
            for number in self.payload.newest.iter().flat_map(HashMap::values) {
                prop_assert!(matches!(&self.payload.lineages[*number as usize], Some(newest) if !newest.packed));
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

        #[test]
        fn every_version_reads_as_it_was_written_until_its_block_is_erased(
            steps in prop::collection::vec(step(), 1..150),
        ) {
            let mut chip = Chip::new();
            let mut copy: Option<Chip> = None;
            for step in steps {
                match step {
                    Step::Write(key, change) => {
                        let mut bytes = chip.newest.remove(&key).unwrap_or_else(|| vec![0; 512]);
                        change.make(&mut bytes);
                        chip.write(Kind::Translation, key, &bytes);
                        chip.newest.insert(key, bytes);
                    }
                    Step::User => chip.write(Kind::User, 1, &[7; 512]),
                    Step::Erase(block) => chip.erase(block),
                    Step::Copy => copy = Some(chip.clone()),
                    Step::Turn => {
                        if let Some(copy) = &mut copy {
                            core::mem::swap(copy, &mut chip);
                        }
                    }
                }
                for chip in [Some(&mut chip), copy.as_mut()].into_iter().flatten() {
                    chip.check()?;
                }
            }
            for mut chip in [Some(chip), copy].into_iter().flatten() {
                (0..BLOCKS).for_each(|block| chip.erase(block));
                prop_assert_eq!(chip.payload.bytes_now, 0);
                prop_assert!(chip.payload.newest.unwrap().is_empty());
                prop_assert!(chip.payload.lineages.iter().all(Option::is_none));
            }
        }
    }

    #[test]
    fn pages_unlike_those_before_them_are_packed_and_read_all_the_same() {
        let mut chip = Chip::new();
        for n in 1..=8 {
            let mut bytes = vec![0; 512];
            Change::All(n).make(&mut bytes);
            chip.write(Kind::Gecko, 0, &bytes);
        }
        assert_eq!(chip.payload.lineages.iter().flatten().filter(|lineage| lineage.packed).count(), 7);
        assert!(chip.payload.bytes_now < 512 + 7 * 100, "{} bytes", chip.payload.bytes_now);
        chip.check().unwrap();
    }
}
