//! What is noted of blocks for the policies that ask for it: once, whoever asks, and only if somebody does.
//!
//! None of it is on flash, and nothing but policies rests on it. After a power cut it is made of what a recovery reads
//! anyway, or begins anew:
//! - a block's first write is the version of the first page in it that is still there, which its spare area has (of a
//!   page that collection has moved that is when the host wrote it, and so earlier);
//! - when a block last lost a page is forgotten: it counts as never having lost one. So its largest lifetime is 0, and it
//!   has been dormant since its first write;
//! - the lists are ordered by when the recovery came to the blocks: by first write, as far as it goes by that;
//! - erase counts begin at 1, or with what spare areas say where wear is levelled;
//! - when a block was closed is when it was begun, as far as is known;
//! - how often the host wrote to each stream, and what it said of when pages will die, are forgotten. The limits of
//!   groups are the placement's to set again.

use super::deaths::Deaths;
use super::times::BlockTimes;
use super::{Blocks, Counters, MultiLri};
use crate::RamLedger;
use crate::medium::FirstPages;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Page};

/// What a policy asks to be noted of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Wants {
    /// When the first page was written, and when the last was lost.
    pub(crate) times: bool,
    /// The multi-LRI lists.
    pub(crate) lists: bool,
    /// How often each was erased.
    pub(crate) erases: bool,
    /// Nothing of blocks, but what logical time it is.
    pub(crate) clock: bool,
    /// With the times, when each was closed.
    pub(crate) closed: bool,
    /// How often the host wrote to each stream lately.
    pub(crate) writes: bool,
    /// When the pages will die of which the host says that.
    pub(crate) deaths: bool,
}

impl Wants {
    /// What one of two asks for.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            times: self.times || other.times,
            lists: self.lists || other.lists,
            erases: self.erases || other.erases,
            clock: self.clock || other.clock,
            closed: self.closed || other.closed,
            writes: self.writes || other.writes,
            deaths: self.deaths || other.deaths,
        }
    }
}

/// What is noted of blocks.
#[derive(Clone, Default, Debug)]
pub(crate) struct Notes {
    any: bool,
    /// Pages that the host has written since the drive was formatted; after a power cut the version of the last, and more.
    now: u64,
    times: Option<BlockTimes>,
    lists: Option<MultiLri>,
    erases: Option<Vec<u32>>,
    writes: Option<StreamWrites>,
    deaths: Option<Deaths>,
    /// What the placement part says of its groups of blocks, where it has such.
    pub(crate) groups: Groups,
    /// The placement part takes the host's writes for purely random.
    pub(crate) purely_random: bool,
    /// Until a recovery is over: blocks that it has begun itself.
    begun: Vec<Block>,
    up: bool,
}

impl Notes {
    pub(super) fn new(blocks: u32, pages_per_block: u32, wants: Wants) -> Self {
        Self {
            any: wants != Wants::default(),
            times: wants.times.then(|| match wants.closed {
                true => BlockTimes::with_closed(blocks),
                false => BlockTimes::new(blocks),
            }),
            writes: wants.writes.then(|| StreamWrites::new(blocks, pages_per_block)),
            deaths: wants.deaths.then(|| Deaths::new(blocks, pages_per_block)),
            lists: wants.lists.then(|| MultiLri::new(blocks, pages_per_block)),
            erases: wants.erases.then(|| vec![0; blocks as usize]),
            ..Self::default()
        }
    }

