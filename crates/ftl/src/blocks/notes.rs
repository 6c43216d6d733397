//! Notes on blocks for the policies that need them: each is kept once, and only if a policy needs it.
//!
//! None of it is on flash, and only policies rest on it. After a power cut it is made of what a recovery reads anyway,
//! or begins anew:
//! - A block's first write is the version of the first of its pages that is still there, from the spare area. If
//!   collection has moved that page, this is when the host wrote it, and so earlier.
//! - When a block last lost a page is forgotten: it counts as never having lost one. So its largest lifetime is 0, and
//!   it has been dormant since its first write.
//! - The lists are ordered by when the recovery came to the blocks. Where the recovery goes by first write, so do they.
//! - Erase counts begin at 1. Where wear is levelled, they begin with what spare areas say.
//! - When a block was closed is taken to be when it was begun, as far as that is in spare areas.
//! - A mount by a block log reads few first pages. The others are read later (`unread.rs`).
//!
//! What two policies that are made for each other share is theirs and not noted here (`policy/notes`).

use super::times::BlockTimes;
use super::unread::Unread;
use super::{Blocks, MultiLri};
use crate::RamLedger;
use crate::medium::FirstPages;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Nand, Op, Purpose, SpareRead, Time};

/// The notes on blocks that a policy needs: `Wants::NOTHING.times().lists()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wants {
    times: bool,
    lists: bool,
    erases: bool,
    clock: bool,
    closed: bool,
    pub(crate) deaths: bool,
}

impl Wants {
    /// Nothing.
    pub const NOTHING: Self =
        Self { times: false, lists: false, erases: false, clock: false, closed: false, deaths: false };

    /// When the first page of each was written, and when it lost the last.
    pub const fn times(self) -> Self {
        Self { times: true, ..self }
    }

    /// The multi-LRI lists.
    pub const fn lists(self) -> Self {
        Self { lists: true, ..self }
    }

    /// How often each was erased.
    pub const fn erases(self) -> Self {
        Self { erases: true, ..self }
    }

    /// What logical time it is, and, after a power cut, by which stream each was written.
    pub const fn clock(self) -> Self {
        Self { clock: true, ..self }
    }

    /// The times, and when each was closed.
    pub const fn closed(self) -> Self {
        Self { times: true, closed: true, ..self }
    }

    /// How long ago each was closed, and lost the last page, to a two-thousandth of the time in which the drive is
    /// written. With a block log that may be found later than at a mount.
    pub const fn ages(self) -> Self {
        Self { closed: true, ..self }
    }

    /// A victim part to be called with each page that dies ([`Victim::died`](crate::policy::Victim::died)).
    pub const fn deaths(self) -> Self {
        Self { deaths: true, ..self }
    }

    /// Whether first pages need not be read at the mount: ages may come later, and no other note is made of them.
    pub(crate) fn can_wait(self) -> bool {
        self == Self { closed: self.closed, deaths: self.deaths, ..Self::NOTHING }
    }

    /// The needs of either of two.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            times: self.times || other.times,
            lists: self.lists || other.lists,
            erases: self.erases || other.erases,
            clock: self.clock || other.clock,
            closed: self.closed || other.closed,
            deaths: self.deaths || other.deaths,
        }
    }
}

/// The notes on blocks.
#[derive(Clone, Default, Debug, Preserve)]
pub(crate) struct Notes {
    any: bool,
    /// Pages that the host has written since the drive was formatted; after a power cut the version of the last, and
    /// more.
    pub(super) now: u64,
    pub(super) times: Option<BlockTimes>,
    pub(super) lists: Option<MultiLri>,
    pub(super) erases: Option<Vec<u32>>,
    /// Blocks whose first page the mount has not read.
    pub(super) unread: Unread,
    /// Until a recovery is over: blocks that it has begun itself.
    begun: Vec<Block>,
    up: bool,
}

