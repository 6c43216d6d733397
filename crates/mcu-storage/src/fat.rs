//! `BlockDevice` of `embedded-sdmmc`: a disk as blocks of 512 bytes.

use crate::disk::{Before, Disk};
use crate::error::Error;
use core::cell::RefCell;
use core::num::NonZeroU32;
use embedded_sdmmc_types::{Block, BlockCount, BlockDevice, BlockIdx};
use phelsuma_mcu::{Flash, Parts};

/// A disk as blocks of 512 bytes, which FAT stands on.
///
/// Each block changes at once, so none lies in two pages. Where a page is no multiple of 512 bytes, its rest is unused.
/// Blocks of one page that a call writes are one write of the page. A block alone reads its page, and writes all of it.
/// `embedded-sdmmc` writes one block a call. Nothing is gathered over calls: the trait has none that would end it.
pub struct Fat<D> {
    /// The trait lends a device as shared.
    disk: RefCell<D>,
    per_page: NonZeroU32,
}

impl<D> Fat<D> {
    /// The disk.
    pub fn into_inner(self) -> D {
        self.disk.into_inner()
    }
}

impl<P, M, F, B> Fat<Disk<P, M, F, B>>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    /// Takes a disk.
    ///
    /// # Errors
    /// [`Error::Shape`]: a host page is smaller than a block.
    pub fn new(disk: Disk<P, M, F, B>) -> Result<Self, Error> {
        let per_page = NonZeroU32::new(disk.page_bytes() / Block::LEN_U32).ok_or(Error::Shape)?;
        Ok(Self { disk: RefCell::new(disk), per_page })
    }

    /// While the host is idle: [`Disk::maintain`].
    ///
    /// # Errors
    /// [`Error::Drive`].
    pub fn maintain(&mut self, pages: u32) -> Result<bool, Error> {
        self.disk.get_mut().maintain(pages)
    }

    /// Calls `each` with every page that so many blocks are in: with the first one's number in it, and how many.
    fn pages(
        &self,
        start: BlockIdx,
        blocks: usize,
        mut each: impl FnMut(&mut Disk<P, M, F, B>, u32, usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut disk = self.disk.try_borrow_mut().map_err(|_| Error::Busy)?;
        let end = u32::try_from(blocks).ok().and_then(|blocks| start.0.checked_add(blocks));
        let end =
            end.filter(|end| *end <= disk.pages().saturating_mul(self.per_page.get())).ok_or(Error::OutOfRange)?;
        let mut at = start.0;
        while at < end {
            let first = at % self.per_page;
            let count = (self.per_page.get() - first).min(end - at);
            each(&mut disk, at / self.per_page, first as usize, count as usize)?;
            at += count;
        }
        Ok(())
    }
}

impl<P, M, F, B> BlockDevice for Fat<Disk<P, M, F, B>>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
{
    type Error = Error;

    fn read(&self, blocks: &mut [Block], start_block_idx: BlockIdx) -> Result<(), Error> {
        let mut left = &mut *blocks;
        self.pages(start_block_idx, left.len(), |disk, page, first, count| {
            let (here, rest) = core::mem::take(&mut left).split_at_mut_checked(count).ok_or(Error::OutOfRange)?;
            left = rest;
            let start = u64::from(page) * u64::from(disk.page_bytes());
            for (block, at) in here.iter_mut().zip(first..) {
                disk.read(start + (at * Block::LEN) as u64, &mut block.contents)?;
            }
            Ok(())
        })
    }

    fn write(&self, blocks: &[Block], start_block_idx: BlockIdx) -> Result<(), Error> {
        let mut left = blocks;
        self.pages(start_block_idx, left.len(), |disk, page, first, count| {
            let (here, rest) = left.split_at_checked(count).ok_or(Error::OutOfRange)?;
            left = rest;
            let is_whole = count * Block::LEN == disk.page_bytes() as usize;
            disk.modify(page, if is_whole { Before::Any } else { Before::Kept }, |bytes| {
                let places = bytes.chunks_exact_mut(Block::LEN).skip(first);
                places.zip(here).for_each(|(place, block)| {
                    place.iter_mut().zip(&block.contents).for_each(|(out, byte)| *out = *byte);
                });
            })
        })
    }

    fn num_blocks(&self) -> Result<BlockCount, Error> {
        let disk = self.disk.try_borrow().map_err(|_| Error::Busy)?;
        Ok(BlockCount(disk.pages().saturating_mul(self.per_page.get())))
    }
}
