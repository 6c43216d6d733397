//! A mounted drive with its flash driver, read and written at any byte.

use crate::error::Error;
use crate::pieces::{Piece, Pieces};
use phelsuma_mcu::{Drive, Flash, Info, Parts};

/// A mounted drive, its flash driver, and a lent buffer of a host page.
///
/// A write that covers a page in part reads it, changes it and writes it back. Each page changes at once: after a power
/// cut it is the old one or the new one. A write over several pages may be cut between two of them.
pub struct Disk<P: Parts, M, F, B> {
    drive: Drive<P, M>,
    flash: F,
    buffer: B,
    /// The page that the buffer holds as it is on the drive. So the next piece of the same page costs no read.
    held: Option<u32>,
    page_bytes: u32,
    pages: u32,
}

/// What a page holds before it is changed.
pub(crate) enum Before {
    /// What is on the drive.
    Kept,
    /// Anything, for all of it is overwritten.
    Any,
}

impl<P, M, F, B> Disk<P, M, F, B>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    /// Takes a mounted drive and the driver that it was mounted with.
    ///
    /// # Errors
    /// [`Error::Buffer`].
    pub fn new(drive: Drive<P, M>, flash: F, mut buffer: B) -> Result<Self, Error> {
        let Info { page_bytes, logical_pages: pages, .. } = drive.info();
        let needed = page_bytes as usize;
        if buffer.as_mut().len() < needed {
            return Err(Error::Buffer { needed });
        }
        Ok(Self { drive, flash, buffer, held: None, page_bytes, pages })
    }

    /// The drive, the driver and the buffer.
    pub fn into_parts(self) -> (Drive<P, M>, F, B) {
        (self.drive, self.flash, self.buffer)
    }

    /// Bytes of a host page, the unit of a write.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Host pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Bytes of the disk.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pages) * u64::from(self.page_bytes)
    }

    /// The state of the drive.
    pub fn info(&self) -> Info {
        self.drive.info()
    }

    /// Reads bytes; zeros where nothing was written.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Drive`].
    pub fn read(&mut self, at: u64, mut out: &mut [u8]) -> Result<(), Error> {
        self.check(at, out.len())?;
        for piece in Pieces::of(at, out.len(), self.page_bytes) {
            let (here, rest) = out.split_at_mut_checked(piece.bytes).ok_or(Error::OutOfRange)?;
            self.read_piece(piece, here)?;
            out = rest;
        }
        Ok(())
    }

    /// Writes bytes. They are on flash when it returns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Drive`]: then some of the pages may be written.
    pub fn write(&mut self, at: u64, mut data: &[u8]) -> Result<(), Error> {
        self.check(at, data.len())?;
        for piece in Pieces::of(at, data.len(), self.page_bytes) {
            let (here, rest) = data.split_at_checked(piece.bytes).ok_or(Error::OutOfRange)?;
            self.write_piece(piece, here)?;
            data = rest;
        }
        Ok(())
    }

    /// Discards pages, which read as zeros from now on. A power cut before [`Disk::sync`] may bring them back.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Drive`].
    pub fn trim(&mut self, first: u32, pages: u32) -> Result<(), Error> {
        self.held = None;
        Ok(self.drive.trim(&mut self.flash, first, pages)?)
    }

    /// Makes trims durable. Writes are when they return.
    ///
    /// # Errors
    /// [`Error::Drive`].
    pub fn sync(&mut self) -> Result<(), Error> {
        Ok(self.drive.sync(&mut self.flash)?)
    }

    /// Moves up to so many pages while the host is idle ([`Drive::maintain`]). Whether there is more to do.
    ///
    /// # Errors
    /// [`Error::Drive`].
    pub fn maintain(&mut self, pages: u32) -> Result<bool, Error> {
        Ok(self.drive.maintain(&mut self.flash, pages)?)
    }

    /// Whether a page was written, and not trimmed since.
    pub(crate) fn is_mapped(&mut self, page: u32) -> Result<bool, Error> {
        Ok(self.drive.is_mapped(&mut self.flash, page)?)
    }

    /// Whether the range is on the disk. Nothing is done of what is not.
    pub(crate) fn check(&self, at: u64, bytes: usize) -> Result<(), Error> {
        let end = u64::try_from(bytes).ok().and_then(|bytes| at.checked_add(bytes));
        end.filter(|end| *end <= self.bytes()).map(|_| ()).ok_or(Error::OutOfRange)
    }

    pub(crate) fn read_piece(&mut self, piece: Piece, out: &mut [u8]) -> Result<(), Error> {
        if out.len() == self.page_bytes as usize {
            return Ok(self.drive.read(&mut self.flash, piece.page, out)?);
        }
        let page = self.load(piece.page)?;
        let here = page.get(piece.from..).and_then(|page| page.get(..out.len())).ok_or(Error::OutOfRange)?;
        out.iter_mut().zip(here).for_each(|(out, byte)| *out = *byte);
        Ok(())
    }

    fn write_piece(&mut self, piece: Piece, data: &[u8]) -> Result<(), Error> {
        if data.len() == self.page_bytes as usize {
            self.held = None;
            return Ok(self.drive.write(&mut self.flash, piece.page, data)?);
        }
        self.modify(piece.page, Before::Kept, |page| {
            page.iter_mut().skip(piece.from).zip(data).for_each(|(out, byte)| *out = *byte);
        })
    }

    /// Changes a page in the buffer and writes it.
    pub(crate) fn modify(&mut self, page: u32, before: Before, change: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        if matches!(before, Before::Kept) {
            self.load(page)?;
        }
        // Until the write has returned, the buffer is not what is on the drive.
        self.held = None;
        let needed = self.page_bytes as usize;
        let buffer = self.buffer.as_mut().get_mut(..needed).ok_or(Error::Buffer { needed })?;
        change(buffer);
        self.drive.write(&mut self.flash, page, buffer)?;
        self.held = Some(page);
        Ok(())
    }

    /// The page in the buffer.
    fn load(&mut self, page: u32) -> Result<&[u8], Error> {
        let needed = self.page_bytes as usize;
        let buffer = self.buffer.as_mut().get_mut(..needed).ok_or(Error::Buffer { needed })?;
        if self.held != Some(page) {
            self.held = None;
            self.drive.read(&mut self.flash, page, buffer)?;
            self.held = Some(page);
        }
        Ok(buffer)
    }
}
