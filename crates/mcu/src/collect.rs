//! Collections: the live pages of the emptiest block are moved, a few with each write.

use crate::config::{HIGH, LOW, Parts};
use crate::drive::{Drive, META, MOVED, Missing, NOWHERE, Source, Victim, state};
use crate::entries::{Before, Entry, is_page};
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::LOST;
use crate::meta::Kind;

/// Pages that one write moves at the most, unless blocks are short.
const MOST_MOVES: u32 = 16;

/// Free blocks, besides those that a write wants, that are made while the host is idle.
const IDLE: u32 = 2;

/// Reports of a write, at the most: that it has erased a block, and a stale page.
const REPORTS: u32 = 2;

/// Flash operations of a write at the most: reads, programs, erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operations {
    /// Pages read, or their metadata.
    pub reads: u32,
    /// Pages programmed.
    pub programs: u32,
    /// Blocks erased.
    pub erases: u32,
}

/// What a write takes at the most if [`Drive::maintain`] was called before it until there was no more to do. An operation
/// that fails takes another one.
pub const WRITE_WHEN_MAINTAINED: Operations = Operations { reads: 0, programs: 1, erases: 1 };

/// Programs of a session after which another one is begun: seq counts on for 65,536.
const SESSION: u64 = 0xe000;

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Before each request: free blocks, a checkpoint if one is due, and a share of a collection.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn make_room<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        if self.state.full {
            return Err(Error::Full);
        }
        let made = self.try_to_make_room(flash);
        self.state.full = made.is_err();
        made
    }

    /// Writes the buffer of reports and a checkpoint where they are due: no mount reads further back.
    fn keep_up<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        self.relieve(flash)?;
        if self.is_session_long() {
            self.begin_session();
            self.checkpoint(flash)?;
        } else if self.wants_checkpoint() {
            self.checkpoint(flash)?;
        }
        Ok(())
    }

    /// Free blocks below which nothing is written for the host.
    fn low(&self) -> u32 {
        if self.has_gecko() { self.sizes.low(&self.config.chip) } else { LOW }
    }

    fn is_session_long(&self) -> bool {
        self.state.seq & 0xffff > SESSION
    }

    fn wants_checkpoint(&self) -> bool {
        self.checkpoint_is_due() || (self.state.free < self.low() && self.state.held > 0)
    }

    fn try_to_make_room<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        self.keep_up(flash)?;
        let lacks = self.state.free + self.state.held < self.low() + HIGH;
        if lacks || self.state.victim.block != NOWHERE || self.block_to_refresh().is_some() {
            self.collect_some(flash)?;
        }
        // Each block that is collected gives at least a page more than it takes.
        for _ in 0..self.config.chip.blocks * 4 {
            if self.state.free >= self.low() {
                return Ok(());
            }
            if self.state.held > 0 {
                self.checkpoint(flash)?;
            } else {
                self.collect_one(flash)?;
            }
        }
        Err(Error::Full)
    }

    /// Programs have another session's numbers from now on. Until its first checkpoint is written, a mount ignores it.
    pub(crate) fn begin_session(&mut self) {
        self.state.seq = (self.state.seq | 0xffff) + 1;
    }

    /// Does work that a write would have to do: moves up to so many pages. Call it while the host is idle. Whether there is
    /// more to do. Where there is not, the next write takes [`WRITE_WHEN_MAINTAINED`](crate::WRITE_WHEN_MAINTAINED).
    ///
    /// # Errors
    /// [`Error::Full`].
    pub fn maintain<F: Flash>(&mut self, flash: &mut F, pages: u32) -> Result<bool, Error> {
        if self.state.full {
            return Err(Error::Full);
        }
        for _ in 0..pages {
            if !self.has_work() {
                break;
            }
            if !self.has_room_for_reports(REPORTS) {
                self.flush_reports(flash)?;
            }
            self.keep_up(flash)?;
            if self.state.free <= self.low() && self.state.held > 0 {
                self.checkpoint(flash)?;
            } else if !self.has_room_for_entry() {
                self.synchronize_fullest(flash)?;
            } else if !self.lacks_blocks() {
                continue;
            } else if (self.state.victim.block != NOWHERE || self.choose(flash)) && self.state.free + 1 >= self.low() {
                self.collect_page(flash)?;
            } else if self.state.free < self.low() {
                self.make_room(flash)?;
            } else {
                return Ok(false);
            }
        }
        Ok(self.has_work())
    }

    /// Whether there is work for idle time.
    fn has_work(&self) -> bool {
        let wants_metadata = self.is_session_long() || self.wants_checkpoint() || !self.has_room_for_entry();
        wants_metadata || !self.has_room_for_reports(REPORTS) || self.lacks_blocks()
    }

    /// Whether pages are to be moved in idle time.
    fn lacks_blocks(&self) -> bool {
        let lacks = self.state.free + self.state.held < self.low() + HIGH + IDLE;
        lacks || self.state.victim.block != NOWHERE || self.block_to_refresh().is_some()
    }

    /// As many pages of the victim as a write has to move so that collections keep up.
    fn collect_some<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        if self.state.victim.block == NOWHERE && !self.choose(flash) {
            return Ok(());
        }
        for _ in 0..self.state.victim.moves {
            if !self.collect_page(flash)? {
                break;
            }
        }
        Ok(())
    }

    /// A whole block.
    fn collect_one<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        if self.state.victim.block == NOWHERE && !self.choose(flash) {
            return Err(Error::Full);
        }
        for _ in 0..=self.ppb() {
            if !self.collect_page(flash)? {
                break;
            }
        }
        Ok(())
    }

    /// Takes the block with the fewest live pages, one with a failed program before all others. Whether there is one that
    /// has a stale page.
    fn choose<F: Flash>(&mut self, flash: &mut F) -> bool {
        let refreshed = self.block_to_refresh().map(|block| (0, block, u32::from(self.count(block) & state::COUNT)));
        let mut best: Option<(u32, u32, u32)> = refreshed;
        for block in 0..self.config.chip.blocks {
            let count = self.count(block);
            if count >= state::FIRST || self.is_open(block) {
                continue;
            }
            let live = u32::from(count & state::COUNT);
            let rank = if count & state::FAILING != 0 { 0 } else { live + 1 };
            if best.is_none_or(|(other, ..)| rank < other) {
                best = Some((rank, block, live));
            }
        }
        let Some((rank, block, live)) = best else { return false };
        if rank > self.ppb() {
            return false;
        }
        let is_empty = live == 0 && !self.state.in_doubt;
        let stale = if is_empty { [u32::MAX; 8] } else { self.stale_pages(flash, block) };
        // What it frees is to be more than what moving its pages takes.
        let freed = self.ppb().saturating_sub(live).max(1);
        let moves = (live.div_ceil(freed) + 1).min(MOST_MOVES);
        let next = if is_empty { self.ppb() } else { 0 };
        if block == self.state.refresh {
            self.state.refresh = NOWHERE;
        }
        self.state.victim = Victim { block, next, moves, stale };
        true
    }

    /// Judges pages of the victim until one has been moved. Whether the victim is still one.
    pub(crate) fn collect_page<F: Flash>(&mut self, flash: &mut F) -> Result<bool, Error> {
        while self.state.victim.next < self.ppb() {
            let (block, index) = (self.state.victim.block, self.state.victim.next);
            let stale =
                self.state.victim.stale.get(index as usize / 32).is_some_and(|word| word >> (index % 32) & 1 == 1);
            let page = self.page_of(block, index);
            let moved = (!stale || self.state.in_doubt) && self.move_if_live(flash, page)?;
            // A doubt has pages judged again.
            if self.state.victim.next == index {
                self.state.victim.next = index + 1;
            }
            if moved {
                return Ok(true);
            }
        }
        self.finish(flash);
        Ok(false)
    }

    /// Reports may be missing, or wrong. From now on the mapping alone says what is live, also of pages judged before.
    pub(crate) fn doubt(&mut self) {
        if !self.state.in_doubt {
            self.state.in_doubt = true;
            self.state.victim.next = 0;
        }
    }

    /// No page of the victim is live.
    fn finish<F: Flash>(&mut self, flash: &mut F) {
        let block = self.state.victim.block;
        self.state.victim.block = NOWHERE;
        if block == NOWHERE {
            return;
        }
        if self.state.in_doubt || self.count(block) & state::COUNT > 0 {
            self.give_up(block);
        }
        if self.count(block) & state::FAILING != 0 {
            self.set_count(block, state::BAD);
            flash.mark_bad(block);
        } else {
            self.hold(block);
        }
    }

    /// Entries name pages of a block that are not there any more: they cannot be read, or a newer version is lost. They are read
    /// errors from now on. Else they would name what is written there next.
    fn give_up(&mut self, block: u32) {
        for slot in 0..self.layout.places.entries {
            let Some((key, entry)) = self.entry_in(slot) else { continue };
            if is_page(entry.place) && self.block_of(entry.place) == block {
                self.set_entry(key, Entry { place: LOST, ..entry });
                self.note_entry(key, self.state.appended, (self.is_ram_table(), true));
            }
        }
    }

    /// Moves a page of the victim if it is live. Whether something was programmed for it.
    fn move_if_live<F: Flash>(&mut self, flash: &mut F, page: u32) -> Result<bool, Error> {
        let judged_by_mapping = !self.has_gecko() || self.state.in_doubt;
        let meta = match self.read_meta(flash, page) {
            Ok(meta) => meta,
            Err(Missing::Erased) => return Ok(false),
            Err(Missing::Unreadable) => {
                // A translation page may name it for ever.
                self.doubt();
                return Ok(false);
            }
        };
        match meta.kind {
            Kind::User if meta.key < self.config.logical_pages => {
                let key = meta.key;
                match self.entry(key) {
                    Some(entry) if entry.place == page => {}
                    Some(entry) => {
                        // Reports have all other stale pages: this is the one that its translation page names.
                        if !judged_by_mapping || self.in_translation_page(flash, key) == page {
                            if entry.before == Before::Counted {
                                self.drop_page(page);
                            }
                            self.set_entry(key, Entry { before: Before::Settled, ..entry });
                        }
                        return Ok(false);
                    }
                    None if judged_by_mapping && self.place_of(flash, key) != page => return Ok(false),
                    None => {}
                }
                self.move_user_page(flash, page, key)?;
                Ok(true)
            }
            Kind::Translation if meta.key < self.sizes.translation_pages => {
                let is_live = self.layout.directory.get(self.memory(), meta.key) == page;
                if is_live {
                    self.synchronize(flash, meta.key)?;
                }
                Ok(is_live)
            }
            Kind::Gecko => {
                let buffer = self.layout.page;
                if self.read_page(flash, page, buffer).is_err() {
                    return Ok(false);
                }
                self.move_run_page(flash, page, buffer)?;
                Ok(true)
            }
            // The newest one is held with its block, and there will be a newer one before that is erased.
            _ => Ok(false),
        }
    }

    /// A drive whose mounts are cut time and again takes one block for each, and not two: what it moves before the host's
    /// first write goes to the block that it has open.
    fn stream_of_moved(&self) -> usize {
        if self.state.tally.host_writes == 0 { META } else { MOVED }
    }

    pub(crate) fn move_user_page<F: Flash>(&mut self, flash: &mut F, page: u32, key: u32) -> Result<(), Error> {
        self.make_room_for_entry(flash, key)?;
        let buffer = self.layout.page;
        let read = self.read_page(flash, page, buffer).is_ok_and(|meta| meta.kind == Kind::User && meta.key == key);
        // What cannot be read is a read error from now on, and no older version.
        let place = match read {
            true => self.append(flash, self.stream_of_moved(), Kind::User, key, Source::Memory(buffer))?,
            false => LOST,
        };
        self.state.tally.moved += 1;
        let entry = self.entry(key);
        let is_new = entry.is_none() || self.is_ram_table();
        let before = entry.map_or(Before::Settled, |entry| entry.before);
        self.set_entry(key, Entry { place, before });
        self.drop_page(page);
        self.note_entry(key, self.state.appended, (is_new, !is_page(place)));
        Ok(())
    }
}