    /// Whether anything is.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    pub(super) fn erased(&mut self, block: Block) {
        if let Some(erases) = &mut self.erases {
            erases[block.index()] = erases[block.index()].saturating_add(1);
        }
    }

    /// The first page of the block is being written.
    pub(super) fn begun(&mut self, block: Block) {
        if let Some(times) = &mut self.times {
            times.begun(block, self.now);
        }
        if let Some(deaths) = &mut self.deaths {
            deaths.begun(block);
        }
        if self.any && !self.up {
            self.begun.push(block);
        }
    }

    pub(super) fn closed(&mut self, block: Block, live: u16) {
        if let Some(times) = &mut self.times {
            times.closed(block, self.now);
        }
        if let Some(lists) = &mut self.lists {
            lists.enter(block, live.into());
        }
    }

    /// The block is no candidate any more.
    pub(super) fn taken(&mut self, block: Block) {
        if let Some(lists) = &mut self.lists {
            lists.leave(block);
        }
    }

    fn lost_a_page(&mut self, block: Block, live: u16) {
        if let Some(times) = &mut self.times {
            times.lost_a_page(block, self.now);
        }
        if let Some(lists) = &mut self.lists {
            lists.lowered(block, live.into());
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        if !self.any {
            return;
        }
        ledger.structure("blocks.logical_time", 8);
        if let Some(times) = &self.times {
            times.ram(ledger);
        }
        if let Some(lists) = &self.lists {
            lists.ram(ledger);
        }
        if let Some(erases) = &self.erases {
            ledger.structure("blocks.erase_counts", erases.len() as u64 * 4);
        }
        if self.writes.is_some() {
            ledger.structure("blocks.writes_by_stream", size_of::<StreamWrites>() as u64);
        }
        if let Some(deaths) = &self.deaths {
            deaths.ram(ledger);
        }
        if self.groups.count > 0 {
            ledger.structure("blocks.group_limits", size_of::<Groups>() as u64);
        }
        ledger.index("index.begun_by_recovery", self.begun.capacity() as u64 * 4);
    }
}

/// The most streams that are told apart by how often the host writes to them.
pub(crate) const WRITTEN_STREAMS_MAX: usize = 64;

/// How often the host wrote to each stream, what is longer ago counting half as much, again and again.
#[derive(Clone, Debug)]
struct StreamWrites {
    by_stream: [u64; WRITTEN_STREAMS_MAX],
    total: u64,
    /// At this total all are halved: by then the drive was written over twice since the last time.
    most: u64,
}

impl StreamWrites {
    fn new(blocks: u32, pages_per_block: u32) -> Self {
        let most = 4 * u64::from(blocks) * u64::from(pages_per_block);
        Self { by_stream: [0; WRITTEN_STREAMS_MAX], total: 0, most }
    }

    fn count(&mut self, stream: u8) {
        let Some(writes) = self.by_stream.get_mut(usize::from(stream)) else { return };
        *writes += 1;
        self.total += 1;
        if self.total == self.most {
            self.by_stream.iter_mut().for_each(|writes| *writes /= 2);
            self.total = self.by_stream.iter().sum();
        }
    }
}

/// The most groups that a placement may divide blocks into.
pub(crate) const GROUPS_MAX: usize = 10;

/// The groups that a placement divides blocks into, by stream: group g is written by stream g, and the last one by all
/// streams from there on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Groups {
    /// How many there are; 0 where there is no such thing.
    pub(crate) count: u8,
    /// How many written blocks each may have; the last has the rest.
    pub(crate) limits: [u32; GROUPS_MAX],
}

impl Groups {
    /// The group of what was written by this stream.
    pub(crate) fn of(&self, stream: u8) -> usize {
        usize::from(stream.min(self.count.saturating_sub(1)))
    }
}

/// What a policy sees of the drive: what RAM knows of blocks, and never the flash.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// Live pages.
    pub(crate) counters: &'a Counters,
    notes: &'a Notes,
    streams: &'a [u8],
    metadata_from: u8,
    pages_per_block: u32,
    version: u64,
}

