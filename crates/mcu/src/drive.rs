//! A drive: its memory, its state, and the reads and appends of which everything else is made.

use crate::barriers::Barrier;
use crate::config::{Config, Parts, Validity};
use crate::error::Error;
use crate::flash::{Flash, META_BYTES, MetaPlace, Uncorrectable};
use crate::layout::{Layout, NONE, Sizes};
use crate::meta::{Kind, Meta, sum};
use crate::tables::Bytes;
use core::marker::PhantomData;

/// States of a block in the place of a count of live pages.
pub(crate) mod state {
    /// May be opened.
    pub(crate) const FREE: u16 = 0xffff;
    /// Has no live page, but the newest checkpoint may need what stands in it.
    pub(crate) const HELD: u16 = 0xfffe;
    /// Is never opened again.
    pub(crate) const BAD: u16 = 0xfffd;
    /// From here on it is no count.
    pub(crate) const FIRST: u16 = BAD;
    /// A count's bit: a program failed here, so the block is retired when it is empty.
    pub(crate) const FAILING: u16 = 0x8000;
    /// A count's bit: Logarithmic Gecko has not recorded yet that the block was erased.
    pub(crate) const UNRECORDED: u16 = 0x4000;
    /// The count itself.
    pub(crate) const COUNT: u16 = 0x0fff;
}

/// No block.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Streams: of the host, of what collections move, and of metadata, whose blocks are empty before others.
pub(crate) const HOST: usize = 0;
pub(crate) const MOVED: usize = 1;
pub(crate) const META: usize = 2;
pub(crate) const STREAMS: usize = 3;

/// A block that is being written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// Or [`NOWHERE`].
    pub(crate) block: u32,
    /// Its next page.
    pub(crate) next: u32,
    /// Blocks that were opened before it.
    pub(crate) number: u32,
}

impl Open {
    pub(crate) const NONE: Self = Self { block: NOWHERE, next: 0, number: 0 };
}

/// A block that is being collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    /// Or [`NOWHERE`].
    pub(crate) block: u32,
    /// The page that is judged next.
    pub(crate) next: u32,
    /// Pages that a write moves.
    pub(crate) moves: u32,
    /// Its pages that are known to be stale.
    pub(crate) stale: [u32; 8],
}

/// What a drive keeps besides its tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// The number of the next program.
    pub(crate) seq: u64,
    /// The newest checkpoint: of its last part.
    pub(crate) checkpoint: u64,
    /// Its block, or [`NOWHERE`].
    pub(crate) checkpoint_block: u32,
    pub(crate) open: [Open; STREAMS],
    /// Blocks opened so far, since the oldest one that a mount found.
    pub(crate) opens: u32,
    /// Of them before the newest checkpoint.
    pub(crate) opens_at_checkpoint: u32,
    pub(crate) free: u32,
    pub(crate) held: u32,
    /// Where a free block is looked for.
    pub(crate) cursor: u32,
    pub(crate) victim: Victim,
    /// Number of the opened block that the last append went to.
    pub(crate) appended: u32,
    /// The block that is to be written anew, or [`NOWHERE`].
    pub(crate) refresh: u32,
    /// Pages that a cut has torn, one of each stream, or [`NONE`].
    pub(crate) torn: [u32; STREAMS],
    /// For the reads that are counted.
    pub(crate) chance: u32,
    /// Dirty entries.
    pub(crate) dirty: u32,
    /// Those that are trims, or pages lost: to be written before a block is freed.
    pub(crate) trims: u32,
    /// Reports in the buffer.
    pub(crate) reports: u32,
    /// Runs of Logarithmic Gecko.
    pub(crate) runs: u32,
    /// The translation page that [`Layout::page`] holds.
    pub(crate) loaded: u32,
    /// Reports may be missing, or wrong: what is live the mapping alone says.
    pub(crate) in_doubt: bool,
    /// Reports are being written: none can be taken.
    pub(crate) recording: bool,
    /// Counts are not there yet.
    pub(crate) mounting: bool,
    /// A checkpoint was written since the drive was mounted.
    pub(crate) has_checkpoint: bool,
    /// There is no room for another write.
    pub(crate) full: bool,
    pub(crate) tally: Tally,
}

/// What a drive has done since it was mounted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Pages written by the host.
    pub host_writes: u64,
    /// Pages that collections moved.
    pub moved: u64,
    /// Translation pages written.
    pub translation: u64,
    /// Pages of Logarithmic Gecko written.
    pub gecko: u64,
    /// Pages of checkpoints written.
    pub checkpoint: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Programs and erases that failed.
    pub failures: u64,
}

