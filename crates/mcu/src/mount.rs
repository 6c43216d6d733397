//! Mounting: the newest checkpoint, and the pages that were programmed since.
//!
//! ```text
//! first page of each block -> the blocks opened last
//! newest checkpoint        -> directory, runs, which blocks are free
//! metadata since, in order -> entries, translation pages, reports: as they came about
//! translation pages        -> live pages of each block
//! last page before the cut -> copied: it may read well now and fail later
//! another checkpoint       -> now the host may write
//! ```
//!
//! Everything until that checkpoint is in a session of its own, and in blocks that the old checkpoint says are free. If
//! the power fails before it is written, the next mount ignores that session.

use crate::barriers::Barrier;
use crate::checkpoint::header;
use crate::config::{Config, Parts};
use crate::drive::{Drive, META, Missing, NOWHERE, STREAMS, state};
use crate::entries::is_page;
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::PART_BYTES;
use crate::meta::{Kind, Meta};

/// Programs of a session are numbered with so many bits; the session stands above.
const SESSION_BITS: u32 = 16;

/// A block that was opened lately.
#[derive(Clone, Copy)]
pub(crate) struct Opened {
    pub(crate) block: u32,
    /// Of its first page that can be read.
    pub(crate) first: u64,
    pub(crate) stream: u32,
}

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Makes a blank drive: an erase and a checkpoint. What was on the chip cannot be read through it.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Memory`], [`Error::Full`].
    pub fn format<F: Flash>(flash: &mut F, config: &Config, memory: M) -> Result<Self, Error> {
        let mut drive = Self::empty(config, memory)?;
        let session = drive.scan(flash);
        drive.begin_mount(flash, session);
        for block in 0..config.chip.blocks {
            if drive.count(block) != state::BAD {
                drive.set_count(block, state::FREE);
                drive.state.free += 1;
            }
        }
        drive.begin_service();
        drive.checkpoint(flash)?;
        Ok(drive)
    }

    /// Mounts the drive that is on the chip. The memory needs [`Config::memory_bytes`]; what is in it does not matter.
    ///
    /// A drive with too many bad blocks mounts and can be read; each write is [`Error::Full`].
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Memory`], [`Error::NotFormatted`], [`Error::OtherDrive`].
    pub fn mount<F: Flash>(flash: &mut F, config: &Config, memory: M) -> Result<Self, Error> {
        let mut drive = Self::empty(config, memory)?;
        let session = drive.scan(flash);
        drive.load_checkpoint(flash)?;
        drive.restore_state(flash, session)?;
        drive.replay(flash)?;
        drive.count_live_pages(flash);
        if drive.state.full || drive.begin_writing(flash).is_err() {
            // It can be read as it is.
            drive.state.full = true;
        }
        Ok(drive)
    }

    /// All that a mount writes behind its replay.
    fn begin_writing<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        self.report_torn(flash)?;
        self.checkpoint(flash)?;
        self.make_room(flash)
    }

    /// Looks at each block's first page; the highest session that is on the chip.
    fn scan<F: Flash>(&mut self, flash: &mut F) -> u64 {
        let recent = self.layout.recent;
        recent.fill(self.memory_mut(), NOWHERE);
        let mut session = 0;
        for block in 0..self.config.chip.blocks {
            let Some(first) = self.first_meta(flash, block) else { continue };
            session = session.max(first.seq >> SESSION_BITS);
            // Newest first.
            let places = self.sizes.recent;
            let at = (0..places).find(|at| self.recent(*at).is_none_or(|other| other.first < first.seq));
            let Some(at) = at else { continue };
            for place in (at + 1..places).rev() {
                for word in 0..3 {
                    let moved = recent.get(self.memory(), 3 * (place - 1) + word);
                    recent.set(self.memory_mut(), 3 * place + word, moved);
                }
            }
            let high = (first.seq >> 32) as u32 | first.stream << 30;
            for (word, value) in [first.seq as u32, high, block].into_iter().enumerate() {
                recent.set(self.memory_mut(), 3 * at + word as u32, value);
            }
        }
        session
    }

    /// The metadata of a block's first page that can be read.
    fn first_meta<F: Flash>(&self, flash: &mut F, block: u32) -> Option<Meta> {
        for index in 0..self.ppb() {
            match self.read_meta(flash, self.page_of(block, index)) {
                Ok(meta) => return Some(meta),
                Err(Missing::Erased) if index == 0 => return None,
                Err(_) => {}
            }
        }
        None
    }

    pub(crate) fn recent(&self, at: u32) -> Option<Opened> {
        let word = |word: u32| self.layout.recent.get(self.memory(), 3 * at + word);
        let (low, high, block) = (word(0), word(1), word(2));
        let first = u64::from(high & 0xffff) << 32 | u64::from(low);
        (block != NOWHERE).then_some(Opened { block, first, stream: high >> 30 })
    }

    /// Reads the newest checkpoint of which all parts can be read.
    fn load_checkpoint<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        let mut is_empty = true;
        for at in 0..self.sizes.recent {
            let Some(opened) = self.recent(at) else { break };
            is_empty = false;
            if opened.stream != META as u32 {
                continue;
            }
            for index in (0..self.ppb()).rev() {
                let Ok(meta) = self.read_meta(flash, self.page_of(opened.block, index)) else { continue };
                // Where a program of its own has failed, it may stand in a block that it takes for free: it was written again.
                if meta.kind == Kind::Checkpoint
                    && meta.key + 1 == self.sizes.parts
                    && self.load_parts(flash, opened.block, index)
                    && !self.had_nothing(opened.block)
                {
                    self.state.checkpoint = meta.seq;
                    self.state.checkpoint_block = opened.block;
                    return self.check_header();
                }
            }
        }
        Err(if is_empty && self.looks_blank(flash) { Error::NotFormatted } else { Error::OtherDrive })
    }

    /// Whether first pages of blocks read as erased: all but one, which a format may have been about to write. Where reads
    /// fail, or metadata stand elsewhere, a format would take somebody's data.
    fn looks_blank<F: Flash>(&self, flash: &mut F) -> bool {
        let mut others = 0;
        for block in 0..self.config.chip.blocks {
            let is_erased =
                flash.is_bad(block) || self.read_meta(flash, self.page_of(block, 0)) == Err(Missing::Erased);
            others += u32::from(!is_erased);
        }
        others <= 1
    }

    /// Reads the parts of a checkpoint, of which this is the last. Whether they are all there.
    fn load_parts<F: Flash>(&mut self, flash: &mut F, block: u32, last: u32) -> bool {
        let parts = self.sizes.parts;
        let Some(start) = (last + 1).checked_sub(parts) else { return false };
        let mut number = None;
        for part in 0..parts {
            let page = self.layout.page;
            let read = self.read_page(flash, self.page_of(block, start + part), page);
            if !read.is_ok_and(|meta| meta.kind == Kind::Checkpoint && meta.key == part) {
                return false;
            }
            let words = page.words();
            let own = [0, 1, 2].map(|word| words.get(self.memory(), word));
            if number.is_some_and(|number| number != own) || own[2] != parts {
                return false;
            }
            number = Some(own);
            let (from, bytes) = self.range_of_part(part);
            let (to, from) = (self.layout.state().part(from, bytes), page.part(PART_BYTES, bytes));
            if let Some((state, buffer)) = self.memory_mut().split_at_mut_checked(from.at) {
                let out = to.of_mut(state);
                out.iter_mut().zip(buffer.iter()).for_each(|(out, byte)| *out = *byte);
            }
        }
        true
    }

    fn check_header(&self) -> Result<(), Error> {
        let chip = self.config.chip;
        let expected = [
            (header::MAGIC_AT, header::MAGIC),
            (header::PAGE_BYTES, chip.page_bytes),
            (header::PAGES_PER_BLOCK, chip.pages_per_block),
            (header::BLOCKS, chip.blocks),
            (header::LOGICAL_PAGES, self.config.logical_pages),
            (header::KIND, self.kind_word()),
        ];
        let fits = expected.iter().all(|(word, value)| self.header().get(self.memory(), *word) == *value);
        let runs = self.header().get(self.memory(), header::RUNS);
        // Entries may be as far back as the window was.
        let window = self.header().get(self.memory(), header::WINDOW);
        if fits && runs <= self.sizes.runs && window <= self.config.window { Ok(()) } else { Err(Error::OtherDrive) }
    }

    /// A session behind all others begins, and bad blocks are known.
    fn begin_mount<F: Flash>(&mut self, flash: &mut F, session: u64) {
        // A block may go on into the next session.
        self.state.seq = (session + 2) << SESSION_BITS;
        for block in 0..self.config.chip.blocks {
            let is_bad = flash.is_bad(block);
            self.set_count(block, if is_bad { state::BAD } else { 0 });
        }
    }

    pub(crate) fn session_of(seq: u64) -> u64 {
        seq >> SESSION_BITS
    }

    /// Whether pages of a block count: it was not free when the checkpoint was written, or has been opened since.
    pub(crate) fn counts(&self, opened: &Opened) -> bool {
        let session = Self::session_of(opened.first);
        let is_known = session <= Self::session_of(self.state.checkpoint)
            || self.has_served(session)
            || !self.config.keeps(Barrier::SessionsIgnored);
        is_known && (opened.first > self.state.checkpoint || !self.had_nothing(opened.block))
    }

    /// Whether a session got further than its first checkpoint, which may have gone bad since: only then is anything
    /// written to other streams than that of metadata.
    fn has_served(&self, session: u64) -> bool {
        let mut recent = (0..self.sizes.recent).map_while(|at| self.recent(at));
        recent.any(|opened| opened.stream != META as u32 && Self::session_of(opened.first) == session)
    }

    /// The state of the checkpoint that was loaded.
    fn restore_state<F: Flash>(&mut self, flash: &mut F, session: u64) -> Result<(), Error> {
        self.begin_mount(flash, session);
        let word = |word: u32| self.header().get(self.memory(), word);
        let (runs, cursor, in_doubt) = (word(header::RUNS), word(header::CURSOR), word(header::IN_DOUBT));
        self.state.runs = runs;
        self.state.cursor = if cursor < self.config.chip.blocks { cursor } else { 0 };
        self.state.in_doubt = in_doubt != 0;
        if self.pages_of_runs() > self.sizes.run_pages {
            return Err(Error::OtherDrive);
        }
        // A checkpoint that was in flight may not be there the next time: then the one before it needs what was held.
        let is_certain = self.something_follows(flash);
        for block in 0..self.config.chip.blocks {
            let is_free = self.was_free(block) || (is_certain && self.was_held(block));
            if self.count(block) != state::BAD && is_free {
                self.set_count(block, state::FREE);
                self.state.free += 1;
            } else if self.count(block) != state::BAD && self.was_held(block) {
                self.hold(block);
            }
        }
        for at in 0..self.sizes.recent {
            let Some(opened) = self.recent(at) else { break };
            match self.count(opened.block) {
                state::FREE if self.counts(&opened) => self.state.free -= 1,
                state::HELD if self.counts(&opened) => self.state.held -= 1,
                _ => continue,
            }
            self.set_count(opened.block, 0);
        }
        for part in 0..self.sizes.translation_pages {
            let place = self.layout.directory.get(self.memory(), part);
            let seq = if !is_page(place) {
                0
            } else if self.is_ram_table() {
                self.take_part(flash, part, place)
            } else {
                let read = self.read_meta(flash, place);
                read.ok().filter(|meta| meta.kind == Kind::Translation && meta.key == part).map_or(0, |meta| meta.seq)
            };
            self.set_synchronized(part, seq);
            // A newer checkpoint has gone bad, and what this one names was written over: some reports cannot be found.
            self.state.in_doubt |= is_page(place) && !(1..=self.state.checkpoint).contains(&seq);
        }
        for at in 0..self.pages_of_runs() {
            let page = self.layout.run_pages.get(self.memory(), at);
            let read = self.read_meta(flash, page);
            let is_sound = read.is_ok_and(|meta| meta.kind == Kind::Gecko && meta.seq <= self.state.checkpoint);
            self.state.in_doubt |= !is_sound;
        }
        Ok(())
    }

    /// Whether a page was programmed after the checkpoint, in its session: then that was complete.
    fn something_follows<F: Flash>(&self, flash: &mut F) -> bool {
        let mut recent = (0..self.sizes.recent).map_while(|at| self.recent(at));
        if recent.any(|opened| opened.first > self.state.checkpoint && self.counts(&opened)) {
            return true;
        }
        for stream in 0..STREAMS as u32 {
            let mut newest = (0..self.sizes.recent).map_while(|at| self.recent(at));
            let Some(opened) = newest.find(|opened| opened.stream == stream && self.counts(opened)) else { continue };
            for index in 0..self.ppb() {
                let read = self.read_meta(flash, self.page_of(opened.block, index));
                if read.is_ok_and(|meta| {
                    meta.seq > self.state.checkpoint
                        && Self::session_of(meta.seq) == Self::session_of(self.state.checkpoint)
                }) {
                    return true;
                }
            }
        }
        false
    }
}