impl<'a> View<'a> {
    /// Logical time: pages that the host has written.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.notes.now
    }

    /// How long ago the host wrote a page of this version, in logical time. (Versions go on faster than that where
    /// validity is on flash: its pages have some, too. They skip 2^16 ahead at a recovery.)
    #[inline]
    pub(crate) fn age_of_version(&self, version: u64) -> u64 {
        self.version.saturating_sub(version)
    }

    /// See [`BlockTimes`]; a policy that asked for them may look.
    #[inline]
    pub(crate) fn since_first_write(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.since_first_write(block, self.notes.now))
    }

    /// How long ago a block was closed.
    #[inline]
    pub(crate) fn since_closed(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.since_closed(block, self.notes.now))
    }

    /// How often the host wrote to a stream lately.
    #[inline]
    pub(crate) fn writes_to(&self, stream: u8) -> u64 {
        let writes = self.notes.writes.as_ref().and_then(|writes| writes.by_stream.get(usize::from(stream)));
        writes.copied().unwrap_or(0)
    }

    /// How long the live pages of a block have left together, in logical time.
    #[inline]
    pub(crate) fn left_to_live(&self, block: Block) -> u64 {
        let live = self.counters.live(block);
        self.notes.deaths.as_ref().map_or(0, |deaths| deaths.left(block, live.into(), self.notes.now))
    }

    /// The groups of blocks that the placement part has made.
    #[inline]
    pub(crate) fn groups(&self) -> &'a Groups {
        &self.notes.groups
    }

    /// The dormant period of a block.
    #[inline]
    pub(crate) fn dormant(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.dormant(block, self.notes.now))
    }

    /// The largest lifetime of a page of the block.
    #[inline]
    pub(crate) fn largest_lifetime(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.largest_lifetime(block, self.notes.now))
    }

    /// The multi-LRI lists, if somebody asked for them.
    #[inline]
    pub(crate) fn lists(&self) -> Option<&'a MultiLri> {
        self.notes.lists.as_ref()
    }

    /// How often a block was erased, as far as is known; a written block was at least once.
    #[inline]
    pub(crate) fn erases(&self, block: Block) -> u32 {
        self.notes.erases.as_ref().map_or(1, |erases| erases[block.index()].max(1))
    }

    /// Whether the placement part takes the host's writes for purely random.
    pub(crate) fn is_purely_random(&self) -> bool {
        self.notes.purely_random
    }

    /// The stream that a block was written by.
    #[inline]
    pub(crate) fn stream_of(&self, block: Block) -> u8 {
        self.streams[block.index()]
    }

    /// Whether a block holds metadata.
    #[inline]
    pub(crate) fn is_metadata(&self, block: Block) -> bool {
        self.stream_of(block) >= self.metadata_from
    }

    pub(crate) fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }
}

impl Blocks {
    /// Has this noted from now on.
    pub(crate) fn note(&mut self, wants: Wants) {
        self.notes = Notes::new(self.geometry.blocks(), self.geometry.pages_per_block(), wants);
    }

    /// What policies see.
    #[inline]
    pub(crate) fn view(&self) -> View<'_> {
        View {
            counters: &self.counters,
            notes: &self.notes,
            streams: &self.streams,
            metadata_from: self.metadata.from,
            pages_per_block: self.geometry.pages_per_block(),
            version: self.clock.version(),
        }
    }

    /// The host writes a page.
    #[inline]
    pub(crate) fn tick(&mut self) {
        self.notes.now += 1;
    }

    /// The host wrote a page to this stream.
    #[inline]
    pub(crate) fn written_to(&mut self, stream: u8) {
        if let Some(writes) = &mut self.notes.writes {
            writes.count(stream);
        }
    }

    /// This page will die when so much more has been written; none where that is not known, or never.
    #[inline]
    pub(crate) fn note_death(&mut self, page: Page, left: Option<u64>) {
        if let Some(deaths) = &mut self.notes.deaths {
            deaths.lives(page, left.and_then(|left| self.notes.now.checked_add(left)));
        }
    }

    /// How much will be written until this page dies, if that is known. One that should have died is going to at once.
    #[inline]
    pub(crate) fn left_of(&self, page: Page) -> Option<u64> {
        self.notes.deaths.as_ref().and_then(|deaths| deaths.of(page)).map(|death| death.saturating_sub(self.notes.now))
    }

    /// A page is live no longer.
    #[inline]
    pub(crate) fn died(&mut self, page: Page) {
        if let Some(deaths) = &mut self.notes.deaths {
            deaths.dies(page);
        }
    }

    /// A page of the block is live no longer; the counter says so already.
    #[inline]
    pub(crate) fn lost_a_page(&mut self, block: Block) {
        if self.notes.any {
            self.notes.lost_a_page(block, self.counters.live(block));
        }
    }

    /// The drive is up: what the first page of each block has said to a recovery is noted, but for those that it has begun
    /// itself. `streams` are those of placement.
    pub(crate) fn note_first_pages(&mut self, first: &FirstPages, streams: u8) {
        if !self.notes.any {
            return;
        }
        let levelled = self.wear.is_some();
        let begun = core::mem::take(&mut self.notes.begun);
        self.notes.up = true;
        // Versions are what the drive remembers of logical time.
        self.notes.now = self.clock.version();
        let now = self.notes.now;
        if let Some(times) = &mut self.notes.times {
            times.forget(now);
        }
        for (block, spare) in first.iter() {
            if let Some(erases) = self.notes.erases.as_mut().filter(|_| levelled) {
                let here = &mut erases[block.index()];
                *here = here.saturating_add(spare.erases);
            }
            if begun.contains(&block) || !self.is_in_use(block) {
                continue;
            }
            if let Some(times) = &mut self.notes.times {
                times.found(block, spare.version.min(now));
            }
            if spare.stream < streams && !self.is_metadata(self.stream_of(block)) {
                self.streams[block.index()] = spare.stream;
            }
        }
        for block in begun {
            if let Some(times) = &mut self.notes.times {
                times.found(block, now);
            }
        }
    }
}

