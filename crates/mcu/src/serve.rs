//! What a host asks of a drive.

use crate::config::Parts;
use crate::drive::{Drive, HOST, Source, Tally, state};
use crate::entries::is_page;
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::NONE;
use crate::meta::Kind;
use crate::translation::TRIMS;

/// The state of a drive, for people and programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Host pages.
    pub logical_pages: u32,
    /// Bytes of each.
    pub page_bytes: u32,
    /// Bytes of memory that the drive uses.
    pub memory_bytes: usize,
    /// Blocks that may be opened.
    pub free_blocks: u32,
    /// Blocks that are bad.
    pub bad_blocks: u32,
    /// The drive can only be read: too many blocks are bad.
    pub read_only: bool,
    /// What it has done since it was mounted.
    pub tally: Tally,
}

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// Writes a host page. When it returns, a power cut does not take the page back.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Length`], [`Error::Full`].
    pub fn write<F: Flash>(&mut self, flash: &mut F, page: u32, data: &[u8]) -> Result<(), Error> {
        if page >= self.config.logical_pages {
            return Err(Error::OutOfRange);
        }
        if data.len() != self.config.chip.data_bytes() as usize {
            return Err(Error::Length);
        }
        self.make_room(flash)?;
        self.make_room_for_entry(flash, page)?;
        let to = self.append(flash, HOST, Kind::User, page, Source::Host(data))?;
        self.state.tally.host_writes += 1;
        self.enter(flash, page, to)
    }

    /// Reads a host page; zeros where it was never written, or trimmed. At the most two flash reads.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Length`], [`Error::Unreadable`].
    pub fn read<F: Flash>(&mut self, flash: &mut F, page: u32, out: &mut [u8]) -> Result<(), Error> {
        if page >= self.config.logical_pages {
            return Err(Error::OutOfRange);
        }
        if out.len() != self.config.chip.data_bytes() as usize {
            return Err(Error::Length);
        }
        match self.place_of(flash, page) {
            NONE => {
                out.fill(0);
                Ok(())
            }
            place if is_page(place) && place < self.config.chip.pages() => match self.read_into(flash, place, out) {
                Ok(meta) if meta.kind == Kind::User && meta.key == page => Ok(()),
                _ => Err(Error::Unreadable),
            },
            _ => Err(Error::Unreadable),
        }
    }

    /// Whether a host page was written, and not trimmed since. At the most one flash read.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn is_mapped<F: Flash>(&mut self, flash: &mut F, page: u32) -> Result<bool, Error> {
        if page >= self.config.logical_pages {
            return Err(Error::OutOfRange);
        }
        Ok(self.place_of(flash, page) != NONE)
    }

    /// Discards host pages: they read as zeros. A power cut before the next [`Drive::sync`] may bring back what they held.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Full`].
    pub fn trim<F: Flash>(&mut self, flash: &mut F, first: u32, pages: u32) -> Result<(), Error> {
        let end = first.checked_add(pages).filter(|end| *end <= self.config.logical_pages).ok_or(Error::OutOfRange)?;
        for page in first..end {
            if self.place_of(flash, page) == NONE {
                continue;
            }
            self.make_room(flash)?;
            self.make_room_for_entry(flash, page)?;
            self.state.appended = self.state.opens;
            self.enter(flash, page, NONE)?;
            // The next checkpoint writes all translation pages with trims. They are to fit into the blocks that are free.
            let dirty = self.layout.dirty_of;
            let with_trims = (0..dirty.entries).filter(|part| dirty.get(self.memory(), *part) & TRIMS != 0).count();
            if with_trims as u32 >= self.ppb() {
                self.sync(flash)?;
            }
        }
        Ok(())
    }

    /// Makes trims durable. Writes are when they return.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub fn sync<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        if self.state.trims == 0 {
            return Ok(());
        }
        for part in 0..self.sizes.translation_pages {
            if self.layout.dirty_of.get(self.memory(), part) & TRIMS != 0 {
                self.make_room(flash)?;
                self.synchronize(flash, part)?;
            }
        }
        self.state.trims = 0;
        Ok(())
    }

    /// Its state.
    pub fn info(&self) -> Info {
        let bad = (0..self.config.chip.blocks).filter(|block| self.count(*block) == state::BAD).count();
        Info {
            logical_pages: self.config.logical_pages,
            page_bytes: self.config.chip.data_bytes(),
            memory_bytes: self.layout.bytes,
            free_blocks: self.state.free,
            bad_blocks: bad as u32,
            read_only: self.state.full,
            tally: self.state.tally,
        }
    }
}
