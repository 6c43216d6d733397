//! Checkpoints: the state from which a mount starts.
//!
//! A checkpoint has the directory of translation pages, the runs of Logarithmic Gecko, and which blocks were free. A
//! mount reads the newest one, and replays the pages that were programmed since. Nothing that a checkpoint names is
//! erased before the next one is on flash: blocks without live pages are held until then.

use crate::barriers::Barrier;
use crate::config::Parts;
use crate::drive::{Drive, META, NOWHERE, Open, STREAMS, Source, state};
use crate::entries::is_page;
use crate::error::Error;
use crate::flash::{Flash, MetaPlace};
use crate::layout::{OPENS_A_CHECKPOINT, PART_BYTES};
use crate::meta::Kind;
use crate::tables::{Bytes, Table32};
use crate::translation::TRIMS;

/// Words of a checkpoint's header.
pub(crate) mod header {
    /// [`MAGIC`].
    pub(crate) const MAGIC_AT: u32 = 0;
    pub(crate) const PAGE_BYTES: u32 = 1;
    pub(crate) const PAGES_PER_BLOCK: u32 = 2;
    pub(crate) const BLOCKS: u32 = 3;
    pub(crate) const LOGICAL_PAGES: u32 = 4;
    /// Where metadata stand, and the parts of the drive.
    pub(crate) const KIND: u32 = 5;
    /// Runs of Logarithmic Gecko.
    pub(crate) const RUNS: u32 = 6;
    /// From which program on reports are not in them: low and high.
    pub(crate) const RECORDED: u32 = 7;
    /// Where a free block is looked for.
    pub(crate) const CURSOR: u32 = 9;
    /// Opened blocks, back from the checkpoint, that have dirty entries.
    pub(crate) const BACK: u32 = 10;
    /// Reports may be missing.
    pub(crate) const IN_DOUBT: u32 = 11;
    /// The block of the checkpoint before it.
    pub(crate) const FORMER: u32 = 12;

    /// [`Config::window`](crate::Config::window).
    pub(crate) const WINDOW: u32 = 13;

