//! `driver::Storage` of `littlefs2`: a disk under littlefs.
//!
//! An erase does nothing. littlefs takes an erased block to have any content, and overwrites it.
//!
//! A trim would be wrong. Until it is durable, a power cut brings old commits back behind the newest one. littlefs then
//! takes them for its own: a test read a version of a file that had been replaced.

use crate::disk::Disk;
use crate::error::Error;
use core::marker::PhantomData;
use generic_array::ArrayLength;
use generic_array::typenum::Unsigned;
use littlefs2::driver::Storage;
use littlefs2::io;
use phelsuma_mcu::{Flash, Parts};

/// Sizes that littlefs has to know when it is compiled. [`LittleFs::new`] compares them with the drive.
///
/// Wear levelling is the FTL's, so littlefs does none.
pub trait Shape {
    /// Bytes of a host page: littlefs reads and programs so many.
    const PAGE_BYTES: usize;
    /// Bytes of a block of littlefs: a multiple of [`Shape::CacheBytes`]. Stays as it is from format on.
    const BLOCK_BYTES: usize;
    /// Blocks.
    const BLOCKS: usize;
    /// Bytes of each cache of littlefs: a multiple of a host page.
    type CacheBytes: ArrayLength<u8>;
    /// Words of 64 bits: each bit is a block that is looked at for free ones.
    type LookaheadWords: ArrayLength<u64>;
}

/// A disk of the shape `S` under littlefs.
pub struct LittleFs<D, S> {
    disk: D,
    shape: PhantomData<S>,
}

impl<D, S> LittleFs<D, S> {
    /// The disk.
    pub fn into_inner(self) -> D {
        self.disk
    }
}

impl<P, M, F, B, S> LittleFs<Disk<P, M, F, B>, S>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
    S: Shape,
{
    /// Takes a disk.
    ///
    /// # Errors
    /// [`Error::Shape`]: the shape is not the drive's, or one of its sizes is no multiple of another as it should be.
    pub fn new(disk: Disk<P, M, F, B>) -> Result<Self, Error> {
        let (page, cache, block) = (S::PAGE_BYTES, S::CacheBytes::USIZE, S::BLOCK_BYTES);
        let is_multiple = |of: usize, bytes: usize| of.checked_rem(bytes) == Some(0) && of > 0;
        let fits = S::BLOCKS as u64 <= disk.bytes() / (block as u64).max(1) && S::BLOCKS > 0;
        let is_page = u32::try_from(page) == Ok(disk.page_bytes());
        // littlefs wants 128 bytes at the least, and a page has more.
        if !is_page || !is_multiple(cache, page) || !is_multiple(block, cache) || !fits || S::LookaheadWords::USIZE == 0
        {
            return Err(Error::Shape);
        }
        Ok(Self { disk, shape: PhantomData })
    }

    /// While the host is idle: [`Disk::maintain`].
    ///
    /// # Errors
    /// [`Error::Drive`].
    pub fn maintain(&mut self, pages: u32) -> Result<bool, Error> {
        self.disk.maintain(pages)
    }
}

/// The kind that littlefs acts on: it goes on with another copy where a page is lost, and gives up where the drive is.
fn kind(error: Error) -> io::Error {
    match error {
        Error::Drive(phelsuma_mcu::Error::Unreadable) => io::Error::CORRUPTION,
        Error::OutOfRange | Error::NotAligned => io::Error::INVALID,
        _ => io::Error::IO,
    }
}

impl<P, M, F, B, S> Storage for LittleFs<Disk<P, M, F, B>, S>
where
    P: Parts,
    M: AsRef<[u8]> + AsMut<[u8]>,
    F: Flash,
    B: AsMut<[u8]>,
    S: Shape,
{
    const READ_SIZE: usize = S::PAGE_BYTES;
    const WRITE_SIZE: usize = S::PAGE_BYTES;
    const BLOCK_SIZE: usize = S::BLOCK_BYTES;
    const BLOCK_COUNT: usize = S::BLOCKS;
    const BLOCK_CYCLES: isize = -1;
    type CACHE_SIZE = S::CacheBytes;
    type LOOKAHEAD_SIZE = S::LookaheadWords;

    fn read(&mut self, off: usize, buf: &mut [u8]) -> io::Result<usize> {
        self.disk.read(off as u64, buf).map_err(kind)?;
        Ok(buf.len())
    }

    fn write(&mut self, off: usize, data: &[u8]) -> io::Result<usize> {
        self.disk.write(off as u64, data).map_err(kind)?;
        Ok(data.len())
    }

    fn erase(&mut self, off: usize, len: usize) -> io::Result<usize> {
        self.disk.check(off as u64, len).map_err(kind)?;
        Ok(len)
    }
}