/// Where a page's data come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// From the host.
    Host(&'a [u8]),
    /// From memory: one of the page buffers.
    Memory(Bytes),
}

/// Why there are no data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// Nothing was programmed there.
    Erased,
    /// They are not what was programmed, or nobody can say so.
    Unreadable,
}

/// A drive of the parts `P` in the memory `M`. It owns no flash: a driver is lent for each call.
///
/// All its tables stand in the memory. So a copy of both is a drive in the same state.
#[derive(Clone)]
pub struct Drive<P: Parts, M> {
    pub(crate) config: Config,
    pub(crate) layout: Layout,
    pub(crate) sizes: Sizes,
    pub(crate) memory: M,
    pub(crate) state: State,
    parts: PhantomData<P>,
}

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// A drive with nothing in it.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Memory`].
    pub(crate) fn empty(config: &Config, mut memory: M) -> Result<Self, Error> {
        let (layout, sizes) = Layout::of(config, P::MAPPING, P::VALIDITY).map_err(Error::Config)?;
        let Some(own) = memory.as_mut().get_mut(..layout.bytes) else {
            return Err(Error::Memory { needed: layout.bytes });
        };
        own.fill(0);
        let state = State {
            seq: 0,
            checkpoint: 0,
            checkpoint_block: NOWHERE,
            open: [Open::NONE; STREAMS],
            opens: 0,
            opens_at_checkpoint: 0,
            free: 0,
            held: 0,
            cursor: 0,
            victim: Victim { block: NOWHERE, next: 0, moves: 0, stale: [0; 8] },
            appended: 0,
            refresh: NOWHERE,
            torn: [NONE; STREAMS],
            chance: 1,
            dirty: 0,
            trims: 0,
            reports: 0,
            runs: 0,
            loaded: NONE,
            in_doubt: false,
            recording: false,
            mounting: true,
            has_checkpoint: false,
            full: false,
            tally: Tally::default(),
        };
        let mut drive = Self { config: *config, layout, sizes, memory, state, parts: PhantomData };
        drive.layout.directory.fill(drive.memory.as_mut(), NONE);
        drive.layout.run_pages.fill(drive.memory.as_mut(), NONE);
        drive.forget_entries();
        Ok(drive)
    }

    #[inline]
    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.as_ref()
    }

    #[inline]
    pub(crate) fn memory_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut()
    }

    #[inline]
    pub(crate) fn has_gecko(&self) -> bool {
        P::VALIDITY == Validity::Gecko
    }

    /// Pages of a block.
    #[inline]
    pub(crate) fn ppb(&self) -> u32 {
        self.config.chip.pages_per_block
    }

    #[inline]
    pub(crate) fn block_of(&self, page: u32) -> u32 {
        page >> self.ppb().trailing_zeros()
    }

    #[inline]
    pub(crate) fn page_of(&self, block: u32, index: u32) -> u32 {
        (block << self.ppb().trailing_zeros()) | index
    }

    #[inline]
    pub(crate) fn index_of(&self, page: u32) -> u32 {
        page & (self.ppb() - 1)
    }

    #[inline]
    pub(crate) fn count(&self, block: u32) -> u16 {
        self.layout.counts.get(self.memory(), block)
    }

    #[inline]
    pub(crate) fn set_count(&mut self, block: u32, count: u16) {
        let counts = self.layout.counts;
        counts.set(self.memory_mut(), block, count);
    }

    /// The data part of a page's buffer.
    pub(crate) fn data_of(&self, buffer: Bytes) -> Bytes {
        buffer.first(self.config.chip.data_bytes())
    }

    /// The metadata of a page.
    pub(crate) fn read_meta<F: Flash>(&self, flash: &mut F, page: u32) -> Result<Meta, Missing> {
        let mut bytes = [0; META_BYTES];
        let read = match self.config.chip.meta {
            MetaPlace::Spare => flash.read(page, 0, &mut [], Some(&mut bytes)),
            MetaPlace::InPage => flash.read(page, self.config.chip.data_bytes(), &mut bytes, None),
        };
        match read {
            Err(Uncorrectable) => Err(Missing::Unreadable),
            Ok(_) if bytes == [0xff; META_BYTES] => Err(Missing::Erased),
            Ok(_) => Meta::decode(&bytes).ok_or(Missing::Unreadable),
        }
    }

    /// Reads a page into a buffer of memory. Its data are what was programmed.
    pub(crate) fn read_page<F: Flash>(&mut self, flash: &mut F, page: u32, into: Bytes) -> Result<Meta, Missing> {
        if into.at == self.layout.page.at {
            self.state.loaded = NONE;
        }
        let place = self.config.chip.meta;
        let data_bytes = self.config.chip.data_bytes() as usize;
        let buffer = into.of_mut(self.memory.as_mut());
        let mut meta = [0; META_BYTES];
        let read = match place {
            MetaPlace::Spare => flash.read(page, 0, buffer, Some(&mut meta)),
            MetaPlace::InPage => flash.read(page, 0, buffer, None),
        };
        let Some((data, tail)) = buffer.split_at_checked(data_bytes) else { return Err(Missing::Unreadable) };
        if let (MetaPlace::InPage, Some(tail)) = (place, tail.first_chunk()) {
            meta = *tail;
        }
        let found = checked(read, &meta, data);
        self.note_read(page, read.unwrap_or(0));
        found
    }

    /// Reads a page's data into a slice of the host's, which has as many bytes as a host page.
    pub(crate) fn read_into<F: Flash>(&mut self, flash: &mut F, page: u32, out: &mut [u8]) -> Result<Meta, Missing> {
        match self.config.chip.meta {
            MetaPlace::Spare => {
                let mut meta = [0; META_BYTES];
                let read = flash.read(page, 0, out, Some(&mut meta));
                self.note_read(page, read.unwrap_or(0));
                checked(read, &meta, out)
            }
            MetaPlace::InPage => {
                let buffer = self.layout.page;
                let meta = self.read_page(flash, page, buffer)?;
                let data = self.data_of(buffer).of(self.memory());
                out.iter_mut().zip(data).for_each(|(out, byte)| *out = *byte);
                Ok(meta)
            }
        }
    }

    /// Programs a page in the stream's open block, in another one where that fails. Returns where it stands.
    ///
    /// # Errors
    /// [`Error::Full`]: there is no free block.
    pub(crate) fn append<F: Flash>(
        &mut self,
        flash: &mut F,
        stream: usize,
        kind: Kind,
        key: u32,
        source: Source<'_>,
    ) -> Result<u32, Error> {
        let place = self.config.chip.meta;
        let data_bytes = self.config.chip.data_bytes();
        let source = match (source, place) {
            (Source::Host(data), MetaPlace::InPage) => {
                self.state.loaded = NONE;
                let page = self.layout.page;
                page.of_mut(self.memory_mut()).iter_mut().zip(data).for_each(|(out, byte)| *out = *byte);
                Source::Memory(page)
            }
            (source, _) => source,
        };
        for _ in 0..self.config.chip.blocks {
            let open = self.opened(flash, stream)?;
            let page = self.page_of(open.block, open.next);
            let seq = self.state.seq;
            self.state.seq += 1;
            let failed = match source {
                Source::Host(data) => {
                    let meta = Meta { kind, stream: stream as u32, key, seq, sum: sum(kind, key, data) };
                    flash.program(page, data, Some(&meta.encode()))
                }
                Source::Memory(buffer) => {
                    let data = buffer.first(data_bytes).of(self.memory());
                    let meta = Meta { kind, stream: stream as u32, key, seq, sum: sum(kind, key, data) }.encode();
                    match place {
                        MetaPlace::Spare => flash.program(page, data, Some(&meta)),
                        MetaPlace::InPage => {
                            let tail = buffer.part(data_bytes, META_BYTES as u32);
                            tail.of_mut(self.memory_mut()).iter_mut().zip(meta).for_each(|(out, byte)| *out = byte);
                            flash.program(page, buffer.of(self.memory()), None)
                        }
                    }
                }
            }
            .is_err();
            let next = open.next + 1;
            let Some(place) = self.state.open.get_mut(stream) else { return Err(Error::Full) };
            *place =
                if failed || next == self.config.chip.pages_per_block { Open::NONE } else { Open { next, ..open } };
            let count = self.count(open.block);
            if failed {
                self.state.tally.failures += 1;
                self.set_count(open.block, count | state::FAILING);
                if kind == Kind::User {
                    // It may be readable all the same.
                    self.report_failed(page);
                }
                continue;
            }
            if kind != Kind::Checkpoint {
                self.set_count(open.block, count + 1);
            }
            self.state.appended = open.number;
            return Ok(page);
        }
        Err(Error::Full)
    }

    /// The stream's open block.
    pub(crate) fn opened<F: Flash>(&mut self, flash: &mut F, stream: usize) -> Result<Open, Error> {
        match self.state.open.get(stream) {
            Some(open) if open.block != NOWHERE => Ok(*open),
            _ => self.open(flash, stream),
        }
    }

    /// Opens a free block for a stream: erases it. The search goes round, so wear is spread.
    fn open<F: Flash>(&mut self, flash: &mut F, stream: usize) -> Result<Open, Error> {
        for is_last_resort in [false, true] {
            for _ in 0..self.config.chip.blocks {
                let block = self.state.cursor;
                self.state.cursor = if block + 1 < self.config.chip.blocks { block + 1 } else { 0 };
                if !self.takes(block, is_last_resort) {
                    continue;
                }
                if flash.erase(block).is_err() {
                    self.state.tally.failures += 1;
                    self.set_count(block, state::BAD);
                    // Where no erase has worked yet, the chip may be protected from writes. Nothing is marked for good.
                    if self.state.tally.erases > 0 {
                        flash.mark_bad(block);
                    }
                    continue;
                }
                self.state.tally.erases += 1;
                self.forget_reads(block);
                self.set_count(block, 0);
                if self.has_gecko() {
                    self.set_count(block, state::UNRECORDED);
                    self.record_erase(block);
                }
                let open = Open { block, next: 0, number: self.state.opens };
                self.state.opens += 1;
                if let Some(place) = self.state.open.get_mut(stream) {
                    *place = open;
                }
                return Ok(open);
            }
        }
        Err(Error::Full)
    }

    /// Takes a block if it is free. As the last resort of a mount: if it was held when the checkpoint was written that
    /// nobody can be certain of. Should that be lost, the one before it misses old versions of metadata, and has doubts.
    fn takes(&mut self, block: u32, is_last_resort: bool) -> bool {
        let count = self.count(block);
        let may = is_last_resort && !self.state.has_checkpoint && self.was_held(block) && !self.was_former(block);
        if count == state::FREE {
            self.state.free -= 1;
        } else if count == state::HELD && may {
            self.state.held -= 1;
        } else {
            return false;
        }
        true
    }

    /// Closes the stream's open block. Its other pages stay erased.
    pub(crate) fn close_block(&mut self, stream: usize) {
        if let Some(open) = self.state.open.get_mut(stream) {
            *open = Open::NONE;
        }
    }

    pub(crate) fn is_open(&self, block: u32) -> bool {
        self.state.open.iter().any(|open| open.block == block)
    }

    /// A page holds nothing any more that anybody reads. (Of a host page Logarithmic Gecko is told besides.)
    pub(crate) fn drop_page(&mut self, page: u32) {
        let block = self.block_of(page);
        let count = self.count(block);
        if self.state.mounting || count >= state::FIRST {
            return;
        }
        debug_assert!(count & state::COUNT > 0 || self.state.in_doubt, "page {page} of an empty block");
        let left = (count & state::COUNT).saturating_sub(1);
        self.set_count(block, count & !state::COUNT | left);
        let is_closed = !self.is_open(block) && self.state.victim.block != block;
        // Where something was unreadable, a collection looks at each page first.
        if left == 0 && count & state::FAILING == 0 && is_closed && !self.state.in_doubt {
            self.hold(block);
        }
    }

    /// Nobody reads this block any more, once there is another checkpoint.
    pub(crate) fn hold(&mut self, block: u32) {
        if !self.config.keeps(Barrier::HeldUntilCheckpoint) {
            self.set_count(block, state::FREE);
            self.state.free += 1;
            return;
        }
        self.set_count(block, state::HELD);
        self.state.held += 1;
    }
}

/// What a read gave, if it is what was programmed.
fn checked(read: Result<u32, Uncorrectable>, meta: &[u8; META_BYTES], data: &[u8]) -> Result<Meta, Missing> {
    if read.is_err() {
        return Err(Missing::Unreadable);
    }
    if *meta == [0xff; META_BYTES] {
        return Err(Missing::Erased);
    }
    match Meta::decode(meta) {
        Some(meta) if meta.sum == sum(meta.kind, meta.key, data) => Ok(meta),
        _ => Err(Missing::Unreadable),
    }
}