impl Notes {
    pub(super) fn new(blocks: u32, pages_per_block: u32, wants: Wants) -> Self {
        Self {
            any: wants != Wants::NOTHING,
            times: match (wants.times, wants.closed) {
                (false, false) => None,
                (false, true) => Some(BlockTimes::coarse(blocks, pages_per_block)),
                (true, closed) => Some(BlockTimes::new(blocks, closed)),
            },
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
        self.unread.remove(block);
        if let Some(times) = &mut self.times {
            times.begun(block, self.now);
        }
        if self.any && !self.up {
            self.begun.push(block);
        }
    }

    /// The block is a candidate from now on: it was closed now, or is given back by a collection.
    pub(super) fn candidate(&mut self, block: Block, live: u16, is_given_back: bool) {
        if let Some(times) = self.times.as_mut().filter(|_| !is_given_back) {
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

    /// Flash shows that a block was begun then.
    fn found(&mut self, block: Block, at: u64) {
        if let Some(times) = &mut self.times {
            times.found(block, at.min(self.now), self.now);
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
        self.unread.ram(ledger);
        ledger.index("index.begun_by_recovery", self.begun.capacity() as u64 * 4);
    }
}

impl Blocks {
    /// Has this noted from now on.
    pub(crate) fn note(&mut self, wants: Wants) {
        self.notes = Notes::new(self.geometry.blocks(), self.geometry.pages_per_block(), wants);
    }

    /// The host writes a page.
    #[inline]
    pub(crate) fn tick(&mut self) {
        self.notes.now += 1;
    }

    /// A page of the block is live no longer; the counter says so already.
    #[inline]
    pub(crate) fn lost_a_page(&mut self, block: Block) {
        if self.notes.any {
            self.notes.lost_a_page(block, self.counters.live(block));
        }
    }

    /// The drive is up. The first pages of blocks, as the recovery read them, are noted, but for blocks that it has
    /// begun itself. `streams` are those of placement.
    pub(crate) fn note_first_pages(&mut self, first: &FirstPages, streams: u8) {
        if !self.notes.any {
            return;
        }
        debug_assert!(!self.notes.up, "first pages are noted twice");
        let levelled = self.wear.is_some();
        let begun = core::mem::take(&mut self.notes.begun);
        self.notes.up = true;
        // Versions are the drive's only record of logical time.
        self.notes.now = self.clock.version();
        let now = self.notes.now;
        if let Some(times) = &mut self.notes.times {
            times.forget(now);
        }
        if !self.region().is_empty() {
            self.notes.unread = self.unread(first, &begun);
        }
        for (block, spare) in first.iter() {
            if let Some(erases) = self.notes.erases.as_mut().filter(|_| levelled) {
                let here = &mut erases[block.index()];
                *here = here.saturating_add(spare.erases);
            }
            if begun.contains(&block) || !self.is_in_use(block) {
                continue;
            }
            self.notes.found(block, spare.version);
            if spare.stream < streams && !self.is_metadata(self.stream_of(block)) {
                self.streams[block.index()] = spare.stream;
            }
        }
        for block in begun {
            self.notes.found(block, now);
        }
    }

    /// The blocks of users of which these do not have the first page, but for those that the recovery has begun itself.
    fn unread(&self, first: &FirstPages, begun: &[Block]) -> Unread {
        let of_users = (0..self.geometry.blocks())
            .map(Block)
            .filter(|block| self.is_in_use(*block) && !self.is_metadata(self.stream_of(*block)));
        let unread = of_users.filter(|block| first.of(*block).is_none() && !begun.contains(block));
        Unread::of(self.geometry.blocks(), unread)
    }

    /// Reads one of the first pages that the mount has not read. Nothing waits for it.
    #[inline]
    pub(crate) fn read_first_page<N: Nand>(&mut self, nand: &mut N, at: Time) {
        if !self.notes.unread.is_empty() {
            self.read_next_unread(nand, at);
        }
    }

    #[cold]
    fn read_next_unread<N: Nand>(&mut self, nand: &mut N, at: Time) {
        let Some(block) = self.notes.unread.take().filter(|block| self.is_in_use(*block)) else { return };
        let (read, _) = nand.read_spare(self.geometry.page(block, 0), Op::new(at, Purpose::Placement));
        if let SpareRead::Written(spare) = read {
            self.notes.found(block, spare.version);
        }
    }
}

/// Blocks for tests of policies: full ones that lose pages at given moments.
#[cfg(test)]
pub(crate) mod scene {
    use super::*;
    use crate::barriers::Barriers;
    use crate::blocks::{BlockUse, View};
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
    use phelsuma_nand::sim::SimConfig;
    use phelsuma_nand::{Content, Kind, SimNand, Spare, TIMINGS};

    #[test]
    fn nothing_is_noted_that_nobody_asks_for() {
        let mut scene = Scene::new(8, 4, 1, Wants::NOTHING);
        scene.at(5).write(0, 0).lose(&[0]);
        assert!(!scene.blocks.notes.any() && scene.view().lists().is_none());
        let mut ledger = RamLedger::default();
        scene.blocks.notes.ram(&mut ledger);
        assert_eq!(ledger.all_total(), 0);
    }

    #[test]
    fn after_a_recovery_first_writes_are_known_and_losses_are_not() {
        let wants = Wants::NOTHING.times().erases();
        let mut scene = Scene::new(8, 4, 2, wants);
        let spare = |version, stream| Spare { kind: Kind::User, stream, key: 0, version, seq: 1, data_crc: 0, aux: 7 };
        let mut first = FirstPages::new(8, true);
        first.read(Block(0), &spare(300, 1));
        first.read(Block(1), &spare(400, 0xff));
        // The recovery has found these in use, of no stream in its list, and begins block 2 itself.
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
        // Nothing says how old block 3 is: it has the largest age there is. Wear was not levelled: `aux` holds no count
        // of erases.
        assert_eq!((view.since_first_write(Block(3)), view.erases(Block(0))), (1 << 31, 1));
    }

    #[test]
    fn first_pages_that_a_mount_has_not_read_are_read_later() {
        let mut scene = Scene::new(200, 4, 2, Wants::NOTHING.ages());
        let mut nand = SimNand::new(&SimConfig::new(scene.blocks.geometry, TIMINGS[0].2));
        for block in (0..200).step_by(3) {
            scene.write(block, 0);
            let number = u64::from(block);
            let (version, seq) = (100 + number, 1 + number);
            let spare = Spare { kind: Kind::User, stream: 1, key: 0, version, seq, data_crc: 0, aux: 0 };
            let page = scene.blocks.geometry.page(Block(block), 0);
            nand.erase(Block(block), Op::new(Time::ZERO, Purpose::Gc)).unwrap();
            nand.program(page, Content::Hollow(0), &spare, Op::new(Time::ZERO, Purpose::Host)).unwrap();
        }
        let mut first = FirstPages::of_few(true);
        first.read(Block(0), &Spare { kind: Kind::User, stream: 1, key: 0, version: 100, seq: 1, data_crc: 0, aux: 0 });
        scene.blocks.notes.now = 1_000;
        scene.blocks.notes.unread = scene.blocks.unread(&first, &[Block(3)]);
        // Block 6 is erased, and begun again, meanwhile.
        scene.write(6, 0);
        for _ in 0..200 {
            scene.blocks.read_first_page(&mut nand, Time::ZERO);
        }
        assert_eq!(nand.stats().of(Purpose::Placement).spare_reads, 67 - 3, "each once");
        assert!(scene.blocks.notes.unread.is_empty());
        let view = scene.view();
        assert_eq!([6, 9, 198].map(|block| view.since_closed(Block(block))), [0, 891, 702]);
    }

    #[test]
    fn a_block_that_a_collection_gives_back_is_as_old_as_before() {
        let mut scene = Scene::new(8, 4, 1, Wants::NOTHING.ages());
        scene.at(100).write(3, 0).at(150).lose(&[3]).at(400);
        scene.blocks.begin_collection(Block(3));
        scene.blocks.close(&mut (), Block(3), 0);
        assert_eq!((scene.view().since_closed(Block(3)), scene.view().dormant(Block(3))), (300, 250));
    }
}
