//! The replay of a mount: pages that were programmed since the checkpoint, in the order of their programs.

use crate::barriers::Barrier;
use crate::checkpoint::header;
use crate::config::Parts;
use crate::drive::{Drive, HOST, META, MOVED, Missing, Source};
use crate::entries::{Before, Entry, is_page};
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::NONE;
use crate::meta::{Kind, Meta};
use crate::mount::Opened;

/// A place in the blocks of a stream, oldest first.
struct Cursor {
    stream: u32,
    /// The next block, as its place in the list of recent ones plus one, newest first: 0 where there is none.
    left: u32,
    block: Option<Opened>,
    /// Its next page.
    index: u32,
    /// What was found there.
    found: Option<(u32, Meta)>,
    /// A page behind all that were found whose metadata cannot be read.
    torn: u32,
    /// Its session.
    torn_in: u64,
    /// The session has gone on behind such a page, so no cut has torn it: what it held is lost.
    has_lost: bool,
}

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Takes a translation page into the table in RAM. The seq of its version.
    pub(crate) fn take_part<F: Flash>(&mut self, flash: &mut F, part: u32, place: u32) -> u64 {
        self.read_part(flash, part, place, self.layout.page);
        let seq = self.read_meta(flash, place).map_or(0, |meta| meta.seq);
        let entries = self.loaded_entries();
        for (index, key) in self.keys_of(part).enumerate() {
            let place = entries.get(self.memory(), index as u32);
            self.set_entry(key, Entry { place, before: Before::Settled });
        }
        seq
    }

    /// Goes through the pages that count, in the order of their programs.
    pub(crate) fn replay<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        let (mut since, mut kept, mut known, mut end) = (0, 0, 0, 0);
        let back = self.header().get(self.memory(), header::BACK);
        for at in 0..self.sizes.recent {
            let Some(opened) = self.recent(at) else { break };
            known += 1;
            if !self.counts(&opened) {
                continue;
            }
            let is_since = opened.first > self.state.checkpoint;
            since += u32::from(is_since);
            if is_since || kept < since + back {
                (kept, end) = (kept + 1, known);
            }
        }
        // Blocks are numbered as the scan has them. Those that do not count take places in its list as well.
        (self.state.opens, self.state.opens_at_checkpoint) = (known, known);
        let cursor = |stream: usize| Cursor {
            stream: stream as u32,
            left: end,
            block: None,
            index: 0,
            found: None,
            torn: NONE,
            torn_in: 0,
            has_lost: false,
        };
        let mut cursors = [cursor(HOST), cursor(MOVED), cursor(META)];
        for cursor in &mut cursors {
            self.advance(flash, cursor);
        }
        for _ in 0..self.config.chip.pages() {
            let seq_of = |cursor: &&mut Cursor| cursor.found.map_or(u64::MAX, |(_, meta)| meta.seq);
            let Some(first) = cursors.iter_mut().min_by_key(seq_of) else { break };
            let (Some((page, meta)), Some(opened)) = (first.found, first.block) else { break };
            self.advance(flash, first);
            let is_last = cursors.iter().all(|cursor| cursor.found.is_none());
            self.apply(flash, &opened, (page, meta), is_last)?;
        }
        if cursors.iter().any(|cursor| cursor.has_lost) {
            // An older version answers now, which may be reported as stale.
            self.doubt();
        }
        self.state.torn = cursors.map(|cursor| cursor.torn);
        Ok(())
    }

    /// A replay goes on where nothing can be written: all that was acknowledged is to be read.
    fn or_read_only<T>(&mut self, done: Result<T, Error>) -> Option<T> {
        if done.is_err() {
            self.state.full = true;
            self.state.in_doubt = true;
        }
        done.ok()
    }

    /// The next page of a stream that counts.
    fn advance<F: Flash>(&self, flash: &mut F, cursor: &mut Cursor) {
        cursor.found = None;
        for _ in 0..=self.config.chip.pages() {
            if let Some(opened) = cursor.block
                && cursor.index < self.ppb()
            {
                let page = self.page_of(opened.block, cursor.index);
                cursor.index += 1;
                let read = self.read_meta(flash, page);
                let session = Self::session_of(opened.first);
                if read == Err(Missing::Unreadable) {
                    (cursor.torn, cursor.torn_in) = (page, session);
                }
                if let Some(meta) = read.ok().filter(|meta| meta.seq >= opened.first) {
                    cursor.found = Some((page, meta));
                    cursor.has_lost |= cursor.torn != NONE && cursor.torn_in == session;
                    cursor.torn = NONE;
                    return;
                }
                continue;
            }
            // A block further on.
            cursor.block = None;
            while cursor.left > 0 && cursor.block.is_none() {
                cursor.left -= 1;
                cursor.block =
                    self.recent(cursor.left).filter(|opened| opened.stream == cursor.stream && self.counts(opened));
            }
            cursor.index = 0;
            if cursor.block.is_none() {
                return;
            }
        }
    }

    /// A page was programmed.
    fn apply<F: Flash>(
        &mut self,
        flash: &mut F,
        opened: &Opened,
        (mut page, meta): (u32, Meta),
        is_last: bool,
    ) -> Result<(), Error> {
        let header = self.header();
        let word = |word: u32| u64::from(header.get(self.memory(), word));
        let recorded = word(header::RECORDED) | word(header::RECORDED + 1) << 32;
        let is_unrecorded = meta.seq >= recorded;
        if meta.seq == opened.first && is_unrecorded && self.has_gecko() {
            let relieved = self.relieve(flash);
            self.or_read_only(relieved);
            self.record_erase(opened.block);
        }
        let is_entry = match meta.kind {
            Kind::User => meta.key < self.config.logical_pages && meta.seq > self.synchronized(self.part_of(meta.key)),
            Kind::Translation => meta.key < self.sizes.translation_pages && meta.seq > self.state.checkpoint,
            Kind::Gecko | Kind::Checkpoint => false,
        };
        if !is_entry {
            return Ok(());
        }
        self.make_room_if_user(flash, &meta)?;
        if is_last && self.config.keeps(Barrier::LastPageCopied) {
            // It may have been in flight when the power failed: a copy takes its place.
            let buffer = self.layout.page;
            if !self.read_page(flash, page, buffer).is_ok_and(|read| read == meta) {
                // It is torn. Should it ever read well, a version of the translation page is newer.
                let part = match meta.kind {
                    Kind::User => {
                        let reported = self.report_stale(flash, page);
                        self.or_read_only(reported);
                        self.part_of(meta.key)
                    }
                    _ => meta.key,
                };
                if self.config.keeps(Barrier::TornPageReplaced) {
                    let synchronized = self.synchronize(flash, part);
                    self.or_read_only(synchronized);
                }
                return Ok(());
            }
            let copy = self.append(flash, META, meta.kind, meta.key, Source::Memory(buffer));
            if let Some(copy) = self.or_read_only(copy) {
                if meta.kind == Kind::User {
                    let reported = self.report_stale(flash, page);
                    self.or_read_only(reported);
                }
                page = copy;
            }
        }
        match meta.kind {
            Kind::User => {
                let former = self.entry(meta.key).map(|entry| entry.place).filter(|place| is_page(*place));
                if let (Some(former), true) = (former, is_unrecorded) {
                    let reported = self.report_stale(flash, former);
                    self.or_read_only(reported);
                }
                self.set_entry(meta.key, Entry { place: page, before: Before::Unsure });
                Ok(())
            }
            _ => self.apply_part(flash, meta.key, page, meta.seq),
        }
    }

    fn make_room_if_user<F: Flash>(&mut self, flash: &mut F, meta: &Meta) -> Result<(), Error> {
        if meta.kind != Kind::User || self.has_room_for_entry() {
            return Ok(());
        }
        let made = self.make_room_for_entry(flash, meta.key);
        if self.or_read_only(made).is_none() {
            // Nothing is written any more, so the slots that make searches short can be used as well.
            return if self.state.dirty + 1 < self.layout.keys.entries { Ok(()) } else { Err(Error::Full) };
        }
        // The version that was just written has what came until now, and nothing of what comes.
        self.set_synchronized(self.part_of(meta.key), meta.seq - 1);
        Ok(())
    }

    /// A translation page was written: its entries are not dirty any more, and what they took the place of is stale.
    fn apply_part<F: Flash>(&mut self, flash: &mut F, part: u32, page: u32, seq: u64) -> Result<(), Error> {
        if self.is_ram_table() {
            self.take_part(flash, part, page);
        } else {
            let buffer = self.layout.page;
            let read = self.read_page(flash, page, buffer);
            if !read.is_ok_and(|meta| meta.kind == Kind::Translation && meta.key == part) {
                // The version before it, and its dirty entries, say the same.
                return Ok(());
            }
            if self.has_gecko() {
                let reported = self.report_replaced(flash, part, seq);
                self.or_read_only(reported);
            }
            for key in self.keys_of(part) {
                self.remove_entry(key);
            }
        }
        let directory = self.layout.directory;
        directory.set(self.memory_mut(), part, page);
        self.set_synchronized(part, seq);
        Ok(())
    }

    /// Reports what the version in the page buffer took the place of: places of the version before it, and of dirty
    /// entries.
    fn report_replaced<F: Flash>(&mut self, flash: &mut F, part: u32, seq: u64) -> Result<(), Error> {
        let former_page = self.layout.directory.get(self.memory(), part);
        let (newer, older) = (self.loaded_entries(), self.data_of(self.layout.older).words());
        let mut written = u64::MAX;
        for (index, key) in self.keys_of(part).enumerate() {
            let place = newer.get(self.memory(), index as u32);
            if let Some(entry) = self.entry(key)
                && is_page(entry.place)
                && entry.place != place
            {
                self.report_stale(flash, entry.place)?;
            }
            // Merges of runs use that buffer, too.
            if written != self.state.tally.gecko {
                self.read_part(flash, part, former_page, self.layout.older);
                written = self.state.tally.gecko;
            }
            let former = older.get(self.memory(), index as u32);
            // A later version of the logical page may stand there by now.
            if is_page(former) && former != place && self.is_of(flash, former, key, seq) {
                self.report_stale(flash, former)?;
            }
        }
        Ok(())
    }
}
