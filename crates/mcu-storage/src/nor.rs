//! `NorFlash` of `embedded-storage` and `embedded-storage-async`: a disk that behaves like NOR flash.
//!
//! An erase trims its pages and makes that durable. Pages that are not mapped read as ones. Writing ones instead would
//! cost a program for each page, and the FTL would move these pages as live ones.

use crate::disk::{Before, Disk};
use crate::error::Error;
use crate::pieces::Pieces;
use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash, check_erase, check_read, check_write,
};
use embedded_storage_async::nor_flash as asynch;
use phelsuma_mcu::{Flash, Parts};

/// A disk as NOR flash with words of `WRITE` bytes, and `ERASE` bytes that are erased together.
///
/// `ERASE` is a multiple of the host page. Any `WRITE` that divides it will do, but each write programs whole pages.
///
/// A write clears bits, and sets none, as on a chip: so words may be written again ([`MultiwriteNorFlash`]). A power cut
/// leaves each page as it was, or as written. Read a disk through one adapter only: without this one, erased pages are
/// zeros.
pub struct Nor<D, const WRITE: usize, const ERASE: usize> {
    disk: D,
}

impl<D, const WRITE: usize, const ERASE: usize> Nor<D, WRITE, ERASE> {
    /// The disk.
    pub fn into_inner(self) -> D {
        self.disk
    }
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    /// Takes a disk.
    ///
    /// # Errors
    /// [`Error::Shape`]: `ERASE` is no multiple of a host page.
    pub fn new(disk: Disk<P, M, F, B>) -> Result<Self, Error> {
        const { assert!(WRITE > 0 && ERASE > 0 && ERASE.is_multiple_of(WRITE), "ERASE is no multiple of WRITE") };
        match ERASE.checked_rem(disk.page_bytes() as usize) {
            Some(0) => Ok(Self { disk }),
            _ => Err(Error::Shape),
        }
    }

    /// While the host is idle: [`Disk::maintain`].
    ///
    /// # Errors
    /// [`Error::Drive`].
    pub fn maintain(&mut self, pages: u32) -> Result<bool, Error> {
        self.disk.maintain(pages)
    }
}

impl<P: Parts, M, F, B, const WRITE: usize, const ERASE: usize> ErrorType for Nor<Disk<P, M, F, B>, WRITE, ERASE> {
    type Error = Error;
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> ReadNorFlash for Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        check_read(self, offset, bytes.len())?;
        let mut out = bytes;
        for piece in Pieces::of(offset.into(), out.len(), self.disk.page_bytes()) {
            let (here, rest) = out.split_at_mut_checked(piece.bytes).ok_or(Error::OutOfRange)?;
            if self.disk.is_mapped(piece.page)? {
                self.disk.read_piece(piece, here)?;
            } else {
                here.fill(0xff);
            }
            out = rest;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        let bytes = usize::try_from(self.disk.bytes()).unwrap_or(usize::MAX);
        bytes - bytes.checked_rem(ERASE).unwrap_or(0)
    }
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> NorFlash for Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    const WRITE_SIZE: usize = WRITE;
    const ERASE_SIZE: usize = ERASE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        check_erase(self, from, to)?;
        let page_of = |at: u32| at.checked_div(self.disk.page_bytes()).ok_or(Error::Shape);
        let (first, end) = (page_of(from)?, page_of(to)?);
        self.disk.trim(first, end.saturating_sub(first))?;
        // Without this a power cut could bring back what was erased.
        self.disk.sync()
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        check_write(self, offset, bytes.len())?;
        let mut data = bytes;
        for piece in Pieces::of(offset.into(), data.len(), self.disk.page_bytes()) {
            let (here, rest) = data.split_at_checked(piece.bytes).ok_or(Error::OutOfRange)?;
            let is_mapped = self.disk.is_mapped(piece.page)?;
            self.disk.modify(piece.page, if is_mapped { Before::Kept } else { Before::Any }, |page| {
                if !is_mapped {
                    page.fill(0xff);
                }
                page.iter_mut().skip(piece.from).zip(here).for_each(|(out, byte)| *out &= *byte);
            })?;
            data = rest;
        }
        Ok(())
    }
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> MultiwriteNorFlash for Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> asynch::ReadNorFlash for Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    const READ_SIZE: usize = 1;

    /// Never waits: all of it is done at the first poll.
    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        ReadNorFlash::read(self, offset, bytes)
    }

    fn capacity(&self) -> usize {
        ReadNorFlash::capacity(self)
    }
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> asynch::NorFlash for Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    const WRITE_SIZE: usize = WRITE;
    const ERASE_SIZE: usize = ERASE;

    /// Never waits: all of it is done at the first poll.
    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        NorFlash::erase(self, from, to)
    }

    /// Never waits: all of it is done at the first poll.
    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        NorFlash::write(self, offset, bytes)
    }
}

impl<P, M, F, B, const WRITE: usize, const ERASE: usize> asynch::MultiwriteNorFlash
    for Nor<Disk<P, M, F, B>, WRITE, ERASE>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
}