    /// `PhM1`.
    pub(crate) const MAGIC: u32 = 0x314d_6850;
}

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    pub(crate) fn header(&self) -> Table32 {
        self.layout.header.words()
    }

    fn set_header(&mut self, word: u32, value: u32) {
        let header = self.header();
        header.set(self.memory_mut(), word, value);
    }

    /// What a drive of this kind has in the header's [`header::KIND`].
    pub(crate) fn kind_word(&self) -> u32 {
        let in_page = self.config.chip.meta == MetaPlace::InPage;
        u32::from(in_page) | u32::from(self.has_gecko()) << 1
    }

    /// Writes a checkpoint. Blocks that were held are free.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn checkpoint<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        self.write_what_is_due(flash)?;
        // A block that is open for long would be further back than a mount reads.
        for stream in 0..STREAMS {
            let open = self.state.open.get(stream).copied().unwrap_or(Open::NONE);
            if open.block != NOWHERE && self.state.opens.saturating_sub(open.number) > self.config.window / 2 {
                self.close_block(stream);
            }
        }
        self.report_judged(flash)?;
        let recorded = self.state.seq;
        if self.config.keeps(Barrier::ReportsWritten) {
            self.flush_reports(flash)?;
        }
        let parts = self.sizes.parts;
        // Each attempt that fails costs a block.
        for _ in 0..self.config.chip.blocks {
            // All parts in one block, which is not free when they say which ones are.
            if self.state.open.get(META).is_some_and(|open| open.block != NOWHERE && open.next + parts > self.ppb()) {
                self.close_block(META);
            }
            let block = self.opened(flash, META)?.block;
            self.compose_state(recorded);
            if self.write_parts(flash)? != block {
                continue;
            }
            self.state.checkpoint = self.state.seq - 1;
            self.state.opens_at_checkpoint = self.state.opens;
            self.state.has_checkpoint = true;
            self.free_what_was_held();
            self.state.checkpoint_block = block;
            return Ok(());
        }
        Err(Error::Full)
    }

    /// Translation pages with trims, and those whose entries are older than a mount looks.
    fn write_what_is_due<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        for part in 0..self.sizes.translation_pages {
            let dirty = self.layout.dirty_of.get(self.memory(), part);
            let oldest = self.layout.oldest_of.get(self.memory(), part);
            let is_old = dirty & !TRIMS > 0 && self.state.opens.saturating_sub(oldest) + 2 > self.config.window;
            let is_old = (is_old || self.is_too_new(flash, part)) && self.config.keeps(Barrier::OldEntriesWritten);
            if (dirty & TRIMS != 0 && self.config.keeps(Barrier::TrimsWritten)) || is_old {
                self.synchronize(flash, part)?;
            }
        }
        self.state.trims = 0;
        Ok(())
    }

    /// Whether a mount has written this translation page, and entries were replayed since. By its number it is newer than they,
    /// and the next mount would not replay them.
    fn is_too_new<F: Flash>(&self, flash: &mut F, part: u32) -> bool {
        let place = self.layout.directory.get(self.memory(), part);
        let is_of_mount = |seq| Self::session_of(seq) == Self::session_of(self.state.seq);
        !self.state.has_checkpoint
            && self.layout.dirty_of.get(self.memory(), part) & !TRIMS > 0
            && is_page(place)
            && self.read_meta(flash, place).is_ok_and(|meta| is_of_mount(meta.seq))
    }

    fn compose_state(&mut self, recorded: u64) {
        let chip = self.config.chip;
        let oldest = (0..self.sizes.translation_pages)
            .filter(|part| self.layout.dirty_of.get(self.memory(), *part) & !TRIMS > 0)
            .map(|part| self.layout.oldest_of.get(self.memory(), part))
            .min();
        let oldest =
            self.state.open.iter().filter(|open| open.block != NOWHERE).map(|open| open.number).chain(oldest).min();
        let back = self.state.opens.saturating_sub(oldest.unwrap_or(self.state.opens));
        for (word, value) in [
            (header::MAGIC_AT, header::MAGIC),
            (header::PAGE_BYTES, chip.page_bytes),
            (header::PAGES_PER_BLOCK, chip.pages_per_block),
            (header::BLOCKS, chip.blocks),
            (header::LOGICAL_PAGES, self.config.logical_pages),
            (header::KIND, self.kind_word()),
            (header::RUNS, self.state.runs),
            (header::RECORDED, recorded as u32),
            (header::RECORDED + 1, (recorded >> 32) as u32),
            (header::CURSOR, self.state.cursor),
            (header::BACK, back),
            (header::IN_DOUBT, u32::from(self.state.in_doubt && self.config.keeps(Barrier::DoubtKept))),
            (header::FORMER, self.state.checkpoint_block),
            (header::WINDOW, self.config.window),
        ] {
            self.set_header(word, value);
        }
        let states = [(self.layout.free_bits, state::FREE), (self.layout.held_bits, state::HELD)];
        for (bits, wanted) in states {
            let bits = bits.words();
            bits.fill(self.memory_mut(), 0);
            for block in 0..chip.blocks {
                // Of a bad block there are both.
                if [wanted, state::BAD].contains(&self.count(block)) {
                    let word = bits.get(self.memory(), block / 32);
                    bits.set(self.memory_mut(), block / 32, word | 1 << (block % 32));
                }
            }
        }
    }

    /// Whether a block has the checkpoint before the newest one.
    pub(crate) fn was_former(&self, block: u32) -> bool {
        self.header().get(self.memory(), header::FORMER) == block
    }

    /// Whether a block was free, and whether it was held, when the checkpoint was written. It was bad if both.
    fn bits_of(&self, block: u32) -> (bool, bool) {
        let bit = |bits: Bytes| bits.words().get(self.memory(), block / 32) >> (block % 32) & 1 == 1;
        (bit(self.layout.free_bits), bit(self.layout.held_bits))
    }

    /// Whether a block was free when the checkpoint was written.
    pub(crate) fn was_free(&self, block: u32) -> bool {
        self.bits_of(block) == (true, false)
    }

    /// Whether a block was held when the checkpoint was written, and free behind it.
    pub(crate) fn was_held(&self, block: u32) -> bool {
        self.bits_of(block) == (false, true)
    }

    /// Whether nothing in a block was live when the checkpoint was written.
    pub(crate) fn had_nothing(&self, block: u32) -> bool {
        self.bits_of(block) != (false, false)
    }

    /// Bytes of the state that a part has: from, and how many.
    pub(crate) fn range_of_part(&self, part: u32) -> (u32, u32) {
        let room = self.config.chip.data_bytes() - PART_BYTES;
        let from = part * room;
        (from, (self.layout.state().bytes as u32).saturating_sub(from).min(room))
    }

    /// Writes all parts. The block of the last one.
    fn write_parts<F: Flash>(&mut self, flash: &mut F) -> Result<u32, Error> {
        let first = self.state.seq;
        let mut block = NOWHERE;
        for part in 0..self.sizes.parts {
            self.state.loaded = crate::layout::NONE;
            let page = self.layout.page;
            let words = page.words();
            words.fill(self.memory_mut(), 0);
            for (word, value) in [first as u32, (first >> 32) as u32, self.sizes.parts].into_iter().enumerate() {
                words.set(self.memory_mut(), word as u32, value);
            }
            let (from, bytes) = self.range_of_part(part);
            let (from, to) = (self.layout.state().part(from, bytes), page.part(PART_BYTES, bytes));
            // The state stands in front of the buffer.
            if let Some((state, buffer)) = self.memory_mut().split_at_mut_checked(to.at) {
                let state = from.of(state);
                buffer.iter_mut().zip(state).for_each(|(out, byte)| *out = *byte);
            }
            let written = self.append(flash, META, Kind::Checkpoint, part, Source::Memory(page))?;
            self.state.tally.checkpoint += 1;
            let there = self.block_of(written);
            if part > 0 && there != block {
                // A program has failed: they are to be in one block.
                return Ok(NOWHERE);
            }
            block = there;
        }
        Ok(block)
    }

    fn free_what_was_held(&mut self) {
        for block in 0..self.config.chip.blocks {
            if self.state.held == 0 {
                break;
            }
            // Should the new one go bad, there is the one before it.
            if self.count(block) == state::HELD && block != self.state.checkpoint_block {
                self.set_count(block, state::FREE);
                self.state.held -= 1;
                self.state.free += 1;
            }
        }
    }

    /// Whether a mount would have to replay much.
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        self.state.opens.saturating_sub(self.state.opens_at_checkpoint) >= OPENS_A_CHECKPOINT / 2
    }
}