/// Blocks for tests of policies: full ones that lose pages at given moments.
#[cfg(test)]
pub(crate) mod scene {
    use super::*;
    use crate::barriers::Barriers;
    use crate::blocks::BlockUse;
    use crate::medium::Clock;
    use phelsuma_nand::Geometry;

    pub(crate) struct Scene {
        pub(crate) blocks: Blocks,
    }

    impl Scene {
        /// A drive of `blocks` blocks, and as many streams of users; those above are metadata's.
        pub(crate) fn new(blocks: u32, pages_per_block: u32, streams: u8, wants: Wants) -> Self {
            let geometry = Geometry::new(512, pages_per_block, blocks.into(), 1, 1).unwrap();
            let clock = Clock::new(1, 0, 0);
            let mut blocks = Blocks::new(geometry, streams + 1, streams, true, clock, Barriers::default());
            blocks.note(wants);
            blocks.note_first_pages(&FirstPages::default(), 0);
            Self { blocks }
        }

        /// The host has written so many pages by now.
        pub(crate) fn at(&mut self, now: u64) -> &mut Self {
            self.blocks.notes.now = now;
            self
        }

        /// The first page of a block is written now, by this stream; the others follow at once.
        pub(crate) fn write(&mut self, block: u32, stream: u8) -> &mut Self {
            let block = Block(block);
            self.blocks.uses[block.index()] = BlockUse::Open;
            self.blocks.notes.erased(block);
            self.blocks.notes.begun(block);
            self.blocks.counters.set(block, self.blocks.geometry.pages_per_block() as u16);
            self.blocks.close(&mut (), block, stream);
            self
        }

        /// Each of these blocks loses a page now, one after another.
        pub(crate) fn lose(&mut self, blocks: &[u32]) -> &mut Self {
            for block in blocks.iter().copied().map(Block) {
                self.blocks.counters.remove(block);
                self.blocks.lost_a_page(block);
            }
            self
        }

        pub(crate) fn view(&self) -> View<'_> {
            self.blocks.view()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scene::Scene;
    use super::*;
    use phelsuma_nand::{Kind, Spare};

    #[test]
    fn nothing_is_noted_that_nobody_asks_for() {
        let mut scene = Scene::new(8, 4, 1, Wants::default());
        scene.at(5).write(0, 0).lose(&[0]);
        assert!(!scene.blocks.notes.any() && scene.view().lists().is_none());
        let mut ledger = RamLedger::default();
        scene.blocks.notes.ram(&mut ledger);
        assert_eq!(ledger.all_total(), 0);
    }

    #[test]
    fn after_a_recovery_first_writes_are_known_and_losses_are_not() {
        let wants = Wants { times: true, erases: true, ..Wants::default() };
        let mut scene = Scene::new(8, 4, 2, wants);
        let spare = |version, stream| Spare { kind: Kind::User, stream, key: 0, version, seq: 1, data_crc: 0, aux: 7 };
        let mut first = FirstPages::new(8, true);
        first.read(Block(0), &spare(300, 1));
        first.read(Block(1), &spare(400, 0xff));
        // The recovery has found these in use, of no stream that it knows, and begins block 2 itself.
        scene.blocks.notes.up = false;
        scene.at(0).write(0, 0).write(1, 0).write(2, 0);
        scene.blocks.notes.begun = vec![Block(2)];
        scene.blocks.begin_session(1_000, 0);
        scene.blocks.note_first_pages(&first, 2);
        let view = scene.view();
        let now = 1_000 + crate::medium::EPOCH;
        assert_eq!(view.now(), now);
        assert_eq!([0, 1, 2].map(|block| u64::from(view.since_first_write(Block(block)))), [now - 300, now - 400, 0]);
        assert_eq!(view.largest_lifetime(Block(0)), 0);
        assert_eq!([0, 1].map(|block| view.stream_of(Block(block))), [1, 0]);
        // Nothing says how old block 3 is: as old as is told apart. Wear was not levelled: what stands in `aux` is not a
        // count of erases.
        assert_eq!((view.since_first_write(Block(3)), view.erases(Block(0))), (1 << 31, 1));
    }
}
